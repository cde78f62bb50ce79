"""Markup in every text that people or data can give to the pages stays text: nothing runs, nothing is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from every_page import PageState, every_state
from playwright_chromium import fill, opened, settled, shown

from privet.server.listening import ServerOptions, running_server
from served import FAST, Served, add_tokens

EVIL = "<img src=x onerror=alert(1)>"
QUOTED = "\"'><script>alert(2)</script>{{7*7}}"
DECLARED = f"""
[budget]
epsilon = 40
delta = 1e-6

[tables.{json.dumps(EVIL)}]
source = "rows.csv"
unit = "rows"

[tables.{json.dumps(EVIL)}.columns]
{json.dumps(QUOTED)} = {{ values = [{json.dumps(EVIL)}, "plain", "=1+1"] }}
{json.dumps("b" + EVIL)} = {{ kind = "integer", low = 0, high = 9 }}
free = "text"

[analysts.{json.dumps("ana" + EVIL)}]
epsilon = 20
delta = 1e-7

[analysts.ben]
epsilon = 20
delta = 1e-7

[engine]
time_step = 0.05
"""
ANA = "ana" + EVIL
PEOPLE = {ANA: "analyst", "ben": "analyst", "carol" + EVIL: "custodian", "otto": "auditor"}


def sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


TABLE, KEY, NUMBER = map(sql_name, (EVIL, QUOTED, "b" + EVIL))
SQL = f"SELECT {KEY}, COUNT(*) AS {sql_name('n' + EVIL)} /* {EVIL} */ FROM {TABLE} GROUP BY {KEY} -- {EVIL}"
FOUND = f"SELECT free, COUNT(*) AS n FROM {TABLE} GROUP BY free"
RESULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "answer": ("ask", {"question": SQL}),
    "found": ("ask", {"question": FOUND}),
    "marginals": ("marginals", {"table": EVIL, "columns": [QUOTED]}),
    "ranges": ("ranges", {"table": EVIL, "column": "b" + EVIL}),
    "regression": ("regress", {"table": EVIL, "formula": f"{sql_name('b' + EVIL)} ~ {KEY}"}),
    "test": ("test", {"table": EVIL, "hypothesis": {"kind": "MeanTest", "column": "b" + EVIL, "equals": 5}}),
    "choice": (
        "choose",
        {"options": [EVIL, "plain"], "score": f"SELECT COUNT(*) FROM {TABLE} WHERE {KEY} = :option"},
    ),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("evil")
    rows = [f'"{(EVIL, "plain", "=1+1")[i % 3]}",{i % 9},"{(EVIL, "=cmd")[i % 2]}"' for i in range(600)]
    head = ",".join('"' + one.replace('"', '""') + '"' for one in (QUOTED, "b" + EVIL, "free"))
    (folder / "rows.csv").write_text("\n".join([head, *rows]) + "\n")
    (folder / "privet.toml").write_text(DECLARED)
    tokens = add_tokens(folder, PEOPLE)
    given = ServerOptions({"clinic": folder / "privet.toml"}, port=0, custodian_port=0, limits=FAST)
    with running_server(given) as server:
        yield Served(server, tokens, folder)


@pytest.fixture(scope="module")
def made(world: Served) -> dict[str, str]:
    found = {}
    for name, (operation, body) in RESULTS.items():
        reply = world.ask({**body, "epsilon": 1}, who=ANA, operation=operation)
        if reply.status == 200:
            found[name] = str(reply.json["id"])
    assert {"answer", "found", "marginals", "ranges", "test", "choice"} <= found.keys()
    assert EVIL in json.dumps(world.call(f"/v1/answers/{found['found']}", who=ANA).json["result"]["rows"])
    for name in (EVIL, QUOTED):
        assert world.call("{d}/saved", {"name": name, "answer": found["answer"]}, who=ANA).status == 201
        assert world.call("{d}/saved", {"name": name + " q", "question": name}, who=ANA).status == 201
        more = {"budget": {"epsilon": 1, "delta": "1e-9"}, "reason": name}
        assert world.call("{d}/requests", more, who=ANA).status == 201
    note = {"note": QUOTED}
    assert world.call("{d}/requests/1/decline", note, who="carol" + EVIL, custodian=True).status == 200
    assert world.call("{d}/shared", {"answer": found["answer"], "account": "ben"}, who=ANA).status == 201
    body = {"account": "ben", "reason": EVIL}
    assert world.call("{d}/freeze", body, who="carol" + EVIL, custodian=True).status == 200
    assert world.call("{d}/clear", body, who="carol" + EVIL, custodian=True).status == 200
    return found


def looks(world: Served, made: dict[str, str]) -> list[PageState]:
    named = {"marginals": made["marginals"], "ranges": made["ranges"], "regression": made.get("regression", "")}
    people = {"ana": ANA, "carol": "carol" + EVIL}
    found = every_state(world, {**made, **named}, people=people)
    path = f"/a/{made['answer']}/pivot"
    return [
        *found,
        PageState("hostile question", "", f"/d/clinic?sql={EVIL}{QUOTED}", ANA),
        PageState("", "", path, ANA),
    ]


def test_markup_in_names_values_reasons_and_sql_never_runs(chrome: Any, world: Served, made: dict[str, str]) -> None:
    pages: dict[tuple[str, bool], Any] = {}
    seen = 0
    for state in looks(world, made):
        key = state.who, state.custodian
        if key not in pages:
            pages[key] = opened(chrome, world, state.who, custodian=state.custodian)
        page, watched = pages[key]
        page.goto(state.path)
        settled(page)
        assert page.locator("img, script:not([src]), iframe, object, embed, a[href^='javascript']").count() == 0
        seen += EVIL in page.locator("body").inner_text()
        assert "49" not in (page.title() or "")
        watched.check()
    assert seen > 15


def test_a_hostile_question_is_only_text_in_editor_plan_and_form(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, ANA)
    for sql in (SQL, EVIL, f"SELECT '{QUOTED}' FROM nowhere"):
        fill(page, ".cm-content", sql)
        settled(page)
        page.wait_for_timeout(400)
        settled(page)
        assert page.locator("main img, main script").count() == 0
    page.goto("/d/clinic/explore")
    settled(page)
    assert page.locator("main img, main script").count() == 0
    shown(page, "Explore")
    watched.check()


def test_downloads_of_hostile_names_are_inert(world: Served, made: dict[str, str]) -> None:
    for name in ("answer", "found"):
        csv = world.call(f"/a/{made[name]}/answer.csv", who=ANA)
        assert csv.headers["content-type"].startswith("text/csv")
        assert csv.headers["content-disposition"].startswith('attachment; filename="')
        assert csv.headers["x-content-type-options"] == "nosniff"
        cells = [cell.strip('"') for line in csv.body.decode().splitlines() for cell in line.split(",")]
        assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert "'=1+1" in world.call(f"/a/{made['answer']}/answer.csv", who=ANA).body.decode()
    assert world.call(f"/a/{made['answer']}/answer.png", who=ANA).body.startswith(b"\x89PNG")
