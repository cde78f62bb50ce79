"""The custodian's and the auditor's pages: accounts, spending, releases, requests, the ledger and its proof, set-up.

Guided set-up makes a privet.toml from a schema and what a custodian types, tried on made-up rows before it is used.
"""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import RedirectResponse, Response

from privet.config.draft import Draft, DraftColumn, DraftTable, lacks_bounds, toml_list, toml_text, write_draft
from privet.config.sessions import practice
from privet.core.budget import Approximate
from privet.core.errors import PrivetError, RequestError, raise_alone
from privet.server.custodian_api import BOTH, CUSTODIAN
from privet.server.http_call import ANYONE, ApiRoute, HttpCall
from privet.session import Session

from .page_serving import fragment, page
from .page_serving import page as whole_page
from .spending import charge_facts, spending_by_account, spending_by_block

_LATEST = 100
_MOST_CHARGES = 20_000
"""Spending is drawn from this many charges, the latest; balances count them all."""


def custodian_login(call: HttpCall) -> Response:
    """Return the page on which a custodian or an auditor enters a token."""
    return page(call, "login.html", title="Log in", name="", custodian=True)


def custodian_first(call: HttpCall) -> Response:
    """Return the data sets, or the only one."""
    sets = call.state.visible(call.identity)
    if len(sets) == 1:
        return RedirectResponse(f"/d/{sets[0].name}", 303)
    listed = [
        {
            "name": one.name,
            "budget": one.ledger.budget_of(None),
            "spent": next(balance.spent for balance in one.ledger.balances() if balance.account is None),
            "waiting": len(_waiting(call, one.name)),
        }
        for one in sets
    ]
    return page(call, "custodian_sets.html", title="Data sets", name="", listed=listed)


def _waiting(call: HttpCall, name: str) -> list[dict[str, Any]]:
    return [one for one in call.state.accounts.requests(name) if one["state"] == "open"]


def overview(call: HttpCall) -> Response:
    """Return what is left of each budget, how spending went by account and block, and requests that wait."""
    ledger = call.dataset.ledger
    budget = ledger.budget_of(None)
    history = ledger.history()[-_MOST_CHARGES:]
    frozen = set(ledger.frozen())
    balances = [
        {
            "account": one.account,
            "spent": one.spent,
            "left": ledger.remaining(one.account).largest_epsilon,
            "budget": ledger.budget_of(one.account),
            "frozen": one.account in frozen,
        }
        for one in ledger.balances()
    ]
    return page(
        call,
        "overview.html",
        title="Overview",
        name=call.dataset.name,
        budget=budget,
        balances=balances,
        waiting=_waiting(call, call.dataset.name),
        by_account=spending_by_account(history),
        blocks=spending_by_block(call.dataset, most=_MOST_CHARGES),
        charges=len(history),
        head=ledger.head(),
        measure=budget.measure,
        with_delta=isinstance(budget, Approximate),
    )


def releases_page(call: HttpCall) -> Response:
    """Return the latest releases, each with its plan, and the way to older ones."""
    before = call.number("before", default=0)
    found = [one for one in call.dataset.ledger.history() if not before or one.number < before]
    latest = list(reversed(found[-_LATEST:]))
    return page(
        call,
        "releases.html",
        title="Releases",
        name=call.dataset.name,
        charges=[charge_facts(one) for one in latest],
        older=bool(before),
        before=latest[-1].number if len(found) > len(latest) else None,
    )


def requests_page(call: HttpCall) -> Response:
    """Return every request for more budget, with what its account has spent."""
    found = call.state.accounts.requests(call.dataset.name)
    ledger = call.dataset.ledger
    shares = {
        one.account: {"spent": one.spent, "budget": ledger.budget_of(one.account)}
        for one in ledger.balances()
        if one.account is not None
    }
    return page(call, "requests.html", title="Requests", name=call.dataset.name, requests=found, shares=shares)


