"""What gateways on one PostgreSQL share, beside sessions and proposals, and how they take turns."""
