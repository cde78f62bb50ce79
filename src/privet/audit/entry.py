"""How one mechanism is audited: honestly, and with a fault planted that must be caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.event import Event
from privet.core.numbers import whole
from privet.mechanisms import Mechanism

from .blackbox import DELTAS, audit, audit_bits
from .exact import Curve, Law, exact_curve
from .releases import Draw
from .report import Report

TENTH = Fraction(11, 10)
"""A fault that leaks a tenth more than is claimed."""

_INTEGRATED = 1 + 1e-7
"""Allowance for laws that were integrated in floating point."""

_STEP, _GROWTH, _MOST_LEAK = Fraction(1, 128), Fraction(21, 20), 8
"""How closely the fault that is planted is sought, in which steps, and up to how many times the epsilon."""


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """A mechanism, neighbours that come close to its claim, and how to draw many releases.

    `make(leak)` returns the draws of a mechanism made for `leak` times the epsilon that is claimed: 1 for the honest
    one, more for the planted fault, which leaks `fault` times the claim. `claimed` is the tested claim: what the
    mechanism states, or the exact curve of this very pair, where that is less than the `stated` epsilon. It may be a
    function that computes it, which is called when the entry is judged. `pairs` are the values between which the low
    bits of doubles are compared.
    """

    name: str
    mechanism: type
    make: Callable[[Fraction], Draw]
    neighbours: tuple[Any, Any]
    claimed: Any
    stated: float | None = None
    event: Event | None = None
    """What a release costs by the mechanism, where the claim is an exact curve."""
    loss: Callable[[Fraction], float] | None = None
    """The exact loss of the pair where a mechanism is made for this many times the epsilon, if it is known."""
    build: Callable[[Fraction], Mechanism] | None = None
    """The mechanism itself, made for this many times the epsilon, where there is one."""
    look: Callable[[Any], Any] | None = None
    """What of its releases is looked at, if not all."""
    samples: int = 1_000_000
    fault: Fraction = TENTH
    pairs: tuple[tuple[Any, Any], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What became of an entry: the audit of the mechanism, that of the planted fault, and that of the low bits."""

    entry: AuditEntry
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
            "stated": self.entry.stated,
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


def simulated(make: Callable[[Fraction], Mechanism], look: Callable[[Any], Any] | None = None) -> Any:
    """Return the draws of a mechanism that simulates its releases, of which `look` may keep a part."""

    def made(leak: Fraction) -> Draw:
        mechanism = make(leak)
        if look is None:
            return mechanism.simulate
        return lambda value, count: look(mechanism.simulate(value, count))

    return made


def known(
    name: str,
    make: Callable[[Fraction], Mechanism],
    law: Callable[[float, Any], Law],
    neighbours: tuple[Any, Any],
    *,
    stated: int,
    look: Callable[[Any], Any] | None = None,
    samples: int = 1_000_000,
    margin: float = _INTEGRATED,
) -> AuditEntry:
    """Return the entry of a mechanism whose exact law is known: the claim is the exact curve of this pair.

    `law` computes it from epsilon and the published definition alone, never from the mechanism: a scale that is wrong
    there must not be right here. `make(leak)` is made for `leak` times the stated epsilon. `look` must map releases to
    what `law` has the chances of; `margin` raises the claim where the law is rounded.
    """

    def curve(leak: Fraction, deltas: tuple[float, ...]) -> Curve:
        epsilon = float(stated * leak)
        return exact_curve(law(epsilon, neighbours[0]), law(epsilon, neighbours[1]), deltas)

    honest = make(Fraction(1))
    least = float(honest.event.slack())  # nothing is stated at smaller deltas
    exact = curve(Fraction(1), (least, *(delta for delta in DELTAS if delta > least)))
    return AuditEntry(
        name=name,
        mechanism=type(honest),
        make=simulated(make, look),
        neighbours=neighbours,
        claimed=Curve(tuple((epsilon * margin, delta) for epsilon, delta in exact.points if epsilon > 0)),
        stated=stated,
        event=honest.event,
        loss=lambda leak: curve(leak, (least,)).points[0][0],
        build=make,
        look=look,
        samples=samples,
    )


def planted(entry: AuditEntry, fault: Fraction) -> Fraction:
    """Return how many times the epsilon makes the pair leak `fault` times what it should: the exact loss, if known."""
    if entry.loss is None:
        return fault
    aim = float(fault) * entry.loss(Fraction(1))
    low, high = Fraction(1), Fraction(1) + _STEP
    while entry.loss(high) < aim and high < _MOST_LEAK:
        low, high = high, high * _GROWTH
    while high - low > _STEP:
        middle = (low + high) / 2
        low, high = (low, middle) if entry.loss(middle) >= aim else (middle, high)
    return high


def judge(entry: AuditEntry, *, samples: int | None = None, fault: Fraction | None = None) -> Verdict:
    """Return the verdict on an entry, with as many releases as it asks for, or fewer, and its fault or a larger one."""
    size = entry.samples if samples is None else min(entry.samples, whole(samples, "samples", least=100, most=10**9))
    claimed = entry.claimed() if callable(entry.claimed) else entry.claimed
    honest, faulty = entry.make(Fraction(1)), entry.make(planted(entry, max(entry.fault, fault or entry.fault)))
    return Verdict(
        entry,
        audit(honest, entry.neighbours, claimed, size, batched=True),
        audit(faulty, entry.neighbours, claimed, size, batched=True),
        audit_bits(honest, claimed, min(size, 50_000), pairs=entry.pairs) if entry.pairs else None,
    )
