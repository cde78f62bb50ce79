"""Several attributes of a person: one price for all, whichever method, and estimates of each and of their sets."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import local
from privet.core.errors import BadParameter, BadValue

ATTRIBUTES: dict[str, Any] = {"sex": ["f", "m"], "age": (0, 100), "city": 12}
METHODS = ["sampling", "splitting"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [1, 3])
def test_a_person_pays_epsilon_whatever_the_number_of_attributes(method: Any, epsilon: int) -> None:
    survey = local.AttributeSurvey(ATTRIBUTES, epsilon=epsilon, method=method)
    assert survey.epsilon <= epsilon * (1 + 1e-12)
    assert survey.epsilon == pytest.approx(epsilon, rel=1e-9)
    losses = [part.epsilon for part in survey.parts]
    total = max(losses) if method == "sampling" else sum(losses)
    assert total == pytest.approx(epsilon, rel=1e-9)


def test_sampling_reports_one_attribute_and_nothing_of_the_others() -> None:
    survey = local.AttributeSurvey(ATTRIBUTES, epsilon=2)
    assert survey.method == "sampling"
    reports = survey.client.reports({"sex": ["f"] * 3000, "age": [50] * 3000, "city": [3] * 3000})
    numbers = survey._part_of(reports.ids)
    for number, part in enumerate(survey.parts):
        own = reports.data[numbers == number]
        assert 1000 - 6 * math.sqrt(3000 * 2 / 9) < len(own) < 1000 + 6 * math.sqrt(3000 * 2 / 9)
        assert not own[:, part.width :].any()
    server = survey.server()
    assert server.add(reports) == 3000
    assert server._tally[:3].tolist() == np.bincount(numbers, minlength=3).tolist()


def test_the_better_method_is_chosen() -> None:
    assert local.AttributeSurvey(ATTRIBUTES, epsilon=1).method == "sampling"
    assert local.AttributeSurvey(ATTRIBUTES, epsilon=20).method == "splitting"
    n, people = 6000, {"sex": ["f"] * 1800 + ["m"] * 4200, "age": [40] * 6000, "city": [1] * 6000}
    errors = {}
    for method in METHODS:
        survey = local.AttributeSurvey(ATTRIBUTES, epsilon=1, method=method)  # type: ignore[arg-type]
        server = survey.server()
        server.add(survey.client.reports(people))
        errors[method] = server.estimate()["age"].standard_error
    assert errors["sampling"] < errors["splitting"]
    assert n == len(people["age"])


@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_near_the_truth(method: Any) -> None:
    survey, n = local.AttributeSurvey(ATTRIBUTES, epsilon=9, method=method), 12_000
    people = {"sex": ["f", "m", "m"] * (n // 3), "age": [20.0, 40, 60] * (n // 3), "city": [0, 1, 1] * (n // 3)}
    server = survey.server()
    server.add(survey.client.reports(people))
    found = server.estimate()
    assert set(found) == set(ATTRIBUTES)
    assert abs(found["sex"]["f"][0] - 1 / 3) < 6 * found["sex"].standard_errors[0] + 1e-3
    assert abs(found["age"].value - 40) < 6 * found["age"].standard_error + 0.01
    assert abs(found["city"][1][0] - 2 / 3) < 6 * found["city"].standard_errors[1] + 1e-3
    assert found["sex"].covers == ("population" if method == "sampling" else "reports")


def test_people_come_one_by_one_as_lists_or_as_columns() -> None:
    survey = local.AttributeSurvey(ATTRIBUTES, epsilon=2)
    person = {"sex": "f", "age": 30, "city": 4}
    assert len(survey.client.report(person)) == 1
    assert len(survey.client.reports([person] * 5)) == 5
    assert len(survey.client.reports({name: [value] * 5 for name, value in person.items()})) == 5
    for bad in (
        {"sex": "f", "age": 30},
        {**person, "more": 1},
        {**person, "sex": "x"},
        {**person, "age": "old"},
        {**person, "age": [1, 2]},
        [person, 3],
        [person, {**person, "more": 2}],
        3,
        None,
    ):
        with pytest.raises(BadValue):
            (survey.client.reports if isinstance(bad, list) else survey.client.report)(bad)


@pytest.mark.parametrize("method", METHODS)
def test_forged_and_foreign_reports_are_rejected(method: Any) -> None:
    survey = local.AttributeSurvey(ATTRIBUTES, epsilon=2, method=method)
    server = survey.server()
    forged = np.full((1, survey.width), 255, dtype=np.uint8)
    assert server.add(local.Reports(survey.digest, np.array([[1, 2]], dtype=np.uint64), forged)) == 0
    other = local.AttributeSurvey({**ATTRIBUTES, "city": 13}, epsilon=2, method=method)
    assert server.add(other.client.report({"sex": "f", "age": 1, "city": 1})) == 0
    assert server.rejected == {"impossible content": 1, "another survey": 1}
    assert survey.robustness(0.01) > 0.01


def test_liars_may_all_report_one_attribute() -> None:
    survey = local.AttributeSurvey({"a": 2, "b": 2, "c": 2}, epsilon=1, method="sampling")
    alone = local.KaryResponse(2, epsilon=1)
    assert survey.robustness(0.01) == pytest.approx(3 * alone.robustness(0.01))
    split = local.AttributeSurvey({"a": 2, "b": 2, "c": 2}, epsilon=3, method="splitting")
    assert split.robustness(0.01) == pytest.approx(alone.robustness(0.01))


def test_marginals_are_near_the_truth_and_cost_epsilon() -> None:
    survey = local.MarginalSurvey({"a": ["x", "y"], "b": ["u", "v"], "c": 3}, ways=2, epsilon=8)
    assert survey.epsilon <= 8
    assert survey.epsilon == pytest.approx(8, rel=1e-9)
    n = 12_000
    people = {"a": ["x", "x", "y", "y"] * (n // 4), "b": ["u", "u", "v", "u"] * (n // 4), "c": [0, 1, 2, 2] * (n // 4)}
    server = survey.server()
    server.add(survey.client.reports(people))
    found = server.estimate()
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    truth = {("x", "u"): 0.5, ("x", "v"): 0.0, ("y", "u"): 0.25, ("y", "v"): 0.25}
    for cell, share in truth.items():
        value, low, high = found["a", "b"][cell]
        assert abs(value - share) < 6 * math.sqrt(survey.variance(share, n)) + 1e-3
        assert low <= high
    for cell in (("u", 2), ("v", 2)):
        assert found["b", "c"][cell][0] == pytest.approx(0.25, abs=6 * math.sqrt(survey.variance(Fraction(1, 4), n)))
    assert survey.robustness(0.01) >= 0.03
    assert "2 at a time" in repr(survey)


def test_bad_parameters_are_refused() -> None:
    for bad in ({}, {"a": (1, 2, 3)}, {"a": 1}, {"a": (3, 1)}, 3, {"a": ["x", "x"]}):
        with pytest.raises(BadParameter):
            local.AttributeSurvey(bad, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(BadParameter):
        local.AttributeSurvey(ATTRIBUTES, epsilon=1, method="both")  # type: ignore[arg-type]
    for ways in (0, 4):
        with pytest.raises(BadParameter):
            local.MarginalSurvey({"a": 2, "b": 2, "c": 2}, ways=ways, epsilon=1)
    with pytest.raises(BadParameter):
        local.MarginalSurvey({}, epsilon=1)
