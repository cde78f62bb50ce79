"""Hostile files: a privet.toml that is huge, deep, broken or a trap is refused in few words; sources never leak."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest

import privet
from privet.config import BadConfig, read_config
from privet.config.checking import check_sources
from privet.core.errors import PrivetError, RequestError

GOOD = """
[budget]
epsilon = 1

[tables.visits]
source = "{source}"
unit = "rows"
columns = {{ age = {{ kind = "integer", low = 0, high = 110 }} }}
"""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"\xff\xfe[budget]",
        b"\xef\xbb\xbf[budget]\nepsilon = 1",
        b"[budget]\nepsilon = \xf0\x28",
        b"a = " + b"[" * 100_000,
        b"a = " + b"[" * 100_000 + b"]" * 100_000,
        b"a = " + b"{ a = " * 50_000,
        b"x = 1\n" + b"a." * 400_000 + b"b = 1",
        b"[" + b"a." * 400_000 + b"b]",
        b"a = { " + b'"a" . ' * 100_000 + b"b = 1 }",
        b"a = " + b"9" * 10_000,
        b"[budget]\nepsilon = 1e999999999999",
        b"[budget]\nepsilon = 1e-999999999999",
        b"[budget]\nepsilon = " + b"9" * 3_000,
        b"[budget]\nepsilon = 0." + b"0" * 100_000 + b"1",
        b'a = "' + b"\\" * 99_999,
        b"a = '''" + b"''" * 100_000,
        b"#" * 500_000,
        b"".join(b"a%d = 1\n" % number for number in range(30_000)),
        b'[tables.x]\nlink = "' + b"a -" * 30_000 + b'"',
        b'[tables.x]\nlink = "' + b" " * 400 + b"a" + b" " * 400 + b'"',
        b'[tables."\\u001b[31m"]\nunit = "\\u001b[2J"\ncolumns = { "\\u001b]0;x\\u0007" = "no" }',
    ],
    ids=lambda content: f"{content[:12]!r}... {len(content)}",
)
def test_a_hostile_file_is_refused_briefly_and_prints_nothing_that_moves_a_terminal(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "privet.toml"
    file.write_bytes(content)
    with pytest.raises(BadConfig) as caught:
        read_config(file)
    told = str(caught.value)
    assert len(told) < 20_000
    assert all(sign.isprintable() or sign == "\n" for sign in told)
    for problem in caught.value.problems:
        assert 1 <= problem["line"] <= content.count(b"\n") + 1


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "privet.toml"
    with file.open("wb") as sparse:
        sparse.truncate(2**40)
    with pytest.raises(RequestError, match="larger than 1 MiB"):
        read_config(file)


@pytest.mark.parametrize("name", ["folder", "pipe", "loop", "nowhere", "/dev/zero", "/dev/stdin", "a\x00b"])
def test_what_is_not_a_file_is_refused_and_never_waited_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RequestError):
        read_config(os.path.join(tmp_path, name))


@pytest.mark.parametrize("path", [3, None, b"privet.toml", ["privet.toml"]])
def test_what_is_not_a_path_is_refused_by_name(path: object) -> None:
    with pytest.raises(RequestError):
        read_config(path)  # type: ignore[arg-type]


SECRET = "hunter2"


def everything_told(error: BaseException) -> str:
    """Return all that an error carries: its text, its fields, what it came from, and the locals that a report shows."""
    seen, waiting = [], [error]
    while waiting:
        one = waiting.pop()
        fields = one.to_dict() if isinstance(one, PrivetError) else vars(one)
        seen.append(f"{one} {one.args} {fields} {getattr(one, 'object', '')!r}")
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
    return " ".join([*seen, *traceback.format_exception(error)])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("visits.csv", f"{SECRET}\n{SECRET}\n".encode()),
        ("visits.csv", f"age,{SECRET},{SECRET}\n".encode()),
        ("visits.csv", b"\xff\xfe" + SECRET.encode("utf-16-le")),
        ("visits.csv", f'"{SECRET}'.encode()),
        ("visits.csv.gz", SECRET.encode()),
        ("visits.csv.gz", b"\x1f\x8b\x08\x00" + SECRET.encode()),
        ("visits.parquet", SECRET.encode()),
        ("visits.parquet", b"PAR1" + SECRET.encode() * 10 + b"PAR1"),
        ("visits.txt", SECRET.encode()),
    ],
)
def test_no_error_about_a_source_quotes_it(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    file = tmp_path / "privet.toml"
    file.write_text(GOOD.format(source=name))
    with privet.open(file) as session, pytest.raises(PrivetError) as caught:
        session.ask("SELECT COUNT(*) FROM visits", epsilon=0.5)
    assert SECRET not in everything_told(caught.value)
    assert not session_charged(file)
    problems = check_sources(read_config(file)).all_problems
    assert problems
    assert SECRET not in " ".join(problems)


def session_charged(file: Path) -> bool:
    with privet.open(file) as session:
        return bool(session.history())


def test_a_source_elsewhere_behind_a_link_tells_no_more_than_one_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "passwords").write_text(f"{SECRET}:x\n")
    (tmp_path / "visits.csv").symlink_to(tmp_path / "elsewhere" / "passwords")
    file = tmp_path / "privet.toml"
    for source in ("visits.csv", "elsewhere/../visits.csv", str(tmp_path / "elsewhere" / "passwords")):
        file.write_text(GOOD.format(source=source))
        with privet.open(file) as session, pytest.raises(PrivetError) as caught:
            session.ask("SELECT COUNT(*) FROM visits", epsilon=0.5)
        assert SECRET not in everything_told(caught.value)


def test_a_file_behind_a_link_is_read_and_its_paths_are_relative_to_the_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "privet.toml").write_text(GOOD.format(source="visits.csv"))
    (tmp_path / "privet.toml").symlink_to("kept/privet.toml")
    config = read_config(tmp_path / "privet.toml")
    assert config.tables["visits"].source == str(tmp_path / "visits.csv")
    assert config.ledger.path == tmp_path / "privet.ledger"


def test_a_refused_file_makes_no_ledger(tmp_path: Path) -> None:
    file = tmp_path / "privet.toml"
    (tmp_path / "visits.csv").write_text("ages\n1\n")
    file.write_text(GOOD.format(source="visits.csv") + "\nunknown = 1\n")
    with pytest.raises(BadConfig):
        privet.open(file)
    assert not (tmp_path / "privet.ledger").exists()
