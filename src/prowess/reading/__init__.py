"""A text as its reader sees it, each character with the place that it came from."""
