"""`privet init`: names and types from the schema, everything else from the custodian, nothing from the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

from privet import cli
from privet.config import BadConfig, read_config
from privet.core.budget import Approximate, Zcdp
from privet.core.unit import Link, Person, Rows

SECRETS = ("Jane Roe", "777777", "1901-02-03", "hunter2")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    duckdb.sql(
        """
        SELECT 777777 AS patient_id, i AS visit_id, (777777 % 100)::SMALLINT AS age, 'Jane Roe' AS name,
            777777.77::DECIMAL(10, 2) AS cost, DATE '1901-02-03' AS day, TIMESTAMP '1901-02-03' AS seen, true AS urgent,
            [777777] AS readings
        FROM range(5) t(i)
        """
    ).write_parquet("visits.parquet")
    Path("drugs.csv").write_text("visit_id,drug\n777777,hunter2\n")
    return tmp_path


def run(*arguments: str, answers: str = "") -> Result:
    return CliRunner().invoke(cli.main, ["init", *arguments], input=answers)


def test_without_answers_the_file_says_what_is_to_be_filled_in_with_its_lines(folder: Path) -> None:
    told = json.loads(run("visits.parquet", "drugs.csv", "--yes", "--json").stdout)
    lines = Path("privet.toml").read_text().splitlines()
    assert told["tables"] == ["visits", "drugs"]
    for one in told["to_fill_in"]:
        assert lines[one["line"] - 1].startswith("# TODO(privet): ")
        assert one["message"] in lines[one["line"] - 1]
    assert len(told["to_fill_in"]) == sum("TODO(privet)" in line for line in lines) == 10
    with pytest.raises(BadConfig) as caught:
        read_config()
    assert {one["line"] for one in told["to_fill_in"]} <= {problem["line"] for problem in caught.value.problems}


def test_nothing_of_the_rows_is_written_or_shown(folder: Path) -> None:
    shown = run("visits.parquet", "drugs.csv", "--yes")
    everything = shown.stdout + shown.stderr + Path("privet.toml").read_text()
    assert not any(secret in everything for secret in SECRETS)


def test_types_come_from_the_schema_and_what_is_not_read_is_told(folder: Path) -> None:
    run("visits.parquet", "--yes")
    text = Path("privet.toml").read_text()
    for line in ('age = "integer"', 'name = "text"', 'cost = "number"', 'day = "date"', 'seen = "timestamp"'):
        assert line in text
    assert 'urgent = "boolean"' in text
    assert "# readings is of a type that Privet does not read" in text


EVERYTHING = (
    "visits.parquet", "drugs.csv", "--yes", "--unit", "patient_id", "--link", "drugs=visit_id -> visits.visit_id",
    "--budget", "epsilon=.5,delta=1e-6", "--column", "age=integer:0:120",
    "--column", "cost=number:0:2000.5:0.01:nullable", "--column", "name=text:nullable",
    "--column", "day=date:2025-01-01:2025-12-31", "--column", "seen=timestamp:2025-01-01T00:00:00..2025-12-31T23:59:59",
    "--column", "visit_id=integer", "--column", "drugs.drug=category:aspirin,no pills",
    "--contribution", "groups=1,rows=4",
    "--contribution", "visits:groups=3,rows=2", "--analyst", "alice=epsilon=0.25,delta=1e-7",
)  # fmt: skip


def test_with_options_the_file_is_whole(folder: Path) -> None:
    shown = run(*EVERYTHING)
    assert shown.exit_code == 0, shown.stderr
    assert "filled in" not in shown.stdout
    config = read_config()
    assert config.rules.budget == Approximate(epsilon=0.5, delta=config.rules.budget.delta)  # type: ignore[arg-type, union-attr]
    visits, drugs = config.tables["visits"].schema, config.tables["drugs"].schema
    assert visits.unit == Person("patient_id")
    assert drugs.unit == Link("visit_id", to="visits", column="visit_id")
    assert (visits.contribution.groups, visits.contribution.rows) == (3, 2)
    assert (drugs.contribution.groups, drugs.contribution.rows) == (1, 4)
    assert visits.columns["cost"].nullable
    assert visits.columns["name"].nullable
    assert drugs.columns["drug"].values == ("aspirin", "no pills")
    assert config.analysts["alice"].budget is not None
    assert config.tables["visits"].source == str(folder / "visits.parquet")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--unit", "patient"), "did you mean 'patient_id'?"),
        (("--unit", "vists=patient_id"), "did you mean 'visits'?"),
        (("--column", "agee=integer"), "did you mean 'age'?"),
        (("--column", "age=integr:0:9"), "did you mean 'integer'?"),
        (("--column", "age=integer:0"), "is not understood"),
        (("--column", "age=integer:a:b"), "not the ends of a integer"),
        (("--column", "age=boolean:0:1"), "is not understood"),
        (("--column", "age"), "is not understood"),
        (("--column", "age=category:a,b"), "whole numbers"),
        (("--column", "name=category:"), "needs its public values"),
        (("--column", "age=integer:9:0"), "must be at most high"),
        (("--column", "cost=number:0:1e400"), "is not a number"),
        (("--budget", "epsilon=lots"), "is not a number"),
        (("--budget", "epsilon=-1"), "above 0"),
        (("--budget", "delta=0.1"), "without epsilon"),
        (("--budget", "1"), "is not a budget"),
        (("--contribution", "3"), "is not a contribution"),
        (("--link", "visits=x"), "visit_id -> visits.id"),
        (("--analyst", "alice=rho=1", "--budget", "epsilon=1"), "cannot be counted"),
        (("--table", "visits"), "--table visits="),
        (("--table", "visits=visits.parquet"), "two tables would be called"),
        (("nowhere.parquet",), "there is no file 'nowhere.parquet'"),
        (("--public", "wards"), "there is no table"),
    ],
)
def test_an_option_that_is_wrong_is_told_and_nothing_is_written(
    folder: Path, options: tuple[str, ...], words: str
) -> None:
    shown = run("visits.parquet", "--yes", *options)
    assert shown.exit_code == 2
    assert words in shown.stderr
    assert not Path("privet.toml").exists()


def test_without_files_it_says_what_to_give() -> None:
    shown = run("--yes")
    assert shown.exit_code == 2
    assert "privet init data/*.parquet" in shown.stderr


def test_a_file_is_never_replaced_without_force(folder: Path) -> None:
    Path("privet.toml").write_text("mine")
    shown = run("visits.parquet", "--yes")
    assert shown.exit_code == 2
    assert "--force" in shown.stderr
    assert "Table" not in run("visits.parquet", "--ask").output  # refused before anything is asked
    assert Path("privet.toml").read_text() == "mine"
    assert run("visits.parquet", "--yes", "--force").exit_code == 0
    assert "[tables.visits]" in Path("privet.toml").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["drugs.csv", "privet.toml", "visits.parquet"]


def test_forcing_replaces_a_link_and_not_what_it_leads_to(folder: Path) -> None:
    Path("precious").write_text("mine")
    Path("privet.toml").symlink_to("precious")
    assert run("visits.parquet", "--yes", "--force").exit_code == 0
    assert Path("precious").read_text() == "mine"


@pytest.mark.parametrize(
    "header",
    ["777777,hunter2", "Jane Roe,1901-02-03", "name,jane@example.org", "a,12.5", "a,true", f"x,{'hunter2' * 20}"],
)
def test_a_first_line_that_may_be_a_row_is_neither_written_nor_shown(folder: Path, header: str) -> None:
    Path("plain.csv").write_text(f"{header}\n1,2\n")
    shown = run("plain.csv", "--yes")
    assert shown.exit_code == 2
    assert "does not look like names" in shown.stderr
    assert not any(part in shown.stderr for part in header.split(",") if part not in ("x", "a", "name", "true"))


def test_names_with_anything_in_them_stay_names(folder: Path) -> None:
    nasty = 'x"]\nepsilon = 9 # \\ \x7f é'
    duckdb.sql("SELECT 1 AS a").project(f'a AS "{nasty.replace(chr(34), chr(34) * 2)}"').write_parquet("nasty.parquet")
    assert run("nasty.parquet", "--yes", "--unit", "rows", "--budget", "rho=0.1").exit_code == 0
    text = Path("privet.toml").read_text()
    Path("privet.toml").write_text("\n".join(line for line in text.splitlines() if "TODO(privet)" not in line))
    config = read_config()
    assert list(config.tables["nasty"].schema.columns) == [nasty]
    assert config.tables["nasty"].schema.unit == Rows()
    assert isinstance(config.rules.budget, Zcdp)


def test_many_files_can_be_one_table_and_lie_elsewhere(folder: Path, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    for number in range(2):
        duckdb.sql("SELECT 1 AS patient").write_parquet(str(other / f"part-{number}.parquet"))
    options = (
        "--unit",
        "patient",
        "--contribution",
        "groups=1,rows=2",
        "--budget",
        "rho=0.1",
        "--yes",
        "--output",
        "sub.toml",
    )
    assert run("--table", f"visits={other}/part-*.parquet", *options).exit_code == 0
    assert read_config("sub.toml").tables["visits"].source == f"{other}/part-*.parquet"


ANSWERS = """patient
patient_id

