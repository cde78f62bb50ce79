"""What an attack did: against a careless program, and against Privet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One attack, told twice. `broke` says whether the careless program fell, `held` whether Privet stood."""

    name: str
    question: str
    careless: str
    ours: str
    broke: bool
    held: bool
    why: str
    """What the careless program got wrong, and what is done instead."""

    def __str__(self) -> str:
        lines = (
            f"{self.name}: {self.question}",
            f"  careless: {self.careless} ({'broken' if self.broke else 'not broken'})",
            f"  Privet:   {self.ours} ({'held' if self.held else 'BROKEN'})",
            f"  why:      {self.why}",
        )
        return "\n".join(lines)
