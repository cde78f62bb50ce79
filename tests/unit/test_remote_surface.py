"""Every public name of a session is there over a server, or is refused by name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

import privet
from privet.core.errors import Unsupported
from privet.remote.remote_session import RemoteSession
from privet.session import Session
from served import Served, served

PUBLIC = {name for name in vars(Session) if not name.startswith("_")}
ASKS = {
    "plan", "plan_all", "ask", "ask_all", "run", "run_all", "choose", "marginals", "ranges", "running", "test",
    "test_all", "regress", "clipping",
}  # fmt: skip
"""What is charged and read on the server."""

REFUSED = {"above", "rolling"}
FROM_DECLARATIONS = {
    "plan_choice", "plan_marginals", "plan_ranges", "plan_running", "plan_test", "plan_regress", "plan_above", "table",
    "tables", "views", "describe", "account", "budget", "remaining", "history", "ledger", "close", "closing",
}  # fmt: skip
"""What needs no data: declared facts, and what the server states of the account."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("surface") / "clinic") as running:
        yield running


def test_every_public_name_of_a_session_is_accounted_for() -> None:
    assert PUBLIC == ASKS | REFUSED | (FROM_DECLARATIONS & PUBLIC)


def test_what_reads_data_locally_is_another_function_over_a_server() -> None:
    for name in (ASKS | REFUSED) & PUBLIC:
        assert vars(RemoteSession).get(name) is not None, name
        assert vars(RemoteSession)[name] is not vars(Session)[name], name


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_possible_is_refused_by_name(world: Served, name: str) -> None:
    with privet.connect(world.url, token=world.tokens["ana"]) as session:
        with pytest.raises(Unsupported, match=f"{name} is not possible over a server"):
            getattr(session, name)()
        assert session.history() == ()


def test_signatures_are_the_local_ones() -> None:
    for name in PUBLIC - REFUSED:
        mine, local = getattr(RemoteSession, name), getattr(Session, name)
        if callable(local):
            assert inspect.signature(mine) == inspect.signature(local), name
