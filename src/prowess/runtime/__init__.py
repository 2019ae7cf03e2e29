"""Use cases over ports. Knows no files: adapters under `host` bring the world."""
