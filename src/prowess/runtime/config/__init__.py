"""Changing the config file safely: edits, what is guarded, what is never shown."""
