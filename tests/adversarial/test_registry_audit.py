"""Every mechanism that is registered has an audit, which lets it stand and catches a fault planted in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from privet import local
from privet.accounting import epsilon
from privet.audit import Curve, audit
from privet.audit.entry import AuditEntry, judge
from privet.audit.registry import AUDITS
from privet.audit.registry.local_reports import LOCAL_REPORTS
from privet.audit.registry.streamed_sums import STREAMS
from privet.mechanisms import MECHANISMS, Gaussian, Laplace
from privet.stream import BufferedSums, RootSums, TreeSums, WEventPlan

QUICK, LARGER = 5, Fraction(2)
"""A fifth of the releases, and a fault that they catch far more surely than all of them catch one of a tenth."""

SESSIONS = [entry for entry in AUDITS if callable(entry.claimed)]
EXACT = [entry for entry in AUDITS if isinstance(entry.claimed, Curve)]


def test_every_registered_mechanism_is_audited() -> None:
    assert {entry.mechanism for entry in AUDITS} >= set(MECHANISMS)


def test_every_mechanism_of_streams_is_audited() -> None:
    assert {entry.mechanism for entry in STREAMS} == {TreeSums, RootSums, BufferedSums, WEventPlan}
    assert {entry.name for entry in STREAMS} <= {entry.name for entry in AUDITS}


def test_names_of_audits_differ() -> None:
    assert len({entry.name for entry in AUDITS}) == len(AUDITS)


@pytest.mark.parametrize("entry", EXACT, ids=lambda entry: entry.name)
def test_the_exact_loss_of_a_pair_is_within_what_the_mechanism_states(entry: AuditEntry) -> None:
    assert isinstance(entry.claimed, Curve)
    assert entry.event is not None
    assert entry.claimed.points
    for exact, delta in entry.claimed.points:
        stated = epsilon(entry.event, delta) if delta else float(entry.event.pure())
        assert 0 < exact <= stated * 1.0101


@pytest.mark.parametrize("entry", SESSIONS, ids=lambda entry: entry.name)
def test_the_exact_loss_of_an_answer_is_within_what_its_plan_costs(entry: AuditEntry) -> None:
    assert callable(entry.claimed)
    assert entry.stated is not None
    assert all(0 < exact <= entry.stated for exact, _ in entry.claimed().points)


MORE = Fraction(10, 9)
"""What a rate becomes where a scale is a tenth too small."""


MANY = 1_000_000
"""As many samples has a mechanism whose releases are drawn together."""


def faster(name: str) -> Callable[[Any], None]:
    """Return what makes a rate too large by the reciprocal of nine tenths."""
    return lambda made: object.__setattr__(made, name, getattr(made, name) * MORE)


def narrower(*names: str) -> Callable[[Any], None]:
    """Return what makes scales, or the squares of scales, a tenth too small."""

    def narrow(made: Any) -> None:
        for name in names:
            power = 2 if name.endswith("squared") else 1
            object.__setattr__(made, name, getattr(made, name) / MORE**power)

    return narrow


def inside(name: str, broken: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return what breaks the noise that a mechanism holds by a name."""
    return lambda made: broken(getattr(made, name))


def smoother(made: Any) -> None:
    """Widen alpha, so that the scale that it divides is a tenth too small."""
    smooth = getattr(made, "smooth", made)
    alpha, beta = smooth.alpha, smooth.beta
    smooth.__dict__["_split"] = (alpha * MORE, beta)


NARROWED: dict[str, Callable[[Any], None]] = {
    "Laplace, whole numbers": narrower("scale"),
    "Laplace, reals": narrower("scale"),
    "Laplace, vectors": narrower("scale"),
    "Gaussian, reals": narrower("sigma_squared"),
    "Gaussian, vectors": narrower("sigma_squared"),
    "Gaussian, whole numbers": narrower("sigma_squared"),
    "Exponential": faster("rate"),
    "Permute and flip": faster("rate"),
    "Noisy maximum, Laplace": faster("rate"),
    "Noisy maximum, Gumbel": faster("rate"),
    "Top k": faster("rate"),
    "Top k with gaps": faster("rate"),
    "Above threshold": narrower("threshold_scale", "query_scale"),
    "Above threshold, gaps": narrower("threshold_scale", "query_scale"),
    "Sparse vector": narrower("threshold_scale", "query_scale"),
    "Sparse vector, measured": narrower("threshold_scale", "query_scale"),
    "Keys, Laplace threshold": inside("noise", narrower("scale")),
    "Keys, Gaussian threshold": inside("noise", narrower("sigma_squared")),
    "Quantile": faster("rate"),
    "Quantile, least": faster("rate"),
    "Quantiles, recursive": faster("level_epsilon"),
    "Quantiles, jointly": faster("kappa"),
    "Interval of a quantile": faster("rate"),
    "Sample and aggregate": inside("aggregate", faster("rate")),
    "Smooth sensitivity, sliding": smoother,
    "Average": inside("laplace", narrower("scale")),
    "Propose, test, release": inside("laplace", narrower("scale")),
    "Partition tree": narrower("scale", "count_scale"),
    "Tulap": faster("_rate"),
    "Tulap, truncated": faster("_rate"),
    "Multiplicative weights": lambda made: (faster("rate")(made.chooser), narrower("scale")(made.counter))[0],
}
"""Scales of mechanisms that draw noise. The others (tables of probabilities, the optimal rule) have none."""


