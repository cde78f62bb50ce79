"""A server over a small made-up data set, on ports of 127.0.0.1 that the system chooses; stopped in the end."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.server.identity import TokenStore
from privet.server.job_queue import ServerLimits
from privet.server.listening import ACCOUNTS, PrivetServer, ServerOptions, running_server

DECLARED = """
[budget]
epsilon = 40
delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = { groups = 2, rows = 3 }
version = "2025"

[tables.visits.columns]
patient = "integer"
age = { kind = "integer", low = 0, high = 110 }
cost = { kind = "number", low = 0, high = 1000 }
ward = { values = ["heart", "lung"] }
sex = { values = ["f", "m"] }
note = "text"

[tables.staff]
source = "staff.csv"
unit = "rows"

[tables.staff.columns]
ward = { values = ["heart", "lung"] }
salary = { kind = "integer", low = 0, high = 9000 }

[public.wards]
source = "wards.csv"
columns = { name = "text", floor = { kind = "integer", low = 0, high = 9 } }

[views]
adults = "SELECT * FROM visits WHERE age >= 18"

[analysts.ana]
epsilon = 20
delta = 1e-7

[analysts.ben]
epsilon = 20
delta = 1e-7
tables = ["visits"]

[engine]
time_step = 0.05
"""

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"
PEOPLE = {"ana": "analyst", "ben": "analyst", "carol": "custodian", "otto": "auditor"}
FAST = ServerLimits(rate=100_000, burst=100_000, unknown_rate=100_000, unknown_burst=100_000, in_flight=50)


def write_world(folder: Path, *, people: int = 200, declared: str = DECLARED) -> Path:
    """Return the privet.toml of a small hospital in a folder."""
    folder.mkdir(exist_ok=True)
    rows = [
        f"{i % people},{(7 * i) % 100},{(13 * i) % 1000},{('heart', 'lung')[i % 2]},{'fm'[i % 3 == 0]},note {i}"
        for i in range(3 * people)
    ]
    (folder / "visits.csv").write_text("patient,age,cost,ward,sex,note\n" + "\n".join(rows) + "\n")
    staff = [f"{('heart', 'lung')[i % 2]},{(17 * i) % 9000}" for i in range(100)]
    (folder / "staff.csv").write_text("ward,salary\n" + "\n".join(staff) + "\n")
    (folder / "wards.csv").write_text("name,floor\nheart,1\nlung,2\n")
    config = folder / "privet.toml"
    config.write_text(declared)
    return config


def add_tokens(folder: Path, people: Mapping[str, str] = PEOPLE) -> dict[str, str]:
    """Return a new token for each account of a folder."""
    store = TokenStore(folder / ACCOUNTS)
    try:
        return {name: store.add(name, role)[0] for name, role in people.items()}
    finally:
        store.close()


@dataclass(frozen=True)
class Reply:
    """What came back over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        found: str = self.json["error"]["code"]
        return found


@dataclass
class Served:
    """A running server with its tokens."""

    server: PrivetServer
    tokens: dict[str, str]
    folder: Path
    dataset: str = "clinic"
    paths: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.server.urls[0]

    def call(
        self,
        path: str,
        body: Any = None,
        *,
        who: str | None = "ana",
        custodian: bool = False,
        method: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Return what a request gets."""
        url = self.server.urls[1 if custodian else 0] + path.replace("{d}", f"/v1/datasets/{self.dataset}")
        return http(url, body, token=None if who is None else self.tokens[who], method=method, headers=headers)

    def ask(self, body: Mapping[str, Any], *, who: str = "ana", operation: str = "ask", **more: Any) -> Reply:
        """Return what an operation gets, after waiting for its answer."""
        reply = self.call("{d}/" + operation, dict(body), who=who, **more)
        while reply.status == 202:
            reply = self.call(f"{reply.headers['location']}?wait=20", who=who)
        return reply


def http(
    url: str,
    body: Any = None,
    *,
    token: str | None = None,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return what one request to a server on this computer gets."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method or ("GET" if body is None else "POST"))
    if data is not None:
        request.add_header("Content-Type", "application/json")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as got:
            return Reply(got.status, {k.lower(): v for k, v in got.headers.items()}, got.read())
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())


@contextmanager
def served(
    folder: Path, *, limits: ServerLimits = FAST, config: Path | None = None, **options: Any
) -> Iterator[Served]:
    """Run a server over the hospital of a folder, which is made where it is not there."""
    path = config or (folder / "privet.toml" if (folder / "privet.toml").exists() else write_world(folder))
    tokens = add_tokens(folder)
    given = ServerOptions({"clinic": path}, port=0, custodian_port=0, limits=limits, **options)
    with running_server(given) as server:
        yield Served(server, tokens, folder)
