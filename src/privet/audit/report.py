"""What an audit found, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass

from privet.core.given import read_fields

from .bounds import Counts


@dataclass(frozen=True)
class Report:
    """What an audit found: a lower bound on epsilon, the event that shows it, and what it would have caught."""

    epsilon: float
    delta: float
    found: float
    witness: str
    """The event, in words: which outputs it holds."""
    counts: Counts
    """How often the event was seen: first under the neighbour under which it is likelier, then under the other."""
    flipped: bool
    """Whether the neighbour under which the event is likelier is the second."""
    alarm: float
    power: float
    """The chance that this audit would have refuted a claim that understates epsilon by a tenth."""
    points: tuple[tuple[float, float], ...]
    """False positive and false negative rates of tests on the witness's score, as measured."""
    claims: tuple[tuple[float, float], ...] = ()
    """Every (epsilon, delta) that the claim makes and that was put to the test."""

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, up to the false-alarm rate."""
        return self.found > self.epsilon

    @property
    def seen(self) -> tuple[int, int]:
        """Return how often the event was seen under the first and under the second neighbour."""
        return (self.counts.other, self.counts.one) if self.flipped else (self.counts.one, self.counts.other)

    def __str__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        return (
            f"{verdict}: claimed {self.claim}, found at least {self.found:.4g} "
            f"by {self.counts.trials:,} releases of each neighbour (witness: {self.witness}; "
            f"an epsilon understated by 10% would be caught with probability {self.power:.3g})"
        )

    @property
    def claim(self) -> str:
        """Return the claim that was put to the test, in words."""
        return f"epsilon {self.epsilon:.4g}" + (f" at delta {self.delta:.3g}" if self.delta else "")

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain data."""
        return {
            "refuted": self.refuted,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "found": self.found,
            "witness": self.witness,
            "seen": list(self.seen),
            "releases": self.counts.trials,
            "power": self.power,
            "alarm": self.alarm,
        }
