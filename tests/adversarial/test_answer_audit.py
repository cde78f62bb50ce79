"""Every aggregate that is registered is asked about end to end, on neighbouring groups, and its answers are audited.

A new line in a registry is a new audit here; answers with a fortieth of the noise are caught.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.aggregates import AGGREGATES
from privet.audit import audit
from privet.audit.registry.end_to_end import answers
from privet.core.schema import integer

SAMPLES = 1_000
QUESTIONS = {
    "count": "count(x)",
    **{
        name: f"{name}(x, 1 - x)" if entry.aggregate.arity == 2 else f"{name}(x)"
        for name, entry in AGGREGATES.items()
        if entry.plain
    },
    "regr_intercept": "regr_intercept(1 - x, x)",
    "count_distinct": "count(DISTINCT x)",
    "median": "median(x)",
    "quantile": "quantile(x, 0.25)",
    "min": "min(x)",
    "max": "max(x)",
    "mode": "mode(x)",
}
GROUPS = {
    "sum": ([0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0]),
    "median": ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0]),
    "max": ([0.0, 0.0, 1.0], [0.0, 0.0]),
    "mode": ([0.0, 0.0, 1.0], [0.0, 1.0]),
}
"""Neighbours between which an answer moves; by default one of the four rows, the only zero, goes."""


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answers_of_an_aggregate_stand_and_those_of_far_less_noise_do_not(name: str) -> None:
    select, neighbours = QUESTIONS[name], GROUPS.get(name, ([0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0]))
    fair = audit(answers(select, Fraction(1), integer(0, 1)), neighbours, 1, SAMPLES, batched=True)
    assert not fair.refuted, str(fair)
    lax = audit(answers(select, Fraction(40), integer(0, 1)), neighbours, 1, SAMPLES, batched=True)
    assert lax.refuted, str(lax)
