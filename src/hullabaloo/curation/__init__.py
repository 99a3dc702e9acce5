"""What runs on rows besides fits: processes of streams and their intake, runs of searches."""
