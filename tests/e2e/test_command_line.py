"""The command line as a user runs it: the installed script, in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import privet

SCRIPT = Path(sys.executable).with_name("privet")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_version_is_told() -> None:
    shown = run("--version")
    assert (shown.returncode, shown.stdout) == (0, f"privet {privet.__version__}\n")


def test_help_names_the_commands() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    assert "demo" in shown.stdout


def test_an_unknown_command_is_refused_by_name() -> None:
    shown = run("frobnicate")
    assert shown.returncode == 2
    assert "frobnicate" in shown.stderr
    assert shown.stdout == ""


def test_the_demo_shows_every_classical_mechanism_and_bars_without_colour_in_a_pipe() -> None:
    shown = run("demo", COLUMNS="80")
    assert shown.returncode == 0, shown.stderr
    for name in ("Laplace", "Gaussian", "Exponential", "RandomizedResponse", "FiniteMechanism", "90-99"):
        assert name in shown.stdout
    assert "\x1b" not in shown.stdout
    assert shown.stderr == ""


def test_the_demo_draws_in_ascii_where_the_terminal_has_nothing_else() -> None:
    shown = run("demo", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.isascii()


@pytest.fixture(scope="module")
def demo() -> str:
    return run("demo", "--json").stdout


def test_the_demo_speaks_json(demo: str) -> None:
    told = json.loads(demo)
    assert [release["epsilon"] > 0 for release in told["releases"]] == [True] * 5
    assert told["composition"]["hundred_counts"] < 10
    assert all(bar["low"] <= bar["value"] <= bar["high"] for bar in told["histogram"]["bars"])


def test_two_demos_differ(demo: str) -> None:
    assert demo != run("demo", "--json").stdout


def test_epsilon_is_told_as_a_number_on_standard_output() -> None:
    shown = run("epsilon", "laplace", "--scale", "2", "--times", "100", "--delta", "1e-6")
    assert shown.returncode == 0
    assert 0 < float(shown.stdout) < 50
    assert "basic" in shown.stderr


def test_what_was_calibrated_costs_no_more_than_the_budget() -> None:
    budget = ("--delta", "1e-6", "--times", "50")
    sigma = run("calibrate", "gaussian", "--epsilon", "1", *budget).stdout.strip()
    told = json.loads(run("epsilon", "gaussian", "--sigma", sigma, *budget, "--json").stdout)
    assert 0.999 < told["epsilon"] <= 1


def test_ratios_are_read_exactly() -> None:
    shown = run("calibrate", "laplace", "--epsilon", "1/3", "--times", "10", "--json")
    assert json.loads(shown.stdout)["scale"] == 30


def test_a_parameter_that_is_not_allowed_is_told_in_one_line() -> None:
    shown = run("epsilon", "laplace", "--scale=-1")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("Error: scale must be")
    assert shown.stderr.count("\n") == 1


def test_an_enormous_number_is_refused_at_once() -> None:
    shown = run("epsilon", "laplace", "--scale", "1e999999999")
    assert shown.returncode == 2
    assert "1e999999999" in shown.stderr
