"""Every route is for the roles that the table names, and for no one else; the custodian's are absent elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from privet.server.http_call import ApiRoute
from privet.server.listening import analyst_routes, custodian_routes
from served import PEOPLE, Served, served

LISTENERS = {False: analyst_routes(), True: custodian_routes()}
WALK = [(custodian, route) for custodian, routes in LISTENERS.items() for route in routes]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("roles") / "clinic") as running:
        yield running


def path_of(route: ApiRoute) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: "clinic" if found[1] == "dataset" else "999999", route.path)


@pytest.mark.parametrize(("custodian", "route"), WALK, ids=lambda one: getattr(one, "path", str(one)))
def test_a_route_is_for_its_roles_and_for_no_one_else(world: Served, custodian: bool, route: ApiRoute) -> None:
    body = {} if route.method == "POST" else None
    path = path_of(route)
    without = world.call(path, body, who=None, custodian=custodian)
    assert (without.status == 401) == bool(route.roles)
    for name, role in PEOPLE.items():
        found = world.call(path, body, who=name, custodian=custodian)
        if route.roles and role not in route.roles:
            assert (found.status, found.code) == (403, "access.forbidden"), name
        else:
            assert found.status not in (401, 403, 405, 500), (name, found.body)


def test_the_custodians_routes_are_absent_from_the_analysts_listener(world: Served) -> None:
    known = {(one.method, one.path) for one in analyst_routes()}
    for route in custodian_routes():
        if (route.method, route.path) not in known:
            body = {} if route.method == "POST" else None
            for who in (None, "ana", "carol", "otto"):
                assert world.call(path_of(route), body, who=who).status == 404


def test_every_route_that_reads_or_changes_anything_names_roles() -> None:
    open_routes = {route.path for _, route in WALK if not route.roles}
    assert open_routes == {"/health", "/v1/login", "/v1/openapi.json"}


def test_the_description_lists_the_routes_and_no_others(world: Served) -> None:
    for custodian, routes in LISTENERS.items():
        told = world.call("/v1/openapi.json", who=None, custodian=custodian).json
        listed = {(method.upper(), path) for path, methods in told["paths"].items() for method in methods}
        assert listed == {(one.method, one.path) for one in routes}
        for one in routes:
            assert told["paths"][one.path][one.method.lower()]["x-roles"] == sorted(one.roles)
