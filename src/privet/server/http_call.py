"""One request: its account, its rights, its body; and the same JSON for every error.

The route table states which roles may call a route. Nothing about a caller is decided anywhere else.
"""

from __future__ import annotations

import asyncio
import datetime
import inspect
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from privet.core.errors import (
    BadParameter,
    Busy,
    Forbidden,
    InvariantError,
    NotFound,
    PrivetError,
    RequestError,
    bare,
    raise_alone,
)

from .data_set import DataSet, missing
from .identity import ROLES, CookieSigner, Identity, LogIn, Role, TokenStore, unknown
from .job_queue import JobQueue, OwnReplies, ServerLimits, Throttle
from .operations import dump

LOG = logging.getLogger("privet.server")

ANYONE: frozenset[Role] = frozenset()
"""For a route that needs no identity."""

EVERY_ROLE: frozenset[Role] = frozenset(ROLES)

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass
class ServerState:
    """All that the routes share: data sets, accounts, questions in flight, limits."""

    datasets: Mapping[str, DataSet]
    accounts: TokenStore
    signer: CookieSigner
    jobs: JobQueue
    limits: ServerLimits
    secure: bool = False
    """Whether callers reach the server by TLS: cookies are then for TLS alone."""
    seen: set[tuple[int, datetime.date]] = field(default_factory=set)
    remembered: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.by_account = Throttle(self.limits.rate, self.limits.burst)
        self.by_address = Throttle(self.limits.unknown_rate, self.limits.unknown_burst)
        self.threads = CapacityLimiter(16)
        self.asking = CapacityLimiter(4)
        """Questions that are planned and charged at a time: more would only take turns, and keep others waiting."""
        self.replies = OwnReplies()
        self._marking: set[int] = set()

    @property
    def cookie(self) -> str:
        """The cookie's name: one that browsers take by TLS from this host alone, where there is TLS."""
        return "__Host-privet" if self.secure else "privet"

    def visible(self, identity: Identity) -> list[DataSet]:
        """Return the data sets that an account may know of."""
        return [dataset for dataset in self.datasets.values() if dataset.visible_to(identity)]

    def mark_used(self, token: int) -> None:
        """Remember beside the request that a token was used: the caller does not wait for the disk."""
        if token not in self._marking:
            self._marking.add(token)
            done = asyncio.get_running_loop().run_in_executor(None, self.accounts.mark_used, token)
            done.add_done_callback(lambda _: self._marking.discard(token))

    def note(self, act: str, identity: Identity, *, account: str | None = None, note: str = "") -> None:
        """Record an act in the chain of every ledger that it is about."""
        for dataset in self.visible(identity):
            dataset.ledger.note_act(act, actor=identity.name, role=identity.role, account=account, note=note)


@dataclass(frozen=True)
class HttpCall:
    """A request whose caller is known, with its JSON."""

    state: ServerState
    request: Request
    who: Identity | None
    login: LogIn | None
    body: dict[str, Any]

    @property
    def identity(self) -> Identity:
        """The caller."""
        if self.who is None:
            raise unknown()
        return self.who

    @property
    def dataset(self) -> DataSet:
        """The data set that the path names, if the caller may know of it."""
        name = self.request.path_params["dataset"]
        dataset = self.state.datasets.get(name)
        if dataset is None or not dataset.visible_to(self.identity):
            raise missing(name)
        return dataset

    def number(self, name: str, *, default: int | None = None, most: int = 2**53) -> int:
        """Return a whole number of the path or of the query string."""
        text = self.request.path_params.get(name, self.request.query_params.get(name))
        if text is None and default is not None:
            return default
        if not isinstance(text, str) or not text.isascii() or not text.isdigit() or int(text[:20]) > most:
            raise BadParameter(name, text, f"a whole number from 0 to {most:,}")
        return int(text)

    def take(self, *needed: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the fields of the body; refuse a missing or unknown field by name."""
        known = (*needed, *optional)
        for name in self.body.keys() - {*known}:
            raise RequestError(f"there is no field {name[:60]!r} here; known: {', '.join(known) or 'none'}")
        for name in needed:
            if self.body.get(name) is None:
                raise RequestError(f"the field {name!r} is missing")
        return self.body


Endpoint = Callable[[HttpCall], Response] | Callable[[HttpCall], Awaitable[Response]]


@dataclass(frozen=True)
class ApiRoute:
    """A line of the route table: where, by whom, and what happens."""

    method: str
    path: str
    roles: frozenset[Role]
    endpoint: Endpoint
    summary: str
    fields: Mapping[str, bool] = field(default_factory=dict)
    """The fields of its body, and whether each must be there."""
    statuses: tuple[int, ...] = (200,)
    produces: str = "application/json"
    query: tuple[str, ...] = ()
    returns: str = "Reply"
    """The type of its result, a name of `api_schemas.COMPONENTS`."""


def reply(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return plain data as a response."""
    return Response(dump(data), status, {**HEADERS, **(headers or {})}, media_type="application/json")


def failure(error: PrivetError) -> Response:
    """Return an error as a response: the same JSON for each, with code, message and fields."""
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, Busy) else {}
    if error.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return reply({"error": error.to_dict()}, error.http_status, headers)


