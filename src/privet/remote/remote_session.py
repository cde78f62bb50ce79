"""A session over a server: planned here, charged and read there, and computed here from the releases.

Each method works as the local one does. Where an answer is not released yet, the server is asked, and then the local
method finds it: so plans, answers, intervals, tables and pictures are identical. Releases are fetched; charges and
scans happen on the server. A server takes text, as the JSON of its API: no tree and no plan is sent. Practice needs no
server: its rows are made up from the declared facts that were fetched already.
"""

from __future__ import annotations

import datetime
import inspect
import math
import os
import shutil
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from privet.accounting.filters import Remaining
from privet.config.sessions import VERSION, write_rows
from privet.core.budget import Budget
from privet.core.errors import BadParameter, InvariantError, NotFound, PrivetError, RequestError, Unsupported
from privet.core.event import Entry, Event, Plain, Receipt
from privet.core.given import set_fields
from privet.core.numbers import read_rational
from privet.core.ports import Left
from privet.core.scan import Scan, SealedSums
from privet.core.schema import ChosenContribution, Contribution, PublicTable, Schema, Table
from privet.execution.executor import Executor
from privet.execution.pace import Pace
from privet.execution.request import Catalog, asked_at, read_question, utc_now
from privet.ledger import codec
from privet.ledger.memory import MemoryLedger
from privet.query.frame import Frame, Result, count
from privet.query.sql.parse import parse_view
from privet.query.terms import Term
from privet.session import Session

from .catalog_codec import read_catalog
from .http_client import HttpClient, segment

_MOST_KEPT = 1000


class NeedsServer(Exception):
    """A question is not answered yet: the server has to be asked."""


class RemoteEngine:
    """An engine that reads nothing: the data are elsewhere."""

    def check(self, scan: Scan) -> None:
        """Accept every scan; the server's engine checks it before the charge."""

    def scan(self, scan: Scan) -> SealedSums:
        """Raise: nothing is read here."""
        raise NeedsServer

    def close(self) -> None:
        """Close nothing."""


