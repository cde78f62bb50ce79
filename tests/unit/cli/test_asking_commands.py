"""`privet ask`, `plan` and `budget` on a privet.toml: what is shown, and how each kind of failure ends."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from privet import cli
from privet.display import wrap
from privet.engines.duckdb.engine import DuckDB
from privet.execution.pace import Pace
from privet.planner.plan import Edition
from worlds import DECLARED, QUESTION, write_visits


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_visits(tmp_path)


def run(*arguments: str, **environment: str) -> Result:
    shown = CliRunner().invoke(cli.main, list(arguments), env={"COLUMNS": "80", **environment})
    assert "secret name" not in shown.output
    return shown


def told(*arguments: str, **environment: str) -> Any:
    shown = run(*arguments, "--json", **environment)
    assert (shown.exit_code, shown.stderr) == (0, "")
    return json.loads(shown.stdout)


def test_a_command_hands_a_fresh_answer_over_on_the_grid_of_time_of_the_file(folder: Path) -> None:
    (folder / "privet.toml").write_text(DECLARED + "[engine]\ntime_step = 2\n")
    start = time.monotonic()
    first = told("ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana")
    assert time.monotonic() - start >= 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pace, "_wait", lambda self, step: pytest.fail("waits") if self._asked.fresh else None)
        assert told("ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana")["rows"] == first["rows"]


@pytest.mark.parametrize("width", ["80", "120"])
def test_an_answer_shows_bars_cost_what_is_left_and_what_it_covers_within_the_width(folder: Path, width: str) -> None:
    shown = run("ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana", COLUMNS=width)
    assert (shown.exit_code, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= int(width)
    assert lines[0].split() == ["ward", "n", "95%", "age", "95%"]
    assert len({len(line) for line in lines[:3]}) == 1
    assert "±" in lines[1]
    for word in ("cost   epsilon 0.5, entry 4", "left   up to epsilon", "notes  Each interval"):
        assert any(line.startswith(word) for line in lines)
    again = run("ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana", COLUMNS=width).stdout
    assert again.splitlines()[:4] == lines[:4]
    assert "nothing: it was answered before" in again


def test_a_width_has_a_price_and_the_answer_keeps_it(folder: Path) -> None:
    asked = ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--within", "50", "--confidence", "0.9")
    plan = told("plan", *asked, "--analyst", "ana")
    assert plan["target"]["confidence"] == 0.9
    answer = told("ask", *asked, "--analyst", "ana")
    assert answer["certificate"]["cost"] == plan["cost"]
    assert (answer["certificate"]["confidence"], answer["certificate"]["digest"]) == (0.9, plan["digest"])
    assert "within ±50" in run("plan", *asked, "--analyst", "ana").stdout


COUNT, WARDS = "SELECT COUNT(*) AS n FROM visits", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def test_several_questions_are_one_charge_and_a_list(folder: Path) -> None:
    asked = (COUNT, QUESTION, "--epsilon", "0.5", "--analyst", "ana")
    plans = told("plan", *asked)
    assert [one["fits"] and not one["answered"] for one in plans] == [True, True]
    before = told("budget")["head"]
    first, second = told("ask", *asked)
    assert (first["charged"], second["charged"], first["head"]) == (True, True, second["head"])
    entries = [int(head.partition(":")[0]) for head in (before, first["head"])]
    assert first["certificate"]["entry"] == second["certificate"]["entry"]
    assert 0.49 < plans[0]["together"]["cost"]["epsilon"] <= 0.5
    assert entries[1] > entries[0]
    again = told("ask", QUESTION, COUNT, "--epsilon", "0.5", "--analyst", "ana")
    assert [one["charged"] for one in again] == [False, False]
    assert [one["rows"] for one in again] == [second["rows"], first["rows"]]
    assert all(one["answered"] for one in told("plan", *asked))
    lines = run("ask", *asked).stdout.splitlines()
    assert [line for line in lines if line.startswith("Question")] == ["Question 1", "Question 2"]
    assert any(line.startswith("cost   nothing: it was answered before") for line in lines)
    assert [sum(line.startswith(word) for line in lines) for word in ("notes  ", "but     ")] == [1, 0]
    assert "All together: costs epsilon 0.5" in run("plan", *asked).stdout


def test_a_width_is_for_all_questions_or_each_has_its_own(folder: Path) -> None:
    both = told("plan", COUNT, WARDS, "--within", "60", "--analyst", "ana")
    assert [one["target"]["columns"][0]["within"] for one in both] == [60.0, 60.0]
    own = told("ask", f"{COUNT} WITHIN 60", f"{WARDS} WITHIN 90 CONFIDENCE 0.9", "--analyst", "ana")
    assert [one["certificate"]["confidence"] for one in own] == [0.95, 0.9]


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["ask", COUNT, WARDS, "--within", "1", "--analyst", "ana"], 3, "budget.exceeded"),
        (["ask", COUNT, "-", "--analyst", "ana"], 2, "request"),
        (["plan", COUNT, WARDS, "--file", "q.sql", "--analyst", "ana"], 2, "request"),
        (["ask", COUNT, WARDS, "--other", "rest", "--analyst", "ana"], 2, "request"),
        (["ask", COUNT, WARDS, "--within", "n=5", "--analyst", "ana"], 2, "request.parameter"),
        (
            ["ask", "SELECT AVG(age) FROM visits", "--analyst", "ana", "--within", "5", "--at-most", "9"],
            3,
            "budget.exceeded",
        ),
        (["ask", "SELECT AVG(age) FROM visits", "--analyst", "ana", "--within", "200%"], 2, "request.parameter"),
        (["ask", "SELECT COUNT(*) FROM visits", "--analyst", "ana", "--within", "1"], 3, "budget.exceeded"),
        (["ask", "SELECT (", "--analyst", "ana"], 2, "request.parse"),
        (["ask", "SELECT * FROM visits", "--analyst", "ana"], 2, "request.unsupported"),
        (["ask", "SELECT AVG(aeg) FROM visits", "--analyst", "ana"], 2, "request.unknown_name"),
        (["ask", "SELECT COUNT(*) FROM visits"], 2, "request"),
        (["ask", "SELECT COUNT(*) FROM visits", "--analyst", "eve"], 2, "request.unknown_name"),
        (["ask", "SELECT COUNT(*) FROM visits", "--analyst", "ana", "--confidence", "1"], 2, "request.parameter"),
        (["ask", "SELECT COUNT(*) FROM visits", "--analyst", "ana", "--epsilon", "0"], 2, "request.parameter"),
        (["ask", "--analyst", "ana"], 2, "request"),
        (["ask", "--file", "none.sql", "--analyst", "ana"], 2, "request"),
        (["ask", "SELECT COUNT(*) FROM visits", "--analyst", "ana", "--epsilon", "9"], 3, "budget.exceeded"),
        (["plan", "SELECT FIRST(age) FROM visits", "--analyst", "ana"], 2, None),
        (["certificate", "1"], 2, "request"),
        (["ask", "SELECT COUNT(*) FROM visits", "--config", "none.toml"], 2, "request"),
    ],
)
def test_what_cannot_be_answered_has_its_status_and_costs_nothing(
    folder: Path, arguments: list[str], status: int, code: str | None
) -> None:
    assert told("plan", QUESTION, "--analyst", "ana")["fits"]
    before = told("budget")["head"]
    shown = run(*arguments, "--json")
    assert (shown.exit_code, shown.stdout) == (status, "")
    error = json.loads(shown.stderr)["error"]
    assert code in (None, error["code"])
    plain = run(*arguments)
    assert (plain.exit_code, plain.stdout) == (status, "")
    assert plain.stderr == f"Error: {error['message']}\n"
    assert told("budget")["head"] == before


def test_a_source_that_is_gone_is_told_without_a_word_of_the_engines(folder: Path) -> None:
    (folder / "visits.csv").unlink()
    shown = run("ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana")
    assert shown.exit_code in (2, 4)
    assert shown.stdout == ""
    assert shown.stderr.startswith("Error: ")


def test_a_ledger_that_was_changed_answers_nothing(folder: Path) -> None:
    told("ask", QUESTION, "--epsilon", "0.5", "--analyst", "ana")
    ledger = folder / "privet.ledger" / "ledger"
    content = ledger.read_bytes()
    ledger.write_bytes(content.replace(b'"account":"ana"', b'"account":"anb"'))
    for arguments in (["ask", QUESTION, "--epsilon", "0.4", "--analyst", "ana"], ["ledger", "verify"]):
        shown = run(*arguments)
        assert (shown.exit_code, shown.stdout) == (5, "")


def test_commands_on_a_ledger_that_is_not_there_yet_say_so(folder: Path) -> None:
    shown = run("ledger", "list")
    assert shown.exit_code == 2
    assert "first question" in shown.stderr
    whole, ana, ben = told("budget")["budgets"]
    assert whole["spent_share"] == ana["spent_share"] == ben["spent_share"] == 0


def test_the_budget_says_what_is_promised_to_whom(folder: Path) -> None:
    shown = run("budget")
    assert shown.exit_code == 0
    assert "one patient is in the data" in " ".join(shown.stdout.split())
    assert told("budget")["means"]


def test_a_database_that_fails_has_status_4_and_freezes_the_account_until_it_is_cleared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scan(self: DuckDB, scan: Any) -> Any:
        raise RuntimeError("secret name 17")

    with monkeypatch.context() as broken:
        broken.setattr(DuckDB, "scan", scan)
        for epsilon in ("0.01", "0.02", "0.03"):
            shown = run("ask", QUESTION, "--epsilon", epsilon, "--analyst", "ana")
            assert (shown.exit_code, shown.stdout) == (4, "")
            assert "within its limits of time and memory" in shown.stderr
    frozen = run("ask", QUESTION, "--epsilon", "0.04", "--analyst", "ana")
    assert frozen.exit_code == 3
    assert "frozen" in frozen.stderr
    assert run("ledger", "clear", "ana", "--reason", "the disk was full").exit_code == 0
    assert run("ask", QUESTION, "--epsilon", "0.04", "--analyst", "ana").exit_code == 0


def test_an_old_copy_of_the_ledger_is_refused_where_a_head_is_pinned(folder: Path) -> None:
    told("ask", QUESTION, "--epsilon", "0.1", "--analyst", "ana")
    assert run("ledger", "backup", "old.ledger").exit_code == 0
    head = told("ask", QUESTION, "--epsilon", "0.2", "--analyst", "ana")["head"]
    (folder / "privet.toml").write_text(f'{DECLARED}\n[ledger]\nhead = "{head}"\n')
    assert told("ledger", "verify")["head"] == head
    shutil.rmtree(folder / "privet.ledger")
    (folder / "old.ledger").rename(folder / "privet.ledger")
    for arguments in (["ask", QUESTION, "--analyst", "ana"], ["ledger", "verify"], ["budget"]):
        shown = run(*arguments)
        assert (shown.exit_code, shown.stdout) == (5, "")
        assert "an old copy was put back" in shown.stderr


def test_a_key_is_charged_once_and_stands_for_one_question(folder: Path) -> None:
    first = told("ask", QUESTION, "--epsilon", "0.1", "--analyst", "ana", "--key", "monday")
    again = told("ask", QUESTION, "--epsilon", "0.1", "--analyst", "ana", "--key", "monday")
    assert (first["charged"], again["charged"]) == (True, False)
    other = run("ask", QUESTION, "--epsilon", "0.2", "--analyst", "ana", "--key", "monday")
    assert other.exit_code == 2
    assert "monday" in other.stderr


def test_how_contributions_are_bounded_can_be_chosen(folder: Path) -> None:
    scaled = told("plan", QUESTION, "--analyst", "ana")
    kept = told("plan", QUESTION, "--analyst", "ana", "--bound", "groups", "--contribution", "1,1")
    assert scaled["bounding"] != kept["bounding"]
    assert "at most 1 rows" in kept["bounding"]
    for text in ("3", "a,b", "1,2,3", "0,1", "-1,1", "1,9999999"):
        assert run("plan", QUESTION, "--analyst", "ana", f"--contribution={text}").exit_code == 2


def test_what_is_too_rare_to_be_shown_is_one_more_group(folder: Path) -> None:
    by_name = "SELECT name, COUNT(*) AS n FROM visits GROUP BY name"
    plan = told("plan", by_name, "--analyst", "ana", "--other", "all else")
    assert "'all else'" in run("plan", by_name, "--analyst", "ana", "--other", "all else").output
    answer = told("ask", by_name, "--analyst", "ana", "--other", "all else")
    assert answer["rows"][-1]["name"] == "all else"
    assert answer["certificate"]["digest"] == plan["digest"]
    assert run("plan", QUESTION, "--analyst", "ana", "--other", "x").exit_code == 2  # its groups are declared


@pytest.mark.parametrize("budget", ["epsilon = 2", "rho = 0.5"])
def test_other_kinds_of_budget_are_asked_and_told(folder: Path, budget: str) -> None:
    declared = DECLARED.partition("[analysts")[0].replace("epsilon = 2\ndelta = 1e-6", budget)
    (folder / "privet.toml").write_text(declared)
    amount = ["--rho", "0.1"] if budget.startswith("rho") else ["--epsilon", "0.1"]
    assert told("ask", QUESTION, *amount)["charged"]
    shown = run("budget").stdout
    assert budget.replace(" = ", " ") in shown
    assert ("up to rho 0." if budget.startswith("rho") else "up to epsilon 1.9") in shown
    assert run("certificate", "2").exit_code == 0
    assert budget.partition(" ")[0] in run("ask", "SELECT COUNT(*) AS n FROM visits", *amount).stdout


def test_widths_by_column_and_in_percent_are_reached_in_rounds_under_a_maximum(folder: Path) -> None:
    sql = "SELECT COUNT(*) AS n, AVG(age) AS a FROM visits"
    arguments = (sql, "--analyst", "ana", "--within", "n=400,a=50%", "--at-most", "0.5")
    planned = told("plan", *arguments)
    assert (planned["fits"], planned["answered"]) == (True, False)
    assert [one["column"] for one in planned["target"]["columns"]] == ["n", "a"]
    assert "half-width after all 5 rounds" in run("plan", *arguments).stdout
    answer = told("ask", *arguments)
    accuracy = answer["certificate"]["accuracy"]
    assert accuracy["reached"]
    assert answer["certificate"]["cost"]["epsilon"] <= 0.5
    assert "as narrow as asked after" in run("ask", *arguments).stdout
    assert not told("ask", *arguments)["charged"]
    for wrong in ("n=", "=5", "n=5,n=6", "5,n=6", "x%"):
        assert run("plan", sql, "--analyst", "ana", "--within", wrong).exit_code == 2


def test_clipping_tells_what_is_taken_away_and_is_charged_once(folder: Path) -> None:
    arguments = ("clipping", "SELECT AVG(LEAST(age, 40)) FROM visits", "--analyst", "ana", "--epsilon", "0.4")
    found = told(*arguments)
    (one,) = found["clamped"]
    assert one["low"] is None
    assert 0.4 < one["above"]["value"] < 0.7
    assert one["answer_without"]["low"] > one["answer"]["high"]
    assert told(*arguments) == found
    shown = run(*arguments).stdout
    assert "of the rows have age above 40" in " ".join(shown.split())
    assert "entry" in shown
    assert run(*arguments, "--within", "5").exit_code == 2


@pytest.mark.parametrize("sound", [True, False])
def test_a_plan_says_that_an_answer_of_an_earlier_sound_edition_is_free(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sound: bool
) -> None:
    rollup = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)"
    asked = ([QUESTION, "--epsilon", "0.1"], [COUNT, WARDS, "--epsilon", "0.1"], [rollup, "--epsilon", "0.1"])
    for one in asked:
        told("ask", *one, "--analyst", "ana")
    spent = told("budget")
    monkeypatch.setattr("privet.planner.plan.EDITIONS", (Edition("any", 2, lambda _: True, sound, lambda plan: plan),))
    for one in asked:
        plans = told("plan", *one, "--analyst", "ana")
        assert {each["answered"] for each in (plans if isinstance(plans, list) else [plans])} == {sound}
        told("ask", *one, "--analyst", "ana")
    assert (told("budget") == spent) == sound


def test_running_totals_are_planned_charged_once_shown_and_drawn(folder: Path) -> None:
    arguments = ("running", "visits", "--by", "age", "--group", "ward", "--epsilon", "0.4", "--analyst", "ana")
    planned = json.loads(run(*arguments, "--plan", "--json").stdout)
    assert (planned["fits"], planned["answered"]) == (True, False)
    assert planned["standard_error"] > 0
    first = json.loads(run(*arguments, "--json", "--nonnegative").stdout)
    assert first["charged"]
    assert first["digest"] == planned["digest"]
    assert first["tables"][0]["columns"] == ["age", "ward"]
    assert first["tables"][0]["rows"][0]["n_low"] >= 0
    again = json.loads(run(*arguments, "--json", "--confidence", "0.9", "--plot", "totals.png").stdout)
    assert not again["charged"]
    assert (folder / "totals.png").stat().st_size > 1000
    assert "it was answered before" in run(*arguments).stdout
    assert "standard error" in run(*arguments, "--plan").stdout
    for wrong in (["--whole"], ["--by", "ward"], ["--of", "ward"], ["--group", "age"]):
        assert run(*arguments, *wrong).exit_code == 2


def test_marginals_are_planned_charged_once_shown_and_drawn(folder: Path) -> None:
    arguments = ("marginals", "visits", "ward", "age", "--ways", "1", "--epsilon", "0.4", "--analyst", "ana")
    planned = json.loads(run(*arguments, "--plan", "--json").stdout)
    assert (planned["fits"], planned["answered"]) == (True, False)
    assert [one["columns"] for one in planned["tables"]] == [["ward"], ["age"]]
    first = json.loads(run(*arguments, "--json", "--whole", "--nonnegative").stdout)
    assert first["charged"]
    assert [row["ward"] for row in first["tables"][0]["rows"]] == ["heart", "lung"]
    assert all(type(row["n"]) is int and row["n_low"] >= 0 for row in first["tables"][1]["rows"])
    again = json.loads(run(*arguments, "--json", "--show", "ward", "--show", "", "--plot", "n.png").stdout)
    assert not again["charged"]
    assert [one["columns"] for one in again["tables"]] == [["ward"], []]
    assert (folder / "n.png").stat().st_size > 1000
    assert again["digest"] == planned["digest"]
    shown = run(*arguments, "--show", "ward").stdout
    assert "it was answered before" in shown
    assert "heart" in shown
    told = run(*arguments, "--plan").stdout
    assert "asking again is free" in told
    assert "standard error" in told
    for wrong in (["--weight", "ward"], ["--weight", "ward=x"], ["--weight", "ward=-1"], ["--subset", "ward"]):
        assert run(*arguments, *wrong).exit_code == 2


def test_counts_of_ranges_beside_others_are_shown_for_free(folder: Path) -> None:
    asked = ("marginals", "visits", "ward", "age", "--ordered", "age=ranges", "--epsilon", "0.4", "--analyst", "ana")
    counts = ("ward=heart,age=18..64", "age=65..", " age = ..17 , ward = lung ", "age=12.5..90", "age=30", "")
    told = [one for count in counts for one in ("--count", count)]
    first = json.loads(run(*asked, "--json", "--whole", "--nonnegative", *told).stdout)
    assert first["charged"]
    (table,) = first["tables"]
    assert table["columns"] == ["ward", "age"]
    assert [(row["ward"], row["age"]) for row in table["rows"]] == [
        ("heart", "18 to 64"),
        ("(all)", "65 to largest"),
        ("lung", "least to 17"),
        ("(all)", "12.5 to 90"),
        ("(all)", "30"),
        ("(all)", "(all)"),
    ]
    for row in table["rows"]:
        assert type(row["n"]) is type(row["n_low"]) is int
        assert 0 <= row["n_low"] <= row["n"] <= row["n_high"]
    again = json.loads(run(*asked, "--json", "--count", "age=18..64", "--show", "ward").stdout)
    assert not again["charged"]
    assert [one["columns"] for one in again["tables"]] == [["age"], ["ward"]]
    assert "18 to 64" in (shown := run(*asked, "--count", "age=18..64", "--plot", "n.png")).stdout
    assert "it was answered before" in shown.stdout
    assert "Each interval covers" in " ".join(shown.stdout.split())
    assert (folder / "n.png").stat().st_size > 1000
    for wrong in ("age=64..18", "age=900..", "ward=heart..lung"):
        refused = run(*asked, "--count", "age=1", "--count", wrong)
        assert refused.exit_code == 2
        assert refused.stderr.startswith("Error: count must be")


@pytest.mark.parametrize("width", [60, 80, 130])
def test_a_plan_of_many_counts_is_wrapped_once_in_the_width_of_the_terminal(folder: Path, width: int) -> None:
    for asked in (("marginals", "visits", "ward", "age", "--ordered", "age=ranges"), ("ranges", "visits", "age")):
        arguments = (*asked, "--epsilon", "0.4", "--analyst", "ana", "--plan")
        whole = run(*arguments, COLUMNS="5000").stdout.splitlines()
        found = run(*arguments, COLUMNS=str(width)).stdout.splitlines()
        assert found == [part for line in whole for part in wrap(line, width)]
        assert max(map(len, found)) > width - 15


def test_ranges_are_planned_charged_once_shown_and_drawn(folder: Path) -> None:
    arguments = ("ranges", "visits", "age", "--epsilon", "0.4", "--analyst", "ana")
    planned = json.loads(run(*arguments, "--plan", "--json").stdout)
    assert (planned["fits"], planned["answered"]) == (True, False)
    first = json.loads(run(*arguments, "--json", "--range", "18,64", "--range", "65,", "--quantile", "0.5").stdout)
    assert first["charged"]
    assert [row["range"] for row in first["tables"][0]["rows"]] == ["18 to 64", "65 to largest"]
    assert first["tables"][1]["rows"][0]["from"] <= first["tables"][1]["rows"][0]["value"]
    again = json.loads(run(*arguments, "--json", "--histogram", "11", "--plot", "n.png").stdout)
    assert not again["charged"]
    assert again["digest"] == planned["digest"]
    assert len(again["tables"][0]["rows"]) == 11
    assert (folder / "n.png").stat().st_size > 1000
    assert "it was answered before" in run(*arguments).stdout
    for wrong in (["--range", "18"], ["--range", "a,b"], ["--range", "9,3"], ["--quantile", "2"], ["--bins", "0"]):
        assert run(*arguments, *wrong).exit_code == 2


def test_several_questions_say_which_of_them_share_a_release(folder: Path) -> None:
    young, old = (f"SELECT COUNT(*) AS n FROM visits WHERE age {way}" for way in ("< 40", ">= 40"))
    arguments = (young, old, "--epsilon", "0.4", "--analyst", "ana")
    shared = [one["together"]["shared"] for one in told("plan", *arguments)]
    assert shared[0] == shared[1]
    assert shared[0][0]["questions"] == [1, 2]
    assert shared[0][0]["variance_ratio"] > 1.5
    for command in ("plan", "ask"):
        words = " ".join(run(command, *arguments).stdout.split())
        assert "Questions 1 to 2 have conditions on" in words or "Questions 1 to 2 count cells of" in words
        assert "times smaller than one by one" in words
    assert {one["charged"] for one in told("ask", *arguments)} == {False}