def accounts_page(call: HttpCall) -> Response:
    """Return every token without the tokens, and a form for a new one."""
    tokens = [one.to_dict() for one in call.state.accounts.tokens()]
    return page(call, "accounts.html", title="Accounts", name=call.dataset.name, tokens=tokens)


def ledger_page(call: HttpCall) -> Response:
    """Return the state of the ledger, how to verify it, and its latest entries."""
    ledger = call.dataset.ledger
    latest: list[Any] = [one.to_dict() for one in reversed(ledger.entries(last=_LATEST))]
    return page(
        call,
        "ledger.html",
        title="Ledger",
        name=call.dataset.name,
        head=ledger.head(),
        entries=latest,
        suspects=[one.to_dict() for one in ledger.review()],
    )


KINDS = ("integer", "number", "boolean", "text", "date", "timestamp")
_TYPES = {
    "integer": r"(small|big|tiny|huge)?int(eger|[248])?|serial|bigserial",
    "number": r"real|float[48]?|double( precision)?|numeric|decimal",
    "boolean": r"bool(ean)?",
    "date": r"date",
    "timestamp": r"timestamp|datetime|timestamptz",
}
_NOT_COLUMNS = re.compile(r"(primary|foreign|unique|constraint|check|key|index)\b", re.I)
_FOREIGN = re.compile(
    r"foreign\s+key\s*\(\s*[\"`\[]?(\w+)[\"`\]]?\s*\)\s*references\s+([\w\".]+)\s*\(\s*[\"`\[]?(\w+)", re.I
)
_REFERENCES = re.compile(r"references\s+([\w\".]+)\s*\(\s*[\"`\[]?(\w+)", re.I)
_CREATE = re.compile(r"create\s+(?:temp(?:orary)?\s+)?table\s+(?:if\s+not\s+exists\s+)?([\w\".]+)\s*\(", re.I)
_PERSON = re.compile(r"(patient|person|user|customer|client|member|student|employee)", re.I)
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?(e-?\d{1,3})?", re.I | re.ASCII)
_MOST = 100
_MOST_TABLES = 20


@dataclass(frozen=True)
class SchemaTable:
    """A table of a schema that was pasted: its columns with their kinds, and the links that its keys suggest."""

    name: str
    columns: tuple[tuple[str, str], ...]
    links: tuple[str, ...] = ()

    @property
    def likely(self) -> str:
        """The column that looks as if it identified people; a guess, which the custodian sees and may change."""
        return next((name for name, _ in self.columns if _PERSON.search(name)), "")


def set_up_page(call: HttpCall) -> Response:
    """Return the first step: a schema."""
    return whole_page(call, "set_up.html", title="Set-up", name="")


