"""`prowess scan`, its reports and its bench."""
