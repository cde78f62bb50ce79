"""Any JSON to any route: refused or answered as the description says, never an error of Privet's own.

The description that the server generates is what requests are made from: every route, field and parameter of it.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from served import Served, served

ROUNDS = 60 if os.environ.get("PRIVET_SOAK") else 4
STATUSES = {200, 201, 202, 400, 404, 409, 429, 503}
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1,
    2**80,
    0.5,
    -0.0,
    1e308,
    "",
    "x",
    "ward",
    "visits",
    "\x00",
    "é" * 300,
    "'; --",
]
VALUES += [[], [[]], ["ward"], ["ward", "ward"], {}, {"ratio": "1/3"}, {"ratio": "x"}, {"date": "2025-02-30"}]
VALUES += [
    {"kind": "Proportion"},
    {"epsilon": 1},
    {"groups": 1, "rows": 1},
    {"groups": -1},
    "auto",
    "SELECT COUNT(*) FROM visits",
]
VALUES += [
    ["SELECT COUNT(*) FROM visits"] * 2,
    "SELECT * FROM visits",
    "age",
    "cost ~ age",
    [1, 2],
    [["ward"]],
    [[["ward"], 1]],
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("fuzzed") / "clinic") as running:
        yield running


@pytest.mark.parametrize("custodian", [False, True])
def test_no_request_that_the_description_allows_is_an_error_of_the_servers(world: Served, custodian: bool) -> None:
    source, wrong = random.Random(11), []
    told = world.call("/v1/openapi.json", who=None, custodian=custodian).json
    for path, methods in told["paths"].items():
        for method, one in methods.items():
            if path in ("/v1/logout", "/v1/openapi.json") or path.endswith(("/backup", "/events")):
                continue
            known = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            for _ in range(ROUNDS):
                chosen = [name for name in known.get("properties", {}) if source.random() < 0.5]
                body = {name: source.choice(VALUES) for name in sorted({*chosen, *known.get("required", [])})}
                filled = re.sub(r"\{(\w+)\}", lambda found: fill(found[1], source), path)
                query = "?" + "&".join(f"{p['name']}=1" for p in one["parameters"] if p["in"] == "query")
                sent = body if method == "post" else None
                found = world.call(filled + query, sent, who="carol" if custodian else "ana", custodian=custodian)
                allowed = STATUSES | ({401} if path == "/v1/login" else set())
                if found.status not in allowed:
                    wrong.append((path, body, found.body))
                if found.status >= 400:
                    assert {"code", "message"} <= found.json["error"].keys()
    assert wrong == [], "\n".join(map(str, wrong))


def fill(name: str, source: random.Random) -> str:
    """Return a value for a part of a path."""
    if name == "dataset":
        return "clinic"
    return source.choice(
        {"table": ["visits", "wards", "x"], "entry": ["1", "5", "999"]}.get(name, ["1", "x", "0" * 32])
    )
