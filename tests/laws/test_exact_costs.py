"""No stated cost is below the truth: random events at ordinary and extreme scales against exact enumeration.

`PRIVET_SOAK` says how many more events are tried than the fixed few; `PRIVET_SOAK_FIRST` where their seeds start.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf

from privet.accounting import cost
from privet.accounting.amplify import Sampled
from privet.accounting.compose import Parallel
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.accounting.groups import Group
from privet.accounting.pld import bounds as pld
from privet.core.errors import RequestError
from privet.core.event import Composed, Event, NoPair, Repeated
from privet.ledger.codec import EVENTS
from privet.mechanisms import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    FiniteEvent,
    GaussianEvent,
    LaplaceEvent,
    ResponseEvent,
)

sys.path.insert(0, str(Path(__file__).parent))

from exact_events import MAKERS, Laws, hockey_stick, largest_loss, renyi

F = Fraction
SOAK = int(os.environ.get("PRIVET_SOAK", "0") or 0)
FIRST = int(os.environ.get("PRIVET_SOAK_FIRST", "0") or 0)
FEW = 88  # eleven kinds of events in eight frames
ORDERS = (1 + 2.0**-20, 1.01, 1.5, 2.0, 3.7, 16.0, 90.0)


def around(rng: random.Random, *, extreme: bool) -> Fraction:
    """Return a positive rational: of ordinary size, or very large or small."""
    exponent = rng.uniform(-25, 25) if extreme else rng.uniform(-3, 2)
    mantissa = rng.choice([1, rng.randint(1, 99), rng.random() + 0.5])
    return F(mantissa) * F(10) ** round(exponent) if extreme else F(mantissa * 10.0**exponent)


def a_distribution(rng: random.Random, outcomes: int, *, zeros: bool) -> list[Fraction]:
    weights = [rng.choice([1, rng.randint(1, 9), rng.randint(1, 10**6)]) for _ in range(outcomes)]
    if zeros and rng.random() < 0.3:
        weights[rng.randrange(outcomes)] = 0
    return [F(weight, sum(weights)) for weight in weights]


def a_finite_pair(rng: random.Random) -> FinitePairEvent:
    outcomes = rng.randint(2, 4)
    p, q = (tuple(a_distribution(rng, outcomes, zeros=True)) for _ in range(2))
    return FinitePairEvent(p, q)


def simple_kinds(rng: random.Random, *, extreme: bool) -> list[Callable[[], Event]]:
    """Return a maker of each kind of event that is not made of others."""

    def size() -> Fraction:
        return around(rng, extreme=extreme)

    def small() -> Fraction:
        return F(1, rng.choice([3, 100, 10**6, 10**9, 10**30]))

    def variance() -> Fraction:
        below_a_step = F(10) ** -rng.randint(3, 17) * rng.randint(1, 9)
        return size() if extreme else rng.choice([size(), F(rng.uniform(0.01, 1)), below_a_step])

    return [
        lambda: PureEvent(size()),
        lambda: ApproximateEvent(size(), small()),
        lambda: ZcdpEvent(size()),
        lambda: a_finite_pair(rng),
        lambda: FiniteEvent(tuple(a_finite_pair(rng) for _ in range(rng.randint(1, 2)))),
        lambda: LaplaceEvent(sensitivity=size(), scale=size()),
        lambda: DiscreteLaplaceEvent(steps=rng.choice([1, 2, rng.randint(1, 40), 10**6]), scale=size()),
        lambda: GaussianEvent(sensitivity_squared=size(), sigma_squared=size()),
        lambda: DiscreteGaussianEvent(
            steps=rng.choice([1, 2, rng.randint(1, 30)]), sigma_squared=min(variance(), F(100))
        ),
        lambda: ExponentialEvent(epsilon=size()),
        lambda: ResponseEvent(p=rng.choice([F(rng.random()), small(), 1 - small()]), categories=rng.choice([2, 3, 50])),
    ]


def frames(rng: random.Random, one: Event, others: Callable[[], Event]) -> list[Callable[[], Event]]:
    """Return the ways in which an event may stand by itself or within another."""
    rates = [F(1, 2), F(rng.random()), F(1, 10**6), F(999, 1000), F(1), 1 - F(1, 10**20)]
    return [
        lambda: one,
        lambda: Sampled(one, rng.choice(rates)),
        lambda: Composed((one, others())),
        lambda: Composed((one, Sampled(others(), rng.choice(rates)))),
        lambda: Repeated(one, rng.choice([1, 2, 3, 7])),
        lambda: Group(one, rng.choice([1, 2, 3])),
        lambda: Parallel((one, others(), others()), rng.choice(["add-remove", "change-one"])),
        lambda: ThresholdEvent(one, F(1, rng.choice([10, 10**6, 10**100]))),
    ]


def an_event(seed: int, rng: random.Random, *, extreme: bool) -> Event:
    """Return the event of a seed: each kind in each frame in turn, and now and then a frame within a frame."""
    kinds = simple_kinds(rng, extreme=extreme)

    def others() -> Event:
        return rng.choice(kinds)()

    while True:
        one = kinds[seed % len(kinds)]()
        try:
            if rng.random() < 0.25:
                one = rng.choice(frames(rng, one, others))()
            within = frames(rng, one, others)
            return within[seed // len(kinds) % len(within)]()
        except RequestError:  # a group of what has slack and no pure epsilon, and the like
            continue


def epsilons_of(rng: random.Random, event: Event) -> list[float]:
    """Return epsilons at which an event's curve may be asked: ordinary ones, and ones close to its largest loss."""
    pure, rho = event.pure(), event.rho()
    ends = [float(cost) for cost in (pure, rho) if cost != math.inf and cost < F(10) ** 300]
    found = [0.0, rng.random(), 10 ** rng.uniform(-6, 3)]
    for end in ends:
        found += [end * part for part in (rng.random(), 1 - 2.0**-50, 1 - 1e-9, 0.5, 1.0, 1 + 1e-9)]
    finite = [value for value in found if math.isfinite(value)]
    return rng.sample(finite, min(3, len(finite)))


