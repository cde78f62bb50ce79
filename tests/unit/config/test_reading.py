"""privet.toml is read strictly and exactly; all that is wrong is told at once, with lines and with what to write."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from pathlib import Path

import pytest

from privet.config import BadConfig, Config, read_config
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import RequestError
from privet.core.schema import Contribution, PublicTable
from privet.core.unit import Link, Person, Rows
from privet.engines.duckdb.sources import DatabaseTable

TABLE = """
[tables.visits]
source = "data/visits.parquet"
unit = "patient"
contribution = { groups = 1, rows = 1 }

[tables.visits.columns]
patient = "integer"
age = { kind = "integer", low = 0, high = 110 }
"""
LIMIT = "contribution = { groups = 1, rows = 1 }"
PATIENTS = f'unit = "patient"\n{LIMIT}'
BUDGET = """
[budget]
epsilon = 3
delta = 1e-6
"""
WHOLE = """
[budget]
epsilon = 0.1
delta = 1e-6
per_query = { epsilon = 0.05, delta = 1e-6 }
expires = 2030-12-31T23:59:59+01:00
keys_share = 0.25

[tables.visits]
source = ["data/a.parquet", "/data/*.parquet"]
unit = { person = "patient", group = 2 }
neighbors = "change-one"
contribution = { groups = 3, rows = 2 }
rows = 1_000_000
units = 5000
version = "2025-03"

[tables.visits.columns]
patient = "integer"
id = "integer"
age = { kind = "integer", low = 0, high = 110, nullable = true }
cost = { kind = "number", low = 0.1, high = 2000, step = 0.01 }
ward = { values = ["A", "B"] }
floor = { kind = "category", values = [1, 2, 3], nullable = true }
day = { kind = "date", low = 2025-01-01, high = 2025-12-31 }
at = { kind = "timestamp", low = 2025-01-01T00:00:00, high = 2025-12-31T23:59:59 }
note = { kind = "text" }
urgent = "boolean"

[tables.drugs]
source = { database = "drugs.duckdb", table = "drugs" }
link = "visit -> visits.id"
contribution = { groups = 1, rows = 1 }
columns = { visit = "integer", name = "text" }

[public.wards]
source = "wards.csv"
key = "ward"
rows = 100
columns = { ward = "text", beds = "integer" }

[analysts.alice]
epsilon = 0.05
delta = 1e-7
tables = ["visits"]

[analysts.bob]

[engine]
memory_limit = "2GB"
threads = 2
timeout = 30.5
time_step = 0.1

[ledger]
path = "ledgers/hospital.ledger"

