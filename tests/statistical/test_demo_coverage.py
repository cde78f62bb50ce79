"""The demo's intervals cover the truth that is printed beside them, as often as their confidence level states.

Each of the demo's questions is asked 20 times of the same hospital, 400 times by `make soak`, and its intervals are
compared with the query's result on the bare data: nothing clamped, nothing scaled down. Noise is independent between
groups and asks, so the count of intervals that cover is binomial; a test fails where it is beyond what coverage at the
limit would yield once in a million runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from scipy import stats

import privet
from privet.config import read_config
from privet.core.schema import Table
from privet.demo.hospital import QUESTIONS, Question, make_hospital, true_rows

RUNS = 400 if "PRIVET_SOAK" in os.environ else 20
FALSE_ALARMS = 1e-6
LEAST, MOST = 0.94, 0.97
CONSERVATIVE = {"Medians": "cost"}
"""Columns whose intervals cover more often than they state, and are documented so."""

ANSWERED = [question for question in QUESTIONS if question.truth]


@dataclass(frozen=True)
class Hospital:
    """The demo's files and tables."""

    folder: Path
    tables: Mapping[str, Table]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Hospital:
    folder = tmp_path_factory.mktemp("hospital")
    return Hospital(folder, read_config(make_hospital(folder)).tables)


def coverage(hospital: Hospital, question: Question, runs: int) -> dict[str, tuple[int, int]]:
    """Return, for each noisy column, how many intervals covered the truth, and of how many."""
    found: dict[str, tuple[int, int]] = {}
    truth: dict[tuple[object, ...], tuple[object, ...]] = {}
    for _ in range(runs):
        budget = privet.Approximate(epsilon=3, delta=1e-6)
        with privet.Session(hospital.tables, budget=budget) as session:
            answer = session.ask(question.sql, epsilon=question.epsilon, at_most=question.at_most)
        keys = [series for series in answer.series if not series.noisy]
        noisy = [series for series in answer.series if series.noisy]
        if not truth:
            truth = {row[: len(keys)]: row[len(keys) :] for row in true_rows(hospital.folder, question.truth)}
        for row in range(len(answer)):
            right = truth.get(tuple(series.values[row] for series in keys), (0,) * len(noisy))
            for series, value in zip(noisy, right, strict=True):
                inside, of = found.get(series.name, (0, 0))
                assert series.low is not None
                assert series.high is not None
                found[series.name] = (inside + (series.low[row] <= value <= series.high[row]), of + 1)
    return found


@pytest.mark.parametrize(
    "question", [one for one in ANSWERED if not one.clipped], ids=lambda question: question.shows[:40]
)
def test_the_demos_intervals_cover_the_unclamped_truth(hospital: Hospital, question: Question) -> None:
    level = 0.99 if "CONFIDENCE 0.99" in question.sql else 0.95
    for name, (inside, of) in coverage(hospital, question, RUNS).items():
        print(f"{question.shows[:40]}, {name}: {inside} of {of}, {inside / of:.2%}")
        assert stats.binom.cdf(inside, of, LEAST + level - 0.95) > FALSE_ALARMS, "too few intervals cover the truth"
        if level == 0.95 and CONSERVATIVE.get(question.shows) != name and "WITHIN" not in question.sql:
            assert stats.binom.sf(inside - 1, of, MOST) > FALSE_ALARMS, "the intervals are wider than they state"


def test_one_question_shows_a_total_that_is_too_low_on_purpose(hospital: Hospital) -> None:
    (question,) = (one for one in ANSWERED if one.clipped)
    ((inside, of),) = coverage(hospital, question, RUNS).values()
    assert stats.binom.sf(inside - 1, of, 0.05) > FALSE_ALARMS, "the interval covers what it is said not to cover"
    assert "limit" in question.remark
