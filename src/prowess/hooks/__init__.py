"""What coding agents say to a hook and may be told: pure, one dialect beside the other."""
