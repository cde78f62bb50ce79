"""The command line and privet.toml read numbers as they are written, tell names apart, and show no passwords."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import privet
from privet.cli import COMMANDS, main, registered
from privet.core.errors import BadParameter, PrivetError, RequestError, UnknownName
from privet.core.given import alike
from privet.core.numbers import written_decimal, written_whole
from privet.core.schema import Contribution, Table, integer
from privet.core.unit import Person
from privet.engines.duckdb.engine import DuckDB
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger

TOML = """
[tables.visits]
source = "visits.csv"
unit = "who"
contribution = { groups = 1, rows = 1 }

[tables.visits.columns]
who = "integer"
age = { kind = "integer", low = 0, high = 120 }

[budget]
epsilon = 5
delta = 1e-6
"""
NOT_NUMBERS = (
    *("1_0", "1_000.5", "\uff11\uff10", "\u0661\u0662", "\u00b2", "0x10", "1e", "e5", "", " ", "nan", "inf", "-inf"),
    *("1,5", "1 0", "+-1", "--1", "1/0", "1/2/3", "0b1", "1e1_0", "Infinity", "sNaN", "1\n", "1e999999999999"),
)
HOSTILE = (
    *NOT_NUMBERS,
    *("0", "-0", "-1", "1e400", "1e-400", "1e19", "2", "99999999999999999999", "1/3"),
    *("x" * 3000, "\x1b[31m", "\u202e1"),
)


def place(tmp_path: Path, toml: str = TOML) -> Path:
    (tmp_path / "visits.csv").write_text("who,age\n1,30\n2,40\n")
    (tmp_path / "privet.toml").write_text(toml)
    return tmp_path / "privet.toml"


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=True)


def commands(group: click.Command, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(group, click.Group):
        return [(path, group)]
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        assert one is not None
        found += commands(one, (*path, name))
    return found


ALL = commands(main, ())
NUMERIC = [
    (path, option)
    for path, command in ALL
    for option in command.params
    if isinstance(option, click.Option) and isinstance(option.type, click.types.FuncParamType) and option.opts
    if option.name != "ledger_path"  # a file or an address, not a number
]


def test_every_command_is_tried() -> None:
    assert {path[0] for path, _ in ALL} == {*COMMANDS, *registered()}
    assert len(NUMERIC) > 30


NEEDED: dict[tuple[str, ...], list[str]] = {
    ("ask",): ["SELECT COUNT(*) FROM visits"],
    ("plan",): ["SELECT COUNT(*) FROM visits"],
    ("practice",): ["SELECT COUNT(*) FROM visits"],
    ("clipping",): ["SELECT SUM(age) FROM visits"],
    ("marginals",): ["visits", "age"],
    ("ranges",): ["visits", "age"],
    ("running",): ["visits", "--by", "age"],
    ("certificate",): ["1"],
    ("ledger", "show"): ["1"],
    ("ledger", "reschedule"): ["never"],
}


@pytest.mark.parametrize("value", HOSTILE)
def test_no_number_on_the_command_line_is_met_with_an_unexpected_error(value: str, tmp_path: Path) -> None:
    config = place(tmp_path)
    (tmp_path / "out.db").unlink(missing_ok=True)
    for path, option in NUMERIC:
        if path[0] in (
            "audit",
            "demo",
            "init",
        ):  # these take long, or ask; their numbers are read by the same functions
            continue
        command = dict(ALL)[path]
        arguments = [*path, *NEEDED.get(path, [])]
        for other in command.params:
            if other.name == "config":
                arguments += ["--config", str(config)]
            elif other.required and isinstance(other, click.Option) and other is not option:
                arguments += [other.opts[0], "1"]
        found = run(*arguments, f"{option.opts[0]}={value}")
        assert found.exit_code != 70, (arguments, option.opts, found.output)
        assert found.exception is None or isinstance(found.exception, SystemExit), (arguments, option.opts)
        if value in NOT_NUMBERS:
            assert found.exit_code == 2, (arguments, option.opts, found.output)


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_only_what_people_write_is_a_number(value: str) -> None:
    if "/" not in value and value.strip() == value and value != "1e999999999999":
        assert written_decimal(value) is None
        assert written_whole(value) is None
    with pytest.raises(PrivetError):
        privet.Session.plan(_session(), "SELECT COUNT(*) FROM visits", within=f"{value}%")


def _session(**options: Any) -> privet.Session:
    import pyarrow as pa

    visits = Table(
        pa.table({"who": [1], "age": [3]}),
        unit=Person("who"),
        columns={"who": integer(), "age": integer(0, 9)},
        contribution=Contribution(groups=1, rows=1),
    )
    return privet.Session({"visits": visits}, budget=privet.Pure(epsilon=1), **options)


@pytest.mark.parametrize("text", ["1_0,2", "\uff13,2", "3,\u0662", "3", "3,2,1", "0,1", "-1,1", "1e1,2"])
def test_a_contribution_is_two_whole_numbers(text: str, tmp_path: Path) -> None:
    config = place(tmp_path)
    sql = "SELECT COUNT(*) FROM visits"
    assert run("plan", sql, "--epsilon", "1", "--contribution", text, "--config", str(config)).exit_code == 2


@pytest.mark.parametrize(
    "sql", ["SELECT COUNT(*) FROM visits WHERE age > \uff11\uff10", "SELECT SUM(age * \u0661) FROM visits"]
)
def test_digits_of_other_scripts_are_no_numbers_in_sql(sql: str) -> None:
    with pytest.raises(RequestError):
        _session().plan(sql, epsilon=1)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_calibrating_for_nothing_is_refused(kind: str) -> None:
    for epsilon in ("0", "-1", "1e-320", "1e320"):
        found = run("calibrate", kind, "--epsilon", epsilon, "--delta", "1e-6")
        assert found.exit_code == 2, found.output
    assert run("calibrate", kind, "--epsilon", "1", "--delta", "1e-6").exit_code == 0


@pytest.mark.parametrize("value", ["1e400", "0", "-1", "1e-400", "true", '"10"', "nan", "inf", "10_000_000_000"])
def test_a_time_limit_that_no_clock_can_wait_for_is_refused(value: str, tmp_path: Path) -> None:
    config = place(tmp_path, f"{TOML}\n[engine]\ntimeout = {value}\n")
    for arguments in (
        ["check", "--config", str(config)],
        ["plan", "SELECT COUNT(*) FROM visits", "--config", str(config)],
    ):
        found = run(*arguments)
        assert found.exit_code == 2, found.output
        assert "timeout" in found.output
    for made in (lambda: DuckDB({}, timeout=10**400), lambda: SqliteLedger(tmp_path / "l", timeout=1e300)):
        with pytest.raises(BadParameter, match="timeout"):
            made()


@pytest.mark.parametrize("value", ["-1", "0", "1", "2", "95%"])
def test_a_confidence_that_is_none_is_refused_wherever_it_is_said(value: str, tmp_path: Path) -> None:
    config = place(tmp_path)
    for extra in ([], ["--within", "5"], ["SELECT SUM(age) FROM visits"]):
        for name in ("plan", "ask"):
            found = run(name, "SELECT COUNT(*) FROM visits", *extra, f"--confidence={value}", "--config", str(config))
            assert found.exit_code == 2, found.output
    with _session() as session:
        for ask in (session.plan, session.ask):
            with pytest.raises(RequestError):
                ask("SELECT COUNT(*) FROM visits", confidence=-1)
        with pytest.raises(RequestError):
            session.plan_all(["SELECT COUNT(*) FROM visits"], confidence=-1)
        assert session.history() == ()


def test_a_confidence_that_would_do_nothing_is_refused(tmp_path: Path) -> None:
    found = run("plan", "SELECT COUNT(*) FROM visits", "--confidence", "0.9", "--config", str(place(tmp_path)))
    assert found.exit_code == 2
    assert "--within" in found.output


LOOK_ALIKES = (
    ("ana", "Ana"),
    ("ana", "\u0430na"),
    ("ana", "an\u0251"),
    ("ana", "ana "),
    ("ana", " ana"),
    ("ana", "an\u200ba"),
    ("ana maria", "ana  maria"),
    ("ana maria", "ana\u00a0maria"),
    ("ana", "\uff41na"),
    ("jos\u00e9", "jose\u0301"),
    ("paul", "pau1"),
    ("paul", "pauI"),
    ("bob", "b0b"),
    ("ana-m", "ana\u2010m"),
    ("IVAN", "ivan"),
    ("\u041d\u041e\u041d", "HOH"),
)


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES)
def test_two_analysts_whose_names_look_alike_are_refused(one: str, other: str, tmp_path: Path) -> None:
    assert alike(one, [other]) == other
    assert alike(other, ["zoe", one]) == one
    names = "".join(f"\n[analysts.{json.dumps(name)}]\nepsilon = 1\n" for name in (one, other))
    found = run("check", "--config", str(place(tmp_path, TOML + names)))
    assert found.exit_code == 2
    assert "looks like" in found.output or "must be a name" in found.output
    ledger = MemoryLedger(privet.Pure(epsilon=5))
    ledger.open_account(one, privet.Pure(epsilon=1))
    with pytest.raises(BadParameter):
        ledger.open_account(other, privet.Pure(epsilon=1))


def test_analysts_who_can_be_told_apart_are_not() -> None:
    names = [
        "ana",
        "anna",
        "anne",
        "bob",
        "rob",
        "team 1",
        "team 2",
        "user10",
        "user11",
        "jos\u00e9",
        "jose",
        "m\u00fcller",
    ]
    for place_of, name in enumerate(names):
        assert alike(name, [*names[:place_of], *names[place_of + 1 :]]) is None


PASSWORD = "hunter2-s3cret"
ADDRESSES = (
    f"postgresql://ana:{PASSWORD}@db.example.org:5432/hospital",
    f"postgres://:{PASSWORD}@db/hospital?sslmode=require",
    f"postgresql+psycopg://ana:p'{PASSWORD}\"@db/hospital",
    f"postgresql://ana@db/hospital?user=ana&password={PASSWORD}",
    f"host=db user=ana password={PASSWORD} dbname=hospital",
    f"host=db password = '{PASSWORD}' dbname=hospital",
    f"{'x' * 40}://ana:{PASSWORD}@db/hospital",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_refused_address_is_told_without_its_password(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a command may take it for a file to write
    written = json.dumps(address)
    texts = [
        TOML.replace('"visits.csv"', written),
        TOML.replace('"visits.csv"', f"[{written}]"),
        TOML.replace('"visits.csv"', f'{{ database = {written}, table = "visits" }}'),
        f"{TOML}\n[ledger]\npath = {written}\n",
        f"{TOML}\n[ledger]\nhead = {written}\n",
        f"{TOML}\n[analysts.{written}]\nepsilon = 1\ntables = [{written}]\n",
        f"{TOML}\n[engine]\nmemory_limit = {written}\n",
        f"{TOML}\n[{written}]\nx = 1\n",
    ]
    for toml in texts:
        for extra in ([], ["--json"]):
            found = run("check", "--config", str(place(tmp_path, toml)), *extra)
            assert PASSWORD not in found.output, toml
    for path, command in ALL:
        if path[0] in ("audit", "demo"):
            continue
        for option in command.params:
            if option.name == "config" or (isinstance(option, click.Option) and not option.is_flag):
                name = option.opts[0] if isinstance(option, click.Option) else None
                said = [address] if name is None else [f"{name}={address}"]
                found = run(*path, *NEEDED.get(path, []), *said)
                assert PASSWORD not in found.output, (path, name)
    for error in (RequestError(address), BadParameter("source", address, "a path"), UnknownName("table", address, [])):
        assert PASSWORD not in str(error)
        assert PASSWORD not in json.dumps(error.to_dict())
    with pytest.raises(PrivetError) as caught:
        DuckDB(
            {
                "t": Table(
                    address, unit=Person("who"), columns={"who": integer()}, contribution=Contribution(groups=1, rows=1)
                )
            }
        )
    assert PASSWORD not in str(caught.value)
