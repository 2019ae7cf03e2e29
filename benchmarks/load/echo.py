"""The bare server that a gateway is compared with: it answers every frame with one ready text.

    python -m benchmarks.load.echo FILE

It knows no methods, rights, limits or events: what it takes is the price of sockets alone.
"""

import asyncio
import json
import sys
from pathlib import Path

from websockets.asyncio.server import ServerConnection, serve


async def answer_with(text: str) -> None:
    """Answer until the process is ended."""

    async def echo(line: ServerConnection) -> None:
        async for _ in line:
            await line.send(text)

    async with serve(echo, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(json.dumps({"address": f"http://127.0.0.1:{port}"}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(answer_with(Path(sys.argv[1]).read_text(encoding="utf-8")))
