"""A gateway under load: real processes, many clients, and what it costs them."""