@pytest.mark.parametrize("entry", [entry for entry in AUDITS if entry.name in NARROWED], ids=lambda entry: entry.name)
def test_a_scale_that_is_too_small_by_a_tenth_or_by_a_quarter_if_slow_is_refuted(entry: AuditEntry) -> None:
    assert entry.build is not None
    made = entry.build(Fraction(1))
    fast = entry.samples >= MANY
    for _ in range(1 if fast else 3):  # what is drawn one by one has fewer samples, and 0.73 of its scale
        NARROWED[entry.name](made)
    look = entry.look or (lambda rows: rows)
    number = entry.samples if fast else entry.samples // QUICK
    check_refuted(lambda value, count: look(made.simulate(value, count)), entry.neighbours, entry.claimed, number)


def check_refuted(draw: Callable[[Any, int], Any], neighbours: Any, claimed: Any, samples: int) -> None:
    """Fail unless one of eight audits refutes a claim.

    An event that is chosen by a part of the releases is an unlucky one now and then, once in ten times at most; a claim
    that is true is refuted by none of eight but once in 100,000 times.
    """
    for _ in range(8):
        report = audit(draw, neighbours, claimed, samples, batched=True)
        if report.refuted:
            return
    pytest.fail(str(report))


def test_every_mechanism_that_draws_noise_is_narrowed() -> None:
    without = {"Randomized response", "Randomized response of 5", "Finite mechanism", "Keys, optimal rule"}
    without |= {"Smooth sensitivity", "Smooth quantile"}  # pairs whose scales differ, by as much if both are too small
    without |= {entry.name for entry in STREAMS}  # many streams at once, whose planted fault is their epsilon
    without |= {entry.name for entry in LOCAL_REPORTS}  # tables of probabilities, whose planted fault is their epsilon
    assert set(NARROWED) | without == {entry.name for entry in AUDITS if not callable(entry.claimed)}


def test_every_local_oracle_is_audited() -> None:
    oracles = {one for name in local.__all__ if inspect.isclass(one := getattr(local, name))}
    wanted = {one for one in oracles if issubclass(one, local.Randomizer) and not inspect.isabstract(one)}
    assert wanted == {entry.mechanism for entry in LOCAL_REPORTS}


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        ("Session, COUNT", Laplace),
        ("Session, AVG", Laplace),
        ("Session, batch", Laplace),
        ("Session, people by rows", Laplace),
        ("Session, join", Laplace),
        ("Session, found groups", Gaussian),
    ],
)
def test_an_answer_whose_noise_is_a_tenth_too_narrow_is_refuted(
    name: str, noise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = [entry for entry in AUDITS if entry.name == name]
    assert callable(entry.claimed)
    real, less = noise._noisy, MORE if noise is Laplace else MORE**2
    monkeypatch.setattr(noise, "_noisy", lambda self, numbers, at, width: real(self, numbers, at, width / less))
    check_refuted(entry.make(Fraction(1)), entry.neighbours, entry.claimed(), min(entry.samples, 100_000))


@pytest.mark.parametrize("entry", AUDITS, ids=lambda entry: entry.name)
def test_a_mechanism_stands_and_the_fault_planted_in_it_is_caught(entry: AuditEntry) -> None:
    verdict = judge(entry, samples=entry.samples // QUICK, fault=LARGER)
    assert not verdict.report.refuted, str(verdict.report)
    assert verdict.bits is None or not verdict.bits.refuted, str(verdict.bits)
    assert verdict.planted.refuted, str(verdict.planted)
    assert verdict.stands