[fingerprint]
key = "fingerprint.key"
"""


def read(folder: Path, text: str) -> Config:
    file = folder / "privet.toml"
    file.write_text(text, encoding="utf-8")
    return read_config(file)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        read(folder, text)
    told = str(caught.value).splitlines()[1:]
    assert len(told) == len(caught.value.problems)
    return [line.strip() for line in told]


def test_everything_that_can_be_declared_is_read_exactly(tmp_path: Path) -> None:
    config = read(tmp_path, WHOLE)
    rules = config.rules
    assert rules.budget == Approximate(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6))
    assert rules.per_query == Approximate(epsilon=Fraction(1, 20), delta=Fraction(1, 10**6))
    assert rules.expires == datetime.datetime(2030, 12, 31, 22, 59, 59, tzinfo=datetime.UTC)
    assert rules.keys_share == Fraction(1, 4)
    table = config.tables["visits"]
    assert table.source == (str(tmp_path / "data/a.parquet"), "/data/*.parquet")
    facts = table.schema
    assert facts.unit == Person("patient", group=2)
    assert (facts.neighbors, facts.units, facts.rows, facts.version) == ("change-one", 5000, 10**6, "2025-03")
    assert facts.contribution == Contribution(groups=3, rows=2)
    columns = facts.columns
    assert (columns["cost"].low, columns["cost"].step) == (Fraction(1, 10), Fraction(1, 100))
    assert columns["age"].nullable
    assert not columns["cost"].nullable
    assert columns["ward"].values == ("A", "B")
    assert columns["floor"].values == (1, 2, 3)
    assert columns["day"].high == datetime.date(2025, 12, 31)
    assert columns["at"].low == datetime.datetime(2025, 1, 1)
    assert [columns[name].kind for name in ("note", "urgent", "patient")] == ["text", "boolean", "integer"]
    drugs, wards = config.tables["drugs"], config.tables["wards"]
    assert drugs.schema.unit == Link("visit", to="visits", column="id")
    assert drugs.schema.neighbors == "change-one"
    assert drugs.source == DatabaseTable(str(tmp_path / "drugs.duckdb"), "drugs")
    assert isinstance(wards, PublicTable)
    assert config.public == ("wards",)
    assert (wards.schema.key, wards.schema.rows, list(wards.schema.columns)) == ("ward", 100, ["ward", "beds"])
    assert config.analysts["alice"].budget == Approximate(epsilon=Fraction(1, 20), delta=Fraction(1, 10**7))
    assert config.analysts["alice"].tables == ("visits",)
    assert config.analysts["bob"].budget is None
    assert config.analysts["bob"].tables == ("visits", "drugs")
    assert (config.engine.memory_limit, config.engine.threads, config.engine.timeout) == ("2GB", 2, Fraction(61, 2))
    assert config.engine.time_step == Fraction(1, 10)
    assert config.ledger.path == tmp_path / "ledgers/hospital.ledger"
    assert config.key_file == tmp_path / "fingerprint.key"


def test_a_short_file_is_enough_and_the_ledger_lies_beside_it(tmp_path: Path) -> None:
    config = read(tmp_path, TABLE + BUDGET)
    assert config.ledger.path == tmp_path / "privet.ledger"
    assert config.analysts == {}
    with pytest.raises(TypeError):
        config.tables["other"] = config.tables["visits"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("written", "budget"),
    [
        ("epsilon = 0.1", Pure(epsilon=Fraction(1, 10))),
        ("rho = 0.3", Zcdp(rho=Fraction(3, 10))),
        ("epsilon = 1e-17", Pure(epsilon=Fraction(1, 10**17))),
        ("epsilon = 0.1000000000000000000000000000000001", Pure(epsilon=Fraction(10**33 + 1, 10**34))),
    ],
)
def test_amounts_are_the_decimals_that_are_written(tmp_path: Path, written: str, budget: object) -> None:
    assert read(tmp_path, f"{TABLE}[budget]\n{written}\n").rules.budget == budget


def test_each_row_may_be_its_own_unit(tmp_path: Path) -> None:
    text = TABLE.replace(PATIENTS, 'unit = "rows"') + BUDGET
    assert read(tmp_path, text).tables["visits"].schema.unit == Rows()
    text = TABLE.replace(PATIENTS, "unit = { rows = 3 }") + BUDGET
    assert read(tmp_path, text).tables["visits"].schema.unit == Rows(3)
    text = TABLE.replace(PATIENTS, 'unit = "rows"').replace("age =", "rows =") + BUDGET
    assert "{ rows = 1 } or" in problems(tmp_path, text)[0]


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
[budget]
epsilon = "3"
delt = 1e-6

[tables.visits]
source = "visits.parquet"
unit = "patien"
contribution = { groups = 1, rows = 1 }
version = 2025

[tables.visits.columns]
patient = "integr"
age = { kind = "integer", low = 110, high = 0 }
# TODO(privet): choose the values of ward

[analysts.alice]
tables = ["visit", "visits", "visits"]
"""
    told = problems(tmp_path, text)
    assert [int(re.findall(r"^line (\d+)", line)[0]) for line in told] == [2, 3, 7, 9, 12, 13, 14, 17, 17]
    for line, words in zip(
        told,
        (
            "budget.epsilon: must be a number, written without quotes",
            "budget.delt: is not known here; did you mean 'delta'?",
            "did you mean 'patient'?",
            'must be a label in quotes, such as "2025-03"; got 2025',
            "did you mean 'integer'?",
            "tables.visits.columns.age.low: must be at most high",
            "still to be filled in: choose the values of ward",
            "names 'visits' twice",
            "there is no table 'visit'; did you mean 'visits'?",
        ),
        strict=True,
    ):
        assert words in line


