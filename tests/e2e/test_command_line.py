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


def test_the_demo_answers_refuses_repeats_runs_out_and_draws_with_fresh_noise(tmp_path: Path) -> None:
    picture = tmp_path / "new" / "demo.png"
    shown = run("demo", "--picture", str(picture), COLUMNS="80")
    assert shown.returncode == 0, shown.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    for word in (
        "births",
        "groups do not show",
        "nearly everyone",
        "free: nothing was charged",
        "Unsupported:",
        "BudgetExceeded:",
    ):
        assert word in shown.stdout
    assert "trial drug" not in shown.stdout
    assert "\x1b" not in shown.stdout
    assert shown.stderr == ""
    assert max(len(line) for line in shown.stdout.splitlines() if line != str(picture)) <= 80
    folder = tmp_path / "hospital"
    told = json.loads(run("demo", "--json", "--folder", str(folder), "--picture", str(picture)).stdout)
    questions = told["questions"]
    errors = [question["error"]["code"] for question in questions if "error" in question]
    assert errors == ["request.unsupported", "budget.exceeded"]
    assert [question["charged"] for question in questions] == [True] * 9 + [False] * 3
    narrow = next(one for one in questions if "WITHIN 50" in one["sql"])
    assert abs(narrow["rows"][0]["elderly_high"] - narrow["rows"][0]["elderly"]) <= 50
    assert any(f"{row['visits']:,}" not in shown.stdout for row in questions[2]["rows"])
    for question in questions:
        for row in question.get("rows", ()):
            for name in [name for name in row if name.endswith("_low")]:
                column = name.removesuffix("_low")
                # a count may come out below 0, and its interval does not
                assert row[name] <= max(row[column], 0) <= row[f"{column}_high"]
    again = run("demo", "--folder", str(folder))
    assert (again.returncode, again.stdout) == (2, "")
    assert "not empty" in again.stderr


def test_epsilon_is_told_by_every_theorem_with_the_tightest_marked() -> None:
    shown = run("epsilon", "laplace", "--scale", "2", "--times", "100", "--delta", "1e-6")
    assert shown.returncode == 0
    lines = [line.split() for line in shown.stdout.splitlines()[2:]]
    assert lines[0][0] == "pld"
    assert lines[0][2:] == ["<-", "tightest"]
    assert ["basic", "50"] in lines
    figures = [float(line[1]) for line in lines]
    assert figures == sorted(figures)
    assert sum("tightest" in line for line in shown.stdout.splitlines()) == 1


def test_epsilon_in_json_is_the_tightest_and_every_theorems() -> None:
    told = json.loads(run("epsilon", "laplace", "--scale", "2", "--times", "100", "--delta", "1e-6", "--json").stdout)
    assert set(told) == {"epsilon", "by"}
    assert told["epsilon"] == min(told["by"].values())
    assert {"basic", "advanced", "advanced-kov", "optimal", "zcdp", "renyi", "pld"} <= set(told["by"])


@pytest.mark.parametrize(
    ("arguments", "epsilon"),
    [
        (("gaussian", "--sigma", "1", "--delta", "1e-6"), 4.8865541),
        (("gaussian", "--sigma", "1", "--rate", "0.01", "--times", "1000", "--delta", "1e-5"), 1.82824),
        (("laplace", "--scale", "1", "--times", "100", "--delta", "1e-6"), 71.546),
        (("laplace", "--whole", "--scale", "1", "--times", "100", "--delta", "1e-6"), 83.5307),
        (("response", "--p", "3/4"), 1.0986123),
        (("exponential", "--epsilon", "0.1", "--times", "50", "--delta", "1e-6"), 1.66),
    ],
)
def test_the_figures_of_the_command_line_are_those_of_the_literature(
    arguments: tuple[str, ...], epsilon: float
) -> None:
    told = json.loads(run("epsilon", *arguments, "--json").stdout)
    assert told["epsilon"] <= epsilon * 1.001
    assert told["epsilon"] >= epsilon * 0.9


def test_what_was_calibrated_costs_no_more_than_the_budget() -> None:
    budget = ("--delta", "1e-6", "--times", "50")
    told = json.loads(run("calibrate", "gaussian", "--epsilon", "1", *budget, "--json").stdout)
    assert set(told) == {"sigma", "by"}
    assert told["sigma"] == pytest.approx(min(told["by"].values()), rel=1e-5)
    cost = json.loads(run("epsilon", "gaussian", "--sigma", repr(told["sigma"]), *budget, "--json").stdout)
    assert 0.999 < cost["epsilon"] <= 1


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
