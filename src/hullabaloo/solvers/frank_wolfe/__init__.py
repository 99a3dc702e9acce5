"""Steps towards vertices: private Frank–Wolfe, and its dual for structured penalties."""
