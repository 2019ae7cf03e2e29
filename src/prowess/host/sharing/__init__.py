"""Where shared skills come from and where they are kept: git, registries, locks, logs."""
