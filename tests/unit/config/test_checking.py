"""A custodian's check: every source that is not what is declared is told, all at once, without quoting a row."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from privet.config import read_config
from privet.config.checking import Checked, check_sources, excesses_in_words, notes, promise_in_words, tables_in_words
from privet.config.sessions import check_ledger, open_ledger
from privet.core.errors import LedgerError, RequestError

TEXT = """
[budget]
epsilon = 3
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit = "patient"
contribution = { groups = 1, rows = 1 }
version = "1"

[tables.visits.columns]
patient = "integer"
id = "integer"
age = { kind = "integer", low = 0, high = 110 }

[tables.drugs]
source = ["drugs.csv"]
link = "visit -> visits.id"
contribution = { groups = 1, rows = 1 }
version = "1"
columns = { visit = "integer", name = "text" }

[public.wards]
source = "wards.csv"
key = "ward"
columns = { ward = "text" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "SELECT i % 10 AS patient, i AS id, 30 AS age, 'secret' AS name FROM range(40) t(i)")
    (tmp_path / "drugs.csv").write_text("visit,name\n1,aspirin\n2,secret\n")
    (tmp_path / "wards.csv").write_text("ward\nA\nB\n")
    return tmp_path


def write(folder: Path, sql: str) -> None:
    duckdb.sql(sql).write_parquet(str(folder / "visits.parquet"))


PEOPLE = 'unit = "patient"\ncontribution = { groups = 1, rows = 1 }'


def each_row(units: int) -> str:
    facts = f'unit = "rows"\nneighbors = "change-one"\nunits = {units}'
    return TEXT.split("[tables.drugs]")[0].replace(PEOPLE, facts)


def check(folder: Path, text: str = TEXT) -> Checked:
    (folder / "privet.toml").write_text(text)
    return check_sources(read_config(folder / "privet.toml"))


def test_sources_that_fit_are_found_to_fit(folder: Path) -> None:
    checked = check(folder)
    assert checked.all_problems == ()
    assert checked.undeclared == {"visits": 1, "drugs": 0, "wards": 0}


def test_all_columns_that_do_not_fit_are_told_at_once_and_no_value_is(folder: Path) -> None:
    write(folder, "SELECT 'secret' AS patient, [1, 2] AS id, 30 AS agee")
    (folder / "drugs.csv").write_text("visit\n1\n")
    checked = check(folder)
    assert [len(checked.problems[name]) for name in ("visits", "drugs", "wards")] == [2, 1, 0]
    told = " ".join(checked.all_problems)
    assert "'id'" in told
    assert "'age'" in told
    assert "secret" not in told
    assert "agee" not in told


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("visits.parquet", None),
        ("visits.parquet", b"secret, not Parquet"),
        ("drugs.csv", None),
        ("drugs.csv", b""),
        ("drugs.csv", b"visit,\xff\xfesecret\n"),
        ("drugs.csv", b"visit,name,name\nsecret"),
    ],
)
def test_a_source_that_cannot_be_read_is_told_without_its_content(
    folder: Path, name: str, content: bytes | None
) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    (told,) = check(folder).all_problems
    assert name.split(".")[0] in told
    assert "secret" not in told


def test_a_link_that_may_give_a_row_two_owners_is_found(folder: Path) -> None:
    write(folder, "SELECT i AS patient, i % 5 AS id, 30 AS age FROM range(40) t(i)")
    (told,) = check(folder).all_problems
    assert "several owners" in told


def test_a_public_key_that_comes_twice_is_found(folder: Path) -> None:
    (folder / "wards.csv").write_text("ward\nA\nA\n")
    (told,) = check(folder).all_problems
    assert "twice" in told


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ("rows = 39", "more rows"),
        ('neighbors = "change-one"\nunits = 9', "more units"),
        ('neighbors = "change-one"\nunits = 10', None),
        ('neighbors = "change-one"\nunits = 11', None),
    ],
)
def test_more_rows_or_units_than_are_declared_are_found(folder: Path, facts: str, words: str | None) -> None:
    told = check(folder, TEXT.replace('unit = "patient"', f'unit = "patient"\n{facts}')).all_problems
    assert (words is None) == (told == ())
    assert words is None or words in told[0]


