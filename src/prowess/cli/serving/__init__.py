"""What stays: the gateway, servers for clients of other protocols, and the database behind them."""
