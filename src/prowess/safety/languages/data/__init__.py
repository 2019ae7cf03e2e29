"""What data files start, install or configure."""
