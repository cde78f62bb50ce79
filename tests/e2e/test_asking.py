"""A custodian and an analyst at a shell: the installed commands, each in a process of its own, on one real ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worlds import QUESTION, write_visits

SCRIPT = Path(sys.executable).with_name("privet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_visits(tmp_path)


def run(folder: Path, *arguments: str, text: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {"COLUMNS": "80", **environment}
    shown = subprocess.run(
        [str(SCRIPT), *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in shown.stdout + shown.stderr
    assert "secret name" not in shown.stdout + shown.stderr
    assert "\x1b" not in shown.stdout + shown.stderr
    return shown


def told(folder: Path, *arguments: str, **options: Any) -> Any:
    shown = run(folder, *arguments, "--json", **options)
    assert (shown.returncode, shown.stderr) == (0, "")
    return json.loads(shown.stdout)


def test_a_question_is_planned_paid_for_once_certified_and_proven(folder: Path) -> None:
    planned = told(folder, "plan", QUESTION, "--epsilon", "0.5", "--analyst", "ana")
    assert (planned["fits"], planned["answered"]) == (True, False)
    first = told(folder, "ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana")
    assert first["charged"]
    assert [row["ward"] for row in first["rows"]] == ["heart", "lung"]
    assert all(row["n_low"] <= row["n"] <= row["n_high"] for row in first["rows"])
    assert first["certificate"]["digest"] == planned["digest"]
    other_words = "SELECT AVG(age) AS mean, ward, COUNT(*) FROM visits WHERE 18 <= age GROUP BY ward"
    again = told(folder, "ask", "-", "--epsilon", "0.5", text=other_words, PRIVET_ANALYST="ana")
    assert not again["charged"]
    assert [row["mean"] for row in again["rows"]] == [row["age"] for row in first["rows"]]
    assert told(folder, "plan", QUESTION, "--epsilon", "0.5", "--analyst", "ana")["answered"]
    (folder / "question.sql").write_text(QUESTION)
    bens = told(folder, "ask", "--file", "question.sql", "--epsilon", "0.5", "--analyst", "ben")
    assert bens["rows"] == first["rows"]
    whole, ana, ben = told(folder, "budget")["budgets"]
    assert ana["spent_share"] == ben["spent_share"] > 0
    assert whole["spent_share"] == pytest.approx(first["left"]["spent_share"], rel=1)
    entry = first["certificate"]["entry"]
    certificate = told(folder, "certificate", str(entry))
    assert certificate["releases"] == planned["releases"]
    assert certificate["where"] == '("age" >= 18)'
    listed = told(folder, "ledger", "list")
    assert [one["kind"] for one in listed["entries"]] == ["open", "account", "account", "charge", "answer", "charge"]
    assert told(folder, "ledger", "verify", "--head", first["head"])["head"] == listed["head"]
    exported = run(folder, "ledger", "export").stdout
    moved = told(folder, "ledger", "import", "-", "--ledger", "moved.ledger", "--head", listed["head"], text=exported)
    assert moved["head"] == listed["head"]


def test_what_fails_has_its_status_and_one_line(folder: Path) -> None:
    shown = run(folder, "ask", "SELECT AVG(aeg) FROM visits", "--analyst", "ana")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("Error: there is no column 'aeg'; did you mean 'age'?")
    shown = run(folder, "ask", QUESTION, "--analyst", "ana", "--epsilon", "9", "--json")
    assert (shown.returncode, shown.stdout) == (3, "")
    assert json.loads(shown.stderr)["error"]["code"] == "budget.exceeded"
    (folder / "privet.ledger" / "ledger").chmod(0o644)
    shown = run(folder, "budget")
    assert (shown.returncode, shown.stdout) == (5, "")


def test_a_screen_that_knows_no_signs_but_ascii_gets_its_numbers(folder: Path) -> None:
    shown = run(folder, "ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana", PYTHONIOENCODING="ascii")
    assert shown.returncode == 0
    assert "heart" in shown.stdout


def test_declared_groups_are_found_where_the_command_says_so_or_there_are_too_many(folder: Path) -> None:
    wide = "SELECT age, age * 997 % 1000 AS a, age % 99 AS b, COUNT(*) AS n FROM visits GROUP BY 1, 2, 3"
    few = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    assert told(folder, "plan", few, "--analyst", "ana")["cost"]["delta"] == 0
    assert told(folder, "plan", few, "--analyst", "ana", "--find-groups")["cost"]["delta"] > 0
    assert told(folder, "plan", wide, "--analyst", "ana")["cost"]["delta"] > 0
    both = run(folder, "plan", wide, wide, "--analyst", "ana", "--find-groups")
    assert both.returncode == 2
    assert "OPTIONS(find_groups" in both.stderr.replace("\n", "")
