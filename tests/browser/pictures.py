"""Takes the pictures of docs/web-pages.md, over the demo: python tests/browser/pictures.py."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

PICTURES = HERE.parents[1] / "docs" / "pictures"
SQL = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"


def main() -> None:
    """Write the pictures, each with few colours, so that they are small."""
    from playwright_chromium import launched, opened, settled, shown

    from privet.server.listening import ServerOptions, running_server
    from privet.server.serve_command import make_demo
    from served import FAST, Served

    with tempfile.TemporaryDirectory() as folder:
        config, named = make_demo(Path(folder))
        tokens = {name.split()[0]: token for name, token in named.items()}
        given = ServerOptions({"hospital": config}, port=0, custodian_port=0, limits=FAST)
        with running_server(given) as server, launched() as browser:
            world = Served(server, tokens, Path(folder), "hospital")
            page, _ = opened(browser, world, "alice")
            page.goto("/d/hospital")
            shown(page, "Invented values")
            settled(page)
            save(page.screenshot(clip={"x": 0, "y": 0, "width": 1280, "height": 760}), "web-ask.png")
            found = world.ask({"question": SQL, "epsilon": 0.2}, who="alice").json["id"]
            page.goto(f"/a/{found}")
            settled(page)
            save(page.screenshot(clip={"x": 0, "y": 0, "width": 1280, "height": 860}), "web-answer.png")


def save(body: bytes, name: str) -> None:
    """Write a picture with a palette of its own."""
    from PIL import Image

    Image.open(io.BytesIO(body)).convert("RGB").quantize(48).save(PICTURES / name, optimize=True)


if __name__ == "__main__":
    main()
