"""Tokens: shown once, stored as hashes, with roles, limits, expiry and revocation; a file that others cannot read."""

from __future__ import annotations

import datetime
import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from privet.cli import main
from privet.config.reading import read_config
from privet.config.sessions import existing_ledger
from privet.core.errors import BadParameter, NotFound, RequestError
from privet.server.identity import PREFIX, TokenStore, utc
from served import write_world


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "accounts")


def test_a_token_has_256_random_bits_and_is_not_in_the_file(store: TokenStore, tmp_path: Path) -> None:
    tokens = [store.add("ana", "analyst")[0] for _ in range(20)]
    assert len({*tokens}) == 20
    assert all(one.startswith(PREFIX) and len(one) == len(PREFIX) + 43 for one in tokens)
    store.close()
    written = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert not any(one.removeprefix(PREFIX).encode() in written for one in tokens)


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    place = tmp_path / "accounts"
    TokenStore(place).close()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    os.chmod(place, 0o640)
    with pytest.raises(RequestError, match="chmod 600"):
        TokenStore(place)


def test_a_token_is_known_until_it_expires_or_is_revoked(store: TokenStore) -> None:
    soon = utc() + datetime.timedelta(days=1)
    token, facts = store.add("ana", "analyst", tables=["visits"], withheld=["visits.note"], expires=soon)
    found = store.identify(token)
    assert found is not None
    assert (found.name, found.role, found.tables, found.withheld) == ("ana", "analyst", ("visits",), ("visits.note",))
    assert store.token(facts.id).used is not None
    for wrong in ("", token[:-1], token + "x", token.swapcase(), "é", "x" * 10_000):
        assert store.identify(wrong) is None
    store._write("UPDATE tokens SET expires = ?", (utc() - datetime.timedelta(seconds=1)).isoformat())
    assert store.identify(token) is None
    assert store.token(facts.id).state == "expired"
    other, more = store.add("ben", "analyst")
    assert store.identify(other) is not None
    assert store.recognise(other) is not None
    store.revoke(more.id)
    assert store.recognise(other) is None
    assert store.identify(other) is None
    assert store.valid(more.id) is None
    assert store.revoke(more.id).state == "revoked"


@pytest.mark.parametrize(
    ("name", "role", "more"),
    [
        ("", "analyst", {}),
        ("a\n", "analyst", {}),
        ("ana", "root", {}),
        ("x" * 201, "analyst", {}),
        ("ana", "analyst", {"expires": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)}),
        ("ana", "analyst", {"tables": [7]}),
        ("ana", "analyst", {"withheld": "visits.note"}),
    ],
)
def test_what_is_no_account_is_refused(store: TokenStore, name: str, role: str, more: dict[str, object]) -> None:
    with pytest.raises(BadParameter):
        store.add(name, role, **more)  # type: ignore[arg-type]
    assert store.tokens() == []


def test_a_token_that_does_not_exist_cannot_be_revoked(store: TokenStore) -> None:
    with pytest.raises(NotFound):
        store.revoke(3)


def test_the_command_makes_lists_and_revokes_tokens_and_the_ledger_tells(tmp_path: Path) -> None:
    config = write_world(tmp_path / "clinic")
    runner = CliRunner()

    def run(*words: str) -> str:
        done = runner.invoke(main, ["token", *words, "--config", str(config)])
        assert done.exit_code == 0, done.output
        return done.stdout

    token = run("add", "ana", "--table", "visits", "--withhold", "visits.note", "--days", "9").strip()
    assert token.startswith(PREFIX)
    told = json.loads(run("list", "--json"))["tokens"]
    assert [(one["name"], one["role"], one["state"], one["tables"]) for one in told] == [
        ("ana", "analyst", "valid", ["visits"])
    ]
    assert token not in run("list")
    assert "revoked" in run("revoke", "1")
    assert json.loads(run("list", "--json"))["tokens"][0]["state"] == "revoked"
    with existing_ledger(read_config(config)) as ledger:
        acts = [one.to_dict() for one in ledger.entries() if one.kind == "act"]
        assert [(one["act"], one["account"], one["note"]) for one in acts] == [
            ("token added", "ana", "token 1, analyst"),
            ("token revoked", "ana", "token 1"),
        ]
        ledger.verify()
    key = tmp_path / "clinic" / "privet.cookie-key"
    run("rotate-cookies")
    first = key.read_bytes()
    run("rotate-cookies")
    assert len(first) == 32
    assert key.read_bytes() != first
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "words",
    [("add", "nobody"), ("add", "ana", "--table", "none"), ("add", "ana", "--withhold", "x.y"), ("revoke", "7")],
)
def test_the_command_refuses_what_is_not_there(tmp_path: Path, words: tuple[str, ...]) -> None:
    config = write_world(tmp_path / "clinic")
    done = CliRunner().invoke(main, ["token", *words, "--config", str(config), "--json"])
    assert done.exit_code in (2, 6)
    assert json.loads(done.stderr)["error"]["message"]
