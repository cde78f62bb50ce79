"""What a person holds, in a shell and in a notebook: reprs, HTML that escapes, descriptions whose examples run."""

from __future__ import annotations

import datetime
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.query.sql.parse import parse_asked

LIMIT = privet.Contribution(groups=2, rows=3)
WILD = "<img src=x onerror=alert(1)>"


def visits(**changes: Any) -> privet.Table:
    rows = {
        "patient": [i % 50 for i in range(400)],
        "ward": [["heart", WILD][i % 2] for i in range(400)],
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 90) for i in range(400)],
        "cost": [float(i % 10) for i in range(400)],
        "found": [f"<b>{i % 2}</b>" for i in range(400)],
    }
    columns = {
        "patient": privet.integer(),
        "ward": privet.category(["heart", WILD]),
        "day": privet.date("2024-01-01", "2024-03-31"),
        "cost": privet.number(0, 10),
        "found": privet.text(),
    }
    facts: dict[str, Any] = {"unit": "patient", "columns": columns, "contribution": LIMIT, **changes}
    return privet.Table(pa.table(rows), **facts)


@pytest.fixture
def session() -> Iterator[privet.Session]:
    views = {"dear": "SELECT * FROM visits WHERE cost > 5"}
    budget = privet.Approximate(epsilon=10_000, delta=1e-6)
    with privet.Session({"visits": visits()}, views=views, budget=budget) as made:
        yield made


def test_everything_that_shows_itself_as_html_escapes_released_keys_and_names(session: privet.Session) -> None:
    answer = session.ask("SELECT found, ward, COUNT(*) AS n FROM visits GROUP BY found, ward", 50)
    assert WILD in answer["ward"].values
    plan = session.plan(f"SELECT ward, COUNT(*) AS \"{WILD}\" FROM visits WHERE ward = '{WILD}' GROUP BY ward", 50)
    several = session.plan_all([f"SELECT COUNT(*) FROM visits WHERE ward = '{WILD}'"], 1)
    levels = session.plan(f'SELECT ward, COUNT(*) AS "{WILD}" FROM visits GROUP BY ROLLUP (ward)', 1)
    session.run(plan)
    told: list[Any] = [answer, plan, several, levels, session, session.tables, session.history()]
    for one in (*told, session.describe("visits")):
        html = one._repr_html_()
        assert "<img" not in html
        assert "<b>" not in html
        assert html.startswith("<div>")
        assert html.endswith("</div>")
    assert "&lt;img src=x" in answer._repr_html_()
    assert answer._repr_html_().index("heart") < answer._repr_html_().index("Each interval")


def test_at_most_twenty_rows_are_shown_and_the_rest_is_counted(session: privet.Session) -> None:
    answer = session.ask("SELECT day, COUNT(*) AS n FROM visits GROUP BY day", 1)
    assert len(answer) == 91
    for shown in (repr(answer), answer._repr_html_()):
        assert "2024-01-20" in shown
        assert "2024-01-21" not in shown
        assert "... and 71 more" in shown


def test_a_session_shows_its_tables_its_budget_and_what_is_left(session: privet.Session) -> None:
    session.ask("SELECT COUNT(*) AS n FROM visits", 5000)
    shown = repr(session)
    for part in ("visits", "dear", "epsilon 10000", "█", "up to epsilon", "for one more question"):
        assert part in shown
    assert repr(session.remaining()).startswith("up to epsilon")
    assert "count of rows in visits" in repr(session.history())
    session.close()
    assert "visits" in repr(session)


def test_budgets_are_shown_as_they_are_typed() -> None:
    assert repr(privet.Pure(epsilon=1)) == "Pure(epsilon=1)"
    assert repr(privet.Approximate(epsilon=0.1, delta=1e-6)) == "Approximate(epsilon=0.1, delta=1e-06)"
    assert repr(privet.Zcdp(rho=0.125)) == "Zcdp(rho=0.125)"


def test_questions_show_the_sql_that_asks_the_same(session: privet.Session) -> None:
    table = session.table("visits")
    assert repr(table.where(privet.col("cost") > 3)) == "SELECT * FROM visits WHERE cost > 3"
    built = [
        table.agg(n=privet.count()),
        table.groupby("ward").agg(n=privet.count(), mean=privet.mean("cost"), people=privet.count_units()),
        table.where((privet.col("cost") > 3) & (privet.col("day") >= "2024-02-01")).agg(s=privet.sum("cost")),
        table.group_by("ward").agg(n=privet.count()).having(privet.col("n") > 5).order_by(privet.col("n").desc()),
        table.group_by(month=privet.col("day").truncate("month")).agg(q=privet.quantile("cost", 0.9)).limit(3),
        table.rollup("ward").agg(n=privet.count()),
        table.agg(top=privet.top_k("ward", 2), around=privet.bounds("cost")),
        table.agg(ratio=privet.sum("cost") / privet.count()),
    ]
    schemas = {"visits": visits().schema}
    for question in built:
        query, _ = parse_asked(repr(question), schemas, {})
        assert query == question.query(), repr(question)
    joined = table.join(session.table("dear"), on="patient").agg(n=privet.count())
    assert "JOIN" in repr(joined)
    assert repr(privet.mean("cost")) == "Term(AVG(cost))"


