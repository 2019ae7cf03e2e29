"""The terminal: one module per command group, thin over the same services as every other edge."""
