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
    "--column", "dose=integer:0:9", "--analyst", "alice=epsilon=1,delta=1e-7", "--contribution", "groups=2,rows=3",
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
    assert "In the data, " in checked.stdout
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


def test_a_limit_is_chosen_privately_for_a_charge_and_free_when_asked_again(folder: Path, tmp_path: Path) -> None:
    for name in ("visits.parquet", "drugs.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    made = (
        "--unit",
        "visits=patient_id",
        "--budget",
        "epsilon=1000,delta=1e-6",
        "--contribution",
        "groups=1,rows=1",
        "--yes",
    )
    columns = ("--column", "age=integer:0:120", "--column", "visit_id=integer:0:999")
    assert run(tmp_path, "init", "visits.parquet", *made, *columns).returncode == 0
    text = (tmp_path / "privet.toml").read_text()
    (tmp_path / "privet.toml").write_text("".join(f"{one}\n" for one in text.splitlines() if "TODO" not in one))
    plain = json.loads(run(tmp_path, "check", "--json").stdout)
    assert plain["tables"]["visits"]["limits"][0] == {
        "by": None,
        "people_above": 1.0,
        "rows_lost": pytest.approx(2 / 3),
    }
    assert "chosen" not in plain
    for wrong in (("--private",), ("--epsilon", "1"), ("--table", "visits"), ("--analyst", "alice")):
        assert run(tmp_path, "check", *wrong).returncode == 2
    assert run(tmp_path, "check", "--private", "--epsilon", "1", "--table", "vists").returncode == 2
    assert run(tmp_path, "ledger", "list").returncode == 2  # nothing was charged, so there is none
    private = ("check", "--private", "--epsilon", "900")  # without noise to speak of
    first = json.loads(run(tmp_path, *private, "--json").stdout)["chosen"]["visits"]
    assert 1 <= first["contribution"]["rows"] <= 8  # all have three rows
    assert first["cost"]["epsilon"] == 900
    again = run(tmp_path, *private, "--table", "visits")
    assert f"rows = {first['contribution']['rows']} }}" in again.stdout
    assert f"entry {first['entry']} of the ledger" in " ".join(again.stdout.split())