def read_schema_text(text: str) -> list[SchemaTable]:
    """Return the tables of a schema: each CREATE TABLE of it, or one table of lines of names and types."""
    found = [(name, inside) for name, inside in _statements(text)] or [("table1", text)]
    if len(found) > _MOST_TABLES:
        raise RequestError(f"paste at most {_MOST_TABLES} tables at once")
    tables = [_schema_table(name, inside) for name, inside in found]
    if len({one.name.casefold() for one in tables}) < len(tables):
        raise RequestError("two tables have the same name")
    return tables


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield each CREATE TABLE by its name and what stands between its brackets."""
    for found in _CREATE.finditer(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield _bare(found[1]), text[found.end() : end - 1]


def _bare(name: str) -> str:
    return name.split(".")[-1].strip('"`[]')


def _schema_table(name: str, inside: str) -> SchemaTable:
    columns, links = [], [f"{via} -> {_bare(to)}.{column}" for via, to, column in _FOREIGN.findall(inside)]
    for part in re.split(r",(?![^(]*\))|\n(?!\s*,)", inside):
        words = part.strip().rstrip(",;").split(None, 1)
        if not words or _NOT_COLUMNS.match(part.strip()):
            continue
        column = words[0].strip('"`[]')
        kind = words[1].split("(")[0].strip().lower() if len(words) > 1 else "text"
        kind = re.sub(r"\s+(not null|primary key|unique|null|default.*|references.*)+", "", kind).strip()
        known = next((one for one, types in _TYPES.items() if re.fullmatch(types, kind)), "text")
        columns.append((column, known))
        if leads := _REFERENCES.search(part):
            links.append(f"{column} -> {_bare(leads[1])}.{leads[2]}")
    if not columns or len(columns) > _MOST:
        raise RequestError(f"paste CREATE TABLE, or lines such as: age integer. At most {_MOST} columns")
    if len({column.casefold() for column, _ in columns}) < len(columns):
        raise RequestError(f"two columns of {name} have the same name")
    return SchemaTable(name, tuple(columns), tuple(dict.fromkeys(links)))


def columns_part(call: HttpCall) -> Response:
    """Return the second step: what each column holds, who is protected, and how tables are linked."""
    body = call.take("schema")
    try:
        tables = read_schema_text(str(body["schema"])[:50_000])
    except PrivetError as error:
        return fragment("error_part.html", error=error)
    return fragment("set_up_columns.html", tables=tables, kinds=KINDS, links=_links(tables))


def _links(tables: Sequence[SchemaTable]) -> dict[str, list[str]]:
    """Return for each table the links that may be chosen: those of its keys, and columns that others have too."""
    found = {}
    for table in tables:
        shared = [
            f"{column} -> {other.name}.{column}"
            for other in tables
            if other is not table
            for column, kind in table.columns
            if (column, kind) in other.columns
        ]
        names = {one.name for one in tables}
        declared = [one for one in table.links if one.split(" -> ")[1].split(".")[0] in names]
        found[table.name] = list(dict.fromkeys([*declared, *shared]))
    return found


def draft_of(body: Mapping[str, Any]) -> str:
    """Return the privet.toml that a form declares."""
    tables = []
    for number in range(_MOST_TABLES):
        own = {key.removeprefix(f"t{number}_"): one for key, one in body.items() if key.startswith(f"t{number}_")}
        if not own:
            break
        tables.append(_draft_table(own))
    if not tables:
        raise RequestError("there is no table yet; paste a schema first")
    missing = [f"{table.name}.{one.name}" for table in tables for one in table.columns if lacks_bounds(table, one)]
    if missing:
        raise RequestError(
            f"give the lowest and the highest of {', '.join(missing)}; from public knowledge, not the data"
        )
    budget = f"epsilon = {_number(body, 'epsilon')}"
    budget += f"\ndelta = {_number(body, 'delta')}" if body.get("delta") else ""
    return write_draft(Draft(tables=tuple(tables), budget=budget))


def _draft_table(body: Mapping[str, Any]) -> DraftTable:
    columns = []
    for place in range(_MOST):
        name = str(body.get(f"name{place}") or "")
        if not name:
            break
        columns.append(DraftColumn(name, _kind(body, place), _declared(body, place)))
    protects = str(body.get("unit") or "rows")
    if not (
        protects in ("rows", "public:") or protects.startswith("link: ") or protects in {one.name for one in columns}
    ):
        raise RequestError(f"there is no column {protects[:60]!r}; choose who is protected again")
    link = protects.removeprefix("link: ") if protects.startswith("link: ") else None
    public = protects == "public:"
    limits = [_whole(body, one) for one in ("groups", "rows")]
    person = not public and protects != "rows"
    return DraftTable(
        name=str(body.get("table") or "table1"),
        source=str(body.get("source") or "data.csv"),
        columns=tuple(columns),
        unit=None if public or link else protects,
        link=link,
        public=public,
        contribution=f"{{ groups = {limits[0]}, rows = {limits[1]} }}" if person else None,
    )


def _kind(body: Mapping[str, Any], place: int) -> str:
    kind = str(body.get(f"kind{place}") or "text")
    if kind not in KINDS:
        raise RequestError(f"{kind[:40]!r} is not a kind of column; choose one of {', '.join(KINDS)}")
    return kind


def _declared(body: Mapping[str, Any], place: int) -> str | None:
    """Return what a person typed about a column, as TOML: bounds, or its public values."""
    kind, name = _kind(body, place), body.get(f"name{place}")
    low, high, values = (str(body.get(f"{one}{place}") or "").strip() for one in ("low", "high", "values"))
    if values and kind == "text":
        listed = tuple(one.strip() for one in values.split(",") if one.strip())
        return f"{{ values = {toml_list(listed)} }}"
    if not low and not high:
        return None
    if not low or not high:
        raise RequestError(f"{name}: give both bounds, or neither")
    if kind in ("integer", "number"):
        if not _NUMBER.fullmatch(low) or not _NUMBER.fullmatch(high):
            raise RequestError(f"{name}: bounds are numbers, such as 0 and 120")
    elif kind in ("date", "timestamp"):
        try:
            low, high = (datetime.datetime.fromisoformat(one).isoformat() for one in (low, high))
        except ValueError:
            raise_alone(RequestError(f"{name}: bounds are dates, such as 2025-01-01 and 2025-12-31"))
        low, high = (low[:10], high[:10]) if kind == "date" else (low, high)
    else:
        raise RequestError(f"{name}: {kind} takes no bounds; for text, list its public values")
    return f"{{ kind = {toml_text(kind)}, low = {low}, high = {high} }}"


def _whole(body: Mapping[str, Any], name: str) -> int:
    text = str(body.get(name) or "1")
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < 1:
        raise RequestError(f"{name}: a whole number from 1")
    return int(text)


def _number(body: Mapping[str, Any], name: str) -> str:
    text = str(body.get(name) or "").strip()
    if not _NUMBER.fullmatch(text):
        raise RequestError(f"{name}: a number, such as 1 or 1e-6")
    return text


def draft_part(call: HttpCall) -> Response:
    """Return the third step: the privet.toml, what is wrong with it, and answers over made-up rows."""
    try:
        text = draft_of(call.body)
        with tempfile.TemporaryDirectory(prefix="privet-set-up-") as folder:
            place = Path(folder) / "privet.toml"
            place.write_text(text, encoding="utf-8")
            with practice(place) as session:
                asked = [(sql, repr(session.ask(sql))) for sql in _practised(session)]
    except PrivetError as error:
        told = re.sub(r"\S*privet-set-up-[^/\s]*/", "", str(error))
        return fragment("set_up_error.html", told=told)
    return fragment("set_up_draft.html", text=text, asked=asked)


def _practised(session: Session) -> list[str]:
    """Return a question about each private table, up to four, as its examples have it."""
    found = []
    for table in session.tables.values():
        if table.protects.startswith("nobody") or not table.examples:
            continue
        found.append(next((one for one in table.examples if "GROUP BY" in one), table.examples[0]))
    if not found:
        raise RequestError("no table protects anyone: a data set has at least one private table")
    return found[:4]


CUSTODIAN_PAGES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/login", ANYONE, custodian_login, "Log in."),
    ApiRoute("GET", "/", BOTH, custodian_first, "The data sets."),
    ApiRoute("GET", "/d/{dataset}", BOTH, overview, "Overview."),
    ApiRoute("GET", "/d/{dataset}/releases", BOTH, releases_page, "Releases."),
    ApiRoute("GET", "/d/{dataset}/requests", BOTH, requests_page, "Requests for budget."),
    ApiRoute("GET", "/d/{dataset}/accounts", BOTH, accounts_page, "Accounts."),
    ApiRoute("GET", "/d/{dataset}/ledger", BOTH, ledger_page, "The ledger."),
    ApiRoute("GET", "/set-up", CUSTODIAN, set_up_page, "Guided set-up."),
    ApiRoute("POST", "/set-up/columns", CUSTODIAN, columns_part, "Its columns."),
    ApiRoute("POST", "/set-up/draft", CUSTODIAN, draft_part, "Its privet.toml."),
)
"""Pages of the custodian's listener."""
