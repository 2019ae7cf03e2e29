"""Which commands of a replay are run only after a yes."""
