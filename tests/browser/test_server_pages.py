"""The server's pages in a real browser: every flow, also by keyboard; accessibility; narrow screens; the policy."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import chromium
from chromium import Browser, Page

from served import Served, served

PROGRAM = chromium.find()
if PROGRAM is None:
    pytest.skip("no Chromium here: apt-get install chromium, then make test-browser", allow_module_level=True)

AXE = Path(__file__).parents[2] / "tools" / "bundle" / "node_modules" / "axe-core" / "axe.min.js"
SQL = "SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex"
KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "ArrowRight": (39, ""),
    "a": (65, "a"),
    "Delete": (46, ""),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM is not None
    with Browser(PROGRAM) as found:
        yield found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


def press(page: Page, key: str, *, ctrl: bool = False) -> None:
    """Press one key, as a person does."""
    code, text = KEYS[key]
    told = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 2 if ctrl else 0}
    page.call("Input.dispatchKeyEvent", type="keyDown", **told, **({"text": text} if text and not ctrl else {}))
    page.call("Input.dispatchKeyEvent", type="keyUp", **told)


def write(page: Page, text: str) -> None:
    """Type a text into what has the focus."""
    page.call("Input.insertText", text=text)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        if page.run(f"!!document.activeElement && document.activeElement.matches({json.dumps(selector)})"):
            return
        press(page, "Tab")
    raise AssertionError(f"Tab does not reach {selector}")


def logged_in(browser: Browser, world: Served, who: str, *, width: int = 1200) -> Page:
    """Return a tab in which an account has logged in, by keyboard."""
    custodian = who in ("carol", "otto")
    page = browser.open(world.server.urls[int(custodian)] + "/login", width=width)
    tab_to(page, "#token")
    write(page, world.tokens[who])
    press(page, "Enter")
    page.wait("location.pathname === '/d/clinic' && document.readyState === 'complete'")
    return page


def go(page: Page, world: Served, path: str, *, custodian: bool = False) -> None:
    page.go(world.server.urls[int(custodian)] + path)
    page.wait(f"location.pathname === {json.dumps(path.partition('?')[0])}")


def shown(page: Page, text: str) -> None:
    """Wait until a text is on the page."""
    page.wait(f"!!document.body && document.body.innerText.includes({json.dumps(text)})")


def ask(page: Page, sql: str) -> None:
    """Write a question into the editor and ask it, by keyboard."""
    tab_to(page, ".cm-content")
    press(page, "a", ctrl=True)
    write(page, sql)
    page.wait(f"document.querySelector('textarea[data-sql]').value === {json.dumps(sql)}")
    shown(page, "Invented values")
    tab_to(page, "#question-form button[type=submit]")
    press(page, "Enter")
    page.wait("location.pathname.startsWith('/a/')")
    shown(page, "Numbers")


def clean(page: Page, world: Served) -> None:
    """Check that nothing was forbidden by the policy and that no request left the server."""
    own = tuple(world.server.urls)
    assert all(one["url"].startswith((*own, "data:", "about:")) for one in page.requests())
    bad = [one for one in page.complaints() if "Content Security" in one or "Refused" in one]
    assert bad == []


def violations(page: Page) -> list[str]:
    """Return what axe-core finds on a page, in its present colours."""
    page.run(AXE.read_text(encoding="utf-8") + "\n0")
    found = page.run(
        "axe.run(document, {resultTypes: ['violations']}).then(r => "
        "r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')))"
    )
    return list(found)


def in_colours(page: Page, scheme: str) -> None:
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


def settled(page: Page) -> None:
    """Wait until no part of the page is being replaced."""
    page.wait("document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling') === null")
    time.sleep(0.1)


def test_a_question_is_priced_asked_and_read_by_keyboard_alone(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    shown(page, "Invented values")
    ask(page, SQL)
    shown(page, "Cross-tab")
    page.wait("document.querySelectorAll('#cross td').length > 0")
    assert page.run("document.querySelectorAll('svg.chart:not(.invented)').length") == 1
    first = page.run("document.querySelector('table[data-sortable] tbody td').textContent")
    tab_to(page, "table[data-sortable] th button")
    press(page, "Enter")
    press(page, "Enter")
    assert page.run("document.querySelector('table[data-sortable] tbody td').textContent") != first
    go(page, world, "/d/clinic/answers")
    shown(page, SQL)
    clean(page, world)


def test_moving_the_slider_redraws_the_plan_and_charges_nothing(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    shown(page, "Invented values")
    before = page.run("document.querySelector('#plan figcaption').textContent")
    tab_to(page, "#slider")
    for _ in range(8):
        press(page, "ArrowRight")
    page.wait(f"document.querySelector('#plan figcaption').textContent !== {json.dumps(before)}")
    page.wait("document.querySelector('#plan dd').textContent.includes(document.querySelector('#price').value)")
    assert world.call("{d}/history").json["charges"] == []
    clean(page, world)


def test_completion_knows_the_declared_columns(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    tab_to(page, ".cm-content")
    press(page, "a", ctrl=True)
    write(page, "SELECT AVG(visits.")
    write(page, "co")
    page.wait("[...document.querySelectorAll('.cm-tooltip-autocomplete li')].some(one => one.textContent === 'cost')")
    press(page, "Escape")
    clean(page, world)


def test_the_form_and_the_editor_turn_into_each_other(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    page.wait("document.querySelector('#b-table') !== null")
    for table, column in (("staff", "salary"), ("visits", "sex")):
        settled(page)
        page.run(
            f"document.querySelector('#b-table').value = '{table}';"
            "document.querySelector('#b-table').dispatchEvent(new Event('change', {bubbles: true}))"
        )
        page.wait(f"[...document.querySelectorAll('#b-o0 option')].some(one => one.textContent === '{column}')")
    settled(page)
    page.run("document.querySelector('input[name=groups][value=ward]').click()")
    page.run("document.querySelector('#builder button.main').click()")
    page.wait("document.querySelector('textarea[data-sql]').value.includes('GROUP BY ward')")
    settled(page)
    page.run("document.querySelector('input[name=groups][value=ward]').click()")
    page.run("document.querySelector('#builder button:not(.main)').click()")
    page.wait("document.querySelector('input[name=groups][value=ward]:checked') !== null")
    clean(page, world)


def test_a_refusal_says_what_to_do_and_charges_nothing(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    tab_to(page, ".cm-content")
    press(page, "a", ctrl=True)
    write(page, "SELECT * FROM visits")
    shown(page, "Nothing was charged")
    press(page, "Enter", ctrl=True)
    page.wait("!document.querySelector('#question-form [role=alert]').hidden")
    assert world.call("{d}/history").json["charges"] == []


def test_budget_is_asked_for_granted_and_seen(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    go(page, world, "/d/clinic/budget")
    tab_to(page, "#amount")
    write(page, "2")
    tab_to(page, "#reason")
    write(page, "the yearly report")
    press(page, "Enter")
    shown(page, "waits for the custodian")
    clean(page, world)
    custodian = logged_in(browser, world, "carol")
    go(custodian, world, "/d/clinic/requests", custodian=True)
    shown(custodian, "the yearly report")
    tab_to(custodian, "form[data-api$=grant] button")
    press(custodian, "Enter")
    shown(custodian, "granted by carol")
    assert world.call("{d}/budget").json["budget"]["epsilon"] == "22"
    clean(custodian, world)


def test_the_custodian_tops_up_freezes_and_clears(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "carol")
    page.run("document.querySelector('#freeze-account').value = 'ben'")
    tab_to(page, "#freeze-reason")
    write(page, "left the team")
    press(page, "Enter")
    shown(page, "frozen")
    tab_to(page, "#clear-reason")
    write(page, "is back")
    press(page, "Enter")
    page.wait("document.querySelector('#clear-reason') === null && document.querySelector('#top-amount') !== null")
    page.run("document.querySelector('#top-account').value = 'ben'")
    tab_to(page, "#top-amount")
    write(page, "3")
    tab_to(page, "#top-reason")
    write(page, "agreed")
    press(page, "Enter")
    page.wait("[...document.querySelectorAll('td')].some(one => one.textContent.startsWith('epsilon 23'))")
    clean(page, world)


def test_a_token_is_made_shown_once_and_revoked(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "carol")
    go(page, world, "/d/clinic/accounts", custodian=True)
    tab_to(page, "#t-name")
    write(page, "ben")
    press(page, "Enter")
    page.wait("document.querySelector('#new-token .token').textContent.startsWith('privet_')")
    token = page.run("document.querySelector('#new-token .token').textContent")
    world.tokens["new"] = token
    assert world.call("/v1/me", who="new").json["name"] == "ben"
    go(page, world, "/d/clinic/accounts", custodian=True)
    assert token not in page.run("document.documentElement.outerHTML")
    page.run("window.confirm = () => true")
    page.run("[...document.querySelectorAll('form[data-api$=revoke] button')].at(-1).click()")
    shown(page, "revoked")
    assert world.call("/v1/me", who="new").status == 401


def test_a_data_set_is_set_up_and_tried_on_made_up_rows(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "carol")
    go(page, world, "/set-up", custodian=True)
    tab_to(page, "form[hx-post$=columns] button")
    press(page, "Enter")
    page.wait("document.querySelector('#l1') !== null")
    settled(page)
    for field, value in (
        ("#l1", "0"),
        ("#h1", "110"),
        ("#v2", "heart, lung"),
        ("#l3", "2025-01-01"),
        ("#h3", "2025-12-31"),
    ):
        tab_to(page, field)
        write(page, value)
    tab_to(page, "form[hx-post$=draft] button")
    press(page, "Enter")
    shown(page, "The file is complete")
    assert "values = " in page.run("document.querySelector('#toml').textContent")
    assert not AXE.exists() or violations(page) == []
    clean(page, world)


def test_an_auditor_verifies_the_ledger_and_changes_nothing(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "otto")
    assert page.run("document.querySelectorAll('form[data-api$=top-up], form[data-api$=freeze]').length") == 0
    go(page, world, "/d/clinic/ledger", custodian=True)
    tab_to(page, "form[data-api$=verify] button")
    press(page, "Enter")
    shown(page, "The ledger is intact")
    clean(page, world)


def test_an_answer_is_shared_and_read_by_another_account_for_its_own_price(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    ask(page, SQL)
    tab_to(page, "#share-with")
    write(page, "ben")
    press(page, "Enter")
    shown(page, "Shared with ben")
    clean(page, world)
    reader = logged_in(browser, world, "ben")
    go(reader, world, "/d/clinic/answers")
    shown(reader, "by ana")
    tab_to(reader, "a[href$='/shared/1']")
    press(reader, "Enter")
    shown(reader, "ana shows you a question")
    tab_to(reader, "form[data-api$=read] button")
    press(reader, "Enter")
    shown(reader, "Numbers")
    assert len(world.call("{d}/history", who="ben").json["charges"]) == 1
    clean(reader, world)


def test_a_range_is_dragged_at_no_cost_after_it_was_paid_for_once(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    go(page, world, "/d/clinic/explore?table=visits")
    tab_to(page, "form[data-api$=ranges] button[data-api]")
    press(page, "Enter")
    page.wait("!document.querySelector('form[data-api$=ranges] output').hidden")
    tab_to(page, "form[data-api$=ranges] button.main")
    press(page, "Enter")
    page.wait("location.pathname.startsWith('/a/') && document.querySelector('#low') !== null")
    before = page.run("document.querySelector('#range dt').textContent")
    tab_to(page, "#low")
    for _ in range(5):
        press(page, "ArrowRight")
    page.wait(f"document.querySelector('#range dt').textContent !== {json.dumps(before)}")
    page.wait("document.querySelector('#range dt').textContent.startsWith('From 5 ')")
    assert len(world.call("{d}/history").json["charges"]) == 1
    clean(page, world)


def test_marginals_are_looked_at_from_every_side(browser: Browser, world: Served) -> None:
    page = logged_in(browser, world, "ana")
    go(page, world, "/d/clinic/explore?table=visits")
    tab_to(page, "form[data-api$=marginals] button.main")
    press(page, "Enter")
    page.wait("location.pathname.startsWith('/a/') && document.querySelector('#counts') !== null")
    assert page.run("document.querySelectorAll('#counts tbody tr').length") == 2
    page.run("document.querySelector('input[name=columns]:not(:checked)').click()")
    page.wait("document.querySelectorAll('#counts tbody tr').length === 4")
    assert len(world.call("{d}/history").json["charges"]) == 1
    clean(page, world)


ANALYST = ("/login", "/d/clinic", "/d/clinic/answers", "/d/clinic/tables", "/d/clinic/budget", "/tour", "/d/nowhere")
RESULTS: dict[str, dict[str, Any]] = {
    "marginals": {"table": "visits", "columns": ["ward", "sex"], "epsilon": 1},
    "ranges": {"table": "visits", "column": "age", "epsilon": 1},
    "regress": {"table": "visits", "formula": "cost ~ age + ward", "epsilon": 1},
    "test": {"table": "visits", "hypothesis": {"kind": "MeanTest", "column": "cost", "equals": 500}, "epsilon": 1},
}
CUSTODIAN = (
    "/d/clinic",
    "/d/clinic/requests",
    "/d/clinic/releases",
    "/d/clinic/accounts",
    "/d/clinic/ledger",
    "/set-up",
)


def pages_of(world: Served, custodian: bool) -> list[str]:
    if custodian:
        return list(CUSTODIAN)
    world.call("{d}/requests", {"budget": {"epsilon": 1, "delta": "1e-9"}, "reason": "more"})
    found = world.ask({"question": SQL, "epsilon": 1}).json["id"]
    others = [world.ask(body, operation=name).json["id"] for name, body in RESULTS.items()]
    return [*ANALYST, "/d/clinic/explore?table=visits", *(f"/a/{one}" for one in (found, *others))]


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci in tools/bundle")
@pytest.mark.parametrize("custodian", [False, True], ids=["analyst", "custodian"])
def test_axe_finds_no_violation_in_dark_and_light(browser: Browser, world: Served, custodian: bool) -> None:
    page = logged_in(browser, world, "carol" if custodian else "ana")
    found: dict[str, Any] = {}
    for path in pages_of(world, custodian):
        go(page, world, path, custodian=custodian)
        settled(page)
        for scheme in ("light", "dark"):
            in_colours(page, scheme)
            wrong = violations(page)
            if wrong:
                found[f"{path} {scheme}"] = wrong
    assert found == {}


@pytest.mark.parametrize("custodian", [False, True], ids=["analyst", "custodian"])
def test_nothing_scrolls_sideways_on_a_phone(browser: Browser, world: Served, custodian: bool) -> None:
    page = logged_in(browser, world, "carol" if custodian else "ana", width=375)
    for path in pages_of(world, custodian):
        go(page, world, path, custodian=custodian)
        settled(page)
        wide = page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert (path, wide) == (path, 0)
    clean(page, world)
