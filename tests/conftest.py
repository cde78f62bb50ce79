"""How the tests run: examples may take their time, and in continuous integration they are the same on every run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

import postgres_server

# Two test processes on two cores: threads of linear algebra would wait for each other instead of computing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("patient", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "patient")


@pytest.fixture(scope="session")
def postgres() -> postgres_server.PostgresServer:
    """A PostgreSQL server that the tests of one process share, without fsync. Not to be stopped."""
    if (lacking := postgres_server.missing()) is not None:
        pytest.skip(lacking)
    return postgres_server.shared_server()


@pytest.fixture
def durable_postgres() -> Iterator[postgres_server.PostgresServer]:
    """A PostgreSQL server of a test's own, with fsync, which it may kill and start again."""
    if (lacking := postgres_server.missing()) is not None:
        pytest.skip(lacking)
    server = postgres_server.PostgresServer(fsync=True)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def ledger_address() -> Callable[[], str]:
    """A function that returns the address of a new, empty ledger, in a server with fsync that tests share."""
    return postgres_server.ledger_or_skip
