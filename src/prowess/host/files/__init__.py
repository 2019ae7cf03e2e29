"""Any file, read and written within its folder: handles, archives, private state."""
