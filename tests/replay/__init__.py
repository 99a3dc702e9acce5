"""Record and replay: whatever is not a noisy answer is the same on tables that share their public facts."""
