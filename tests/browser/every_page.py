"""Every page of a server in a state worth looking at, from the route table: a page that is new cannot be forgotten."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.core.errors import EngineError
from privet.server.http_call import ApiRoute
from privet.server.identity import AskedQuestion
from privet.server.job_queue import Job
from privet.server.listening import ServerOptions, running_server
from privet.server.pages.analyst_pages import ANALYST_PAGES
from privet.server.pages.custodian_pages import CUSTODIAN_PAGES
from privet.server.pages.question_builder import TESTS
from served import DECLARED, FAST, Served, add_tokens, write_world

PEOPLE = {"ana": "analyst", "ben": "analyst", "cy": "analyst", "carol": "custodian", "otto": "auditor"}
SQL = "SELECT ward, sex, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward, sex"
LONG = 'SELECT ward, COUNT(*) AS "a rather long name of a column of numbers" FROM visits GROUP BY ward'
RESULTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "answer": ("ask", {"question": SQL}),
    "answer of ages": ("ask", {"question": "SELECT age, COUNT(*) AS n FROM visits GROUP BY age"}),
    "answer of one number": ("ask", {"question": "SELECT COUNT(*) AS n FROM visits"}),
    "answer with a long name": ("ask", {"question": LONG}),
    "marginals": ("marginals", {"table": "visits", "columns": ["ward", "sex"]}),
    "ranges": ("ranges", {"table": "visits", "column": "age"}),
    "regression": ("regress", {"table": "visits", "formula": "cost ~ age + ward"}),
    "test": ("test", {"table": "visits", "hypothesis": {"kind": "MeanTest", "column": "cost", "equals": 500}}),
    "choice": ("choose", {"options": ["heart", "lung"], "score": "SELECT COUNT(*) FROM visits WHERE ward = :option"}),
}
EXPLORE = "/d/{dataset}/explore"
NAMES = ("staff", "wards", "adults")
_ROUTES = {False: ANALYST_PAGES, True: CUSTODIAN_PAGES}


@dataclass(frozen=True)
class PageState:
    """A page as somebody sees it: its route, where it is, and who looks."""

    name: str
    route: str
    path: str
    who: str
    custodian: bool = False


@contextmanager
def full_world(folder: Path) -> Iterator[Served]:
    """Run a server with three data sets, one of which answers after an hour, five accounts, and blocks."""
    blocks = 'version = "2025"\nblock = { column = "age", edges = [0, 18, 65, 111] }\n'
    declared = DECLARED.replace('version = "2025"\n', blocks, 1) + "\n[analysts.cy]\nepsilon = 1\ndelta = 1e-7\n"
    first = write_world(folder / "clinic", declared=declared)
    second = write_world(folder / "school", declared=declared)
    slow = write_world(folder / "slow", declared=declared.replace("time_step = 0.05", "time_step = 3600"))
    sets = {"clinic": first, "school": second, "slow": slow}
    given = ServerOptions(sets, port=0, custodian_port=0, limits=FAST)
    tokens = add_tokens(folder / "clinic", PEOPLE)
    with running_server(given) as server:
        yield Served(server, tokens, folder)


def fill(world: Served) -> dict[str, str]:
    """Ask, share, request and top up, so that no list is empty; return the answers' ids by their names."""
    made = {
        name: str(world.ask({**body, "epsilon": 0.5}, operation=operation).json["id"])
        for name, (operation, body) in RESULTS.items()
    }
    world.ask({"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1}, who="cy")
    world.call("{d}/shared", {"answer": made["answer"], "account": "ben"})
    world.call("{d}/saved", {"name": "wards by sex", "answer": made["answer"]})
    world.call("{d}/saved", {"name": "a draft", "question": LONG})
    world.ask({"question": "SELECT COUNT(*) AS n FROM visits WHERE age >= 65", "epsilon": 0.5}, who="ben")
    world.call("{d}/requests", {"budget": {"epsilon": 1, "delta": "1e-9"}, "reason": "the yearly report"})
    world.call("{d}/requests", {"budget": {"epsilon": 2, "delta": "1e-9"}, "reason": "a second look"}, who="cy")
    made["waiting"] = str(world.call("/v1/datasets/slow/ask", {"question": SQL, "epsilon": 1}).json["id"])
    made["failed"], made["interrupted"] = "f" * 32, "e" * 32
    for name in ("failed", "interrupted"):
        now = datetime.datetime.now(datetime.UTC)
        body = {"question": f"SELECT COUNT(*) AS {name} FROM visits", "epsilon": 1}
        asked = AskedQuestion(made[name], "clinic", "ana", "ask", body, now.replace(tzinfo=None), now.isoformat())
        world.server.accounts.remember(asked)
        if name == "failed":
            job = Job(asked, 0.01, time.monotonic() - 1)
            job.finish(None, EngineError())
            world.server.jobs._jobs["ana", asked.id] = job
    return made


def filled_path(route: ApiRoute, **values: str) -> str:
    """Return the address of a route; a name of its path that is not known here fails."""
    return route.path.format(**values)


def read_by_address(custodian: bool) -> list[ApiRoute]:
    """Return the routes that are read by an address: pages, parts of pages and files."""
    return [one for one in _ROUTES[custodian] if one.method == "GET"]


def every_state(world: Served, made: Mapping[str, str], *, people: Mapping[str, str] | None = None) -> list[PageState]:
    """Return each page of each route, for each who may see it, and the pages that have several looks.

    `people` are other names of the accounts; then the looks that need several data sets are left out.
    """
    named, found = people or {}, []
    for custodian in (False, True):
        for route in read_by_address(custodian):
            for role in ("carol", "otto") if custodian else ("ana",):
                if route.roles and PEOPLE[role] not in route.roles:
                    continue
                who = named.get(role, role)
                kind = {"marginal": "marginals", "range": "ranges", "submodel": "regression"}
                about = made[kind.get(route.path.rpartition("/")[2], "answer")]
                path = filled_path(route, dataset="clinic", answer=about, format="json", share="1")
                reader = "ben" if "{share}" in route.path else who
                reply = world.call(path, who=reader, custodian=custodian)
                if reply.status != 200 or not reply.body.lower().startswith(b"<!doctype html>"):
                    continue  # a part of a page, or a file
                found.append(PageState(f"{reader} {route.path}", route.path, path, reader, custodian))
    if people is not None:
        return found + [PageState(name, "/a/{answer}", f"/a/{one}", named["ana"]) for name, one in made.items() if one]
    more = [
        *((f"ana {name}", "/a/{answer}", f"/a/{one}", "ana", False) for name, one in made.items()),
        ("ben no answers", "/d/{dataset}/answers", "/d/school/answers", "ben", False),
        ("ben empty budget", "/d/{dataset}/budget", "/d/clinic/budget", "ben", False),
        ("cy budget gone", "/d/{dataset}/budget", "/d/clinic/budget", "cy", False),
        ("cy ask, budget gone", "/d/{dataset}", "/d/clinic", "cy", False),
        ("ana error", "/d/{dataset}", "/d/nowhere", "ana", False),
        ("ana no address", "/d/{dataset}", "/nowhere", "ana", False),
        *(
            (f"ana explore {name}", "/d/{dataset}/explore", f"/d/clinic/explore?table={name}", "ana", False)
            for name in NAMES
        ),
        *((f"ana form {one}", "/d/{dataset}/explore", f"/d/clinic/explore?kind={one}", "ana", False) for one in TESTS),
        ("carol empty overview", "/d/{dataset}", "/d/school", "carol", True),
        ("carol no requests", "/d/{dataset}/requests", "/d/school/requests", "carol", True),
        ("carol no releases", "/d/{dataset}/releases", "/d/school/releases", "carol", True),
        ("carol error", "/d/{dataset}", "/d/nowhere", "carol", True),
    ]
    return found + [PageState(*one) for one in more]
