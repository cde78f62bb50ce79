"""Where Spark is: a cluster's address, a session that exists, or this machine; and how a session of ours is set up.

Spark's messages about a failure can quote a row. Its loggers are silenced before anything is read.
"""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.numbers import read_seconds, whole
from privet.core.schema import Table

if TYPE_CHECKING:
    from .spark_engine import SparkEngine

TIMEOUT = 600
"""For how many seconds one scan may run."""

SCANS, MOST_SCANS = 4, 1024
"""How many scans run at once, unless stated otherwise, and at most."""
OLDEST = (4, 1)
"""The oldest Spark that is supported: earlier ones do not notice that rows which they read again have changed."""

_PORT = 15002
_LONGEST = 4000
_REACHED = 10.0
"""For how many seconds a remote is waited for."""

_LOGGERS = (
    "SQLQueryContextLogger",
    "DataFrameQueryContextLogger",
    "pyspark.sql.connect.logging",
    "py4j",
    "py4j.java_gateway",
    "py4j.clientserver",
)

SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    # ${...} in a text would be replaced by settings and by the environment
    "spark.sql.variable.substitute": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # sums of one reading must not meet sums of another: where lost rows are read again and differ, all that was made of
    # them is made anew, or the statement fails
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
}
"""What a session of ours is set to, whatever the cluster's defaults: the meaning of generated SQL depends on these."""

_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
}


@dataclass(frozen=True)
class Spark:
    """Where Spark is, as the engine of a session: `Session(tables, engine=Spark(remote="sc://host"))`.

    Without an address or a session, Spark runs on this machine, which needs the extra `spark-local` and Java.

    Args:
        remote: the address of a Spark Connect server, such as `"sc://host:15002"`.
        session: a SparkSession that exists; a new one is made from it, with settings of its own.
        timeout: for how many seconds one scan may run before it is interrupted.
        scans: how many scans run at once; further ones wait.

    Example:
        >>> from privet.engines.spark import Spark
        >>> Spark(remote="sc://cluster.example").remote
        'sc://cluster.example'
    """

    remote: str | None = None
    session: Any = field(default=None, compare=False)
    timeout: object = TIMEOUT
    scans: int = SCANS

    def __post_init__(self) -> None:
        if self.remote is not None:
            read_remote(self.remote)
        if self.remote is not None and self.session is not None:
            raise RequestError("pass an address as remote= or a SparkSession as session=, not both")
        if self.session is not None and not any(
            base.__module__.split(".")[0] == "pyspark" for base in type(self.session).mro()
        ):
            raise BadParameter("session", type(self.session).__name__, "a SparkSession")
        read_seconds(self.timeout, "timeout")
        whole(self.scans, "scans", least=1, most=MOST_SCANS)

    def __repr__(self) -> str:
        where = "a session" if self.session is not None else "this machine"
        if self.remote is not None:
            where = f"sc://{urlsplit(self.remote).hostname}"
        return f"Spark({where})"

    def over(self, tables: Mapping[str, Table]) -> SparkEngine:
        """Return an engine over tables; it makes a session of its own, which is closed with it."""
        from .spark_engine import SparkEngine

        return SparkEngine(tables, self)


def read_remote(value: object) -> str:
    """Return the address of a Spark Connect server; refuse another without quoting it, for it may contain a token."""
    if isinstance(value, str) and len(value) <= _LONGEST:
        try:
            parts = urlsplit(value)
            if parts.scheme == "sc" and parts.hostname and (parts.port is None or parts.port > 0):
                return value
        except ValueError:
            pass
    return raise_alone(BadParameter("remote", "another", "an address such as 'sc://host:15002'"))


def silence() -> None:
    """Keep what Spark's Python side logs about failures, which can quote a row, out of every log."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.disabled = True


def open_session(place: Spark) -> tuple[Any, bool]:
    """Return a session with settings of its own, and whether it is stopped when it is no longer needed."""
    silence()
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise_alone(
            RequestError(
                "Spark needs PySpark: install privet[spark] for a cluster, or privet[spark-local] to run it here"
            )
        )
    if place.remote is not None:
        reach(place.remote)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a newer pandas, and of a setting that is to go: neither is the caller's
        return _opened(SparkSession, place)


def _opened(kind: Any, place: Spark) -> tuple[Any, bool]:
    try:
        made, own = _made(kind, place)
        version = str(made.version)
    except RequestError:
        raise
    except ImportError:
        raise_alone(RequestError("this PySpark lacks what it needs for a server: install privet[spark]"))
    except Exception:  # Spark's message may quote an address with its token
        where = "here; is Java installed?" if place.remote is None else "at its address"
        raise_alone(RequestError(f"Spark cannot be opened {where}"))
    if tuple(map(int, re.findall("[0-9]+", version)[:2])) < OLDEST:
        raise RequestError(f"Spark {version} is too old; version {'.'.join(map(str, OLDEST))} or later is needed")
    try:
        for name, value in SETTINGS.items():
            made.conf.set(name, value)
        _silence_engine(made)
    except Exception:
        raise_alone(RequestError("Spark does not allow the settings that Privet needs, such as ANSI mode and UTC"))
    return made, own


def reach(remote: str) -> None:
    """Raise unless something listens at an address: the client itself would try for many minutes."""
    parts = urlsplit(remote)
    try:
        with socket.create_connection((str(parts.hostname), parts.port or _PORT), timeout=_REACHED):
            return
    except OSError:
        raise_alone(
            RequestError(
                f"no Spark Connect server can be reached at {parts.hostname!r}, port {parts.port or _PORT}; check the "
                f"address, and that the server runs"
            )
        )


def _made(kind: Any, place: Spark) -> tuple[Any, bool]:
    if place.remote is not None:
        # PySpark's own builder would turn this whole process to servers, and the caller's sessions with it
        from pyspark.sql.connect.session import SparkSession as RemoteSession

        made = RemoteSession.builder.remote(place.remote).create()
        with contextlib.suppress(Exception):
            from pyspark.sql.connect.client.retries import DefaultPolicy

            made.client.set_retry_policies([DefaultPolicy(max_retries=4)])
        return made, True
    if place.session is not None:
        renew = getattr(place.session, "newSession", None)
        if not callable(renew) or not hasattr(place.session, "sql"):
            raise BadParameter("session", type(place.session).__name__, "a SparkSession")
        return renew(), _is_remote(place.session)
    builder = kind.builder.master("local[*]").appName("privet")
    for name, value in _LOCAL.items():
        builder = builder.config(name, value)
    return builder.getOrCreate().newSession(), False


def _is_remote(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


@dataclass(frozen=True)
class Tags:
    """How what a thread runs is tagged, and interrupted by its tag: on a server by session, here by job."""

    add: Callable[[str], object]
    remove: Callable[[str], object]
    interrupt: Callable[[str], object]


def tags_of(session: Any) -> Tags:
    """Return how a session tags what it runs; the tags of a session in this process reach no job of another's."""
    if _is_remote(session):
        return Tags(session.addTag, session.removeTag, session.interruptTag)
    context = session.sparkContext
    return Tags(context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)


def _silence_engine(session: Any) -> None:
    """Silence the engine's own log where it runs in this process; a server's log is its custodian's, as documented."""
    if not _is_remote(session):
        session.sparkContext.setLogLevel("OFF")
