"""A real PostgreSQL for tests: in a temporary folder, on a Unix socket, as an unprivileged user.

`initdb` refuses root, so that root starts it as `postgres` or `nobody`. Where the server or psycopg is not installed,
the fixtures of `conftest.py` skip and name what is missing.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

PORT = 5432
ADMIN = "custodian"


def find_programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`, of the newest version that is installed."""
    folders = [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -float(path.parent.name))
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def missing() -> str | None:
    """Return what is missing for a server to be started here, or None."""
    if find_programs() is None:
        return "PostgreSQL is not installed (apt install postgresql)"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed (the extra `postgres`)"
    return None


def _as_user() -> dict[str, object]:
    """Return the options of `subprocess` for a user that may run a server."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise RuntimeError("there is no user `postgres` or `nobody` to run the server")


class PostgresServer:
    """One server with its own data, which can be stopped, killed and started again.

    The superuser is `custodian`, without a password. Members of the role `with_password` must give theirs.
    """

    def __init__(self, *, fsync: bool = False, settings: dict[str, str] | None = None) -> None:
        programs = find_programs()
        if programs is None:
            raise RuntimeError("PostgreSQL is not installed")
        self._programs, self._fsync, self._settings = programs, fsync, settings or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()
        # a socket's path has at most 107 bytes, so that it is not below a test's own folder
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self.data, self.log = self.folder / "data", self.folder / "log"
        self._user = _as_user()
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])  # type: ignore[arg-type]
        self._run("initdb", "-D", str(self.data), "-A", "trust", "-U", ADMIN, "-E", "UTF8", "--locale=C.UTF-8", "-N")
        (self.data / "pg_hba.conf").write_text(
            "local all +with_password scram-sha-256\nlocal all all trust\nlocal replication all trust\n"
        )
        self.start()
        self.execute("CREATE ROLE with_password", database="postgres")

    def copy(self) -> PostgresServer:
        """Return a standby of this server as it is now, which is not started, and follows it no further."""
        copied = object.__new__(PostgresServer)
        copied.__dict__.update(vars(self), _process=None)
        copied.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        copied.data, copied.log = copied.folder / "data", copied.folder / "log"
        if self._user:
            os.chown(copied.folder, self._user["user"], self._user["group"])  # type: ignore[arg-type]
        source = ("-h", str(self.folder), "-p", str(PORT), "-U", ADMIN)
        copied._run("pg_basebackup", "-D", str(copied.data), "-c", "fast", "-X", "fetch", "-N", *source)
        (copied.data / "standby.signal").touch()
        return copied

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False, **self._user)  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")

    def start(self) -> None:
        """Start the server, or start it again, and wait until it takes connections."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "port": str(PORT),
            "fsync": "on" if self._fsync else "off",
            "full_page_writes": "on" if self._fsync else "off",
            "shared_buffers": "64MB",
            "max_connections": "60",
            "timezone": "UTC",
            "log_error_verbosity": "terse",
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._programs / "postgres"), "-D", str(self.data), *options]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(  # type: ignore[call-overload]
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, **self._user
            )
        import psycopg

        for _ in range(600):
            if self._process.poll() is not None:
                raise RuntimeError(f"the server stopped: {self.log.read_text()[-2000:]}")
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url("postgres")):
                return
            time.sleep(0.05)
        raise RuntimeError("the server takes no connections")

    @property
    def running(self) -> bool:
        """Whether the server's main process is alive."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop the server in order: connections are cut, what was committed is kept."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill the server and all of its processes, as a crash would."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process is None:
            return
        children = _children(self._process.pid)
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            for child in children:  # they would notice soon; a server cannot start again before they are gone
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, number)
        self._process.wait(60)
        self._process = None

    def remove(self) -> None:
        """Stop the server and remove its data."""
        if self._process is not None:
            self._signal(signal.SIGQUIT)  # nothing is kept, so nothing has to be written
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, user: str = ADMIN, password: str | None = None) -> str:
        """Return the address of a database for a role."""
        secret = "" if password is None else f":{quote(password, safe='')}"
        return (
            f"postgresql://{quote(user, safe='')}{secret}@/{quote(database)}?host={quote(str(self.folder))}&port={PORT}"
        )

    def execute(self, *statements: str, database: str) -> None:
        """Run statements as the superuser, each in a transaction of its own."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def create_database(self) -> str:
        """Return the name of a new, empty database."""
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self.execute(f'CREATE DATABASE "{name}"', database="postgres")
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, and cut its connections."""
        self.execute(f'DROP DATABASE "{name}" WITH (FORCE)', database="postgres")

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Yield the name of a new, empty database, which is removed afterwards."""
        name = self.create_database()
        try:
            yield name
        finally:
            if self.running:
                self.drop_database(name)


def _children(parent: int) -> list[int]:
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


@cache
def shared_server() -> PostgresServer:
    """Return the one server of this test process, without fsync; it goes when the process ends."""
    server = PostgresServer()
    owner = os.getpid()
    atexit.register(lambda: server.remove() if os.getpid() == owner else None)  # not from a fork
    return server


@cache
def shared_durable_server() -> PostgresServer:
    """Return the one server of this test process with fsync, for ledgers; it goes when the process ends."""
    server = PostgresServer(fsync=True)
    owner = os.getpid()
    atexit.register(lambda: server.remove() if os.getpid() == owner else None)  # not from a fork
    return server


APP = "privet_app"
"""The role that uses ledgers in tests."""

_SCHEMAS = itertools.count()


def new_ledger(server: PostgresServer, database: str = "postgres") -> str:
    """Return the address of a new, empty ledger for the role that uses it, in a schema of its own."""
    from privet.ledger.postgres import PostgresLedger

    schema = f"ledger_{os.getpid()}_{next(_SCHEMAS)}"
    PostgresLedger.set_up(f"{server.url(database)}#{schema}", role=APP)
    return f"{server.url(database, APP)}#{schema}"


def as_owner(address: str) -> str:
    """Return the address of a ledger for the superuser, who owns its tables."""
    return address.replace(f"//{APP}@", f"//{ADMIN}@", 1)


def ledger_or_skip() -> str:
    """Return the address of a new, empty ledger in a server with fsync that tests share; skip where there is none."""
    import pytest

    if (lacking := missing()) is not None:
        pytest.skip(lacking)
    return new_ledger(shared_durable_server())


GUARDS = ("entries_follow", "entries_stay", "entries_stay_whole")


def write_behind(address: str, *statements: tuple[str, Sequence[object]]) -> None:
    """Change a ledger's tables as a superuser does who switches its triggers off, and on again."""
    import psycopg

    place, _, schema = as_owner(address).partition("#")
    with psycopg.connect(place) as connection:
        connection.execute(f"SET search_path = {schema}")  # type: ignore[call-overload]
        connection.execute("ALTER TABLE entries DISABLE TRIGGER USER")
        for statement, values in statements:
            connection.execute(statement, values)  # type: ignore[call-overload]
        for name in GUARDS:
            connection.execute(f"ALTER TABLE entries ENABLE ALWAYS TRIGGER {name}")  # type: ignore[call-overload]
