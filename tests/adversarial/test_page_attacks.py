"""Attacks on the pages over HTTP: changes from other sites, frames, caches, redirects, guessed ids, spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from privet.server.listening import analyst_routes, custodian_routes
from privet.server.operations import _cell
from privet.server.pages.analyst_pages import ANALYST_PAGES
from privet.server.pages.custodian_pages import CUSTODIAN_PAGES
from served import COUNT, Reply, Served, http, served

EVERY = [
    *((False, one) for one in (*analyst_routes(), *ANALYST_PAGES)),
    *((True, one) for one in (*custodian_routes(), *CUSTODIAN_PAGES)),
]
CHANGES = [(custodian, one) for custodian, one in EVERY if one.method == "POST" and one.roles]
SHOWN = [(custodian, one) for custodian, one in EVERY if one.method == "GET" and not one.path.startswith("/v1/")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.fixture(scope="module")
def answered(world: Served) -> str:
    return str(world.ask({"question": COUNT, "epsilon": 1}).json["id"])


def filled(path: str, answer: str) -> str:
    values = dict.fromkeys(("entry", "token", "request", "share", "saved"), "1")
    return path.format(dataset="clinic", answer=answer, format="csv", table="visits", digest="x", name="x", **values)


def cookie_of(world: Served, who: str, *, custodian: bool) -> tuple[str, str]:
    """Return the cookie of a browser that logged in, and its page's token."""
    reply = http(world.server.urls[int(custodian)] + "/v1/login", {"token": world.tokens[who]})
    return reply.headers["set-cookie"].partition(";")[0], reply.json["csrf_token"]


@pytest.mark.parametrize(("custodian", "route"), CHANGES, ids=lambda one: getattr(one, "path", str(one)))
def test_no_form_of_another_site_changes_anything(world: Served, answered: str, custodian: bool, route: Any) -> None:
    own = world.server.urls[int(custodian)]
    cookie, token = cookie_of(world, "carol" if custodian else "ana", custodian=custodian)
    address = own + filled(route.path, answered)

    def sent(**headers: str) -> Reply:
        return http(address, {}, headers={"Cookie": cookie, **{k.replace("_", "-"): v for k, v in headers.items()}})

    before = world.server.datasets["clinic"].ledger.head()
    for headers in (
        {},
        {"Origin": own},
        {"X_CSRF_Token": token},
        {"Origin": "http://evil.example", "X_CSRF_Token": token},
        {"Origin": "null", "X_CSRF_Token": token},
        {"Origin": own, "X_CSRF_Token": token[:-1]},
        {"Origin": own + ".evil.example", "X_CSRF_Token": token},
    ):
        assert sent(**headers).status == 403
    assert world.server.datasets["clinic"].ledger.head() == before


def test_a_log_in_cannot_be_forced_by_a_form_of_another_site(world: Served) -> None:
    body = b'{"token": "' + world.tokens["ana"].encode() + b'"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = http(world.url + "/v1/login", body, headers={"Content-Type": kind})
        assert (reply.status, "set-cookie" in reply.headers) == (400, False)


@pytest.mark.parametrize(("custodian", "route"), SHOWN, ids=lambda one: getattr(one, "path", str(one)))
def test_pages_and_parts_are_kept_by_no_cache_and_shown_in_no_frame(
    world: Served, answered: str, custodian: bool, route: Any
) -> None:
    who = "carol" if custodian else "ana"
    reply = world.call(filled(route.path, answered), who=who, custodian=custodian)
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"
    if reply.headers.get("content-type", "").startswith("text/html"):
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["referrer-policy"] == "no-referrer"
        if reply.body.lower().startswith(b"<!doctype"):
            assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def test_a_log_in_leads_to_the_own_first_page_whatever_the_address_says(world: Served) -> None:
    for query in ("?next=//evil.example", "?next=https://evil.example", "?return=javascript:alert(1)"):
        page = world.call(f"/login{query}", who=None).body.decode()
        assert "evil.example" not in page
        assert "javascript:" not in page
        assert 'data-next="/"' in page
    for path in ("//evil.example", "/%2f%2fevil.example", "/\\evil.example"):
        reply = world.call(path, headers={"Accept": "text/html"})
        assert "location" not in reply.headers


def test_a_log_out_ends_what_a_page_may_do(world: Served) -> None:
    cookie, token = cookie_of(world, "ana", custodian=False)
    own = {"Cookie": cookie, "Origin": world.url, "X-CSRF-Token": token}
    out = http(world.url + "/v1/logout", {}, headers=own)
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert "samesite=strict" in out.headers["set-cookie"].lower()
    assert "httponly" in out.headers["set-cookie"].lower()


def test_guessed_numbers_of_shares_and_names_do_not_exist_for_others(world: Served, answered: str) -> None:
    world.call("{d}/shared", {"answer": answered, "account": "ben"})
    number = world.call("{d}/saved", {"name": "mine", "answer": answered}).json["id"]
    for guess in ("0", "1", "2", "-1", "1e9", "1 OR 1=1", "9" * 30):
        assert world.call(f"/d/clinic/shared/{guess.replace(' ', '%20')}").status in (400, 404)
    assert world.call(f"{{d}}/saved/{number}/remove", {}, who="ben").status == 404
    assert world.call(f"/a/{answered}", who="ben").status == 404
    assert world.call(f"/a/{answered[::-1]}").status == 404
    unknown, other = world.call(f"/a/{'0' * 32}", who="ben"), world.call(f"/a/{answered}", who="ben")
    assert [line for line in unknown.body.splitlines() if b"alert" in line] == [
        line for line in other.body.splitlines() if b"alert" in line
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+cmd", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(1)"])
def test_text_that_a_spreadsheet_would_compute_is_quoted(text: str) -> None:
    assert _cell(text) == f"'{text}"
    assert _cell(-1) == -1
