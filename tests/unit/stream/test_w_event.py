"""w-event privacy: what is spent in any window, how far one person moves a step, and which algorithm is chosen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.core.errors import BadParameter, BadValue, InvariantError, RequestError
from privet.ledger.memory import MemoryLedger
from privet.session import Session
from privet.stream import WEvent, WEventPlan, WEventStream, w_event
from privet.stream.w_event import PARTS, advance, cost_of, count_rows, first_state, noise_of
from privet.stream.w_event_rule import ALGORITHMS, Algorithm, choose


def make_plan(algorithm: Algorithm = "uniform", window: int = 4, **more: Any) -> WEventPlan:
    return WEventPlan(WEvent(epsilon=more.pop("epsilon", 1), window=window), algorithm=algorithm, **more)


def spent_of(plan: WEventPlan, stream: Iterator[list[int]] | list[list[int]]) -> list[Fraction]:
    state, spent = first_state(plan), []
    for counts in stream:
        state, release = advance(plan, state, counts)
        spent.append(release.epsilon)
    return spent


def largest_window(spent: list[Fraction], window: int) -> Fraction:
    return max(sum(spent[start : start + window], Fraction(0)) for start in range(len(spent)))


ADVERSARIES = {
    "constant": lambda t: 1000,
    "jumping": lambda t: 10**9 * (t % 2),
    "growing": lambda t: 4**t,
    "silent, then loud": lambda t: 0 if t < 20 else 10**12 * (t % 2),
    "bursts": lambda t: 10**12 if t % 7 in (0, 1) else 0,
    "once in a window": lambda t: 10**12 * (t % 5 == 0),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("stream", ADVERSARIES)
@pytest.mark.parametrize("window", [1, 2, 5, 13])
def test_no_window_spends_more_than_epsilon(algorithm: Algorithm, stream: str, window: int) -> None:
    plan = make_plan(algorithm, window, epsilon=Fraction(1, 3))
    spent = spent_of(plan, [[ADVERSARIES[stream](t)] for t in range(60)])
    assert largest_window(spent, window) <= Fraction(1, 3)


@pytest.mark.parametrize("algorithm", ["distribution", "absorption"])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_no_pattern_of_releases_spends_more_than_epsilon(
    algorithm: Algorithm, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(algorithm, window)
    largest = Fraction(0)
    for pattern in itertools.product((False, True), repeat=8):
        decisions = iter(pattern)
        monkeypatch.setattr(w_event, "_far", lambda *_: next(decisions))  # noqa: B023  # used up at once
        largest = max(largest, largest_window(spent_of(plan, [[0]] * len(pattern)), window))
    assert largest <= 1
    assert algorithm == "distribution" or largest == 1  # half of what is left is never all of it


def test_an_algorithm_that_offers_too_much_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(w_event.OFFERS, "uniform", lambda plan, state: 2 * PARTS + 1)
    plan = make_plan("uniform", 3)
    state = first_state(plan)
    for _ in range(2):
        state, _ = advance(plan, state, [5])
    with pytest.raises(InvariantError):
        advance(plan, state, [5])


def test_uniform_and_sample_spend_all_that_there_is() -> None:
    assert spent_of(make_plan("uniform", 4), [[9]] * 6) == [Fraction(1, 4)] * 6
    assert spent_of(make_plan("sample", 4), [[9]] * 6) == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("algorithm", ["distribution", "absorption"])
def test_steps_that_repeat_a_release_pay_for_their_comparison(algorithm: Algorithm) -> None:
    # an epsilon at which noise is far below 1: the first step is measured, and the others are near it
    plan = make_plan(algorithm, 10, epsilon=10**6)
    stream = WEventStream(epsilon=10**6, window=10, algorithm=algorithm)
    releases = stream.extend([[1000]] * 9)
    assert releases[0].fresh
    assert not any(one.fresh for one in releases[1:])
    assert all(one.epsilon == cost_of(plan, PARTS) > 0 for one in releases[1:])


def test_absorption_skips_the_steps_whose_parts_a_release_took() -> None:
    stream = WEventStream(epsilon=10**7, window=8, algorithm="absorption")
    counts = [0, 0, 0, 500, 900, 900, 900, 100, 100]
    releases = stream.extend([[one] for one in counts])
    # three quiet steps leave four parts to the fourth, and steps five to seven have none of their own
    assert [one.fresh for one in releases] == [False, False, False, True, False, False, False, True, False]
    assert releases[3].parts == 4 * PARTS
    assert all(one.epsilon == cost_of(stream.plan, PARTS) for one in releases[4:7])
    assert [one.values for one in releases[4:7]] == [(500,)] * 3


def test_distribution_spends_half_of_what_is_left_each_time() -> None:
    stream = WEventStream(epsilon=10**8, window=5, algorithm="distribution")
    releases = stream.extend([[10**6 * (t % 2 + 1)] for t in range(5)])
    assert [one.parts for one in releases] == [5 * PARTS // 2**k for k in range(1, 6)]


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("contribution", [1, 2])
def test_a_person_moves_counts_and_comparisons_by_no_more_than_is_claimed(
    neighbors: Any, cells: int, contribution: int
) -> None:
    plan = make_plan(cells=cells, contribution=contribution, neighbors=neighbors)
    mine = [one for one in itertools.product(range(contribution + 1), repeat=cells) if sum(one) <= contribution]
    others = [(0,) * cells] if neighbors == "add-remove" else mine
    moved, compared = 0, 0
    released = list(itertools.product((-2, 1, 3, 5), repeat=cells))
    for here, there in itertools.product(mine, others):
        counts, changed = [2 + one for one in here], [2 + one for one in there]
        moved = max(moved, sum(abs(a - b) for a, b in zip(counts, changed, strict=True)))
        for last in released:
            first, second = (sum(abs(a - b) for a, b in zip(one, last, strict=True)) for one in (counts, changed))
            compared = max(compared, abs(first - second))
    assert moved == plan.sensitivity
    assert compared == plan.sensitivity


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("parts", [1, PARTS, 2 * PARTS, 3 * PARTS // 7])
def test_what_noise_costs_is_what_is_written_down(algorithm: Algorithm, parts: int) -> None:
    plan = make_plan(algorithm, 5, cells=2, contribution=3, neighbors="change-one")
    assert noise_of(plan, parts).event.pure() == cost_of(plan, parts)
    assert cost_of(plan, plan.most_parts) == plan.promise.epsilon


def law_of(plan: WEventPlan, stream: list[int], reach: int) -> dict[tuple[int | None, ...], float]:
    """Return the probability of each sequence of releases, None for a repeated one, worked out by hand for one cell."""
    mass: dict[tuple[int | None, ...], float] = {(): 1.0}
    for step, count in enumerate(stream):
        after: dict[tuple[int | None, ...], float] = {}
        for seen, before in mass.items():
            state = state_after(plan, seen)
            offered = w_event.OFFERS[plan.algorithm](plan, state)
            if not offered:
                after[*seen, None] = after.get((*seen, None), 0) + before
                continue
            scale = float(plan.sensitivity / cost_of(plan, offered))
            publish = 1.0
            if plan.compares:
                bar = math.floor(plan.sensitivity / cost_of(plan, offered))
                publish = above(bar - abs(count - state.values[0]), float(plan.comparison.scale))
            after[*seen, None] = after.get((*seen, None), 0) + before * (1 - publish)
            for value in range(-reach, reach + 1):
                after[*seen, value] = before * publish * pmf(value - count, scale)
        mass = after
        assert step < 3
    return mass


def state_after(plan: WEventPlan, seen: tuple[int | None, ...]) -> w_event.WEventState:
    state = first_state(plan)
    for step, value in enumerate(seen, 1):
        offered = w_event.OFFERS[plan.algorithm](plan, state)
        spent = (PARTS if plan.compares else 0) + (0 if value is None else offered)
        kept = (*state.spent, spent)[-(plan.promise.window - 1) :] if plan.promise.window > 1 else ()
        if value is None:
            state = w_event.WEventState(step, state.values, state.measured, state.parts, kept)
        else:
            state = w_event.WEventState(step, (value,), step, offered, kept)
    return state


def pmf(k: int, scale: float) -> float:
    return math.tanh(1 / (2 * scale)) * math.exp(-abs(k) / scale)


def above(k: int, scale: float) -> float:
    """Return P[noise > k]."""
    ratio = math.exp(-1 / scale)
    return ratio ** (k + 1) / (1 + ratio) if k >= 0 else 1 - ratio ** (-k) / (1 + ratio)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_exact_law_of_a_short_stream_keeps_the_promise(algorithm: Algorithm) -> None:
    plan = make_plan(algorithm, 2, epsilon=4)
    worst = 0.0
    for first, second in (
        [(3, 3, 3), (3, 4, 4)],
        [(3, 3, 3), (4, 4, 3)],
        [(0, 6, 0), (0, 5, 1)],
        [(1, 1, 5), (1, 2, 5)],
    ):
        p, q = law_of(plan, list(first), 12), law_of(plan, list(second), 12)
        assert p.keys() == q.keys()
        assert min(p.values()) > 0 or all((p[one] > 0) == (q[one] > 0) for one in p)
        worst = max(worst, max(abs(math.log(p[one] / q[one])) for one in p if p[one] > 0))
    assert 3 < worst <= 4 + 1e-9


@pytest.mark.parametrize("algorithm", ["distribution", "absorption"])
def test_steps_are_drawn_by_that_law(algorithm: Algorithm) -> None:
    plan, stream, times = make_plan(algorithm, 2, epsilon=4), [2, 5], 4000
    law: dict[tuple[bool, ...], float] = {}
    for seen, mass in law_of(plan, stream, 60).items():
        pattern = tuple(one is not None for one in seen)
        law[pattern] = law.get(pattern, 0) + mass
    found = dict.fromkeys(law, 0)
    for _ in range(times):
        state, pattern = first_state(plan), []
        for count in stream:
            state, release = advance(plan, state, [count])
            pattern.append(release.fresh)
        found[tuple(pattern)] += 1
    for pattern, mass in law.items():
        # Bernstein: P[|X - n p| > t] <= 2 exp(-t^2 / (2 n p q + 2 t / 3)), below 1e-7 for each of 8 patterns
        far = math.log(2e7)
        bound = math.sqrt(2 * far * times * mass * (1 - mass)) + 2 * far / 3 + 1
        assert abs(found[pattern] - times * mass) <= bound


def test_counts_of_all_cells_are_released_together() -> None:
    stream = WEventStream(epsilon=10**6, window=3, cells=["a", "b", "c"], algorithm="absorption")
    release = stream.step([10**6, 20, 3])
    assert release.to_dict()["values"] == {"a": 10**6, "b": 20, "c": 3}
    assert str(stream.step([10**6, 20, 3])) == "step 2: a 1,000,000, b 20, c 3 (as of step 1)"


@pytest.mark.parametrize("rows", [*list(itertools.product([1, 2, "1"], ["a", "b"], repeat=2)), (1, "a", 1, "b")])
def test_removing_a_person_leaves_the_rows_of_others(rows: tuple[Any, ...]) -> None:
    plan = make_plan(cells=["a", "b"], contribution=1)
    pairs = [(rows[0], rows[1]), (rows[2], rows[3]), (rows[0], rows[1])]
    whole = count_rows(plan, pairs)
    for person in {(type(one), one) for one, _ in pairs}:
        rest = [pair for pair in pairs if (type(pair[0]), pair[0]) != person]
        less = count_rows(plan, rest)
        assert sum(abs(a - b) for a, b in zip(whole, less, strict=True)) == 1


def test_rows_of_other_cells_take_nobody_s_place() -> None:
    plan = make_plan(cells=["a", "b"], contribution=2)
    assert count_rows(plan, [("x", "z"), ("x", None), ("x", 7), ("x", "a"), ("x", 1), ("x", "a")]) == [1, 1]  # type: ignore[list-item]


@pytest.mark.parametrize(
    "counts",
    [1.5, [1.0], [1, 2], [], True, [True], "1", None, [[1]], float("nan"), {"a": 1}, np.array([1.0]), object()],
)
def test_counts_that_are_none_are_refused_without_a_step(counts: Any) -> None:
    stream = WEventStream(epsilon=1, window=2)
    with pytest.raises(BadValue) as refused:
        stream.step(counts)
    assert "counts must be" in str(refused.value)
    assert "1.5" not in str(refused.value)
    assert stream.state == first_state(stream.plan)


@pytest.mark.parametrize(
    "rows", [None, 5, [1], [("x",)], [(1.0, "count")], [(True, "count")], [(None, "count")], [("x", "count", 1)]]
)
def test_rows_that_are_none_are_refused_without_a_step(rows: Any) -> None:
    stream = WEventStream(epsilon=1, window=2)
    with pytest.raises(BadValue):
        stream.step_rows(rows)
    assert stream.state.step == 0


def test_a_step_holds_its_counts_to_bounds_itself() -> None:
    plan = make_plan(cells=3)
    _, release = advance(plan, first_state(plan), [10**30, -5, 7], [1, 2, 3])
    assert release.values == (2**53 + 1, 2, 10)


def test_noise_that_was_drawn_for_another_step_is_no_noise() -> None:
    plan = make_plan(cells=3)
    with pytest.raises(InvariantError, match="another"):
        advance(plan, first_state(plan), [1, 2, 3], [1, 2])


def test_counts_beyond_every_table_are_held_to_bounds() -> None:
    plan = make_plan()
    assert w_event.read_counts(plan, 10**30) == [2**53]
    assert w_event.read_counts(plan, -5) == [0]
    assert w_event.read_counts(plan, np.array([7], dtype=np.uint64)) == [7]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"epsilon": True},
        {"window": 0},
        {"window": 2.0},
        {"window": 10**9},
        {"cells": 0},
        {"cells": []},
        {"cells": ["a", "a"]},
        {"cells": "ab"},
        {"cells": [1]},
        {"contribution": 0},
        {"neighbors": "both"},
        {"algorithm": "best"},
        {"change": -1},
        {"change": "2"},
        {"every": 0},
    ],
)
def test_a_stream_that_makes_no_sense_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter) as refused:
        WEventStream(**{"epsilon": 1, "window": 4, **wrong})
    assert refused.value.parameter == next(iter(wrong))


def test_a_promise_about_windows_is_no_budget() -> None:
    promise: Any = WEvent(epsilon=1, window=7)
    with pytest.raises(RequestError):
        MemoryLedger(promise)
    with pytest.raises(RequestError):
        Session({}, budget=promise)
    assert promise.over(7) == 1
    assert promise.over(8) == 2
    assert promise.over(70) == 10


def test_the_rule_looks_at_declared_facts_only() -> None:
    # the three streams of the table that the algorithms are compared in: each gets the best of its row
    cases = [(Fraction(8, 5), 1, "sample"), (333, 80, "sample"), (113, 1, "uniform")]
    for change, every, best in cases:
        assert choose(scale=Fraction(1), window=20, cells=1, change=change, every=every).algorithm == best
    assert choose(scale=Fraction(1), window=20, cells=1).algorithm == "uniform"
    assert choose(scale=Fraction(1), window=100, cells=30, change=20).algorithm == "absorption"
    assert choose(scale=Fraction(1), window=100, cells=1000, change=10).algorithm == "distribution"
    for one in ALGORITHMS:
        assert choose(scale=Fraction(1), window=20, cells=1, algorithm=one, change=3).algorithm == one


def test_a_plan_says_what_was_chosen_and_why() -> None:
    told = WEventPlan(WEvent(epsilon=1, window=20), change=1).explain()
    assert "any 20 consecutive steps" in told
    assert "sample: the least predicted error" in told
    assert "absorption:" in told
    assert "no change= was declared" in WEventPlan(WEvent(epsilon=1, window=20)).explain()


@pytest.mark.parametrize("window", [1, 2, 300, 10**5])
@pytest.mark.parametrize("change", [0, 1e-300, 1, 1e300])
def test_predictions_are_numbers_for_any_declared_facts(window: int, change: float) -> None:
    for cells, every, scale in ((1, 1, 1), (10**6, 10**9, 1), (1, 1, 10**300), (2, 3, Fraction(1, 10**300))):
        chosen = choose(scale=Fraction(scale), window=window, cells=cells, change=change, every=every)
        assert all(math.isfinite(one) and one > 0 for one in chosen.predicted.values())


def test_an_interval_is_of_the_step_that_was_measured() -> None:
    stream = WEventStream(epsilon=1, window=4, algorithm="sample")
    first, second = stream.extend([[1000], [5000]])
    assert first.interval() == second.interval()
    assert second.measured == 1
    assert not second.fresh
    assert second.distance() is None
    wide, narrow = first.interval(0.99), first.interval(0.5)
    assert wide[0] < narrow[0]
    assert narrow[1] < wide[1]
    quiet = WEventStream(epsilon=1e-9, window=4, algorithm="absorption").step(1)
    assert quiet.fresh or quiet.interval() == ((-math.inf,), (math.inf,))


def test_a_comparison_bounds_how_far_a_repeated_release_is_off() -> None:
    missed = 0
    for _ in range(40):
        stream = WEventStream(epsilon=5, window=5, cells=2, algorithm="distribution")
        for t in range(20):
            counts = [50 + 3 * t, 10]
            release = stream.step(counts)
            bound = release.distance(1 - 1e-10)
            off = sum(abs(a - b) for a, b in zip(counts, release.values, strict=True))
            missed += bound is not None and off > bound  # 800 times 1e-10 at most
    assert missed == 0
