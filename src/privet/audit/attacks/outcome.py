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

    def __str__(self) -> str:
        return f"{self.name}: {self.question}\n  careless: {self.careless}\n  Privet:   {self.ours}"
