"""The server's pages in a real browser, every flow by keyboard alone: nothing here clicks or moves a pointer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright_chromium import AXE, choose, enter, fill, opened, settled, shown, tab_to, violations, wait

from served import DECLARED, Served, served, write_world

SQL = "SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex"
EDITOR, SOURCE = ".cm-content", "document.querySelector('textarea[data-sql]').value"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


def write_sql(page: Any, sql: str) -> None:
    """Write a question into the editor, and wait for its plan."""
    fill(page, EDITOR, sql)
    wait(page, f"{SOURCE} === {json.dumps(sql)}")
    settled(page)


def ask(page: Any, sql: str) -> None:
    """Write a question and ask it."""
    write_sql(page, sql)
    shown(page, "Invented values")
    enter(page, "#question-form button[type=submit]")
    page.wait_for_url("**/a/*")
    shown(page, "Numbers")


def charges(world: Served, who: str = "ana") -> int:
    return len(world.call("{d}/history", who=who).json["charges"])


def test_a_question_is_priced_asked_sorted_and_pivoted(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    shown(page, "Invented values")
    ask(page, SQL)
    page.wait_for_selector("#cross td")
    assert page.locator("svg.chart:not(.invented)").count() == 1
    cells = "table[data-sortable] tbody tr td:first-child"
    assert page.locator(cells).first.inner_text() == "heart"
    enter(page, "table[data-sortable] th button")
    page.keyboard.press("Enter")
    assert page.locator(cells).first.inner_text() == "lung"
    choose(page, "#index", "sex")
    wait(page, "document.querySelector('#cross th').innerText.startsWith('sex')")
    page.goto("/d/clinic/answers")
    shown(page, SQL)
    assert charges(world) == 1
    watched.check()


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("answer.csv", b"ward,sex,n"),
        ("answer.arrow", b"\xff\xff\xff\xff"),
        ("answer.png", b"\x89PNG"),
        ("certificate.json", b"{"),
    ],
)
def test_an_answer_is_downloaded(chrome: Any, world: Served, name: str, starts: bytes) -> None:
    page, watched = opened(chrome, world, "ana")
    found = world.ask({"question": SQL, "epsilon": 1}).json["id"]
    page.goto(f"/a/{found}")
    with page.expect_download() as waiting:
        enter(page, f"a[href$='{name}']")
    assert waiting.value.suggested_filename == name
    assert Path(waiting.value.path()).read_bytes().startswith(starts)
    watched.check()


def test_the_slider_redraws_the_plan_and_charges_nothing(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    shown(page, "Invented values")
    before = page.locator("#plan figcaption").inner_text()
    tab_to(page, "#slider")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    wait(page, "text => document.querySelector('#plan figcaption').innerText !== text", arg=before)
    wait(page, "document.querySelector('#plan dd').innerText.includes(document.querySelector('#price').value)")
    assert charges(world) == 0
    watched.check()


def test_a_width_is_asked_for_instead_of_a_price(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    shown(page, "Invented values")
    enter(page, "#question-form summary")
    fill(page, "#within", "50")
    wait(page, "/±(4\\d|50)/.test(document.querySelector('#plan figcaption').innerText)")
    watched.check()


def test_the_editor_completes_and_lets_the_focus_go(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    fill(page, EDITOR, "")
    page.keyboard.type("SELECT AVG(visits.co")
    wait(page, "[...document.querySelectorAll('.cm-tooltip-autocomplete li')].some(one => one.textContent === 'cost')")
    page.keyboard.press("Escape")
    wait(page, "document.querySelector('.cm-tooltip-autocomplete') === null")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "price"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.matches('.cm-content')")
    watched.check()


def test_the_form_and_the_editor_turn_into_each_other(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    page.wait_for_selector("#b-table")
    settled(page)
    choose(page, "#b-table", "staff")
    wait(page, "[...document.querySelectorAll('#b-o0 option')].some(one => one.text === 'salary')")
    settled(page)
    choose(page, "#b-f0", "average of")
    choose(page, "#b-o0", "salary")
    tab_to(page, "input[name=groups][value=ward]")
    page.keyboard.press("Space")
    choose(page, "#b-c0", "salary")
    fill(page, "#b-v0", "100")
    enter(page, "#builder button.main")
    wait(page, f"{SOURCE}.includes('AVG(salary)') && {SOURCE}.includes('GROUP BY ward')")
    settled(page)
    assert "WHERE salary = 100" in page.evaluate(SOURCE)
    write_sql(page, "SELECT ward, MAX(salary) AS most FROM staff GROUP BY ward")
    enter(page, "#builder button:not(.main)")
    wait(page, "document.querySelector('#b-f0').value === 'max'")
    assert page.evaluate("document.querySelector('input[name=groups][value=ward]').checked")
    watched.check()


def test_a_refusal_says_what_to_do_and_charges_nothing(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    write_sql(page, "SELECT * FROM visits")
    shown(page, "Nothing was charged")
    page.keyboard.press("ControlOrMeta+Enter")
    page.wait_for_selector("#question-form [role=alert]:not([hidden])")
    assert charges(world) == 0
    watched.check()


def test_a_budget_that_is_gone_is_asked_for_granted_and_spent(chrome: Any, tmp_path: Path) -> None:
    write_world(tmp_path, declared=DECLARED.replace("[analysts.ana]\nepsilon = 20", "[analysts.ana]\nepsilon = 1"))
    with served(tmp_path) as world:
        page, watched = opened(chrome, world, "ana")
        shown(page, "Invented values")
        fill(page, "#price", "1")
        settled(page)
        ask(page, SQL)
        page.goto("/d/clinic")
        write_sql(page, "SELECT COUNT(*) AS n FROM staff")
        shown(page, "It is used up")
        enter(page, "#plan a[href$='/budget#more']")
        shown(page, "Your budget is used up")
        fill(page, "#amount", "2")
        fill(page, "#reason", "the yearly report")
        page.keyboard.press("Enter")
        shown(page, "waits for the custodian")
        custodian, also = opened(chrome, world, "carol", custodian=True)
        enter(custodian, "nav a[href$='/requests']")
        shown(custodian, "the yearly report")
        enter(custodian, "form[data-api$=grant] button")
        shown(custodian, "granted by carol")
        page.goto("/d/clinic")
        ask(page, "SELECT COUNT(*) AS n FROM staff")
        assert charges(world) == 2
        watched.check()
        also.check()


def test_a_request_is_declined_with_a_reason(chrome: Any, world: Served) -> None:
    world.call("{d}/requests", {"budget": {"epsilon": 1, "delta": "1e-9"}, "reason": "more"})
    page, watched = opened(chrome, world, "carol", custodian=True)
    enter(page, "nav a[href$='/requests']")
    shown(page, "ana asks for epsilon 1, delta 1e-09")
    fill(page, "#note1", "too much")
    page.keyboard.press("Enter")
    shown(page, "declined by carol: too much")
    watched.check()


def test_the_custodian_tops_up_freezes_and_clears(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "carol", custodian=True)
    choose(page, "#freeze-account", "ben")
    fill(page, "#freeze-reason", "left the team")
    page.keyboard.press("Enter")
    shown(page, "frozen")
    fill(page, "#clear-reason", "is back")
    page.keyboard.press("Enter")
    wait(page, "!document.querySelector('#clear-reason') && document.querySelector('#top-amount')")
    choose(page, "#top-account", "ben")
    fill(page, "#top-amount", "3")
    fill(page, "#top-reason", "agreed")
    page.keyboard.press("Enter")
    shown(page, "epsilon 23, delta 1.01e-07")
    watched.check()


def test_a_token_is_made_shown_once_and_revoked(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "carol", custodian=True)
    enter(page, "nav a[href$='/accounts']")
    page.wait_for_selector("#t-name")
    fill(page, "#t-name", "ben")
    tab_to(page, "#t-expires")
    page.keyboard.type("12312030")
    enter(page, "form[data-api='/v1/tokens'] button")
    wait(page, "document.querySelector('#new-token .token').textContent.startsWith('privet_')")
    token = page.locator("#new-token .token").inner_text()
    world.tokens["new"] = token
    about = world.call("/v1/me", who="new").json
    assert about["name"] == "ben"
    page.goto("/d/clinic/accounts")
    assert token not in page.content()
    watched.accepts = True
    enter(page, "form[data-api='/v1/tokens/5/revoke'] button")
    shown(page, "revoked")
    assert world.call("/v1/me", who="new").status == 401
    watched.check()


def test_two_tables_are_set_up_and_tried_on_made_up_rows(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "carol", custodian=True)
    enter(page, "nav a[href='/set-up']")
    page.wait_for_selector("#schema")
    enter(page, "form[hx-post$=columns] button")
    page.wait_for_selector("#t1-3-low")
    settled(page)
    for field, value in (
        ("#t0-1-low", "1900"),
        ("#t0-1-high", "2025"),
        ("#t0-2-values", "north, south"),
        ("#t1-1-low", "0"),
        ("#t1-1-high", "110"),
        ("#t1-2-values", "heart, lung"),
        ("#t1-3-low", "2025-01-01"),
        ("#t1-3-high", "2025-12-31"),
    ):
        fill(page, field, value)
    assert page.evaluate("document.querySelector('#t1-unit').value") == "link: patient_id -> patients.patient_id"
    enter(page, "form[hx-post$=draft] button")
    shown(page, "The file is complete")
    written = page.locator("#toml").inner_text()
    assert 'link = "patient_id -> patients.patient_id"' in written
    assert not AXE.exists() or violations(page) == []
    with page.expect_download() as waiting:
        enter(page, "button[data-download]")
    assert Path(waiting.value.path()).read_text() == written
    watched.check()


def test_what_is_wrong_in_a_set_up_is_told_beside_it(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "carol", custodian=True)
    page.goto("/set-up")
    fill(page, "#schema", "age integer")
    enter(page, "form[hx-post$=columns] button")
    page.wait_for_selector("#t0-0-low")
    settled(page)
    fill(page, "#t0-0-low", "none")
    fill(page, "#t0-0-high", "9")
    enter(page, "form[hx-post$=draft] button")
    shown(page, "bounds are numbers")
    watched.check()


def test_an_auditor_verifies_and_downloads_and_changes_nothing(chrome: Any, world: Served) -> None:
    world.ask({"question": SQL, "epsilon": 1})
    page, watched = opened(chrome, world, "otto", custodian=True)
    assert page.locator("form[data-api$=top-up], form[data-api$=freeze]").count() == 0
    enter(page, "nav a[href$='/ledger']")
    enter(page, "form[data-api$=verify] button")
    shown(page, "The ledger is intact")
    with page.expect_download() as waiting:
        enter(page, "a[href$='/export']")
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert len(lines) >= 2
    enter(page, "nav a[href$='/releases']")
    enter(page, "details.entry summary")
    shown(page, "Costs epsilon 1")
    with page.expect_download() as waiting:
        enter(page, "a[href*='/certificates/']")
    assert json.loads(Path(waiting.value.path()).read_text())["cost"]["epsilon"] == 1
    watched.check()


def test_an_answer_is_shared_and_read_by_another_account_for_its_own_price(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    ask(page, SQL)
    fill(page, "#share-with", "ben")
    page.keyboard.press("Enter")
    shown(page, "Shared with ben")
    reader, also = opened(chrome, world, "ben")
    enter(reader, "nav a[href$='/answers']")
    shown(reader, "by ana")
    enter(reader, "a[href$='/shared/1']")
    shown(reader, "ana shows you a question")
    enter(reader, "form[data-api$=read] button")
    shown(reader, "Numbers")
    assert charges(world, "ben") == 1
    watched.check()
    also.check()


def test_a_question_and_an_answer_are_saved_under_names(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    write_sql(page, SQL)
    enter(page, "section[aria-labelledby=question-title] > details summary")
    fill(page, "#save-name", "wards and sexes")
    page.keyboard.press("Enter")
    page.wait_for_selector("a:text-is('wards and sexes')")
    assert charges(world) == 0
    found = world.ask({"question": SQL, "epsilon": 1}).json["id"]
    page.goto(f"/a/{found}")
    fill(page, "#save-name", "the yearly one")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('the yearly one')")
    enter(page, "nav a[href$='/answers']")
    page.wait_for_selector("#saved")
    enter(page, "button[aria-label='Remove the name wards and sexes']")
    wait(page, "!document.body.innerText.includes('wards and sexes')")
    enter(page, "section[aria-labelledby=saved] a")
    page.wait_for_selector("h1:text-is('the yearly one')")
    watched.check()


def test_a_range_is_moved_by_arrow_keys_at_no_cost(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    page.goto("/d/clinic/explore?table=visits")
    enter(page, "form[data-api$=ranges] button[data-api]")
    page.wait_for_selector("form[data-api$=ranges] output:not([hidden])")
    enter(page, "form[data-api$=ranges] button.main")
    page.wait_for_selector("#low")
    tab_to(page, "#low")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    wait(page, "document.querySelector('#range dd').innerText === '5'")
    tab_to(page, "#high")
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    wait(page, "document.querySelectorAll('#range dd')[1].innerText === '9'")
    assert page.locator("#range svg .marked").count() == 1
    assert charges(world) == 1
    watched.check()


def test_marginals_are_looked_at_from_every_side(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    page.goto("/d/clinic/explore?table=visits")
    enter(page, "form[data-api$=marginals] button.main")
    page.wait_for_selector("#counts")
    assert page.locator("#counts tbody tr").count() == 2
    tab_to(page, "input[name=columns]:not(:checked)")
    page.keyboard.press("Space")
    wait(page, "document.querySelectorAll('#counts tbody tr').length === 4")
    assert charges(world) == 1
    watched.check()


TESTS = [
    ("Is a mean what you expect?", {"#h-equals": "500"}),
    ("Do means differ between groups?", {}),
    ("Do paired measurements differ?", {}),
    ("Is a proportion what you expect?", {"#h-condition": "age > 50"}),
    ("Do two proportions differ?", {"#h-condition": "age > 50"}),
    ("Do several proportions differ?", {}),
    ("Are shares what you expect?", {"#h-share1": "1/2"}),
    ("Are two columns independent?", {}),
    ("Are values of a group larger?", {"#h-width": "10"}),
]


EQUIVALENT = [
    ("Is a mean what you expect?", {"#h-equals": "500", "#h-margin": "100"}),
    (
        "Is a proportion what you expect?",
        {"#h-condition": "age > 50", "#h-equals": "", "#h-within0": "0.4", "#h-within1": "0.6"},
    ),
]


@pytest.mark.parametrize(("question", "typed"), TESTS + EQUIVALENT)
def test_every_test_is_asked_by_its_form(chrome: Any, world: Served, question: str, typed: dict[str, str]) -> None:
    page, watched = opened(chrome, world, "ana")
    page.goto("/d/clinic/explore?table=visits")
    settled(page)
    choose(page, "#t-kind", question)
    settled(page)
    for field, value in typed.items():
        fill(page, field, value)
    enter(page, "#test-fields button.main")
    page.wait_for_url("**/a/*")
    shown(page, "Null hypothesis")
    shown(page, question)
    assert charges(world) == 1
    watched.check()


def test_an_option_is_chosen_by_a_private_score(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    page.goto("/d/clinic/explore?table=visits")
    fill(page, "#c-options", "20\n40\n60")
    fill(page, "#c-score", "SELECT COUNT(*) FROM visits WHERE age > :option")
    enter(page, "form[data-api$=choose] button.main")
    page.wait_for_url("**/a/*")
    shown(page, "The scores are not released")
    watched.check()


def test_a_smaller_regression_is_free(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    page.goto("/d/clinic/explore?table=visits")
    enter(page, "form[data-api$=regress] button.main")
    page.wait_for_selector("#s-formula")
    fill(page, "#s-formula", "cost ~ age")
    page.keyboard.press("Enter")
    page.wait_for_selector("#submodel table")
    assert charges(world) == 1
    watched.check()


def test_colours_are_switched_and_kept(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    enter(page, "[data-theme-switch]")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.locator("[data-theme-switch]").inner_text() == "Light"
    watched.check()


def test_after_a_log_out_no_page_is_shown_again(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    found = world.ask({"question": SQL, "epsilon": 1}).json["id"]
    page.goto(f"/a/{found}")
    enter(page, "form[data-api='/v1/logout'] button")
    page.wait_for_url("**/login")
    page.go_back()
    page.wait_for_url("**/login")
    assert "heart" not in page.content()
    watched.check()


def test_the_menu_can_be_skipped(chrome: Any, world: Served) -> None:
    page, watched = opened(chrome, world, "ana")
    tab_to(page, ".skip")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    watched.check()
