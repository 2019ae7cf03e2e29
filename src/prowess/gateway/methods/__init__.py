"""The methods of the gateway: parameters in, one service called, a shape out."""
