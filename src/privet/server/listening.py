"""A server that listens: two applications in one process and one event loop, logs, and an orderly stop.

On a stop no more questions are taken; scans that run finish and are stored, and waiting questions stay charged: when
asked again, they are read without another charge. Logs are lines of JSON: route, status, account, duration; no
question, no answer, and no path as it was sent.
"""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from privet.core.errors import NotFound, RequestError

from .analyst_api import ANALYST_ROUTES, SHARED
from .custodian_api import CUSTODIAN_ROUTES
from .data_set import DataSet, open_data_sets
from .http_call import ANYONE, ApiRoute, HttpCall, ServerState, failure, not_found, reply, serve
from .identity import CookieSigner, TokenStore
from .job_queue import JobQueue, ServerLimits
from .openapi import describe_api
from .pages.analyst_pages import ANALYST_PAGES
from .pages.custodian_pages import CUSTODIAN_PAGES
from .pages.page_serving import ASSET_ROUTES, error_page, serve_page, wants_page, warm_pages
from .saved_questions import SAVED_ROUTES, SHARE_ROUTES


class JsonLines(logging.Formatter):
    """Writes a record's level, name and the fields of its `told`. A traceback is reduced to its kind."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"time": when, "level": record.levelname.lower(), "name": record.name}
        facts = getattr(record, "told", None)
        if facts is not None:
            line |= {"event": str(record.msg), **facts}
        elif record.name.startswith("uvicorn"):
            line["event"] = "listener"  # its texts may quote a caller
        else:
            line["event"] = "note"
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__  # its text may quote a row
        return json.dumps(line)


def log_to_stderr() -> None:
    """Send the server's logs to standard error, a line of JSON for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("privet.server", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


def _with_description(routes: tuple[ApiRoute, ...]) -> tuple[ApiRoute, ...]:
    def described(call: HttpCall) -> Response:
        """Return the OpenAPI description of this listener."""
        return reply(describe_api(every))

    every = (
        *routes,
        ApiRoute("GET", "/v1/openapi.json", ANYONE, described, "This description.", returns="Description"),
    )
    return every


def analyst_routes() -> tuple[ApiRoute, ...]:
    """Return the route table of the analysts' listener."""
    return _with_description((*SHARED, *ANALYST_ROUTES, *SHARE_ROUTES, *SAVED_ROUTES))


def custodian_routes() -> tuple[ApiRoute, ...]:
    """Return the route table of the custodian's listener."""
    return _with_description((*SHARED, *CUSTODIAN_ROUTES))


def _missing(state: ServerState) -> Any:
    async def missing(request: Request, error: Exception) -> Response:
        if not wants_page(request):
            return failure(not_found())
        wrong = NotFound("there is no such page; the address may be mistyped, or the page may have moved")
        return await to_thread.run_sync(error_page, request, state, wrong, limiter=state.threads)

    return missing


async def _wrong_method(request: Request, error: Exception) -> Response:
    return failure(not_found("no such method"))


def make_application(routes: Iterable[ApiRoute], state: ServerState, pages: Iterable[ApiRoute] = ()) -> Starlette:
    """Return the application of a route table, and of a table of pages."""
    handlers: dict[Any, Any] = {404: _missing(state), 405: _wrong_method}
    listed = [Route(route.path, serve(route, state), methods=[route.method]) for route in routes]
    listed += [Route(page.path, serve_page(page, state), methods=[page.method]) for page in pages]
    listed += ASSET_ROUTES
    Thread(target=warm_pages, name="privet-warm", daemon=True).start()
    application = Starlette(routes=listed, exception_handlers=handlers)
    application.router.redirect_slashes = False
    return application


ACCOUNTS = "privet.accounts"
COOKIE_KEY = "privet.cookie-key"


@dataclass(frozen=True)
class ServerOptions:
    """Where a server listens and how it is reached."""

    datasets: Mapping[str, Path]
    accounts: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8443
    custodian_host: str = "127.0.0.1"
    custodian_port: int | None = None
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    limits: ServerLimits = field(default_factory=ServerLimits)

    def check(self) -> None:
        """Refuse to listen where tokens and answers would pass in clear text."""
        if (self.certificate is None) != (self.key is None):
            raise RequestError("TLS needs both --tls-cert and --tls-key")
        for host in (self.host, self.custodian_host):
            if not is_loopback(host) and self.certificate is None and not self.behind_proxy:
                raise RequestError(
                    f"{host} can be reached from other computers, and tokens would pass in clear text; pass --tls-cert "
                    "and --tls-key, or --behind-proxy where a proxy that ends TLS is the only one that can reach it"
                )


