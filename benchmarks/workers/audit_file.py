"""Audits releases that somebody else drew: two files of doubles and a claim. Runs in Privet's own environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from privet.audit import audit, low_bits


def main(folder: str, claimed: str) -> None:
    drawn = {name: np.fromfile(Path(folder, name)) for name in "ab"}
    claim = tuple(json.loads(claimed))
    report = _audit(drawn, claim)
    bits = _audit({name: low_bits(values).astype(np.float64) for name, values in drawn.items()}, claim)
    print(
        json.dumps(
            {"claimed": report.epsilon, "found": report.found, "power": report.power, "low bits": bits.found},
        )
    )


def _audit(drawn: dict[str, Any], claim: tuple[float, ...]) -> Any:
    """Return the audit of releases that were drawn before: each is looked at once."""
    used = dict.fromkeys(drawn, 0)

    def draw(name: str, count: int) -> Any:
        used[name] += count
        return drawn[name][used[name] - count : used[name]]

    return audit(draw, ("a", "b"), claim, len(drawn["a"]), batched=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
