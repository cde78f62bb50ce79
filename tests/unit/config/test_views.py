"""Views and windows of time in a privet.toml."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

import privet
from privet.config import BadConfig, read_config
from privet.config.checking import tables_in_words
from privet.core.errors import UnknownName
from privet.core.unit import Window

FILE = """
[budget]
epsilon = 8
delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = { groups = 1, rows = 1 }
columns = { patient = "integer", age = { kind = "integer", low = 0, high = 110 }, day = "date" }

[tables.weeks]
source = "visits.csv"
unit = { person = "patient", time = "day", days = 7, origin = 2024-01-01 }
contribution = { groups = 1, rows = 1 }
columns = { patient = "integer", day = "date" }

[views]
adults = "SELECT * FROM visits WHERE age >= 18"
often = "SELECT patient, COUNT(*) AS n FROM adults GROUP BY patient HAVING COUNT(*) > 1"

[analysts.alice]
tables = ["visits"]

[analysts.bob]
tables = ["weeks"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"{i % 200},{i % 60},2024-01-{1 + i % 28:02}\n" for i in range(400))
    (tmp_path / "visits.csv").write_text("patient,age,day\n" + rows)
    (tmp_path / "privet.toml").write_text(FILE)
    return tmp_path


def test_views_are_asked_by_those_who_may_ask_about_their_tables(folder: Path) -> None:
    with privet.open(folder / "privet.toml", analyst="alice") as session:
        assert session.ask("SELECT COUNT(*) AS n FROM often", epsilon=1)["n"].values[0] > 50
        assert session.table("adults").agg(n=privet.count()).query().table == "visits"
    with privet.open(folder / "privet.toml", analyst="bob") as session:
        with pytest.raises(UnknownName, match="no table 'often'"):
            session.ask("SELECT COUNT(*) FROM often", epsilon=1)
        assert session.ask("SELECT COUNT(*) AS n FROM weeks", epsilon=1).to_dict()
    with privet.practice(folder / "privet.toml", analyst="alice") as session:
        assert session.ask("SELECT COUNT(*) AS n FROM often", epsilon=1).to_dict()


def test_a_window_is_read_and_told(folder: Path) -> None:
    config = read_config(folder / "privet.toml")
    unit = config.tables["weeks"].schema.unit
    assert unit == Window("patient", "day", 7, origin=datetime.date(2024, 1, 1))
    assert "within any 7 days of day" in tables_in_words(config)["weeks"][0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("WHERE age >= 18", "WHERE agee >= 18", "did you mean 'age'"),
        ("GROUP BY patient HAVING", "GROUP BY age HAVING", "neither grouped"),
        ("adults = ", "visits = ", "name of a table"),
        ("often = ", "Adults = ", "another view"),
        ('adults = "SELECT * FROM visits WHERE age >= 18"', "adults = 3", "text in quotes"),
        ("days = 7", "days = 0", "must be"),
        ("days = 7", "days = 7, hours = 3", "days = 7 }, or with hours"),
        ("days = 7", "hours = 36", "whole number of days"),
        ('time = "day"', 'time = "dai"', "not listed under columns"),
        ('time = "day"', 'time = "patient"', "dates or timestamps"),
    ],
)
def test_what_is_declared_badly_is_told(folder: Path, old: str, new: str, told: str) -> None:
    file = folder / "privet.toml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(BadConfig) as caught:
        read_config(file)
    assert told in str(caught.value)
