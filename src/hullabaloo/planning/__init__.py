"""What to run, decided from public facts before any data is read."""
