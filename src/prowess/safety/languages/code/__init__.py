"""One evaluator over trees of Python: what code does, without running it."""
