"""Hostile SQL through each way into a server: HTTP, a remote session and the database API.

What a local session refuses is refused through each of them with the same error, unread and for nothing; what it plans
has the same price. With PRIVET_SOAK the whole lists are asked, and otherwise every sixth question.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from own_hospital import ENGINE, TABLES, asked, rows, text_of

import privet
from privet import dbapi
from privet.core.errors import RequestError
from privet.dbapi.connection import Cursor
from served import Served, served

SHARED = Path(__file__).resolve().parents[3] / "shared" / "hostile-sql.json"
OWN = json.loads((Path(__file__).parent / "hostile.json").read_text(encoding="utf-8"))
LISTED: list[dict[str, Any]] = [
    *OWN,
    *(json.loads(SHARED.read_text(encoding="utf-8"))["hostile"] if SHARED.exists() else ()),
]
ASKED = LISTED[:: 1 if os.environ.get("PRIVET_SOAK") else 6]
TAKEN = {*inspect.signature(Cursor.execute).parameters}
"""What a cursor may be told about a question."""


def hostile_world(folder: Path) -> Path:
    """Write the hospital that hostile questions are about, with its privet.toml."""
    folder.mkdir()
    lines = ["[budget]", "epsilon = 1000", "delta = 1e-6"]
    units = {"drugs": 'link = "visit -> visits.id"', "sensors": 'unit = "house"', "votes": 'unit = "rows"'}
    units["moves"] = 'unit = { person = "user_id", time = "day", days = 7 }'
    for name, listed in rows(with_42=True).items():
        facts = TABLES[name]
        kinds = pa.schema([(column, ENGINE[one.kind]) for column, one in facts.columns.items()])
        parquet.write_table(pa.Table.from_pylist(listed, schema=kinds), folder / f"{name}.parquet")
        public = name in ("regions", "bands")
        lines += ["", f"[{'public' if public else 'tables'}.{name}]", f'source = "{name}.parquet"']
        if public:
            lines += ['key = "zip"'] if name == "regions" else ["rows = 100"]
        else:
            lines.append(units.get(name, 'unit = "user_id"'))
            if name not in ("votes",):
                lines.append("contribution = { groups = 1, rows = 1 }")
            if name == "others":
                lines += ['neighbors = "change-one"', "units = 8"]
        lines += [f"[{'public' if public else 'tables'}.{name}.columns]"]
        for column, one in facts.columns.items():
            told = f"values = {json.dumps(list(one.values))}" if one.values else f'kind = "{one.kind}"'
            if one.low is not None and not one.values:
                told += f", low = {one.low}, high = {one.high}"
            lines.append(f"{column} = {{ {told}{', nullable = true' if one.nullable else ''} }}")
    (folder / "privet.toml").write_text("\n".join(lines) + "\n[engine]\ntime_step = 0.05\n")
    return folder / "privet.toml"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hostile") / "w"
    with served(folder, config=hostile_world(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def local(world: Served) -> Iterator[privet.Session]:
    with privet.open(world.folder / "privet.toml") as session:
        yield session


def options(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked(entry).items() if name not in ("key", "contribution")}


def refusal(ask: Callable[..., object], text: str, given: dict[str, Any]) -> tuple[str, str] | None:
    """Return the code and the message of the refusal of a question before anything is read; None for no refusal."""
    try:
        ask(text, **given)
    except RequestError as error:
        return error.code, str(error)
    return None


def charges(world: Served) -> int:
    return len(world.server.datasets["clinic"].ledger.history())


def through_http(world: Served, entry: dict[str, Any]) -> tuple[str, str] | None:
    for route in ("plan/ask", "ask"):
        reply = world.call("{d}/" + route, {"question": text_of(entry), **options(entry)})
        if reply.status == 200:
            return None
        assert reply.status == 400, reply.body
    return reply.code, reply.json["error"]["message"]


def test_hostile_questions_are_refused_through_every_way_in_as_they_are_locally(
    world: Served, local: privet.Session
) -> None:
    before, refused, planned = charges(world), 0, []
    with (
        privet.connect(world.url, token=world.tokens["ana"]) as remote,
        dbapi.connect(world.url, token=world.tokens["ana"]) as connection,
        connection.cursor() as cursor,
    ):
        for entry in ASKED:
            text, given = text_of(entry), options(entry)
            here = refusal(local.plan, text, given)
            if here is None:
                planned.append((text, given))
                assert through_http(world, entry) is None, entry
                continue
            refused += 1
            assert through_http(world, entry) == here, entry
            assert refusal(remote.ask, text, given) == here, entry
            if given.keys() <= TAKEN:
                assert refusal(cursor.execute, text, given) is not None, entry
        assert refused > 60
        assert charges(world) == before
        for text, given in planned:
            assert remote.plan(text, **given).price == local.plan(text, **given).price
    assert charges(world) == before
