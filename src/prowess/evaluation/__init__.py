"""How good a router, a scanner and the workshop are, in figures that can be compared."""
