"""How one mechanism is audited: honestly, and with a fault planted that must be caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.exact import whole

from .bits import audit_bits
from .blackbox import Draw, Report, audit

TENTH = Fraction(11, 10)
"""A fault that leaks a tenth more than is claimed."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A mechanism, neighbours that come close to its claim, and how to draw many releases.

    `make(leak)` returns the draws of a mechanism made for `leak` times the epsilon that is claimed: 1 for the honest
    one, more for the planted fault. `pairs` are the values between which the low bits of doubles are compared.
    """

    name: str
    mechanism: type
    make: Callable[[Fraction], Draw]
    neighbours: tuple[Any, Any]
    claimed: object
    samples: int = 1_000_000
    fault: Fraction = TENTH
    pairs: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What became of an entry: the audit of the mechanism, that of the planted fault, and that of the low bits."""

    entry: Entry
    report: Report
    planted: Report
    bits: Report | None

    @property
    def stands(self) -> bool:
        """Whether nothing refutes the mechanism, and the planted fault is refuted."""
        return not self.report.refuted and self.planted.refuted and not (self.bits and self.bits.refuted)

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as plain data."""
        return {
            "name": self.entry.name,
            "epsilon": self.report.epsilon,
            "delta": self.report.delta,
            "found": self.report.found,
            "power": self.report.power,
            "witness": self.report.witness,
            "releases": self.report.counts.trials,
            "planted": float(self.entry.fault),
            "planted_found": self.planted.found,
            "planted_caught": self.planted.refuted,
            "low_bits_found": None if self.bits is None else self.bits.found,
            "stands": self.stands,
        }


def judge(entry: Entry, *, samples: int | None = None, fault: Fraction | None = None) -> Verdict:
    """Return the verdict on an entry, with as many releases as it asks for, or fewer, and its fault or a larger one."""
    size = entry.samples if samples is None else min(entry.samples, whole(samples, "samples", least=100, most=10**9))
    honest = entry.make(Fraction(1))
    return Verdict(
        entry,
        audit(honest, entry.neighbours, entry.claimed, size, batched=True),
        audit(entry.make(max(entry.fault, fault or entry.fault)), entry.neighbours, entry.claimed, size, batched=True),
        audit_bits(honest, entry.claimed, min(size, 50_000), pairs=entry.pairs) if entry.pairs else None,
    )
