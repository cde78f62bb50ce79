"""A way to break privacy with one line, which must make some test fail.

A mutant is a file under src/privet, a piece of text that occurs in it exactly once, what replaces it, and the tests
that are run. Those of a room stand in `of_<room>.py`; add two for every file that carries privacy.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One breakage: a file, what to replace by what, and the tests that should notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def of(file: str, tests: str, *changes: tuple[str, str]) -> list[Mutant]:
    """Return the mutants of one file, which the same tests should notice."""
    return [Mutant(file, old, new, tuple(f"tests/{test}" for test in tests.split())) for old, new in changes]
