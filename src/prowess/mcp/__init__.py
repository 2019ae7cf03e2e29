"""Skills over the Model Context Protocol: a server for every client, and a client that verifies."""
