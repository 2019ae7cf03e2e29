"""Skills that come from elsewhere: lock, sources, merges and policies. Pure."""
