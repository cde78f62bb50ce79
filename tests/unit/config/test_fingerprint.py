"""Fingerprints: under the custodian's key, over the bytes of the sources, in the custodian's file and nowhere else."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from pathlib import Path

import pytest

import privet
from privet.config import read_config
from privet.config.checking import Compared, compare
from privet.core.errors import RequestError
from privet.ledger.sqlite.store import SqliteLedger

TEXT = """
[budget]
epsilon = 3

[tables.visits]
source = "visits*.csv"
unit = "rows"
version = "1"
columns = { age = { kind = "integer", low = 0, high = 110 } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits1.csv").write_text("age\n" + "30\n" * 50)
    (tmp_path / "visits2.csv").write_text("age\n" + "40\n" * 50)
    (tmp_path / "privet.toml").write_text(TEXT)
    return tmp_path


def look(folder: Path) -> Compared:
    return compare(read_config(folder / "privet.toml"), folder / "my.key")


def test_a_table_is_new_then_the_same_then_changed_until_its_version_changes(folder: Path) -> None:
    assert look(folder).new == ("visits",)
    assert look(folder).same == ("visits",)
    (folder / "visits2.csv").write_text("age\n" + "41\n" * 50)
    assert look(folder).changed == ("visits",)
    assert look(folder).changed == ("visits",)
    (folder / "privet.toml").write_text(TEXT.replace('version = "1"', 'version = "2"'))
    assert look(folder).new == ("visits",)
    assert look(folder).same == ("visits",)


def test_the_fingerprint_is_the_hmac_of_lengths_and_bytes_under_the_key(folder: Path) -> None:
    found = look(folder)
    key = (folder / "my.key").read_bytes()
    code = hmac.new(key, b"privet fingerprint 1\n", hashlib.sha256)
    for name in ("visits1.csv", "visits2.csv"):
        content = (folder / name).read_bytes()
        code.update(len(content).to_bytes(8, "big") + content)
    assert json.loads(found.file.read_text())["tables"] == {"visits": {"1": code.hexdigest()}}


def test_bytes_that_move_from_one_file_to_the_next_are_seen(folder: Path) -> None:
    look(folder)
    first, second = (folder / "visits1.csv").read_bytes(), (folder / "visits2.csv").read_bytes()
    (folder / "visits1.csv").write_bytes(first + second[:1])
    (folder / "visits2.csv").write_bytes(second[1:])
    assert look(folder).changed == ("visits",)


def test_key_and_fingerprints_are_for_their_owner_alone(folder: Path) -> None:
    found = look(folder)
    assert (folder / "my.key").stat().st_mode & 0o777 == 0o600
    assert found.file.stat().st_mode & 0o777 == 0o600
    assert len((folder / "my.key").read_bytes()) == 32
    os.chmod(folder / "my.key", 0o644)
    with pytest.raises(RequestError, match="chmod 600"):
        look(folder)


def test_another_key_is_told_from_changed_data(folder: Path) -> None:
    look(folder)
    (folder / "my.key").unlink()
    with pytest.raises(RequestError, match="another key"):
        look(folder)


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 5000])
def test_a_key_of_the_wrong_size_is_refused(folder: Path, content: bytes) -> None:
    (folder / "my.key").write_bytes(content)
    os.chmod(folder / "my.key", 0o600)
    with pytest.raises(RequestError, match="random bytes"):
        look(folder)


def test_a_damaged_file_of_fingerprints_is_told(folder: Path) -> None:
    file = look(folder).file
    for text in ("", "[]", "{}", '{"tables": 3}', '{"format": 9, "key": "", "tables": {}}'):
        file.write_text(text)
        with pytest.raises(RequestError):
            look(folder)


def test_no_plan_answer_certificate_or_export_holds_the_fingerprint(folder: Path) -> None:
    held = json.loads(look(folder).file.read_text())
    secret = [held["tables"]["visits"]["1"], held["key"], (folder / "my.key").read_bytes().hex()]
    with privet.open(folder / "privet.toml") as session:
        answer = session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        shown = [str(answer.plan.to_dict()), answer.plan.explain(), answer.plan.digest, str(answer.certificate())]
    with SqliteLedger(folder / "privet.ledger") as ledger:
        shown += [*ledger.export(), ledger.head()]
    for text in shown:
        assert not any(one in text for one in secret)
