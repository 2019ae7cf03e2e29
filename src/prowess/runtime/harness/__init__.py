"""What Prowess does for coding agents: connect, hooks, budgets, exports, checks."""
