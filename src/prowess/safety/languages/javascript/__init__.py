"""What JavaScript and TypeScript do."""
