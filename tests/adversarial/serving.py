"""Serves a folder until it is killed: `python serving.py FOLDER`. Prints the analysts' address.

With `--again`, each line of standard input starts a server in a forked child, so that what a server imports is loaded
once: its process and address are printed, and "gone" when it has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import duckdb  # noqa: F401
import numpy as np  # noqa: F401

from privet.server.listening import PrivetServer, ServerOptions
from served import FAST


def serve(folder: str) -> None:
    """Serve a folder, and print where."""
    server = PrivetServer(ServerOptions({"clinic": Path(folder) / "privet.toml"}, port=0, limits=FAST))
    server.run(signals=True, started=lambda: print(os.getpid(), server.urls[0], flush=True))


def serve_again(folder: str) -> None:
    """Serve a folder once for each line that comes."""
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            try:
                serve(folder)
            finally:
                os._exit(1)
        os.waitpid(child, 0)
        print("gone", flush=True)


if __name__ == "__main__":
    serve_again(sys.argv[2]) if sys.argv[1] == "--again" else serve(sys.argv[1])