n
integer
0:x
0:120

text

y
number
0:2000

date


timestamp


boolean

groups=2,rows=3
epsilon=1,delta=1e-6
"""


def test_what_is_missing_is_asked_for_and_wrong_answers_are_asked_again(folder: Path) -> None:
    answers = ANSWERS.replace("\n\nn\n", "\ninteger\n\nn\n", 1)
    shown = run("visits.parquet", "--ask", answers=answers)
    assert shown.exit_code == 0, shown.stderr
    assert "there is no column 'patient'" in shown.stderr
    assert "not the ends of a integer" in shown.stderr
    config = read_config()
    facts = config.tables["visits"].schema
    assert facts.unit == Person("patient_id")
    assert facts.columns["age"].high == 120
    assert facts.columns["name"].nullable
    assert (facts.contribution.groups, facts.contribution.rows) == (2, 3)


def test_stopping_half_way_keeps_what_was_entered(folder: Path) -> None:
    stopped = run("visits.parquet", "--ask", answers="patient_id\n")
    assert stopped.exit_code == 1
    assert "What was entered is saved" in stopped.stdout
    text = Path("privet.toml").read_text()
    assert 'unit = "patient_id"' in text
    assert "choose the budget of all answers" in text


def test_a_custodian_goes_back_by_one_question(folder: Path) -> None:
    Path("small.csv").write_text("user_id,age\n1,2\n")
    given = [
        "rows",
        "<",
        "user_id",
        "<",
        "user_id",
        "integer",
        "integer",
        "0:120",
        "<",
        "integer",
        "integer",
        "0:99",
        "n",
    ]
    made = run("small.csv", "--ask", answers="\n".join([*given, "groups=3,rows=2", "epsilon=1"]) + "\n")
    assert made.exit_code == 0, made.output
    columns = read_config("privet.toml").tables["small"].schema
    assert columns.unit == Person("user_id")
    assert columns.columns["age"].high == 99


def test_a_unit_is_offered_for_plausible_columns_only(folder: Path) -> None:
    Path("small.csv").write_text("amount,day,patient_id\n1,2,3\n")
    asked = run("small.csv", "--ask", answers="\n")
    assert "such as patient_id;" in asked.output
    text = Path("privet.toml").read_text()
    assert '# unit = "patient_id"' in text
    assert '# unit = "amount"' not in text
    assert text.count("state what amount, day, patient_id each hold") == 1


def test_kinds_come_from_the_values_of_a_csv_only_where_that_is_asked_for(folder: Path) -> None:
    rows = ["8731,1.5,2024-01-02,2024-01-02 03:04:05,true,02134,x", "9412,,2024-11-30,2024-01-02T03:04,FALSE,94110,7"]
    Path("small.csv").write_text("\n".join(["a,b,c,d,sick,zip,t", *rows]) + "\n")
    assert run("small.csv", "--yes").exit_code == 0
    assert '\na = "text"' in Path("privet.toml").read_text()
    assert run("small.csv", "--yes", "--force", "--types-from-data").exit_code == 0
    text = Path("privet.toml").read_text()
    kinds = {
        "a": "integer",
        "b": "number",
        "c": "date",
        "d": "timestamp",
        "sick": "boolean",
        "zip": "text",
        "t": "text",
    }
    for name, kind in kinds.items():
        assert f'\n{name} = "{kind}"' in text
    for value in ("8731", "9412", "1.5", "02134", "94110", "2024-11-30"):
        assert value not in text
