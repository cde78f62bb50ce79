"""Serves a folder until it is killed: `python serving.py FOLDER`. Prints the analysts' address."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from privet.server.listening import PrivetServer, ServerOptions
from served import FAST

server = PrivetServer(ServerOptions({"clinic": Path(sys.argv[1]) / "privet.toml"}, port=0, limits=FAST))
server.run(signals=True, started=lambda: print(server.urls[0], flush=True))
