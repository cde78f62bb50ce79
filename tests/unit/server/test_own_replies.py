"""Stored answers that come at once: the account's own, with the rights under which they were asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from privet.core.budget import Approximate
from privet.server.job_queue import OwnReplies, repeats
from served import Served, served


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("replies") / "clinic") as running:
        yield running


def aged(limit: int, **more: Any) -> dict[str, Any]:
    return {"question": f"SELECT COUNT(*) AS n FROM visits WHERE age > {limit}", "epsilon": 0.0625, **more}


def with_token(world: Served, **facts: Any) -> Served:
    token, _ = world.server.accounts.add("ana", "analyst", **facts)
    return replace(world, tokens={**world.tokens, "ana": token})


def test_a_stored_answer_waits_neither_for_the_ledger_nor_for_the_accounts_file(world: Served) -> None:
    first = world.ask(aged(1))
    history = world.server.datasets["clinic"].ledger._history  # type: ignore[attr-defined]
    with history.store.lock, world.server.accounts._lock:  # as while a charge becomes durable
        again = world.call("{d}/ask", aged(1))
    assert again.status == 200
    assert again.json == {**first.json, "elapsed": 0}


def test_a_kept_reply_is_what_the_ledger_gives(world: Served) -> None:
    world.ask(aged(2))
    kept = world.call("{d}/ask", aged(2))
    world.server.state.replies = OwnReplies()
    found = world.call("{d}/ask", aged(2))
    assert (kept.status, kept.headers, kept.json) == (found.status, found.headers, found.json)


def test_a_kept_reply_is_for_its_account_alone(world: Served) -> None:
    rows = world.ask(aged(3)).json["result"]["rows"]
    before = len(world.server.datasets["clinic"].ledger.history())
    theirs = world.call("{d}/ask", aged(3), who="ben")
    assert theirs.status == 202
    assert len(world.server.datasets["clinic"].ledger.history()) == before + 1
    assert world.ask(aged(3), who="ben").json["result"]["rows"] == rows


def test_a_token_with_fewer_rights_is_not_shown_what_another_token_of_the_account_asked(world: Served) -> None:
    assert world.ask(aged(4)).status == 200
    assert world.call("{d}/ask", aged(4)).status == 200
    assert with_token(world, withheld=["visits.age"]).call("{d}/ask", aged(4)).status == 400
    assert with_token(world, tables=["staff"]).call("{d}/ask", aged(4)).status == 400
    assert with_token(world, datasets=["other"]).call("{d}/ask", aged(4)).status == 404


def test_a_reply_that_is_fetched_with_another_token_is_kept_for_the_one_that_asked(world: Served) -> None:
    narrow = with_token(world, withheld=["visits.age"])
    place = world.call("{d}/ask", aged(5)).headers["location"]
    narrow.call(f"{place}?wait=20")
    assert narrow.call("{d}/ask", aged(5)).status == 400


def test_a_revoked_token_gets_nothing_that_is_kept(world: Served) -> None:
    other = with_token(world)
    assert other.ask(aged(6)).status == 200
    assert other.call("{d}/ask", aged(6)).status == 200
    world.server.accounts.revoke(world.server.accounts.tokens()[-1].id)
    assert other.call("{d}/ask", aged(6)).status == 401


def test_a_key_is_still_that_of_one_question(world: Served) -> None:
    key = {"Idempotency-Key": "weekly"}
    assert world.ask(aged(7), headers=key).status == 200
    assert world.ask(aged(8)).status == 200
    assert world.call("{d}/ask", aged(8)).status == 200
    assert world.call("{d}/ask", aged(8), headers=key).status == 400


def test_a_question_whose_cost_depends_on_the_budget_is_planned_anew(world: Served) -> None:
    free = {"question": aged(9)["question"]}
    first = world.ask(free).json["result"]["certificate"]
    ledger = world.server.datasets["clinic"].ledger
    ledger.top_up(Approximate(epsilon=10, delta=1e-8), reason="more", account="ana")
    assert world.ask(free).json["result"]["certificate"] != first


def test_which_questions_repeat() -> None:
    assert repeats("ask", {"question": "SELECT 1", "epsilon": 1, "within": None})
    assert repeats("ask", {"question": "SELECT 1", "rho": 1})
    assert not repeats("ask", {"question": "SELECT 1", "epsilon": None})
    assert not repeats("ask", {"question": "SELECT 1", "epsilon": 1, "within": 3})
    assert not repeats("ask", {"question": "SELECT 1", "epsilon": 1, "at_most": 3})
    assert not repeats("marginals", {"epsilon": 1})


def test_public_tables_are_read_each_time(world: Served) -> None:
    asked = {"question": "SELECT COUNT(*) AS n FROM wards", "epsilon": 0.0625}
    assert world.ask(asked).status == 200
    assert world.ask(asked).status == 200
    assert not any("wards" in reply.decode() for _, reply in world.server.state.replies._kept.values())


def test_the_oldest_replies_make_room() -> None:
    replies = OwnReplies(most=10)
    replies.keep("ana", "1", (), b"12345")
    replies.keep("ana", "2", (), b"12345")
    assert replies.find("ana", "1", ()) == b"12345"
    replies.keep("ana", "3", (), b"1234")
    assert [replies.find("ana", one, ()) for one in "123"] == [b"12345", None, b"1234"]
    replies.keep("ana", "1", (), b"1")
    replies.keep("ana", "4", (), b"12345")
    assert [replies.find("ana", one, ()) for one in "134"] == [b"1", b"1234", b"12345"]
    replies.keep("ana", "5", (), b"12345678901")
    assert [replies.find("ana", one, ()) for one in "1345"] == [None] * 4


def test_the_use_of_a_token_is_remembered_beside_the_request(world: Served) -> None:
    accounts = world.server.accounts
    number = next(one.id for one in accounts.tokens() if one.identity.name == "ana")
    world.call("/v1/me")
    accounts._write("UPDATE tokens SET used = ? WHERE id = ?", "2020-01-01T00:00:00+00:00", number)
    world.call("/v1/me")
    ends = time.monotonic() + 30
    while accounts.token(number).use_is_due and time.monotonic() < ends:
        time.sleep(0.01)
    assert not accounts.token(number).use_is_due
