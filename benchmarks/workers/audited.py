"""Draws releases in a peer's environment and has them audited in Privet's. Standard library only."""

from __future__ import annotations

import json
import subprocess
import tempfile
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

AUDITOR = Path(__file__).with_name("audit_file.py")


def audited(
    draw: Callable[[Any, int], Iterable[float]],
    *,
    inputs: tuple[Any, Any],
    claimed: tuple[float, float],
    draws: int,
    auditor: str,
) -> Callable[[], dict[str, Any]]:
    """Return the call to time: draw so many releases of each input, and audit them, black box and by their low bits."""

    def call() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            for name, value in zip("ab", inputs, strict=True):
                with open(Path(folder, name), "wb") as file:
                    array("d", map(float, draw(value, draws))).tofile(file)
            command = [auditor, str(AUDITOR), folder, json.dumps(claimed)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return {"figures": figures}

    return call
