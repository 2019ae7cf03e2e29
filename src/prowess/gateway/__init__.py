"""The gateway: one process, one protocol, many clients.

Frames come in over a WebSocket or HTTP, are checked against a closed model, and are answered by the
same services that the terminal calls. Nothing here knows a file: the composition root hands over
what the methods need.
"""
