"""Every aggregate that is registered is asked about end to end, on neighbouring groups, and its answers are audited.

A new line in a registry is a new audit here; answers with a fortieth of the noise are caught.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.aggregates import AGGREGATES, OF_TWO
from privet.audit import audit
from privet.audit.registry.sessions import answers

SAMPLES = 2_000
QUESTIONS = {
    **{name: f"{name}(x)" for name in AGGREGATES},
    **{name: f"{name}(x, 1 - x)" for name in OF_TWO},
    "count_distinct": "count(DISTINCT x)",
}
GROUP, WITHOUT_ZERO, WITHOUT_ONE = [0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answers_of_an_aggregate_stand_and_those_of_far_less_noise_do_not(name: str) -> None:
    select, neighbours = QUESTIONS[name], (GROUP, WITHOUT_ONE if name == "sum" else WITHOUT_ZERO)
    fair = audit(answers(select, Fraction(1)), neighbours, 1, SAMPLES, batched=True)
    assert not fair.refuted, str(fair)
    lax = audit(answers(select, Fraction(40)), neighbours, 1, SAMPLES, batched=True)
    assert lax.refuted, str(lax)
