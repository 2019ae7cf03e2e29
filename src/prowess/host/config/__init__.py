"""The config file: read, checked and written."""
