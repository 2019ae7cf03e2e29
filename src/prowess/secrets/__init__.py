"""What a secret looks like, and how it is kept out of sight."""
