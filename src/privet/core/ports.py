"""The ports: what Privet needs from the world outside, as protocols."""

from __future__ import annotations

from typing import Protocol

from .scan import Exact, Scan


class Engine(Protocol):
    """Where the data is. It answers scans and nothing else."""

    def scan(self, scan: Scan) -> Exact:
        """Return the exact sums of a scan, sealed.

        With `discovery`, each group's last integer is the weight by which its key may be released, and only groups
        that some unit keeps come back. Raises `EngineError` with a constant message if the engine fails.
        """

    def close(self) -> None:
        """Let go of the data."""
