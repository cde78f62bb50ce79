"""Audits of local reports: each oracle between the two answers that differ most, against the epsilon that it states.

Noisy locations are audited between two places, against the loss that their distance allows; a shuffled count by the
messages of all people together, of whom one changes, against its exact profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet import local
from privet.audit.entry import AuditEntry
from privet.audit.exact import Curve
from privet.audit.releases import Draw
from privet.local.reports import from_bytes
from privet.local.shuffled_count import MINUS, PLUS

_VALUES = 3
_POINTS = 12


def _numbers(oracle: Any, reports: local.Reports) -> Any:
    """Return one number for each report, which identifies its content, and its function, table or part too."""
    weights = 256 ** np.arange(reports.data.shape[1], dtype=np.int64)
    codes = reports.data.astype(np.int64) @ weights
    if isinstance(oracle, (local.AttributeSurvey, local.MarginalSurvey)):
        codes = codes * len(oracle.parts) + oracle._part_of(reports.ids)
    if isinstance(oracle, local.CountMeanSketch):
        codes = codes + 2**16 * oracle._tables_of(reports.ids)
    if isinstance(oracle, local.OptimizedHashing):
        codes = codes + 256 * oracle._function(reports.ids)
    return codes


def _entry(name: str, make: Callable[[Fraction], Any], answers: tuple[Any, Any]) -> AuditEntry:
    def drawn(leak: Fraction) -> Draw:
        oracle = make(leak)
        return lambda answer, count: _numbers(oracle, oracle.client.reports([answer] * count))

    oracle = make(Fraction(1))
    return AuditEntry(name=f"Local, {name}", mechanism=type(oracle), make=drawn, neighbours=answers, claimed=1)


def _frequencies(kind: type[local.FrequencyOracle]) -> AuditEntry:
    return _entry(kind.kind, lambda leak: kind(_VALUES, epsilon=leak), (0, 1))


def _rappor(leak: Fraction) -> local.Rappor:
    # with ones = 1/2 + s and zeros = 1/2 - s a report has epsilon = 2 ln((1 + 3 s / 2) / (1 - 3 s / 2))
    s = Fraction(math.tanh(min(float(leak), 4.0) / 4)) * Fraction(2, 3)
    s = min(s, Fraction(499, 1000))
    return local.Rappor(_VALUES, flip=Fraction(1, 4), ones=Fraction(1, 2) + s, zeros=Fraction(1, 2) - s)


def _hitters() -> AuditEntry:
    """Which of two strings a report supports, through whatever table it uses."""
    answers = "a", "b"

    def drawn(leak: Fraction) -> Draw:
        oracle = local.HeavyHitters(epsilon=leak, length=1, alphabet="ab")
        inner, codes = oracle.inner, oracle._read(list(answers))

        def draw(answer: str, count: int) -> Any:
            reports = oracle.client.reports([answer] * count)
            tables = oracle._tables_of(reports.ids)
            planes = inner._vectors(from_bytes(reports.data))
            masks = np.zeros(count, dtype=np.int64)
            for place in range(2):
                states = oracle._states(np.repeat(codes[place : place + 1], count), tables)
                points = inner._vectors(oracle._bucket(states, tables))
                masks += 2**place * ((planes * points).sum(axis=1) % inner.order == 0)
            return masks

        return draw

    return AuditEntry(
        name="Local, heavy hitters", mechanism=local.HeavyHitters, make=drawn, neighbours=answers, claimed=1
    )


def _places(metric: str) -> AuditEntry:
    """Two points of the grid, two steps apart: the loss of the rate times their distance."""
    box, apart = (0, 0, 100, 100), 20

    def made(leak: Fraction) -> local.PlanarLaplace:
        reach = local.MetricPromise(1, 10, metric).reach(apart)
        return local.PlanarLaplace(box, radius=apart, epsilon=leak * reach / apart, metric=metric)

    def drawn(leak: Fraction) -> Draw:
        oracle = made(leak)

        def draw(place: tuple[int, int], count: int) -> Any:
            x, y = oracle._points(oracle.client.reports([place] * count).data)
            return np.clip(x, -9, 20) * 8 + np.clip(y - 5, -3, 3)  # what lies far away reveals no more

        return draw

    return AuditEntry(
        name=f"Local, places, {metric}",
        mechanism=local.PlanarLaplace,
        make=drawn,
        neighbours=((40, 50), (40 + apart, 50)),
        claimed=1,
        fault=Fraction(6, 5),
    )


def _shuffled_count() -> AuditEntry:
    people, delta, sizes = 10, Fraction(1, 10), 250

    def drawn(leak: Fraction) -> Draw:
        oracle = local.ShuffledCount(epsilon=2 * leak, delta=delta, people=people)

        def draw(answer: bool, count: int) -> Any:
            sums = []
            for first in range(0, count, sizes):
                rows = min(sizes, count - first)
                answers = np.zeros((rows, people), dtype=np.int64)
                answers[:, 0] = answer
                sent = oracle.client.reports(answers.reshape(-1)).data.reshape(rows, -1)
                sums.append((sent == PLUS).sum(axis=1) - (sent == MINUS).sum(axis=1))
            return np.concatenate(sums)

        return draw

    oracle = local.ShuffledCount(epsilon=2, delta=delta, people=people)
    return AuditEntry(
        name="Local, shuffled count",
        mechanism=local.ShuffledCount,
        make=drawn,
        neighbours=(False, True),
        claimed=Curve(tuple((loss, oracle.profile(loss)) for loss in (0.5, 1.0, 1.5, 2.0))),
        stated=2,
        event=oracle.event,
        samples=50_000,
        fault=Fraction(3, 2),
    )


LOCAL_REPORTS: tuple[AuditEntry, ...] = (
    *(_frequencies(kind) for kind in local.ORACLES),
    _entry("Duchi's mean", lambda leak: local.DuchiMean(0, 1, epsilon=leak), (0, 1)),
    _entry("piecewise mean", lambda leak: local.PiecewiseMean(0, 1, epsilon=leak, points=_POINTS), (0, 1)),
    _entry("hybrid mean", lambda leak: local.HybridMean(0, 1, epsilon=leak, points=_POINTS), (0, 1)),
    _entry("Laplace mean", lambda leak: local.LaplaceMean(0, 1, epsilon=leak), (0, 1)),
    _entry("square wave", lambda leak: local.SquareWave(0, 8, bins=8, epsilon=leak), (0, 8)),
    _entry("tree of bins", lambda leak: local.HierarchicalHistogram(0, 2, bins=2, branching=2, epsilon=leak), (0, 2)),
    _entry("count-mean sketch", lambda leak: local.CountMeanSketch(epsilon=leak, tables=2), ("tea", "milk")),
    _entry("RAPPOR", _rappor, (0, 1)),
    _entry(
        "sampled attributes",
        lambda leak: local.AttributeSurvey({"a": 2, "b": 2}, epsilon=leak, method="sampling"),
        ({"a": 0, "b": 0}, {"a": 1, "b": 1}),
    ),
    _entry(
        "split attributes",
        lambda leak: local.AttributeSurvey({"a": 2, "b": 2}, epsilon=leak, method="splitting"),
        ({"a": 0, "b": 0}, {"a": 1, "b": 1}),
    ),
    _entry(
        "marginals",
        lambda leak: local.MarginalSurvey({"a": 2, "b": 2, "c": 2}, epsilon=leak),
        ({"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 1, "c": 1}),
    ),
    _hitters(),
    _places("euclidean"),
    _places("manhattan"),
    _shuffled_count(),
)