@pytest.mark.parametrize(("units", "fits"), [(39, False), (40, True), (41, False)])
def test_where_each_row_is_a_unit_their_number_must_be_the_declared_one(folder: Path, units: int, fits: bool) -> None:
    assert (check(folder, each_row(units)).all_problems == ()) is fits


def test_files_that_are_missing_from_a_list_or_come_twice_are_found(folder: Path) -> None:
    told = check(folder, TEXT.replace('["drugs.csv"]', '["drugs.csv", "drug*.csv", "more.csv"]')).all_problems
    assert len(told) == 2
    assert "more.csv" in told[0]
    assert "twice" in told[1]


def test_what_is_protected_is_told_in_words_for_every_table(folder: Path) -> None:
    check(folder)
    config = read_config(folder / "privet.toml")
    said = {name: " ".join(words) for name, words in tables_in_words(config).items()}
    assert "all rows of each patient together" in said["visits"]
    assert "all rows of each patient together" in said["drugs"]
    assert "visit, which leads to id of visits" in said["drugs"]
    assert "protects no one" in said["wards"]
    assert "bounds (age)" in said["visits"]
    assert "must be found in the data: name" in said["drugs"]
    assert "one patient is in the data" in promise_in_words(config)[0]


def test_rows_by_themselves_are_not_told_as_people(folder: Path) -> None:
    check(folder, each_row(40))
    config = read_config(folder / "privet.toml")
    said = " ".join(tables_in_words(config)["visits"])
    assert "a person with several rows is not fully protected" in said
    assert "40, is public" in said
    assert "data of one row might have" in promise_in_words(config)[0]


def test_what_may_not_be_meant_is_noted(folder: Path) -> None:
    text = TEXT.replace("delta = 1e-6", "delta = 0.01").replace('version = "1"\n\n', "")
    check(folder, text + "[analysts.a]\nepsilon = 9\ndelta = 1e-9\n[analysts.b]\nepsilon = 1\n")
    said = " ".join(notes(read_config(folder / "privet.toml")))
    for words in ("one person in 100", "visits has no version", "cap of a is larger", "b has a pure epsilon"):
        assert words in said
    check(folder)
    assert notes(read_config(folder / "privet.toml")) == (
        "No analysts are named: everyone who can open this file shares the one budget.",
    )


def test_a_ledger_that_keeps_other_rules_or_lost_its_head_is_found(folder: Path) -> None:
    check(folder)
    config = read_config(folder / "privet.toml")
    check_ledger(config)
    assert not config.ledger.path.exists()
    with open_ledger(config) as ledger:
        head = ledger.head()
    check_ledger(config)
    (folder / "privet.toml").write_text(TEXT.replace("epsilon = 3", "epsilon = 4"))
    with pytest.raises(RequestError, match="what the ledger has"):
        check_ledger(read_config(folder / "privet.toml"))
    (folder / "privet.toml").write_text(f'{TEXT}[ledger]\nhead = "{head[:-1]}{"0" if head[-1] != "0" else "1"}"\n')
    with pytest.raises(LedgerError, match="pinned"):
        check_ledger(read_config(folder / "privet.toml"))


def excesses(folder: Path, text: str, name: str = "visits") -> dict[str | None, tuple[float, float, int]]:
    return {one.by: (one.above, one.lost, one.enough) for one in check(folder, text).excesses[name]}


def limited(groups: int, rows: int, columns: str = "") -> str:
    text = TEXT.split("[tables.drugs]")[0].replace(
        "{ groups = 1, rows = 1 }", f"{{ groups = {groups}, rows = {rows} }}"
    )
    return text + columns


