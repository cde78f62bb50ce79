"""Every hypothesis: a finding is a value with all that a reader needs, and asking again changes nothing and is free."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet.cli.hypotheses_command import command
from privet.study import (
    EqualProportions,
    GoodnessOfFit,
    Hypothesis,
    Independence,
    MeansTest,
    MeanTest,
    PairedTest,
    Proportion,
    SameRanks,
    TwoProportions,
)

N = 600
COLUMNS = {
    "who": privet.integer(),
    "ward": privet.category(["a", "b", "c"]),
    "sex": privet.category(["f", "m"]),
    "x": privet.number(0, 1),
    "y": privet.number(0, 1),
}
HYPOTHESES: dict[str, Hypothesis] = {
    "fit": GoodnessOfFit("ward", {"a": 0.3, "b": 0.3, "c": 0.4}),
    "independence": Independence("ward", "sex"),
    "proportions-equal": EqualProportions("sex", "f", by="ward"),
    "ranks": SameRanks("x", by="sex", width=0.25),
    "mean": MeanTest("x", 0.4),
    "means": MeansTest("x", "ward"),
    "paired": PairedTest("x", "y"),
    "proportion": Proportion("x > 0.5", equals=0.4),
    "proportions": TwoProportions("x > 0.5", by="sex", groups=("f", "m")),
}
"""By the name of its command."""

EFFECTS = {
    "fit": "Cohen's w",
    "independence": "Cramer's V",
    "proportions-equal": "Cramer's V",
    "ranks": "larger",
    "mean": "Cohen's d",
    "means": "eta squared",
    "paired": "Cohen's d",
}
"""The effect size beside a p-value; of proportions and their differences it is the estimate itself."""


def session() -> privet.Session:
    rng = np.random.default_rng(3)
    rows = {
        "who": np.arange(N) % 400,
        "ward": rng.choice(["a", "b", "c"], N),
        "sex": rng.choice(["f", "m"], N),
        "x": rng.random(N),
        "y": rng.random(N),
    }
    limit = privet.Contribution(groups=2, rows=2)
    table = privet.Table(pa.table(rows), unit=privet.Person("who"), columns=COLUMNS, contribution=limit)
    return privet.Session({"visits": table}, budget=privet.Pure(epsilon=1000))


def test_every_hypothesis_is_here_and_has_a_command() -> None:
    kinds = {getattr(privet.study, name) for name in privet.study.__all__ if name not in ("Family", "Hypothesis")}
    assert {type(one) for one in HYPOTHESES.values()} == kinds
    assert set(command.commands) == {*HYPOTHESES, "family", "needed"}


@pytest.mark.parametrize("name", HYPOTHESES)
def test_a_finding_is_a_value_with_all_that_a_reader_needs(name: str, tmp_path: Path) -> None:
    hypothesis = HYPOTHESES[name]
    with session() as place:
        found = place.test("visits", hypothesis, epsilon=2)
        before = place.remaining()
        again = place.test("visits", hypothesis, epsilon=2)
        assert place.remaining() == before
    assert again == found
    assert found.p_value is not None
    assert found.cost == {"epsilon": 2.0, "delta": 0.0}
    assert found.receipt is not None
    assert found.name and found.hypothesis and found.method  # noqa: PT018
    # whose numbers these are: people, each of whom counts once, and not their rows
    told = " ".join((*found.assumptions, *found.notes, *(one.covers for one in found.estimates.values())))
    assert any(words in told for words in ("person counts once", "person counting", "a person with several rows one"))
    assert all(one.low <= one.value <= one.high for one in found.estimates.values())
    plain: dict[str, Any] = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["p_value"] == found.p_value
    assert plain["receipt"]["digest"] == found.receipt.digest
    assert set(plain["estimates"]) == set(found.estimates)
    assert found.name in repr(found)
    assert "<table" in found._repr_html_()
    found.plot(tmp_path / "found.png")
    assert (tmp_path / "found.png").stat().st_size > 1000
    if name in EFFECTS:
        (effect,) = [one for named, one in found.estimates.items() if EFFECTS[name] in named]
        assert effect.low < effect.high


def test_two_means_have_an_effect_size() -> None:
    with session() as place:
        found = place.test("visits", MeansTest("x", "sex"), epsilon=2)
    effect = found.estimates["Cohen's d"]
    assert effect.low <= effect.value <= effect.high