def check(seed: int, *, extreme: bool) -> Counter[str]:
    """Hold one random event's costs against its enumerated laws, and return how many comparisons were made."""
    rng = random.Random(seed)
    event = an_event(seed, rng, extreme=extreme)
    mp.dps = 300 if extreme else 120
    certain, spare = 1 - mpf(10) ** -40, mpf(10) ** (60 - mp.dps)  # what the enumeration's own digits may be off by
    epsilons = epsilons_of(rng, event)
    laws = Laws(rng, epsilons).of(event)
    both = rng.random() < 0.3  # what composes loss distributions takes the most time, and is asked by `cost` already
    stated_deltas = {epsilon: deltas_of(event, epsilon, both=both) for epsilon in epsilons}
    done: Counter[str] = Counter(type(event).__name__ for _ in range(1))
    slack, pure, rho = event.slack(), event.pure(), event.rho()

    def note(what: str) -> str:
        return f"seed {seed}, {'extreme' if extreme else 'ordinary'}: {what} of {event!r} is below the truth"

    for law in laws:
        if pure != math.inf and slack == 0:
            assert mpf(F(pure).numerator) / F(pure).denominator >= largest_loss(law) * certain, note("pure")
            done["pure"] += 1
        for order in rng.sample(ORDERS, 3) if slack == 0 else ():
            true = renyi(law, order) * certain - spare
            assert event.rdp(order) >= true, note(f"rdp({order})")
            assert rho == math.inf or mpf(F(rho).numerator) / F(rho).denominator * order >= true, note("rho")
            done["rdp"] += 1
        for epsilon, claims in stated_deltas.items():
            true = hockey_stick(law, epsilon) * certain - spare
            for name, stated in claims:
                assert stated >= true, f"{note(name)}: {stated} at {epsilon!r}, {mp.nstr(true, 20)} in truth"
                done[name] += 1
    for delta in (10 ** -rng.uniform(0.1, 15), 10 ** -rng.uniform(1, 100)):
        for name, stated in epsilons_stated(event, delta, both=both):
            if stated > 1e300:
                continue
            true = max(hockey_stick(law, stated) for law in laws) * certain - spare
            assert true <= mpf(delta), f"{note(name)}: {stated} at {delta!r}, where delta is {mp.nstr(true, 20)}"
            done[name] += 1
    return done


def deltas_of(event: Event, epsilon: float, *, both: bool) -> list[tuple[str, float]]:
    found = [("delta", cost.delta(event, epsilon))]
    with contextlib.suppress(NoPair):
        if both:
            found.append(("pld_delta", pld.pld_delta(event, epsilon)))
        if len(event.atoms()) == 1 and list(event.atoms().values()) == [1]:
            pair = next(iter(event.atoms())).pair()
            at = np.array([epsilon])
            found.append(("pair", float(max(pair.forward(at)[0], pair.backward(at)[0]))))
    return found


def epsilons_stated(event: Event, delta: float, *, both: bool) -> list[tuple[str, float]]:
    found = [("epsilon", cost.epsilon(event, delta))]
    with contextlib.suppress(NoPair):
        if both:
            found.append(("pld_epsilon", pld.pld_epsilon(event, delta)))
    return found


def test_every_event_of_the_ledger_is_enumerated() -> None:
    assert set(MAKERS) == {wire.kind for wire in EVENTS.values()}


@pytest.mark.parametrize("extreme", [False, True], ids=["ordinary", "extreme"])
def test_no_stated_cost_is_below_what_enumeration_finds(extreme: bool) -> None:
    done: Counter[str] = Counter()
    for seed in range(0, FEW, 3 if extreme else 1):
        done += check(seed, extreme=extreme)
    assert all(done[name] >= FEW / 20 for name in ("pure", "rdp", "delta", "pld_delta", "epsilon", "pld_epsilon"))


@pytest.mark.skipif(not SOAK, reason="the long version: PRIVET_SOAK=1000 says how many events of each sort")
@pytest.mark.parametrize("extreme", [False, True], ids=["ordinary", "extreme"])
def test_no_stated_cost_is_below_what_enumeration_finds_at_length(extreme: bool) -> None:
    done: Counter[str] = Counter()
    for seed in range(FIRST + FEW, FIRST + FEW + SOAK):
        done += check(seed, extreme=extreme)
    print(f"\n{SOAK} {'extreme' if extreme else 'ordinary'} events:", dict(sorted(done.items())))
