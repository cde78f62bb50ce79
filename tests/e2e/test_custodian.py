"""A custodian and an analyst at a shell: init, fill in, check, practise, ask; each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

SCRIPT = Path(sys.executable).with_name("privet")


def run(folder: Path, *arguments: str, answers: str = "") -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PRIVET_")}
    return subprocess.run(
        [str(SCRIPT), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        cwd=folder,
        input=answers,
        env={**environment, "COLUMNS": "100"},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hospital")
    duckdb.sql(
        "SELECT i % 300 AS patient_id, i AS visit_id, 20 + i % 60 AS age, ['A', 'B'][1 + i % 2] AS ward "
        "FROM range(900) t(i)"
    ).write_parquet(str(place / "visits.parquet"))
    (place / "drugs.csv").write_text("visit_id,dose\n" + "".join(f"{i % 900},{i % 7}\n" for i in range(500)))
    return place


DECLARED = (
    "--unit", "patient_id", "--link", "drugs=visit_id -> visits.visit_id", "--budget", "epsilon=3,delta=1e-6",
    "--column", "age=integer:0:120", "--column", "ward=category:A,B", "--column", "visit_id=integer",
    "--column", "dose=integer:0:9", "--analyst", "alice=epsilon=1,delta=1e-7",
)  # fmt: skip


def test_from_files_to_an_answer(folder: Path) -> None:
    first = run(folder, "init", "visits.parquet", "drugs.csv")
    assert first.returncode == 0, first.stderr
    assert "Still to be filled in:" in first.stdout

    refused = run(folder, "check")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "line 5: still to be filled in" in refused.stderr
    as_data = json.loads(run(folder, "check", "--json").stderr)["error"]
    assert as_data["code"] == "request.config"
    assert all(problem["line"] > 0 for problem in as_data["problems"])

    again = run(folder, "init", "visits.parquet", "drugs.csv", *DECLARED)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert run(folder, "init", "visits.parquet", "drugs.csv", *DECLARED, "--force").returncode == 0

    checked = run(folder, "check")
    assert checked.returncode == 0, checked.stderr
    for words in ("Protects all rows of each patient_id together.", "factor of 20.1", "alice", "no version"):
        assert words in checked.stdout
    assert "\x1b" not in checked.stdout
    told = json.loads(run(folder, "check", "--json").stdout)
    assert told["tables"]["visits"]["protects"] == "all rows of each patient_id"

    question = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    tried = run(folder, "practice", question, "--epsilon", "0.5", "--analyst", "alice")
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.startswith("Practice, made up")
    assert not (folder / "privet.ledger").exists()
    data = json.loads(run(folder, "practice", "-", "--analyst", "alice", "--json", answers=question).stdout)
    assert "made up" in data["data"]
    assert run(folder, "practice", "SELECT * FROM visits", "--analyst", "alice").returncode == 2
    assert run(folder, "practice", question, "--epsilon", "2", "--analyst", "alice").returncode == 3

    asked = run(folder, "ask", question, "--epsilon", "0.5", "--analyst", "alice", "--json")
    assert asked.returncode == 0, asked.stderr
    assert "made up" not in asked.stdout
    assert (folder / "privet.ledger").exists()


def test_a_source_that_changed_is_told_by_its_fingerprint_and_exit_status(folder: Path) -> None:
    run(folder, "init", "visits.parquet", "drugs.csv", *DECLARED, "--force")
    assert run(folder, "check", "--fingerprint").returncode == 2
    first = run(folder, "check", "--fingerprint", "--key", "my.key")
    assert first.returncode == 0, first.stderr
    assert "are now kept" in first.stdout
    same = json.loads(run(folder, "check", "--fingerprint", "--key", "my.key", "--json").stdout)
    assert sorted(same["fingerprints"]["same"]) == ["drugs", "visits"]
    with (folder / "drugs.csv").open("a") as file:
        file.write("1,1\n")
    changed = run(folder, "check", "--fingerprint", "--key", "my.key")
    assert changed.returncode == 2
    assert "the data of drugs changed" in changed.stderr


def test_sources_that_do_not_fit_are_told_after_the_words_and_fail(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("patient,agee\n1,2\n")
    (tmp_path / "privet.toml").write_text(
        '[budget]\nepsilon = 1\n[tables.visits]\nsource = "visits.csv"\nunit = "rows"\ncolumns = { age = "integer" }\n'
    )
    shown = run(tmp_path, "check")
    assert shown.returncode == 2
    assert "Protects each row" in shown.stdout
    assert "declares a column 'age' that its source does not have" in shown.stderr
    assert json.loads(run(tmp_path, "check", "--json").stderr)["error"]["code"] == "request.sources"