def is_loopback(host: str) -> bool:
    """Return whether a host name means this computer alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def accounts_place(config: Path) -> Path:
    """Return where the accounts of a server are: beside the ledger of its first data set."""
    from privet.config.reading import read_config

    return read_config(config).ledger.path.parent / ACCOUNTS


class _Listener(uvicorn.Server):
    """One listener; signals are for both, and are taken elsewhere."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    @property
    def port(self) -> int:
        """The port that it listens on."""
        port: int = self.servers[0].sockets[0].getsockname()[1]
        return port


class PrivetServer:
    """A server over some data sets: `run` listens until it is stopped."""

    def __init__(self, options: ServerOptions) -> None:
        options.check()
        if not options.datasets:
            raise RequestError("name at least one privet.toml to serve")
        self.options = options
        place = options.accounts or accounts_place(next(iter(options.datasets.values())))
        self.accounts = TokenStore(place)
        self.datasets: dict[str, DataSet] = {}
        try:
            self.signer = CookieSigner(place.with_name(COOKIE_KEY))
            self.datasets = open_data_sets(options.datasets)
        except BaseException:
            self.accounts.close()
            raise
        workers = max(sum(dataset.config.engine.scans or os.cpu_count() or 1 for dataset in self.datasets.values()), 1)
        self.jobs = JobQueue(options.limits, workers)
        secure = options.certificate is not None or options.behind_proxy
        self.state = ServerState(self.datasets, self.accounts, self.signer, self.jobs, options.limits, secure)
        analysts = self._listener(
            make_application(analyst_routes(), self.state, ANALYST_PAGES), options.host, options.port
        )
        self._listeners = [analysts]
        if options.custodian_port is not None:
            application = make_application(custodian_routes(), self.state, CUSTODIAN_PAGES)
            self._listeners.append(self._listener(application, options.custodian_host, options.custodian_port))
        self.urls: tuple[str, ...] = ()
        self.ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def _listener(self, application: Any, host: str, port: int) -> _Listener:
        options = self.options
        return _Listener(
            uvicorn.Config(
                application,
                host=host,
                port=port,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                lifespan="off",
                ws="none",
                proxy_headers=options.behind_proxy,
                forwarded_allow_ips="127.0.0.1",
                limit_concurrency=1000,
                timeout_keep_alive=15,
                timeout_graceful_shutdown=35,
                h11_max_incomplete_event_size=32_768,
                ssl_certfile=None if options.certificate is None else str(options.certificate),
                ssl_keyfile=None if options.key is None else str(options.key),
            )
        )

    def run(self, *, signals: bool = False, started: Callable[[], object] = lambda: None) -> None:
        """Listen until `stop` is called, or a signal to end comes; then finish the scans that run."""
        try:
            asyncio.run(self._run(signals, started))
        finally:
            self.ready.set()
            self.jobs.stop()
            for dataset in self.datasets.values():
                dataset.close()
            self.accounts.close()

    async def _run(self, signals: bool, started: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        if signals:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._loop.add_signal_handler(number, self._end)
        tasks = [asyncio.create_task(listener.serve()) for listener in self._listeners]
        while not all(listener.started for listener in self._listeners):
            if any(task.done() for task in tasks):
                self._end()
                await asyncio.gather(*tasks, return_exceptions=True)
                raise RequestError("the server could not listen: is another program using the port?")
            await asyncio.sleep(0.01)
        scheme = "http" if self.options.certificate is None else "https"
        hosts = (self.options.host, self.options.custodian_host)
        self.urls = tuple(
            f"{scheme}://{host}:{listener.port}" for host, listener in zip(hosts, self._listeners, strict=False)
        )
        self.ready.set()
        started()
        await asyncio.gather(*tasks)

    def _end(self) -> None:
        for listener in self._listeners:
            listener.should_exit = True

    def stop(self) -> None:
        """Stop listening, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)


@contextmanager
def running_server(options: ServerOptions) -> Iterator[PrivetServer]:
    """Run a server in a thread, for tests and for the demo in a notebook: ports of 0 are chosen by the system."""
    server = PrivetServer(replace(options))
    thread = threading.Thread(target=_quietly, args=(server,), daemon=True)
    thread.start()
    server.ready.wait(60)
    try:
        if not server.urls:
            raise RequestError("the server could not listen: is another program using the port?")
        yield server
    finally:
        server.stop()
        thread.join(60)


def _quietly(server: PrivetServer) -> None:
    with suppress(RequestError, SystemExit):
        server.run()