COLUMN = TABLE + "x = {}\n" + BUDGET


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ('"category"', "needs its public values"),
        ('{ kind = "category" }', "needs its public values"),
        ("3", "must be a kind"),
        ("{ low = 0, high = 1 }", "kind is missing"),
        ('{ kind = "integer", low = 0 }', "given without high"),
        ('{ kind = "integer", high = 0 }', "given without low"),
        ('{ kind = "integer", low = 0.5, high = 2 }', "integer of at least"),
        ('{ kind = "integer", low = 0, high = 1e400 }', "integer of at least"),
        ('{ kind = "integer", low = 0, high = 10, step = 2 }', "integer takes no step"),
        ('{ kind = "number", low = "0", high = 1 }', "without quotes"),
        ('{ kind = "number", low = -inf, high = inf }', "finite number"),
        ('{ kind = "number", low = nan, high = 1 }', "finite number"),
        ('{ kind = "number", step = 0.1 }', "without bounds"),
        ('{ kind = "number", low = 0, high = 1, step = 0 }', "above 0"),
        ('{ kind = "text", values = ["a"] }', 'write { kind = "category"'),
        ('{ kind = "text", low = 0, high = 1 }', "text takes no"),
        ('{ kind = "boolean", low = 0, high = 1 }', "boolean takes no"),
        ("{ values = [] }", "different values"),
        ('{ values = ["a", "a"] }', "different values"),
        ('{ values = ["a", 1] }', "different values"),
        ("{ values = [1.5] }", "different values"),
        ("{ values = [99999999999999999999] }", "64 bits"),
        ('{ kind = "date", low = "2025-01-01", high = "2025-12-31" }', "without quotes"),
        ('{ kind = "date", low = 2025-01-01T00:00:00, high = 2025-12-31 }', "datetime.date"),
        ('{ kind = "timestamp", low = 2025-01-01T00:00:00Z, high = 2025-12-31T00:00:00Z }', "without a time zone"),
        ('{ kind = "integer", nullable = "yes" }', "true or false"),
        ('{ kind = "integer", nulable = true }', "did you mean 'nullable'?"),
    ],
)
def test_a_column_that_is_declared_badly_is_told_with_its_line(tmp_path: Path, column: str, words: str) -> None:
    told = problems(tmp_path, COLUMN.replace("{}", column, 1))
    assert any(words in line for line in told)
    assert all(line.startswith("line 10: tables.visits.columns.x") for line in told)


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("", "no amount is declared"),
        ("epsilon = 0", "above 0"),
        ("epsilon = -1", "above 0"),
        ("epsilon = inf", "above 0"),
        ("epsilon = true", "without quotes"),
        ("epsilon = 1\ndelta = 1", "strictly between 0 and 1"),
        ("epsilon = 1\ndelta = 0", "strictly between 0 and 1"),
        ("delta = 1e-6", "without epsilon"),
        ("rho = 1\nepsilon = 1", "counted in one way"),
        ("epsilon = 1\nkeys_share = 0.5", "this budget has none"),
        ("epsilon = 1\nper_query = 0.5", "must be a table"),
        ("epsilon = 1\nper_query = { rho = 0.5 }", "same kind as the budget"),
        ("epsilon = 1\nper_query = { epsilon = 1, x = 2 }", "is not known here"),
        ("epsilon = 1\nexpires = 2030-01-01T00:00:00", "with its zone"),
        ("epsilon = 1\nexpires = 2030-01-01", "with its zone"),
        ("epsilon = 1\n[analysts.a]\nrho = 1", "cannot be counted under"),
        ("rho = 1\n[analysts.a]\nepsilon = 1\ndelta = 1e-6", "cannot be counted under"),
        ("epsilon = 1\n[analysts]\na = 3", "must be a table"),
        ("epsilon = 1\n[analysts.a]\ntables = []", "list of names"),
        ("epsilon = 1\n[analysts.a]\ntables = 'visits'", "list of names"),
    ],
)
def test_a_budget_that_is_declared_badly_is_told(tmp_path: Path, budget: str, words: str) -> None:
    assert any(words in line for line in problems(tmp_path, f"{TABLE}[budget]\n{budget}\n"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('source = "data/visits.parquet"', "", "source is missing"),
        ('source = "data/visits.parquet"', "source = 3", "a path in quotes"),
        ('source = "data/visits.parquet"', 'source = ""', "a path in quotes"),
        ('source = "data/visits.parquet"', 'source = "https://example.org/x.parquet"', "on this machine"),
        ('source = "data/visits.parquet"', 'source = { file = "x" }', "database"),
        ('unit = "patient"', "", "who is protected is not declared"),
        ('unit = "patient"', "unit = 3", "the name of a column"),
        ('unit = "patient"', 'unit = { persn = "patient" }', "the name of a column"),
        ('unit = "patient"', 'unit = "patient"\nneighbors = "both"', '"add-remove" or "change-one"'),
        ('unit = "patient"', 'unit = "patient"\nunits = 5', "change-one"),
        ('unit = "patient"', 'unit = "patient"\nrows = 0', "at least 1"),
        (LIMIT, "contribution = 3", "groups = 3"),
        (LIMIT, "contribution = {}", "with both numbers"),
        (LIMIT, "contribution = { rows = 3 }", "with both numbers"),
        (LIMIT, 'contribution = "typical"', "groups = 3"),
        (LIMIT, "contribution = { groups = 1, rows = 0 }", "at least 1"),
        (
            LIMIT,
            "",
            "add the line contribution = { groups = 3, rows = 2 } with numbers that nearly everyone stays within",
        ),
        (LIMIT, "", "Until now, { groups = 1, rows = 1 } was assumed"),
        (PATIENTS, 'unit = { person = "patient", group = 2 }', "add the line contribution"),
        (PATIENTS, 'unit = { person = "patient", time = "day", days = 7 }', "add the line contribution"),
        (PATIENTS, 'link = "patient -> visitz.id"', "add the line contribution"),
        ('unit = "patient"', 'unit = "rows"', "contributes itself"),
        ('unit = "patient"', 'unit = "patient"\nlink = "patient -> visits.patient"', "not both"),
        ('unit = "patient"', 'link = "patient = visits.id"', "visit_id -> visits.id"),
        ('unit = "patient"', 'link = "patient -> visits.patient"', "leads back"),
        ('unit = "patient"', 'link = "patient -> visitz.id"', "is not declared"),
        ("age = {", "PATIENT = {", "apart from case"),
        ("[budget]", "[public.visits]\nsource = 'a.csv'\ncolumns = { a = 'text' }\n[budget]", "already"),
        ("[budget]", "[public.w]\nsource = 'a.csv'\nunit = 'a'\ncolumns = { a = 'text' }\n[budget]", "protects no one"),
        ("[budget]", "[public.w]\nsource = 'a.csv'\nkey = 'b'\ncolumns = { a = 'text' }\n[budget]", "known: a"),
        ("[budget]", '[engine]\nmemory_limit = "lots"\n[budget]', 'such as "4GB"'),
        ("[budget]", "[engine]\nthreads = 0\n[budget]", "at least 1"),
        ("[budget]", "[engine]\ntimeout = 0\n[budget]", "above 0"),
        ("[budget]", "[engine]\ntime_step = 0\n[budget]", "a number of seconds above 0"),
        ("[budget]", "[engine]\ntime_step = 1e9\n[budget]", "up to 3,600"),
        ("[budget]", '[engine]\ntime_step = "1s"\n[budget]', "a number of seconds above 0"),
        ("[budget]", "[engine]\ntime_step = true\n[budget]", "a number of seconds above 0"),
        ("[budget]", '[ledger]\nhead = "12"\n[budget]', "a ledger's head"),
        ("[budget]", "[ledger]\npath = 3\n[budget]", "a path in quotes"),
        ("[budget]", "[fingerprint]\n[budget]", "key is missing"),
        ("[budget]", "[bugdet]", "did you mean 'budget'?"),
        ("[tables.visits]", "[table.visits]", "did you mean 'tables'?"),
    ],
)
def test_a_table_or_a_setting_that_is_declared_badly_is_told(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = (TABLE + BUDGET).replace(old, new, 1)
    assert any(words in line for line in problems(tmp_path, text))


PEOPLE = """unit = { person = "patient", group = 2 }
neighbors = "change-one"
contribution = { groups = 3, rows = 2 }
"""


def test_links_are_checked_to_their_ends(tmp_path: Path) -> None:
    for old, new, words in (
        ("visit -> visits.id", "vist -> visits.id", "did you mean 'visit'?"),
        ("visit -> visits.id", "visit -> visits.idd", "did you mean 'id'?"),
        ("visit -> visits.id", "visit -> wards.ward", "is public"),
        ("visit -> visits.id", "name -> visits.id", "link: 'name' and 'id' of 'visits' must be"),
        (PEOPLE, 'unit = "rows"\nneighbors = "change-one"\n', "protects each row separately"),
        ("name = ", "patient = ", "a column 'patient' of its own"),
    ):
        assert any(words in line for line in problems(tmp_path, WHOLE.replace(old, new)))
    assert any(
        "belongs to the table" in line
        for line in problems(tmp_path, WHOLE.replace("[tables.drugs]", "[tables.drugs]\nunits = 3"))
    )


def test_a_key_that_is_written_twice_is_told_with_its_line(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, BUDGET + "epsilon = 4\n")
    assert told.startswith("line 5: this is not TOML: cannot overwrite a value")


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="privet init"):
        read_config(tmp_path / "privet.toml")


def test_a_folder_whose_name_looks_like_a_pattern_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "data[1]*"
    folder.mkdir()
    text = TABLE.replace("data/visits.parquet", "*.parquet") + BUDGET
    source = read(folder, text).tables["visits"].source
    assert isinstance(source, str)
    import glob

    (folder / "a.parquet").write_bytes(b"")
    assert glob.glob(source) == [str(folder / "a.parquet")]