class RemoteLedger:
    """A ledger whose entries are on a server: an account's own releases, charges and balance are fetched."""

    def __init__(self, client: HttpClient, place: str, budget: Budget) -> None:
        self._client, self._place, self._budget = client, place, budget
        self._found: OrderedDict[str, tuple[Receipt, Plain]] = OrderedDict()

    def charge(
        self,
        event: Event,
        digest: str,
        *,
        account: str,
        key: str | None = None,
        versions: Mapping[str, str] | None = None,
        text: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Raise: only the server charges."""
        raise NeedsServer

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Raise: only the server stores."""
        raise NeedsServer

    def fail(self, receipt: Receipt) -> None:
        """Raise: nothing is read here."""
        raise NeedsServer

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return the release of a plan that the account has paid for; it never changes, and is cached."""
        if digest not in self._found:
            try:
                reply = self._client.get(f"{self._place}/releases/{segment(digest)}")
            except NotFound:
                return None
            self._found[digest] = Receipt(**reply["receipt"]), codec.read_plain(reply["released"])
            if len(self._found) > _MOST_KEPT:
                self._found.popitem(last=False)
        return self._found[digest]

    def admits(self, event: Event, *, account: str) -> bool:
        """Return True: the server decides when it is asked."""
        return True

    def history(self) -> tuple[Entry, ...]:
        """Return the account's own charges, oldest first."""
        entries: list[Entry] = []
        after = 0
        while True:
            page = self._client.get(f"{self._place}/history?after={after}&limit=1000")
            entries += [_entry(charge) for charge in page["charges"]]
            if page["next"] is None:
                return tuple(entries)
            after = page["next"]

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that the account may spend."""
        return self._budget

    def remaining(self, account: str | None = None) -> Left:
        """Return the remaining budget of the account."""
        left = self._client.get(f"{self._place}/budget")["left"]
        amount = math.inf if left["exact_amount"] == "inf" else Fraction(left["exact_amount"])
        return Remaining(left["measure"], amount, Fraction(left["delta"]), float(left["largest_epsilon"]))

    def verify(self) -> None:
        """Raise: the custodian and the auditor verify the ledger, on the server."""
        raise Unsupported("the ledger is on the server, where the custodian or an auditor verifies it")


def _entry(data: Mapping[str, Any]) -> Entry:
    return Entry(
        data["number"],
        data["time"],
        data["account"],
        data["digest"],
        codec.read_event(data["event"]),
        data["key"],
        None,
        tuple(sorted(data["versions"].items())),
        data["text"],
        data["facts"],
    )


_UNSENT = "cannot be sent to a server; write it in SQL"


def sent_value(value: Any, name: str) -> Any:
    """Return a value as JSON: numbers exactly, dates as objects of one key."""
    if value is None or type(value) in (bool, int, str, float):
        return value
    match value:
        case Contribution(groups=groups, rows=rows):
            return {"groups": groups, "rows": rows}
        case ChosenContribution():
            return "auto"
        case datetime.datetime():
            return {"timestamp": value.isoformat()}
        case datetime.date():
            return {"date": value.isoformat()}
        case str():
            return str(value)
        case Mapping():
            return {str(key): sent_value(item, name) for key, item in value.items()}
        case list() | tuple():
            return [sent_value(item, name) for item in value]
        case Term():
            raise Unsupported(f"{name}= is an expression built in Python, which {_UNSENT}, or select it in the rows")
    ratio = read_rational(value)
    if ratio is None:
        raise BadParameter(name, value, "numbers, texts, dates, true, false, and lists of them")
    return {"ratio": f"{ratio.numerator}/{ratio.denominator}"}


def sent_question(question: Any, catalog: Catalog) -> tuple[str, dict[str, Any]]:
    """Return a question as SQL, and its own terms for its answer."""
    if isinstance(question, str):
        return question, {}
    if not isinstance(question, Result):
        raise Unsupported(f"a {type(question).__name__} {_UNSENT}")
    text, wish = repr(question), question.wish
    try:
        same = read_question(text, catalog)[0] == question.query()
    except PrivetError:
        same = False
    if not same:
        raise Unsupported(f"this question, built in Python, {_UNSENT}: {text[:200]}")
    said = {"within": wish.within, "confidence": wish.confidence, "covers": wish.covers}
    said["contribution"] = "auto" if wish.auto else None
    said["find_groups"] = True if wish.find else None
    return text, {name: sent_value(_width(value), name) for name, value in said.items() if value is not None}


def _width(value: Any) -> Any:
    """Return a width of a question as a session's own argument has it: by column, where it is by column."""
    return dict(value) if isinstance(value, tuple) else value


def sent_rows(table: Any, catalog: Catalog) -> tuple[dict[str, str], Any]:
    """Return the rows that an operation reads, as JSON, and as the server reads that."""
    if not isinstance(table, Frame):
        return {"table": table}, table
    text = repr(table)
    try:
        made = Frame(parse_view(text, catalog.schemas, catalog.views, schema=catalog.schema))
        same = not table._keys and made.agg(n=count()).query() == table.agg(n=count()).query()
        same = same and [*made._source.columns] == [*table._source.columns]
    except PrivetError:
        same = False
    if not same:
        raise Unsupported(f"these rows, built in Python, {_UNSENT}: {text[:200]}")
    return {"rows": text}, made


def sent_hypothesis(given: Any) -> dict[str, Any]:
    """Return a hypothesis of `privet.study` by its kind and its fields."""
    from privet import study

    kind = type(given).__name__
    if getattr(study, kind, None) is not type(given):
        raise Unsupported(f"a {kind} is not a hypothesis of privet.study, and cannot be sent to a server")
    stated = {field.name: sent_value(getattr(given, field.name), field.name) for field in fields(given) if field.init}
    return {"kind": kind, **{name: value for name, value in stated.items() if value is not None}}


def sent_family(given: Any) -> dict[str, Any]:
    """Return a family of hypotheses."""
    rest = {name: sent_value(getattr(given, name), name) for name in ("weights", "method", "level", "shares")}
    hypotheses = {"hypotheses": [sent_hypothesis(hypothesis) for hypothesis in given.hypotheses]}
    return {**hypotheses, **{name: value for name, value in rest.items() if value is not None}}


def practice_session(catalog: Catalog, account: str) -> Session:
    """Return a session over made-up rows of the tables of a catalog, with its budget to throw away.

    Tables that link to others, and views, are left out.

    Guarantee: what the session releases is a function of declared facts and of fresh noise.
    """
    known = {name: schema for name, schema in catalog.schemas.items() if schema.link is None}
    if not known:
        raise Unsupported("there is no table to practise with: all of them link to others")
    folder = tempfile.mkdtemp(prefix="privet-practice-")
    try:
        bare = {name: _table(schema, None) for name, schema in known.items()}
        files = write_rows(Path(folder), bare)
        made = {name: _table(schema, files[name]) for name, schema in known.items()}
        ledger = MemoryLedger(catalog.budget)
        session = Session(made, ledger=ledger, account=account, schema=catalog.schema)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return session.closing(weakref.finalize(session, shutil.rmtree, folder, True))


def _table(schema: Schema, file: Path | None) -> Table:
    kind = PublicTable if schema.unit.public else Table
    made = object.__new__(kind)
    source = None if file is None else str(file)
    set_fields(made, source=source, schema=replace(schema, contents=None, version=VERSION))
    return made


Method = TypeVar("Method", bound=Callable[..., Any])

_READING: ContextVar[bool] = ContextVar("reading", default=False)
_MOST_PLANS = 1000


@contextmanager
def _reading() -> Iterator[None]:
    token = _READING.set(True)
    try:
        yield
    finally:
        _READING.reset(token)


def _asks(operation: str, method: Method) -> Method:
    """Return a method that asks the server where an answer is not released yet."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: RemoteSession, *args: Any, **kwargs: Any) -> Any:
        if _READING.get():
            return method(self, *args, **kwargs)
        given = dict(signature.bind(self, *args, **kwargs).arguments)
        given.pop("self")
        key = given.pop("key", None)
        return self._complete(operation, method, given, key)

    return cast(Method, call)


def _plans(operation: str, method: Method) -> Method:
    """Return a method that plans here and remembers its plans, so that they can be run."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: RemoteSession, *args: Any, **kwargs: Any) -> Any:
        if _READING.get():
            return method(self, *args, **kwargs)
        given = dict(signature.bind(self, *args, **kwargs).arguments)
        given.pop("self")
        moment = utc_now()
        with asked_at(moment):
            plan = method(self, **given)
        self._remember(plan, (operation, given, moment))
        return plan

    return cast(Method, call)


def _runs(method: Method) -> Method:
    """Return a method that runs a plan of this session."""

    @wraps(method)
    def call(self: RemoteSession, plan: Any, **given: Any) -> Any:
        if _READING.get():
            return method(self, plan, **given)
        key = given.pop("key", None)
        return self._run_planned(method, plan, given, key)

    return cast(Method, call)


def _cannot(method: Method, why: str) -> Method:
    """Return a method that is refused by name."""

    @wraps(method)
    def call(self: RemoteSession, *args: Any, **kwargs: Any) -> NoReturn:
        raise Unsupported(f"{method.__name__} is not possible over a server: {why}")

    return cast(Method, call)


class RemoteSession(Session):
    """The same session, over a server. `privet.connect` makes one."""

    def __init__(self, client: HttpClient, dataset: str) -> None:
        self._client, self.dataset = client, dataset
        self._place = f"/v1/datasets/{segment(dataset)}"
        self._planned: OrderedDict[int, tuple[Any, Any]] = OrderedDict()
        self._closing = ExitStack()
        self._closing.callback(client.close)
        self._refresh()

    def _refresh(self) -> None:
        """Fetch the facts for planning: they change with declarations, budgets and days."""
        reply = self._client.get(f"{self._place}/catalog")
        self._catalog = read_catalog(reply, self._public_rows)
        ledger = RemoteLedger(self._client, self._place, self._catalog.budget)
        account = str(reply.get("account"))
        self._executor = Executor(self._catalog.schemas, RemoteEngine(), ledger, account, pace=Pace(None))

    def _public_rows(self, name: str) -> Any:
        rows = self._client.get(f"{self._place}/public/{segment(name)}")["rows"]
        return None if rows is None else [codec.read_plain(row) for row in rows]

    plan = _plans("ask", Session.plan)
    plan_all = _plans("ask-all", Session.plan_all)
    ask = _asks("ask", Session.ask)
    ask_all = _asks("ask-all", Session.ask_all)
    run = _runs(Session.run)
    run_all = _runs(Session.run_all)
    choose = _asks("choose", Session.choose)
    marginals = _asks("marginals", Session.marginals)
    ranges = _asks("ranges", Session.ranges)
    running = _asks("running", Session.running)
    test = _asks("test", Session.test)
    test_all = _asks("test-all", Session.test_all)
    regress = _asks("regress", Session.regress)
    clipping = _asks("clipping", Session.clipping)
    above = _cannot(Session.above, "its secret state stays with the ledger; ask where that is")
    rolling = _cannot(Session.rolling, "ask for each block by itself")

    def practice(self) -> Session:
        """Return a session over made-up rows of the same tables, which asks the server nothing and charges nothing.

        It works without a network. Tables that link to others, and views, are left out; plans, answers and
        certificates show the version `practice: made up`.
        """
        return practice_session(self._catalog, self.account)

    def _complete(self, operation: str, method: Callable[..., Any], given: dict[str, Any], key: str | None) -> Any:
        """Return the result of a local method, after asking the server where it finds none."""
        self._executor.check_open()
        moment = utc_now()
        self._check_sendable(given)
        with asked_at(moment):
            body, given = self._sent(operation, given)
            with _reading():
                try:
                    result = method(self, **given)
                    if key is None:
                        return result
                except NeedsServer:
                    pass
            self._ask(operation, body, key, moment.isoformat())
            for again in (True, False):
                with _reading():
                    try:
                        return method(self, **given)
                    except NeedsServer:
                        if again:
                            self._refresh()  # a new day, another budget or another declaration
        raise InvariantError("the server answered another question than this version of Privet plans; update Privet")

    def _run_planned(self, method: Callable[..., Any], plan: Any, given: dict[str, Any], key: str | None) -> Any:
        known = self._planned.get(id(plan))
        if known is None or known[0] is not plan:
            raise RequestError("run takes what this session planned; plan the question again with it")
        operation, asked, moment = known[1]
        with asked_at(moment):
            body, _ = self._sent(
                operation, {**asked, **{name: item for name, item in given.items() if name != "covers"}}
            )
            with _reading():
                try:
                    result = method(self, plan, **given)
                    if key is None:
                        return result
                except NeedsServer:
                    pass
            self._ask(operation, body, key, moment.isoformat())
            with _reading():
                try:
                    return method(self, plan, **given)
                except NeedsServer:
                    pass
        raise InvariantError("the server answered another question than this version of Privet plans; plan it again")

    def _remember(self, plan: Any, asked: Any) -> None:
        self._planned[id(plan)] = plan, asked  # which keeps the plan, and so its id
        if len(self._planned) > _MOST_PLANS:
            self._planned.popitem(last=False)

    def _check_sendable(self, given: dict[str, Any]) -> None:
        if callable(given.get("score")):
            raise Unsupported(
                "score= is a function, which cannot be sent to a server; pass SQL in which :option stands"
            )

    def _sent(self, operation: str, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the JSON of a question, and the arguments with which it is read here, as the server reads it."""
        body: dict[str, Any] = {}
        here = dict(given)
        for name, value in given.items():
            match name:
                case "question":
                    body["question"], said = sent_question(value, self._catalog)
                    body |= said
                case "questions":
                    body["questions"] = [self._plain_question(question) for question in value]
                case "table":
                    rows, here["table"] = sent_rows(value, self._catalog)
                    body |= rows
                case "hypothesis":
                    body["hypothesis"] = sent_hypothesis(value)
                case "family":
                    body["family"] = sent_family(value)
                case "weights" if operation == "marginals" and isinstance(value, Mapping):
                    body["weights"] = [
                        [list(key) if isinstance(key, tuple) else [key], sent_value(weight, name)]
                        for key, weight in value.items()
                    ]
                case _:
                    body[name] = sent_value(value, name)
        return {name: item for name, item in body.items() if item is not None}, here

    def _plain_question(self, question: Any) -> str:
        text, said = sent_question(question, self._catalog)
        if said:
            raise Unsupported(
                "a question of a list that states itself how it is to be answered cannot be sent to a server"
            )
        return text

    def _ask(self, operation: str, body: dict[str, Any], key: str | None, moment: str) -> None:
        """Ask the server, and wait until the answer is released; raise the server's error."""
        headers = {"Privet-Moment": moment}
        if key is not None:
            if not isinstance(key, str) or not key.isascii() or not key.isprintable():
                raise RequestError("key must be a short printable text of ASCII characters")
            headers["Idempotency-Key"] = key
        for _ in range(5):
            status, reply = self._client.post(f"{self._place}/{operation}", body, headers)
            if status == 202:
                reply = self._client.answer(str(reply["id"]))
            if reply.get("state") == "released":
                return
        raise RequestError("the server was stopped before it answered; ask again, which is not charged twice")


def connect(url: str, token: str | None = None, *, dataset: str | None = None) -> Session:
    """Return a session over a server: the same plans, questions, answers and pictures, from another computer.

    Planning happens here and is free. Questions are charged to the token's account on the server, which alone reads
    the data. Borrowed engines, tables in memory and sparse vectors are not possible over a server.

    Args:
        url: the server's address, such as "https://privet.example.org".
        token: the account's token, from `privet token add`. Defaults to the variable PRIVET_TOKEN of the environment.
        dataset: which data set; it may be left out where the account has one.

    Raises:
        AccessError: if the token is not valid.
        RequestError: if the address or the data set is not.
        LedgerError: if the server cannot be reached.

    Example:
        >>> try:
        ...     privet.connect("http://privet.example.org", token="privet_...")
        ... except privet.RequestError as refused:
        ...     print(refused)
        a token must not pass in clear text: the address must begin with https://
    """
    if not isinstance(url, str):
        raise RequestError("url must be the address of a server, such as https://privet.example.org")
    given = token if token is not None else os.environ.get("PRIVET_TOKEN")
    if given is None:
        raise RequestError("pass token=, or set PRIVET_TOKEN: the custodian makes one with `privet token add`")
    client = HttpClient(url, given)
    try:
        names = [str(entry["name"]) for entry in client.get("/v1/datasets")["datasets"]]
        if dataset is None:
            if len(names) != 1:
                raise RequestError(
                    f"pass dataset=, one of {', '.join(names) or 'none: this account may ask about none'}"
                )
            dataset = names[0]
        if dataset not in names:
            raise BadParameter("dataset", dataset, f"one of this account's: {', '.join(names) or 'it has none'}")
        return RemoteSession(client, dataset)
    except BaseException:
        client.close()
        raise