SCHEMAS: dict[str, dict[str, Any]] = {
    "people": {},
    "rows": {"unit": privet.Rows(), "contribution": None},
    "windows": {"unit": privet.Window("patient", "day", 7, origin="2024-01-01")},
    "text alone": {"columns": {"patient": privet.integer(), "found": privet.text(nullable=True)}},
    "the person alone": {"columns": {"patient": privet.integer()}},
    "unbounded": {"columns": {"patient": privet.integer(), "cost": privet.number(), "day": privet.date()}},
    "whole numbers": {"columns": {"patient": privet.integer(), "cost": privet.integer(0, 9, nullable=True)}},
    "change-one": {"unit": privet.Rows(), "contribution": None, "neighbors": "change-one", "rows": 400, "units": 400},
}
BUDGETS = {
    "pure": privet.Pure(epsilon=50),
    "approximate": privet.Approximate(epsilon=50, delta=1e-6),
    "zcdp": privet.Zcdp(rho=5),
}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_example_that_is_shown_runs(schema: str, budget: str) -> None:
    views = {"some": 'SELECT * FROM "the visits" WHERE patient > 3'}
    tables = {"the visits": visits(**SCHEMAS[schema])}
    named = {} if schema in ("windows", "change-one") else views
    with privet.Session(tables, views=named, budget=BUDGETS[budget]) as session:
        for name in session.tables:
            told = session.describe(name)
            assert told.examples[0].startswith("SELECT COUNT(*) AS n FROM ")
            for example in told.examples:
                assert example in repr(told)
                spend: dict[str, Any] = {"rho": 0.01} if budget == "zcdp" else {"epsilon": 0.1}
                assert len(session.ask(example, **spend).series) >= 1
            json.dumps(told.to_dict())


def test_a_description_says_what_is_declared(session: privet.Session) -> None:
    told = session.describe("visits")
    columns = {one.name: one for one in told.columns}
    assert columns["ward"].groups == 2
    assert columns["day"].groups == 91
    assert columns["cost"].values == "0 to 10"
    assert columns["found"].use == "groups are found in the data"
    assert "3 rows in each of 2 groups" in repr(told)
    assert list(session.tables) == ["visits", "dear"]
    with pytest.raises(UnknownName, match="did you mean 'visits'"):
        session.describe("visit")
    with pytest.raises(BadParameter, match="name"):
        session.describe(3)  # type: ignore[arg-type]


def test_a_lazy_frame_is_read_anew_for_each_question() -> None:
    import polars

    times = [datetime.datetime(2024, 1, 1 + i % 3, tzinfo=datetime.UTC) for i in range(200)]
    frame = polars.DataFrame({"p": list(range(200)), "x": [1.0] * 200, "at": times, "unused": [None] * 200})
    lazy = frame.with_columns(polars.col("at").cast(polars.Datetime("ms", "Asia/Tokyo"))).lazy()
    columns = {
        "p": privet.integer(),
        "x": privet.number(0, 2),
        "at": privet.timestamp("2024-01-01", "2024-01-03 23:59:59"),
    }
    table = privet.Table(lazy, unit="p", columns=columns, contribution=LIMIT)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=10**6)) as session:
        assert abs(session.ask("SELECT SUM(x) AS s FROM t", 10**5).value - 200) < 1
        days = session.ask("SELECT DATE_TRUNC('day', at) AS day, COUNT(*) AS n FROM t GROUP BY day", 10**5)
        assert [abs(value - 66) <= 2 for value in days["n"].values] == [True] * 3


@pytest.mark.parametrize("wrong", ["2024-02-30", "2024-1-1", "20240101", "2024-01-01T00:00:00", "", "today", 20240101])
def test_a_text_that_is_no_date_is_refused(wrong: Any) -> None:
    with pytest.raises(BadParameter, match="2024-01-31"):
        privet.date(wrong, "2024-12-31")
    with pytest.raises(BadParameter, match="origin"):
        privet.Window("p", "day", 7, origin=wrong)


@pytest.mark.parametrize("wrong", ["2024-01-01T00:00:00Z", "2024-01-01 25:00", "2024-W01-1", "now", 5])
def test_a_text_that_is_no_point_in_time_is_refused(wrong: Any) -> None:
    with pytest.raises(BadParameter, match="without a time zone"):
        privet.timestamp(wrong, "2024-12-31")


