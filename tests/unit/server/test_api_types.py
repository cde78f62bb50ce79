"""The description of the API states types that replies have, and every field and status that routes use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from privet.server.http_call import ApiRoute
from privet.server.listening import analyst_routes, custodian_routes
from privet.server.openapi import COMPONENTS, FIELDS, describe_api
from served import COUNT, Served, served

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
TYPES |= {"boolean": bool, "null": type(None)}
ROUTES = {False: analyst_routes(), True: custodian_routes()}


def problems(value: Any, schema: dict[str, Any], where: str = "$") -> list[str]:
    """Return where a value is not what a schema allows; of JSON Schema, what the description uses."""
    if "$ref" in schema:
        return problems(value, COMPONENTS[schema["$ref"].rpartition("/")[2]], where)
    if "anyOf" in schema:
        found = [problems(value, one, where) for one in schema["anyOf"]]
        return [] if [] in found else min(found, key=len)
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is not listed"]
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        fits = [isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in names]
        if not any(fits):
            return [f"{where}: {type(value).__name__} is not {names}"]
    told = []
    if isinstance(value, dict):
        told += [f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value]
        more = schema.get("additionalProperties", {})
        for name, one in value.items():
            own = schema.get("properties", {}).get(name, more)
            told += [f"{where}.{name} is not known"] if own is False else problems(one, own, f"{where}.{name}")
    if isinstance(value, list):
        told += [
            one
            for index, item in enumerate(value)
            for one in problems(item, schema.get("items", {}), f"{where}[{index}]")
        ]
    return told


def test_the_validator_finds_what_is_wrong() -> None:
    assert problems({"error": {"code": "x", "message": "y"}}, COMPONENTS["Error"]) == []
    assert problems({"error": {"code": 1, "message": "y"}}, COMPONENTS["Error"])
    assert problems({"error": {"code": "x"}}, COMPONENTS["Error"])
    assert problems({"epsilon": 1, "sigma": 2}, COMPONENTS["Budget"])
    assert problems(True, {"type": "integer"})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("types") / "clinic") as running:
        running.ask({"question": COUNT, "epsilon": 0.25})
        running.call("{d}/requests", {"budget": {"epsilon": 1, "delta": "1e-8"}, "reason": "more"})
        yield running


VALUES = {
    "dataset": "clinic",
    "table": "visits",
    "entry": "5",
    "request": "1",
    "token": "1",
    "share": "1",
    "saved": "1",
}
BODIES: dict[str, dict[str, Any]] = {
    "ask": {"question": COUNT, "epsilon": 0.25},
    "ask-all": {"questions": [COUNT], "epsilon": 0.25},
    "choose": {"options": [60, 70], "score": "SELECT COUNT(*) FROM visits WHERE age > :option"},
    "marginals": {"table": "visits", "columns": ["ward", "sex"], "epsilon": 0.25},
    "ranges": {"table": "visits", "column": "age", "bins": 4, "epsilon": 0.25},
    "running": {"table": "visits", "by": "age", "epsilon": 0.25},
    "test": {"table": "visits", "hypothesis": {"kind": "Proportion", "condition": "age > 5", "equals": 0.5}},
    "regress": {"table": "visits", "formula": "cost ~ age", "epsilon": 0.25},
    "requests": {"budget": {"epsilon": 1, "delta": "1e-8"}, "reason": "more"},
    "tokens": {"name": "dora", "role": "analyst"},
    "top-up": {"budget": {"epsilon": 1, "delta": "1e-8"}, "reason": "more"},
    "freeze": {"account": "ben", "reason": "away"},
    "clear": {"account": "ben", "reason": "back"},
    "backup": {"name": "typed"},
    "saved": {"name": "yearly", "question": COUNT},
}


def test_replies_have_the_statuses_and_types_that_the_description_states(world: Served) -> None:
    answer = world.call("{d}/answers").json["answers"][-1]["id"]
    digest = world.call("{d}/history").json["charges"][0]["digest"]
    world.call("{d}/shared", {"answer": answer, "account": "ben"})
    world.call("{d}/saved", {"name": "the answer", "answer": answer})
    seen, wrong = set(), []
    for custodian, routes in ROUTES.items():
        told = describe_api(routes)["paths"]
        for route in routes:
            values = {**VALUES, "answer": answer, "digest": digest}
            path = re.sub(r"\{(\w+)\}", lambda found, values=values: values.get(found[1], "1"), route.path)
            if "revoke" in path or path.endswith(("/logout", "/events", "/export")):
                continue
            name = path.rpartition("/")[2]
            body = None if route.method == "GET" else BODIES.get(name, {})
            found = world.call(path, body, who="carol" if custodian else "ana", custodian=custodian)
            described = told[route.path][route.method.lower()]["responses"].get(str(found.status))
            if described is None:
                wrong.append(f"{route.method} {path}: {found.status} is not described: {found.body!r}")
                continue
            schema = described["content"]["application/json"]["schema"]
            wrong += [f"{route.method} {path}: {one}" for one in problems(found.json, schema)]
            seen.add((route.path, found.status < 300))
    assert wrong == []
    assert sum(1 for _, fine in seen if fine) > 40
    assert {("/v1/datasets/{dataset}/saved", True), ("/v1/datasets/{dataset}/saved/{saved}/remove", True)} <= seen


@pytest.mark.parametrize("route", [one for routes in ROUTES.values() for one in routes], ids=lambda one: one.path)
def test_every_route_states_what_it_takes_and_returns(route: ApiRoute) -> None:
    assert set(route.fields) <= set(FIELDS)
    assert route.produces != "application/json" or route.returns in COMPONENTS.keys() - {"Reply"}


def test_a_request_of_the_tests_fits_the_types(world: Served) -> None:
    for name, body in BODIES.items():
        for field, value in body.items():
            assert problems(value, FIELDS[field]) == [], (name, field)
