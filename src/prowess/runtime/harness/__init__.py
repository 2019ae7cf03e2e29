"""What Prowess does for coding agents: connect, budgets, exports, checks."""