def test_a_unit_by_name_is_a_person_and_must_be_listed() -> None:
    assert visits().schema.unit == privet.Person("patient")
    with pytest.raises(BadParameter, match=r"Rows\(\) for each row"):
        visits(unit="rows")


CELLS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.colors = "nocolor"
shell.display_formatter.active_types = shell.display_formatter.format_types
import rich.console
rich.console._is_jupyter = lambda: True
shell.run_cell('''
import pyarrow as pa, privet
table = privet.Table(
    pa.table({"p": [1, 2], "w": ["a", "b"]}), unit="p", contribution=privet.Contribution(groups=1, rows=1),
    columns={"p": privet.integer(), "w": privet.category(["a", "b"])})
session = privet.Session({"t": table}, budget=privet.Pure(epsilon=10))
def asked(sql):
    return session.ask(sql, 1)
''')
told = {}
for name, cell in {
    "answer": 'asked("SELECT w, COUNT(*) AS n FROM t GROUP BY w")', "plan": 'session.plan("SELECT COUNT(*) FROM t", 1)',
    "session": "session", "plot": 'asked("SELECT w, COUNT(*) AS n FROM t GROUP BY w").plot()',
    "error": 'asked("SELECT COUNT(*) FROM nowhere")', "tb": "%tb",
}.items():
    with capture_output() as caught:
        value = shell.run_cell(cell).result
    forms = sorted(shell.display_formatter.format(value)[0]) if value is not None else []
    told[name] = {"text": caught.stdout + caught.stderr, "at once": len(caught.outputs), "forms": forms}
