"""`privet audit` from the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from privet.cli import main


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["audit", *arguments])
    return result.exit_code, result.output


def test_a_mechanism_is_audited_by_a_part_of_its_name() -> None:
    status, told = run("response", "--samples", "400000")  # a tenth too much is missed once in 1e30 runs
    assert status == 0
    assert "Randomized response" in told
    assert "stands" in told
    assert "Laplace" not in told


def test_too_few_samples_miss_the_planted_fault_and_the_status_says_so() -> None:
    status, told = run("whole numbers", "--samples", "500", "--json")
    assert status == 1
    assert all(not one["stands"] for one in json.loads(told) if one["name"].startswith("Laplace"))


@pytest.mark.parametrize("name", ["low-bits-laplace", "reconstruction"])
def test_an_attack_is_shown_by_name(name: str) -> None:
    status, told = run("--attacks", name)
    assert status == 0
    assert "careless:" in told
    assert "Privet:" in told


def test_what_is_not_known_is_refused_with_the_nearest() -> None:
    status, told = run("laplcae")
    assert status == 2
    assert "Laplace" in told
    assert run()[0] == 2
