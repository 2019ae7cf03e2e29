"""What coding agents keep on this machine: settings, hooks and sessions."""