print(json.dumps(told))
"""


def test_a_real_notebook_shows_each_thing_once_and_errors_in_a_few_lines() -> None:
    pytest.importorskip("IPython", reason="IPython is not installed: pip install ipython to run this")
    own = {**os.environ, "PYTHONPATH": str(Path(privet.__file__).parents[1])}
    ran = subprocess.run([sys.executable, "-c", CELLS], capture_output=True, text=True, env=own, check=True)
    told = json.loads(ran.stdout.splitlines()[-1])
    assert [told[name]["at once"] for name in ("answer", "plan", "session", "plot")] == [0] * 4
    assert [told[name]["forms"] for name in ("answer", "plan", "session")] == [["text/html", "text/plain"]] * 3
    assert told["answer"]["text"].count("Each interval covers") == 1
    assert told["plot"]["forms"] == ["image/png", "text/plain"]
    error, everything = told["error"]["text"], told["tb"]["text"]
    told_last, text, caret = error.rstrip().splitlines()[-3:]
    assert told_last.startswith("privet.core.errors.UnknownName: there is no table 'nowhere'")
    assert text[caret.index("^") :].startswith("nowhere")
    assert "return session.ask(sql, 1)" in error
    assert "session.py" not in error
    assert len(error.splitlines()) < 12
    assert "session.py" in everything


def test_an_error_shows_the_callers_lines_first_and_all_lines_when_asked_again(session: privet.Session) -> None:
    with pytest.raises(RequestError) as caught:
        session.ask("SELECT COUNT(*) FROM nowhere", 1)
    first, second = (caught.value._render_traceback_() for _ in range(2))
    assert not any("session.py" in line for line in first)
    assert any(__file__ in line for line in first)
    assert any("session.py" in line for line in second)
    assert "_rendered" not in caught.value.to_dict()


def test_a_waiting_line_tells_time_the_limit_and_the_round_and_nothing_of_the_data() -> None:
    from privet.cli.screen import Waiting

    waiting = Waiting("asking", 600)
    assert str(waiting) == "asking: 0 s of at most 600 s"
    waiting.step("round 2 of at most 5")
    assert str(waiting) == "asking, round 2 of at most 5: 0 s of at most 600 s"


@pytest.mark.parametrize("step", [None, 0.01])
def test_rounds_are_reported_unless_answers_are_held_to_a_grid_of_time(step: float | None) -> None:
    from privet.execution.pace import reporting

    told: list[str] = []
    budget = privet.Pure(epsilon=10_000)
    with privet.Session({"visits": visits()}, budget=budget, time_step=step) as session, reporting(told.append):
        session.ask("SELECT AVG(cost) AS mean FROM visits", within="0.01%", at_most=2)
    assert bool(told) == (step is None)
    assert all(one.startswith("round ") for one in told)


def test_a_certificate_is_one_page_of_html_with_every_value_escaped(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from privet.cli import main

    source = tmp_path / "t.csv"
    source.write_text("w\na\n")
    config = tmp_path / "privet.toml"
    config.write_text(
        '[budget]\nepsilon = 1\n[tables."<b>t"]\nsource = "t.csv"\nunit = "rows"\n'
        f'columns = {{ w = {{ kind = "category", values = ["a", "{WILD}"] }} }}\n'
    )
    with privet.open(config) as session:
        session.ask(f"SELECT COUNT(*) AS n FROM \"<b>t\" WHERE w = '{WILD}'", 0.5)
    run = ["certificate", "2", "--config", str(config)]
    shown = CliRunner().invoke(main, [*run, "--html"])
    assert shown.exit_code == 0, shown.output
    page = shown.output
    assert page.startswith("<!doctype html>")
    assert "epsilon 0.5" in page
    assert "<b>" not in page
    assert "<img" not in page
    file = tmp_path / "certificate.html"
    assert CliRunner().invoke(main, [*run, "--output", str(file)]).exit_code == 0
    assert file.read_text() == page
    assert CliRunner().invoke(main, [*run, "--output", str(file)]).exit_code == 2
    assert CliRunner().invoke(main, [*run, "--output", str(tmp_path / "certificate.doc")]).exit_code == 2
    assert CliRunner().invoke(main, [*run, "--output", str(tmp_path / "c.json")]).exit_code == 0
    assert json.loads((tmp_path / "c.json").read_text())["entry"] == 2


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("s3://bucket/visits.parquet", "Parquet (.parquet, .pq) or CSV"),
        ("https://example.org/visits.csv", "Parquet (.parquet, .pq) or CSV"),
        ("visits.jsonl", "Parquet (.parquet, .pq) or CSV"),
        ("visits.xlsx", "export others, such as JSON or Excel"),
        ("folder", "name its files, as in"),
    ],
)
def test_a_source_that_is_not_read_says_what_is(tmp_path: Path, source: str, told: str) -> None:
    from click.testing import CliRunner

    from privet.cli import main

    (tmp_path / "folder").mkdir()
    for name in ("visits.jsonl", "visits.xlsx"):
        (tmp_path / name).write_text("x")
    config = tmp_path / "privet.toml"
    config.write_text(
        f'[budget]\nepsilon = 1\n[tables.t]\nsource = "{source}"\nunit = "rows"\ncolumns = {{ w = "text" }}\n'
    )
    for arguments in (
        ["ask", "SELECT COUNT(*) FROM t", "--epsilon", "0.5", "--config", str(config)],
        [
            "init",
            source if "://" in source else str(tmp_path / source),
            "--output",
            str(tmp_path / "new.toml"),
            "--yes",
        ],
    ):
        made = CliRunner().invoke(main, arguments)
        assert made.exit_code == 2
        assert told in " ".join(made.output.split())


def test_raising_a_budget_in_the_file_names_the_command_that_raises_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("w\na\n")
    config = tmp_path / "privet.toml"
    text = '[budget]\nepsilon = {}\n[tables.t]\nsource = "t.csv"\nunit = "rows"\ncolumns = {{ w = "text" }}\n'
    config.write_text(text.format("1"))
    privet.open(config).close()
    config.write_text(text.format("1.5"))
    with pytest.raises(RequestError, match=r"privet ledger top-up --epsilon 0.5 --reason"):
        privet.open(config)
    config.write_text(text.format("0.5"))
    with pytest.raises(RequestError, match="none can be lowered"):
        privet.open(config)


def test_equal_problems_of_a_file_are_printed_once_and_wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from privet.cli import main

    monkeypatch.setenv("COLUMNS", "80")
    config = tmp_path / "privet.toml"
    tables = "".join(
        f'[tables.t{index}]\nsource = "t.csv"\nunit = "p"\ncolumns = {{ p = "integer" }}\n' for index in range(3)
    )
    config.write_text(f"[budget]\nepsilon = 1\n{tables}")
    made = CliRunner().invoke(main, ["check", "--config", str(config)])
    assert made.exit_code == 2
    lines = made.output.splitlines()
    assert lines[0].startswith("Error: 3 problems in")
    assert lines[1].startswith("  lines 3, 7, 11: tables.t0, tables.t1, tables.t2: ")
    assert " ".join(made.output.split()).count("needs a limit") == 1
    assert max(map(len, lines[1:])) <= 80


def test_vast_and_tiny_numbers_have_an_exponent() -> None:
    from privet.display import shown_amount, shown_error

    assert [shown_amount(one) for one in (1e300, 33_940.2, 0.12341, 0.0, 1e-20)] == [
        "1e+300",
        "33,940",
        "0.1234",
        "0",
        "1e-20",
    ]
    assert [shown_error(one) for one in (3e200, 720.3, math.inf)] == ["3e+200", "730", "inf"]