def serve(route: ApiRoute, state: ServerState) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a route: limits, identity, role, origin, body, and then the work itself."""

    async def answer(request: Request) -> Response:
        started = time.monotonic()
        who: list[Identity | None] = [None]
        try:
            response = await _answer(route, state, request, who)
        except PrivetError as error:
            response = failure(bare(error))
        except ClientDisconnect:
            response = Response(status_code=400)
        except Exception as error:  # no text of it: it could quote a row
            wrong = InvariantError(f"unexpected error in Privet ({type(error).__name__}); please report it")
            response = failure(wrong)
        LOG.info(
            "request",
            extra={
                "told": {
                    "method": request.method,
                    "route": route.path,
                    "status": response.status_code,
                    "account": None if who[0] is None else who[0].name,
                    "ms": round(1000 * (time.monotonic() - started), 1),
                }
            },
        )
        return response

    return answer


_ONCE = (
    *("authorization", "content-length", "content-type", "host", "idempotency-key", "origin", "privet-moment"),
    *("transfer-encoding", "x-csrf-token"),
)


def _refuse_ambiguous(request: Request) -> None:
    """Raise where a proxy and this server could read a request differently: whose it is, or where it ends.

    Guarantee: a header that decides who asks, for what, or how long the body is stands once, and a body has one length.
    """
    for name in _ONCE:
        if len(request.headers.getlist(name)) > 1:
            raise RequestError(f"the header {name} must be sent once")
    if "transfer-encoding" in request.headers and "content-length" in request.headers:
        raise RequestError("a request has Content-Length or Transfer-Encoding, not both")


async def _answer(route: ApiRoute, state: ServerState, request: Request, who: list[Identity | None]) -> Response:
    try:
        _refuse_ambiguous(request)
    except RequestError as error:
        refused = failure(bare(error))
        refused.headers["Connection"] = "close"  # what follows on it may be a part of this request
        return refused
    address = request.client.host if request.client else ""
    identity, login = _recognised(state, request), None
    if identity is None:
        identity, login = await to_thread.run_sync(_identify, state, request, limiter=state.threads)
    if identity is None:
        state.by_address.check(address)
    else:
        state.by_account.check(identity.token)
    if route.roles and identity is None:
        raise unknown()
    if route.roles and identity is not None and identity.role not in route.roles:
        raise Forbidden(f"this is for the role {' or '.join(sorted(route.roles))}; the token's role is {identity.role}")
    who[0] = identity
    if login is not None and route.roles and request.method != "GET":
        own = f"{request.url.scheme}://{request.headers.get('host', '')}"
        sent, origin = request.headers.get("x-csrf-token"), request.headers.get("origin")
        state.signer.check_own_page(login, sent=sent, origin=origin, own=own)
    body = await _read_body(request, state.limits) if request.method == "POST" else {}
    call = HttpCall(state, request, identity, login, body)
    if inspect.iscoroutinefunction(route.endpoint):
        return await route.endpoint(call)  # type: ignore[no-any-return]
    return await to_thread.run_sync(route.endpoint, call, limiter=state.threads)  # type: ignore[arg-type]


def _recognised(state: ServerState, request: Request) -> Identity | None:
    """Return whose token is in the header, where nothing is to be written first; None leaves it to `_identify`."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    facts = state.accounts.recognise(secret.strip()) if scheme.lower() == "bearer" else None
    if facts is None or (facts.identity.token, datetime.datetime.now(datetime.UTC).date()) not in state.seen:
        return None
    if facts.use_is_due:
        state.mark_used(facts.id)
    return facts.identity


def _identify(state: ServerState, request: Request) -> tuple[Identity | None, LogIn | None]:
    """Return who asks, and the log-in where it is by a cookie. A token in the header goes before a cookie."""
    given = request.headers.get("authorization")
    if given is not None:
        scheme, _, secret = given.partition(" ")
        identity = state.accounts.identify(secret.strip()) if scheme.lower() == "bearer" else None
        if identity is not None:
            today = identity.token, datetime.datetime.now(datetime.UTC).date()
            if today not in state.seen:
                state.seen.add(today)
                state.note("token use", identity)
        return identity, None
    cookie = request.cookies.get(state.cookie)
    login = None if cookie is None else state.signer.read(cookie)
    identity = None if login is None else state.accounts.valid(login.token)
    return identity, login if identity is not None else None


async def _read_body(request: Request, limits: ServerLimits) -> dict[str, Any]:
    """Return the JSON object of a request, which must not be larger, nor come more slowly, than the limits allow."""
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or len(length) > 12 or int(length) > limits.body:
        raise RequestError(f"the body of a request is at most {limits.body:,} bytes")
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body:
                    raise RequestError(f"the body of a request is at most {limits.body:,} bytes")
                parts.append(part)
    except TimeoutError:
        raise_alone(RequestError(f"the body of a request must arrive within {limits.body_seconds:g} s"))
    if not size:
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError("the body must be JSON, with Content-Type: application/json")
    try:
        body = json.loads(b"".join(parts), parse_constant=_no_constant, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise_alone(RequestError("the body is not valid JSON"))
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object")
    return body


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; one that has a field twice would mean different things to different readers."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise RequestError("a field stands twice in the body")
    return members


def _no_constant(name: str) -> None:
    raise ValueError(name)


def not_found(name: str = "no such path") -> NotFound:
    """Return the error for a path that no route has."""
    return NotFound(f"there is {name} here; /v1/openapi.json lists what there is")