def test_who_is_above_a_limit_and_what_totals_lose_is_found_in_the_data(folder: Path) -> None:
    # ten people of 1 to 10 rows, 55 in all, of whom some rows have no owner
    rows = "SELECT p AS patient, row_number() OVER () AS id, 30 AS age FROM range(1, 11) t(p), range(1, 11) s(i)"
    write(folder, f"{rows} WHERE i <= p UNION ALL SELECT NULL, 100 + i, 3 FROM range(50) t(i)")
    for most in (1, 3, 6, 9, 10, 20):
        above, lost, enough = excesses(folder, limited(1, most))[None]
        assert above == sum(size > most for size in range(1, 11)) / 10
        assert lost == pytest.approx(sum(max(0, size - most) for size in range(1, 11)) / 55)
        assert enough == 10
    assert excesses(folder, limited(2, 3))[None] == excesses(folder, limited(1, 6))[None]


def test_what_totals_by_group_lose_is_that_of_the_scaled_vector(folder: Path) -> None:
    write(
        folder, "SELECT 1 AS patient, i AS id, 30 AS age, CASE WHEN i < 6 THEN 'a' ELSE 'b' END AS g FROM range(8) t(i)"
    )
    found = excesses(folder, limited(2, 3, 'g = { values = ["a", "b"] }\n'))
    assert found[None] == (1.0, pytest.approx(2 / 8), 8)
    assert found["g"] == (1.0, pytest.approx(1 - (18 / (6**2 + 2**2)) ** 0.5), 8)


def test_the_least_limit_that_loses_little_is_found(folder: Path) -> None:
    # 10,000 people of one row, and one of 300: a total may lose 10 rows
    write(
        folder,
        "SELECT i AS patient, i AS id, 3 AS age FROM range(10000) t(i) UNION ALL "
        "SELECT -1, 20000 + i, 3 FROM range(300) t(i)",
    )
    assert excesses(folder, limited(1, 1))[None] == (pytest.approx(1 / 10001), pytest.approx(299 / 10300), 290)


def test_people_of_linked_tables_and_windows_of_time_are_counted_by_their_owner(folder: Path) -> None:
    # the rows of visits 1 and 11 belong to patient 1, of 2 to patient 2
    (folder / "drugs.csv").write_text("visit,name\n1,a\n1,b\n11,c\n2,d\n99,e\n")
    assert excesses(folder, TEXT, "drugs")[None] == (0.5, pytest.approx(2 / 4), 3)
    write(
        folder,
        "SELECT 1 AS patient, i AS id, 3 AS age, DATE '2024-01-01' + CAST(i AS INTEGER) AS day FROM range(10) t(i)",
    )
    unit = '{ person = "patient", time = "day", days = 7, origin = 2024-01-01 }'
    day = 'day = { kind = "date", low = 2024-01-01, high = 2024-12-31 }\n'
    text = limited(1, 4, day).replace('"patient"\nc', f"{unit}\nc")
    assert excesses(folder, text)[None] == (0.5, pytest.approx(3 / 10), 7)


def test_a_limit_from_the_data_comes_with_a_warning_and_only_where_totals_lose_by_it(folder: Path) -> None:
    for most, words in (
        (1, ("100% of patients have more than 1 row", "75% too low", "rows = 4 }", "reveals")),
        (4, ()),
    ):
        (folder / "privet.toml").write_text(limited(1, most))
        config = read_config(folder / "privet.toml")
        said = " ".join(excesses_in_words(config, check_sources(config))["visits"])
        assert all(one in said for one in words)
        assert ("reveals" in said) == bool(words)
    assert "none of the patients have more than 4 rows: totals lose nothing" in said


def test_no_loss_is_told_where_each_row_is_a_unit_or_sources_do_not_fit(folder: Path) -> None:
    assert check(folder, each_row(40)).excesses == {}
    assert check(folder, TEXT.replace("age =", "agee =")).excesses == {}
