"""The custodian's and the auditor's pages: accounts, spending, releases, requests, the ledger and its proof, set-up.

Guided set-up makes a privet.toml from a schema and a custodian's entries, tried on made-up rows before it is used.
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
            "name": dataset.name,
            "budget": dataset.ledger.budget_of(None),
            "spent": next(balance.spent for balance in dataset.ledger.balances() if balance.account is None),
            "waiting": len(_waiting(call, dataset.name)),
        }
        for dataset in sets
    ]
    return page(call, "custodian_sets.html", title="Data sets", name="", listed=listed)


def _waiting(call: HttpCall, name: str) -> list[dict[str, Any]]:
    return [request for request in call.state.accounts.requests(name) if request["state"] == "open"]


def overview(call: HttpCall) -> Response:
    """Return the remaining budgets, spending by account and by block, and requests that wait."""
    ledger = call.dataset.ledger
    budget = ledger.budget_of(None)
    history = ledger.history()[-_MOST_CHARGES:]
    frozen = set(ledger.frozen())
    balances = [
        {
            "account": balance.account,
            "spent": balance.spent,
            "left": ledger.remaining(balance.account).largest_epsilon,
            "budget": ledger.budget_of(balance.account),
            "frozen": balance.account in frozen,
        }
        for balance in ledger.balances()
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
    charges = [charge for charge in call.dataset.ledger.history() if not before or charge.number < before]
    latest = list(reversed(charges[-_LATEST:]))
    return page(
        call,
        "releases.html",
        title="Releases",
        name=call.dataset.name,
        charges=[charge_facts(charge) for charge in latest],
        older=bool(before),
        before=latest[-1].number if len(charges) > len(latest) else None,
    )


def requests_page(call: HttpCall) -> Response:
    """Return every request for more budget, with what its account has spent."""
    requests = call.state.accounts.requests(call.dataset.name)
    ledger = call.dataset.ledger
    shares = {
        balance.account: {"spent": balance.spent, "budget": ledger.budget_of(balance.account)}
        for balance in ledger.balances()
        if balance.account is not None
    }
    return page(call, "requests.html", title="Requests", name=call.dataset.name, requests=requests, shares=shares)


def accounts_page(call: HttpCall) -> Response:
    """Return every token without the tokens, and a form for a new one."""
    tokens = [token.to_dict() for token in call.state.accounts.tokens()]
    return page(call, "accounts.html", title="Accounts", name=call.dataset.name, tokens=tokens)


def ledger_page(call: HttpCall) -> Response:
    """Return the state of the ledger, how to verify it, and its latest entries."""
    ledger = call.dataset.ledger
    latest: list[Any] = [entry.to_dict() for entry in reversed(ledger.entries(last=_LATEST))]
    return page(
        call,
        "ledger.html",
        title="Ledger",
        name=call.dataset.name,
        head=ledger.head(),
        entries=latest,
        suspects=[suspect.to_dict() for suspect in ledger.review()],
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
_MOST_COLUMNS = 100
_MOST_TABLES = 20


@dataclass(frozen=True)
class SchemaTable:
    """A table of a schema that was pasted: its columns with their kinds, and the links that its keys suggest."""

    name: str
    columns: tuple[tuple[str, str], ...]
    links: tuple[str, ...] = ()

    @property
    def likely(self) -> str:
        """The column that looks as if it identified people; a guess, which the custodian is shown and may change."""
        return next((name for name, _ in self.columns if _PERSON.search(name)), "")


def set_up_page(call: HttpCall) -> Response:
    """Return the first step: a schema."""
    return whole_page(call, "set_up.html", title="Set-up", name="")


def read_schema_text(text: str) -> list[SchemaTable]:
    """Return the tables of a schema: each CREATE TABLE of it, or one table of lines of names and types."""
    statements = [(name, inside) for name, inside in _statements(text)] or [("table1", text)]
    if len(statements) > _MOST_TABLES:
        raise RequestError(f"paste at most {_MOST_TABLES} tables at once")
    tables = [_schema_table(name, inside) for name, inside in statements]
    if len({table.name.casefold() for table in tables}) < len(tables):
        raise RequestError("two tables have the same name")
    return tables


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield each CREATE TABLE by its name and the text between its brackets."""
    for match in _CREATE.finditer(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield _bare(match[1]), text[match.end() : end - 1]


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
        known = next((label for label, types in _TYPES.items() if re.fullmatch(types, kind)), "text")
        columns.append((column, known))
        if leads := _REFERENCES.search(part):
            links.append(f"{column} -> {_bare(leads[1])}.{leads[2]}")
    if not columns or len(columns) > _MOST_COLUMNS:
        raise RequestError(f"paste CREATE TABLE, or lines such as: age integer. At most {_MOST_COLUMNS} columns")
    if len({column.casefold() for column, _ in columns}) < len(columns):
        raise RequestError(f"two columns of {name} have the same name")
    return SchemaTable(name, tuple(columns), tuple(dict.fromkeys(links)))


def columns_part(call: HttpCall) -> Response:
    """Return the second step: the contents of each column, who is protected, and how tables are linked."""
    body = call.take("schema")
    try:
        tables = read_schema_text(str(body["schema"])[:50_000])
    except PrivetError as error:
        return fragment("error_part.html", error=error)
    return fragment("set_up_columns.html", tables=tables, kinds=KINDS, links=_links(tables))


def _links(tables: Sequence[SchemaTable]) -> dict[str, list[str]]:
    """Return for each table the links that may be chosen: those of its keys, and columns that others have too."""
    links = {}
    for table in tables:
        shared = [
            f"{column} -> {other.name}.{column}"
            for other in tables
            if other is not table
            for column, kind in table.columns
            if (column, kind) in other.columns
        ]
        names = {other.name for other in tables}
        declared = [link for link in table.links if link.split(" -> ")[1].split(".")[0] in names]
        links[table.name] = list(dict.fromkeys([*declared, *shared]))
    return links


def draft_of(body: Mapping[str, Any]) -> str:
    """Return the privet.toml that a form declares."""
    tables = []
    for number in range(_MOST_TABLES):
        own = {key.removeprefix(f"t{number}_"): value for key, value in body.items() if key.startswith(f"t{number}_")}
        if not own:
            break
        tables.append(_draft_table(own))
    if not tables:
        raise RequestError("there is no table yet; paste a schema first")
    missing = [f"{table.name}.{item.name}" for table in tables for item in table.columns if lacks_bounds(table, item)]
    if missing:
        raise RequestError(
            f"give the lowest and the highest of {', '.join(missing)}; from public knowledge, not the data"
        )
    budget = f"epsilon = {_number(body, 'epsilon')}"
    budget += f"\ndelta = {_number(body, 'delta')}" if body.get("delta") else ""
    return write_draft(Draft(tables=tuple(tables), budget=budget))


def _draft_table(body: Mapping[str, Any]) -> DraftTable:
    columns = []
    for place in range(_MOST_COLUMNS):
        name = str(body.get(f"name{place}") or "")
        if not name:
            break
        columns.append(DraftColumn(name, _kind(body, place), _declared(body, place)))
    protects = str(body.get("unit") or "rows")
    if not (
        protects in ("rows", "public:") or protects.startswith("link: ") or protects in {item.name for item in columns}
    ):
        raise RequestError(f"there is no column {protects[:60]!r}; choose who is protected again")
    link = protects.removeprefix("link: ") if protects.startswith("link: ") else None
    public = protects == "public:"
    limits = [_whole(body, limit) for limit in ("groups", "rows")]
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
    """Return a custodian's declaration of a column as TOML: bounds, or its public values."""
    kind, name = _kind(body, place), body.get(f"name{place}")
    low, high, values = (str(body.get(f"{prefix}{place}") or "").strip() for prefix in ("low", "high", "values"))
    if values and kind == "text":
        listed = tuple(value.strip() for value in values.split(",") if value.strip())
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
            low, high = (datetime.datetime.fromisoformat(bound).isoformat() for bound in (low, high))
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
    """Return the third step: the privet.toml, its problems, and answers over made-up rows."""
    try:
        text = draft_of(call.body)
        with tempfile.TemporaryDirectory(prefix="privet-set-up-") as folder:
            place = Path(folder) / "privet.toml"
            place.write_text(text, encoding="utf-8")
            with practice(place) as session:
                asked = [(sql, repr(session.ask(sql))) for sql in _practised(session)]
    except PrivetError as error:
        words = re.sub(r"\S*privet-set-up-[^/\s]*/", "", str(error))
        return fragment("set_up_error.html", told=words)
    return fragment("set_up_draft.html", text=text, asked=asked)


def _practised(session: Session) -> list[str]:
    """Return a question about each private table, up to four, as its examples have it."""
    questions = []
    for table in session.tables.values():
        if table.protects.startswith("nobody") or not table.examples:
            continue
        questions.append(next((example for example in table.examples if "GROUP BY" in example), table.examples[0]))
    if not questions:
        raise RequestError("no table protects anyone: a data set has at least one private table")
    return questions[:4]


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
