"""Several traces of one goal become one skill with named parameters."""
