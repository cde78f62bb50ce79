"""A session over a server: planned here, charged and read there, and read here again from what was released.

Each method does what the local one does. Where an answer is not released yet, the server is asked, and then the local
method finds it: so plans, answers, intervals, tables and pictures are the very same.
"""

from __future__ import annotations

import inspect
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast

from privet.core.errors import BadParameter, InvariantError, RequestError, Unsupported
from privet.execution.executor import Executor
from privet.execution.pace import Pace
from privet.execution.request import asked_at, utc_now
from privet.ledger import codec
from privet.session import Session

from .catalog_codec import read_catalog
from .http_client import HttpClient, segment
from .offline_practice import practice_session
from .remote_ledger import NeedsServer, RemoteEngine, RemoteLedger
from .sent_questions import sent_family, sent_hypothesis, sent_question, sent_rows, sent_value

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
    """Return a method that plans here and remembers what it planned, so that the plan can be run."""
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
    """Return a method that runs what this session planned."""

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
        """Fetch what planning needs: it changes with declarations, budgets and days."""
        told = self._client.get(f"{self._place}/catalog")
        self._catalog = read_catalog(told, self._public_rows)
        ledger = RemoteLedger(self._client, self._place, self._catalog.budget)
        account = str(told.get("account"))
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
        """Return what a local method finds, after the server was asked where it finds nothing."""
        self._executor.check_open()
        moment = utc_now()
        self._check_sendable(given)
        with asked_at(moment):
            body, given = self._sent(operation, given)
            with _reading():
                try:
                    found = method(self, **given)
                    if key is None:
                        return found
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
            body, _ = self._sent(operation, {**asked, **{name: one for name, one in given.items() if name != "covers"}})
            with _reading():
                try:
                    found = method(self, plan, **given)
                    if key is None:
                        return found
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
                    body["questions"] = [self._plain_question(one) for one in value]
                case "table":
                    told, here["table"] = sent_rows(value, self._catalog)
                    body |= told
                case "hypothesis":
                    body["hypothesis"] = sent_hypothesis(value)
                case "family":
                    body["family"] = sent_family(value)
                case "weights" if operation == "marginals" and value is not None:
                    body["weights"] = [
                        [[key] if isinstance(key, str) else list(key), sent_value(one, name)]
                        for key, one in value.items()
                    ]
                case _:
                    body[name] = sent_value(value, name)
        return {name: one for name, one in body.items() if one is not None}, here

    def _plain_question(self, question: Any) -> str:
        text, said = sent_question(question, self._catalog)
        if said:
            raise Unsupported(
                "a question of a list that says itself how it is to be answered cannot be sent to a server"
            )
        return text

    def _ask(self, operation: str, body: dict[str, Any], key: str | None, moment: str) -> None:
        """Ask the server, and wait until the answer is released; raise what the server raised."""
        headers = {"Privet-Moment": moment}
        if key is not None:
            if not isinstance(key, str) or not key.isascii() or not key.isprintable():
                raise RequestError("key must be a short printable text of ASCII characters")
            headers["Idempotency-Key"] = key
        for _ in range(5):
            status, told = self._client.post(f"{self._place}/{operation}", body, headers)
            if status == 202:
                told = self._client.answer(str(told["id"]))
            if told.get("state") == "released":
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
        names = [str(one["name"]) for one in client.get("/v1/datasets")["datasets"]]
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
