"""Half-widths from a ladder: exact coverage and loss by enumeration, what is drawn, what may be lumped, refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from privet.core.errors import InvariantError, RequestError
from privet.core.scan import Near
from privet.mechanisms import rank_ladder
from privet.mechanisms.rank_ladder import OUTWEIGHED, QuantileLadder, sway_of

HALF, TENTH, TWENTIETH = Fraction(1, 2), Fraction(1, 10), Fraction(1, 20)
FALSE_ALARMS = 5.7


def ladder(
    share: Any = HALF, *, last: int = 4, rate: Fraction = HALF, alpha: Fraction = TWENTIETH, **facts: Any
) -> Any:
    shares = share if isinstance(share, tuple) else (share,)
    return QuantileLadder(shares, last, Fraction(1), rate, alpha, **facts)


def offs(draw: QuantileLadder, weights: Any, values: Any) -> list[Fraction]:
    """How far off each rung is that may be chosen, from the definition, for weights at all places."""
    total, found, before = sum(weights), [], -math.inf
    slack = Fraction(draw.slack, draw.unit)
    radii = draw.radii(np.array([values], dtype=np.int64).T)[:, 0, :].tolist()
    for rung in range(len(draw.weights)):
        sides = []
        for share, value, wide in zip(draw.shares, values, radii, strict=True):
            place, root = value >> draw.digits, Fraction(draw.root(share, total), draw.unit)
            low, high = place - wide[rung], place + wide[rung]
            sides += [share * total - root - sum(weights[:low])] if low > 0 else []
            sides += [sum(weights[: high + 1]) - share * total - root] if high < draw.last else []
        clears = min(sides, default=math.inf)
        found.append(Fraction(min(draw.reach, max(0, slack - clears, before - slack))))
        if not sides:
            return found
        before = clears
    raise AssertionError("the last rung does not reach both bounds")


def law(draw: QuantileLadder, weights: Any, values: Any) -> list[float]:
    raw = [
        weight * math.exp(-float(draw.rate) * float(off))
        for weight, off in zip(draw.weights, offs(draw, weights, values), strict=False)
    ]
    return [one / sum(raw) for one in raw]


def right_places(weights: Any, share: Fraction) -> list[int]:
    aim = share * sum(weights)
    return [at for at in range(len(weights)) if sum(weights[:at]) <= aim <= sum(weights[: at + 1])]


def misses(draw: QuantileLadder, weights: Any, values: Any, more: int = 0) -> float:
    """The probability that some interval does not hold every right place of its quantile, some rungs wider."""
    radii = draw.radii(np.array([values], dtype=np.int64).T)[:, 0, :]
    missed = 0.0
    for rung, chance in enumerate(law(draw, weights, values)):
        wide = radii[:, min(rung + more, len(draw.weights) - 1)].tolist()
        held = all(
            value - own <= min(right) and max(right) <= value + own
            for share, value, own in zip(draw.shares, values, wide, strict=True)
            if (right := right_places(weights, share))
        )
        missed += 0.0 if held else chance
    return missed


SMALL = [weights for size in range(6) for weights in product(range(4), repeat=size + 1)][::13]


@pytest.mark.parametrize("share", [HALF, TENTH, Fraction(2, 3)])
@pytest.mark.parametrize(
    ("rate", "alpha"), [(HALF, TWENTIETH), (Fraction(2), TWENTIETH), (Fraction(9), Fraction(1, 3))]
)
def test_an_interval_misses_no_more_often_than_alpha_whatever_the_data_and_the_value(share, rate, alpha):
    for weights in SMALL:
        for times in (1, 5):
            heavy = [times * weight for weight in weights]
            draw = ladder(share, last=len(weights) - 1, rate=rate, alpha=alpha)
            for value in range(len(weights)):
                assert misses(draw, heavy, (value,)) <= float(alpha) * (1 + 1e-9)


def test_half_of_all_rows_at_each_of_two_places_make_it_miss_exactly_as_often_as_alpha():
    # the first rung that clears is followed by none, and all smaller ones are off by the slack alone
    draw = ladder(last=1024, rate=Fraction(1, 8), alpha=TWENTIETH)
    exact = replace(draw, alpha=1 / (1 + Fraction(math.exp(draw.slack / draw.unit * float(draw.rate))) / 3))
    assert abs(exact.slack - draw.slack) <= 1
    worst = 0.0
    for far in (1, 3, 11, 45, 90, 181, 256, 511):
        weights = [0] * 1025
        weights[512 - far] = weights[512 + far] = 4000
        worst = max(worst, misses(draw, weights, (512,)))
    assert worst <= float(TWENTIETH)
    assert worst >= 0.93 * float(exact.alpha)


@pytest.mark.parametrize("more", [1, 2, 5, 9])
def test_wider_by_some_rungs_it_misses_no_more_often_than_is_told(more):
    alpha = Fraction(1, 4)
    for last in (4, 30):
        draw = ladder(last=last, rate=Fraction(1, 4), alpha=alpha)
        told = next(tail for tail in np.linspace(1e-6, 0.3, 3001) if draw.wider(tail) <= more)
        for low, high in list(combinations_with_replacement(range(last + 1), 2))[::3]:
            weights = [0] * (last + 1)
            weights[low] += 30
            weights[high] += 30
            assert max(misses(draw, weights, (value,), more) for value in range(0, last + 1, 1 + last // 4)) <= told


def test_as_often_as_planned_is_no_wider_and_more_often_is_by_the_exact_bound():
    draw = ladder(last=2**30 - 1, rate=Fraction(1, 10))
    assert [draw.wider(tail) for tail in (0.5, 0.05, 1 - 0.95, 0.01, 0.001)] == [0, 0, 0, 6, 14]
    assert draw.wider(0.0) >= len(draw.weights) - 1
    odds = [max(sum(draw.weights[: c - 6]) / draw.weights[c] for c in range(6, len(draw.weights))) / (19 * OUTWEIGHED)]
    assert odds[0] / (1 + odds[0]) <= 0.01
    assert replace(draw, alpha=Fraction(1, 100), beta=Fraction(1, 50)).wider(0.05) == 0
    assert replace(draw, alpha=Fraction(1, 100), beta=Fraction(1, 50)).wider(0.02) >= len(draw.weights) - 1


NEIGHBOURS = [
    (weights, other)
    for weights in list(product(range(3), repeat=4))[::3]
    for at in range(4)
    if (other := [n + (place == at) for place, n in enumerate(weights)])
]


@pytest.mark.parametrize("share", [HALF, Fraction(9, 10)])
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("heavy", [1, 7])
def test_no_neighbour_moves_the_law_of_a_rung_by_more_than_its_rate_allows(share, relation, heavy):
    # under change-one a row goes from one place to another; `heavy` are the integers that a row weighs
    delta = 1 if relation == "change-one" else max(share, 1 - share)
    draw = replace(ladder(share, last=3, rate=Fraction(1, 3) / heavy), span=Fraction(2 * delta * heavy))
    epsilon, worst = float(draw.event.pure()), 0.0
    for weights, other in NEIGHBOURS:
        pairs = [(weights, other)]
        if relation == "change-one":  # both have one row more, at different places
            pairs = [(other, [n + (place == at) for place, n in enumerate(weights)]) for at in range(4)]
        for one, two in pairs:
            for value in range(4):
                p, q = (law(draw, [heavy * n for n in side], (value,)) for side in (one, two))
                losses = [math.log(a / b) for a, b in zip(p, q, strict=True)]
                worst = max(worst, max(losses) - min(losses), *map(abs, losses))
    assert worst <= epsilon + 1e-9
    assert worst >= epsilon * 0.7


@pytest.mark.parametrize("beta", [Fraction(0), Fraction(1, 40)])
def test_no_neighbour_moves_what_rungs_clear_by_more_than_the_span_beside_sampling(beta):
    for share, heaviest in product((HALF, TENTH), (1, 3)):
        draw = ladder(share, last=3, rate=Fraction(1, 50), beta=beta, heaviest=heaviest)
        most = max(share, 1 - share) + sway_of((share,), beta)
        for total in [*range(60), 10**6, 2**40]:
            for more in range(1, heaviest + 1):
                moved = Fraction(draw.root(share, total + more) - draw.root(share, total), draw.unit)
                assert 0 <= moved <= (most - max(share, 1 - share)) * more
        for weights, other in NEIGHBOURS[::5]:
            for value in range(4):
                off = [offs(draw, side, (value,)) for side in (weights, other)]
                moves = [b - a for a, b in zip(*off, strict=True)]
                assert max(moves) - min(moves) <= 2 * most


@pytest.mark.parametrize("case", range(40))
def test_what_is_drawn_with_is_what_the_definition_says(case, monkeypatch):
    seen: list[Any] = []
    choose = rank_ladder.noise.choose_each

    def watched(widths: Any, gaps: Any, sizes: Any, rate: Any) -> Any:
        seen.append((widths, gaps))
        assert rate == draw.rate / draw.unit
        return choose(widths, gaps, sizes, rate)

    monkeypatch.setattr(rank_ladder.noise, "choose_each", watched)
    random = np.random.default_rng(case)
    last = [0, 1, 2, 9, 40, 5000][case % 6]
    shares = [(HALF,), (TENTH, HALF), (Fraction(1, 4), Fraction(1, 3), Fraction(9, 10))][case % 3]
    draw = ladder(
        shares,
        last=last,
        rate=Fraction(int(random.integers(1, 90)), 40),
        digits=case % 2 * 3,
        beta=Fraction(case % 4 == 3, 30),
        heaviest=1 + case % 3,
    )
    weights = random.integers(0, 40, (5, last + 1)) * (random.random((5, last + 1)) < 0.5)
    weights[0] = 0
    values = np.sort(random.integers(0, (last + 1) << draw.digits, (len(shares), 5)), axis=0)
    groups = [(np.flatnonzero(row).tolist(), row[row > 0].tolist()) for row in weights]
    chosen = draw.release(groups, values.tolist())
    ((widths, gaps),) = seen
    for group, row in enumerate(weights.tolist()):
        expected = offs(draw, row, values[:, group].tolist())
        own = slice(group * len(draw.weights), (group + 1) * len(draw.weights))
        kept = widths[own].tolist()
        assert kept == [*draw.weights[: len(expected)], *[0] * (len(draw.weights) - len(expected))]
        assert [Fraction(gap, draw.unit) for gap in gaps[own].tolist()][: len(expected)] == expected
        assert 0 <= chosen[group] < len(expected)


def test_rungs_are_drawn_with_exactly_their_law_in_every_group():
    draw, times = ladder(last=30, rate=Fraction(1, 3)), 3000
    cases = [([3, 9], [20, 20]), ([], []), ([14, 15, 16], [5, 9, 5]), ([30], [7])]
    values = [14, 3, 15, 28]
    chosen = np.array(draw.release(cases * times, [values * times])).reshape(times, -1)
    for column, (places, held), value in zip(chosen.T, cases, values, strict=True):
        weights = [dict(zip(places, held, strict=True)).get(at, 0) for at in range(31)]
        for rung, chance in enumerate(law(draw, weights, (value,))):
            off = abs(int((column == rung).sum()) - times * chance)
            assert off <= FALSE_ALARMS * math.sqrt(times * chance * (1 - chance)) + 1


def test_weights_that_do_not_fit_a_float_are_counted_exactly():
    draw = ladder(last=3, rate=Fraction(1, 2), alpha=HALF)
    heavy = 2**60
    expected = [float(off) for off in offs(draw, [heavy, 0, 1, heavy], (2,))]
    seen = np.bincount(draw.release([([0, 2, 3], [heavy, 1, heavy])] * 4000, [[2] * 4000]), minlength=3) / 4000
    assert expected[0] == draw.slack / draw.unit - 0.5
    assert abs(seen[: len(expected)] - law(draw, [heavy, 0, 1, heavy], (2,))).max() < 0.05


@pytest.mark.parametrize("heaviest", [1, 2**20, 2**48])
def test_what_is_added_for_sampling_fits_however_many_rows_there_are(heaviest, monkeypatch):
    # in parts of a rank it takes more than 64 bits: an error would depend on the number of rows
    draw = ladder(Fraction(123_457, 10**6), last=3, rate=HALF, beta=TWENTIETH, heaviest=heaviest)
    seen: list[Any] = []
    drawn = rank_ladder.noise.choose_each
    monkeypatch.setattr(rank_ladder.noise, "choose_each", lambda *given: (seen.append(given[1]), drawn(*given))[1])
    draw.release([([0, 2, 3], [2**60, 1, 2**60])], [[2]])
    expected = offs(draw, [2**60, 0, 1, 2**60], (2,))
    assert [Fraction(gap, draw.unit) for gap in seen[0].tolist()][: len(expected)] == expected


@pytest.mark.parametrize("last", [0, 1, 2, 120, 2**16 - 1, 2**30 - 1, 2**48])
@pytest.mark.parametrize("several", [False, True])
def test_no_rung_is_outweighed_and_the_last_is_the_whole_range(last, several):
    draw = ladder((TENTH, HALF) if several else HALF, last=last)
    values = np.array([[0, last], [0, last]][: 1 + several])
    radii = draw.radii(values)
    assert (radii[:, :, 0] == 0).all()
    assert (radii[:, :, -1] == last).all()
    assert (np.diff(radii, axis=2) >= 0).all()
    assert all(sum(draw.weights[:k]) <= OUTWEIGHED * own for k, own in enumerate(draw.weights))
    assert all(sum(draw.weights[:k]) > OUTWEIGHED * (own - 1) or own == 1 for k, own in enumerate(draw.weights))
    if not several:
        assert len(set(draw.rungs)) == len(draw.rungs) <= 110
        assert list(draw.rungs)[1:3] == [max(1, (last + 1) >> 20), *draw.rungs[2:3]][: len(draw.rungs) - 1]


def test_rungs_are_a_root_of_two_apart():
    rungs = ladder(last=2**30 - 1).rungs
    assert rungs[:6] == (0, 1024, 1448, 2048, 2896, 4096)
    assert len(rungs) == 42
    assert sum(ladder(last=2**30 - 1).weights) < 280_000


@pytest.mark.parametrize("few", [[], [50], [10, 90], [0, 0, 0], [100], [0, 100]])
def test_a_few_rows_or_none_have_an_interval_that_holds_them(few):
    weights = [few.count(at) for at in range(101)]
    draw = ladder(last=100, rate=Fraction(1, 5))
    for value in (0, 1, 37, 50, 99, 100):
        assert misses(draw, weights, (value,)) <= float(draw.alpha)


def test_ties_that_clear_make_an_interval_of_no_width():
    draw = ladder(last=100, rate=Fraction(1))
    assert set(draw.release([([50], [400])] * 200, [[50] * 200])) == {0}


def test_many_intervals_of_one_ladder_hold_all_at_once():
    shares = (Fraction(1, 4), HALF, Fraction(3, 4))
    draw = ladder(shares, last=7, rate=Fraction(2))
    for weights in list(product((0, 1, 6), repeat=8))[::131]:
        for values in list(combinations_with_replacement(range(8), 3))[::13]:
            assert misses(draw, weights, values) <= float(draw.alpha) * (1 + 1e-9)


def test_scales_of_a_common_ladder_come_from_released_values_on_both_sides():
    draw = ladder((Fraction(1, 4), HALF, Fraction(3, 4)), last=1000, digits=2)
    radii = draw.radii(np.array([[400], [800], [2400]]))[:, 0, :]
    one = draw.thetas.index(1.0)
    assert radii[:, one].tolist() == [400, 1000, 1000]  # 100 / (1/4), the mean of 400 and 1600 held to all, 1600 too
    assert radii[:, one - 2].tolist() == [200, 500, 800]
    same = draw.radii(np.array([[40], [40], [40]]))[:, 0, :]
    assert (same[:, one] == 1).all()


def test_what_is_not_told_apart_leaves_every_rung_as_it_is():
    # exhaustively: whatever lies where, a block that may be taken together can be, and no rung's score changes
    draw = ladder(last=5, rate=Fraction(48), alpha=HALF)
    near = draw.near(1, 60)
    assert (draw.reach, near.below, near.above) == (1, 2, 2)
    for weights in product(range(4), repeat=6):
        gathered = taken_together(weights, near)
        assert sum(gathered) == sum(weights)
        if gathered != list(weights):
            for value in range(6):
                assert offs(draw, gathered, (value,)) == offs(draw, weights, (value,))


def taken_together(weights: tuple[int, ...], near: Near) -> list[int]:
    """What an engine may make of counts: all of a block at its first place, unless it is looked into."""
    size, total, found = 2**near.bits, sum(weights), []
    for start in range(0, len(weights), size):
        block, before = weights[start : start + size], sum(weights[:start])
        far = before >= near.share * total + near.above or before + sum(block) <= near.share * total - near.below
        found += [sum(block), *[0] * (len(block) - 1)] if far else list(block)
    return found


def test_it_looks_as_far_as_the_slack_and_what_is_added_for_sampling():
    draw = ladder(last=2**20, rate=Fraction(1, 10))
    assert draw.near(4, 10**6).below == 480 + math.ceil(draw.slack / draw.unit)
    sampled = replace(draw, beta=Fraction(1, 40))
    assert sampled.near(4, 10**6).above >= draw.near(4, 10**6).above + 1.96 * 500
    # in one group that weighs as much, with the quantile far from all that is near
    assert sampled.root(HALF, 10**6) <= (sampled.near(4, 10**6).above - draw.near(4, 10**6).above) * sampled.unit


@pytest.mark.parametrize("share", [HALF, TENTH, Fraction(99, 100)])
def test_what_is_added_for_sampling_covers_a_sample_of_any_size(share):
    # exact binomial tails, for sizes up to a million: the hundred units that are added make up for the skew
    from scipy.stats import binom

    for beta in (Fraction(1, 40), Fraction(1, 200)):
        draw = ladder(share, last=9, beta=beta)
        for n in [*range(1, 200), 500, 1000, 5000, 10**4, 10**5, 10**6]:
            root = draw.root(share, n) / draw.unit
            low, high = float(share) * n - root, float(share) * n + root
            # the rows at or below the true quantile are q n on average, and are outside of what is allowed for
            outside = binom.cdf(math.ceil(low) - 1, n, float(share)) + binom.sf(math.floor(high), n, float(share))
            assert outside <= float(beta)


def test_the_slack_is_rounded_up_and_the_cost_is_the_rate_times_the_span():
    for rate in (Fraction(1, 7), Fraction(3), Fraction(1, 1000)):
        draw = replace(ladder(Fraction(1, 3), rate=rate), span=Fraction(4))
        exact = math.log(OUTWEIGHED * 19) / float(rate)
        assert 0 <= draw.slack / 3 - exact < 1 / 3
        assert draw.event.pure() == 4 * rate
    made = QuantileLadder.of((HALF,), last=9, span=Fraction(3), epsilon=Fraction(1, 4), alpha=TENTH)
    assert made.event.pure() == Fraction(1, 4)
    assert ladder(alpha=Fraction(9, 10)).slack == 0


def test_the_next_smaller_rung_clears_by_no_more_than_the_error_says():
    draw, total = ladder(last=2000, rate=Fraction(1, 4)), 2001
    chosen = draw.release([(list(range(2001)), [1] * 2001)] * 2000, [[1000] * 2000])
    far = [draw.rungs[max(0, rung - 1)] for rung in chosen]
    assert total / 2 > draw.error(0.95) > draw.typical()
    assert sum(one > draw.error(0.95) for one in far) <= 2000 * 0.05
    assert 0.5 < np.mean([draw.rungs[rung] for rung in chosen]) / draw.typical() < 2


@pytest.mark.parametrize(
    "facts",
    [
        {"share": Fraction(0)},
        {"share": Fraction(1)},
        {"share": ()},
        {"share": (HALF, HALF)},
        {"share": (HALF, TENTH)},
        {"share": Fraction(1, 2**21 + 1)},
        {"last": -1},
        {"last": 2**49},
        {"alpha": Fraction(0)},
        {"alpha": Fraction(1)},
        {"alpha": Fraction(1, 2**65)},
        {"beta": Fraction(1)},
        {"beta": Fraction(-1, 2)},
        {"heaviest": 0},
        {"heaviest": 2**48 + 1},
        {"digits": 41},
        {"digits": -1},
        {"rate": Fraction(1, 2**59)},
        {"rate": Fraction(-1)},
    ],
)
def test_parameters_that_are_none_are_refused(facts):
    with pytest.raises(RequestError):
        ladder(**facts)


def test_a_ladder_stands_on_a_value_for_each_share_and_group():
    draw = ladder((TENTH, HALF))
    for values in ([], [[1]], [[1], [2, 3]]):
        with pytest.raises(InvariantError):
            draw.release([([1], [3])], values)
    assert draw.release([], [[], []]) == []


def test_a_ladder_whose_rungs_are_outweighed_is_not_made(monkeypatch):
    monkeypatch.setattr(QuantileLadder, "weights", property(lambda self: (1,) * len(self.rungs)))
    with pytest.raises(InvariantError):
        ladder(last=10**6)


def test_no_repr_tells_of_data():
    assert repr(ladder(last=9)) == "RankLadder(1 shares, places=10, rungs=8, alpha=0.05, epsilon=0.5)"
