"""Fifty analysts at once: no overspend, no answer without its charge, and every refusal says that it charged nothing.

The short run asks a small hospital. With PRIVET_SOAK, the demo's tables are asked for a minute, and times are printed.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.config.reading import read_config
from privet.config.sessions import existing_ledger
from privet.core.budget import Pure
from privet.demo.hospital import DECLARED as HOSPITAL
from privet.demo.hospital import make_hospital
from privet.ledger.entries import Answered, Charged
from served import add_tokens, write_world

SOAK = bool(os.environ.get("PRIVET_SOAK"))
SECONDS = 60 if SOAK else 4
ANALYSTS = [f"analyst{number}" for number in range(50)]
EPSILON = 0.5
OWN, ALL = (1000, 40_000) if SOAK else (3, 20)
"""In the short run each account may ask six questions, and all of them together forty: both caps are reached.

In the long run there is enough for everyone, so that scans run during the whole minute.
"""

QUESTIONS = 100_000 if SOAK else 60

SMALL = """
[budget]
epsilon = {all}

[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = {{ groups = 2, rows = 3 }}

[tables.visits.columns]
patient = "integer"
age = {{ kind = "integer", low = 0, high = 110 }}
ward = {{ values = ["heart", "lung"] }}
"""


@dataclass
class Seen:
    """What all analysts saw."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    statuses: Counter[str] = field(default_factory=Counter)
    stored: list[float] = field(default_factory=list)
    answered: dict[tuple[str, int], str] = field(default_factory=dict)

    def add(self, name: str) -> None:
        with self.lock:
            self.statuses[name] += 1


@contextmanager
def serving(config: Path, log: Path) -> Iterator[int]:
    """Run `privet serve` as a custodian does, and return its port; it is told to stop in the end, and stops."""
    words = ["serve", f"clinic={config}", "--port", "0", "--json"]
    command = [sys.executable, "-c", "from privet.cli import main; main()", *words]
    with log.open("w") as lines:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=lines, text=True)
    try:
        assert server.stdout is not None
        yield int(json.loads(server.stdout.readline())["urls"][0].rpartition(":")[2])
        server.send_signal(signal.SIGTERM)
        assert server.wait(120) == 0
    finally:
        server.kill()
        server.wait(60)
        if server.stdout is not None:
            server.stdout.close()


class Analyst:
    """One account with one connection."""

    def __init__(self, port: int, name: str, token: str, seen: Seen) -> None:
        self.name, self.seen, self.random = name, seen, random.Random(name)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.mine: list[int] = []

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        found = self.connection.getresponse()
        return found.status, json.loads(found.read())

    def ask(self, number: int, *, stored: bool) -> None:
        where = f"age > {number % 100} AND age < {number}" if SOAK else f"age > {number}"
        body = {"question": f"SELECT COUNT(*) AS n FROM visits WHERE {where}", "epsilon": EPSILON}
        began = time.perf_counter()
        status, told = self.call("POST", "/v1/datasets/clinic/ask", body)
        if stored and status == 200:
            self.seen.stored.append(time.perf_counter() - began)
        while status == 202:
            status, told = self.call("GET", f"/v1/answers/{told['id']}?wait=20")
        self.seen.add(told["error"]["code"] if "error" in told else "released")
        if status == 200:
            rows = json.dumps(told["result"]["rows"])
            with self.seen.lock:
                assert self.seen.answered.setdefault((self.name, number), rows) == rows
            if number not in self.mine:
                self.mine.append(number)

    def work(self, until: float) -> None:
        try:
            while time.monotonic() < until:
                if self.mine and self.random.random() < 0.5:
                    self.ask(self.random.choice(self.mine), stored=True)
                else:
                    self.ask(self.random.randrange(QUESTIONS), stored=False)
                time.sleep(self.random.random() * (2 if SOAK else 0.4))
        finally:
            self.connection.close()


def test_fifty_analysts_overspend_nothing_and_every_answer_has_its_charge(tmp_path: Path) -> None:
    folder = tmp_path / "clinic"
    write_world(folder, declared=SMALL.format(all=ALL))
    if SOAK:
        make_hospital(folder)
        (folder / "privet.toml").write_text(HOSPITAL.replace("epsilon = 3\ndelta = 1e-6", f"epsilon = {ALL}"))
    accounts = "".join(f"\n[analysts.{name}]\nepsilon = {OWN}\n" for name in ANALYSTS)
    with (folder / "privet.toml").open("a") as file:
        file.write(f"{accounts}\n[engine]\ntime_step = {1 if SOAK else 0.1}\n")
    tokens = add_tokens(folder, dict.fromkeys(ANALYSTS, "analyst"))
    seen = Seen()
    with serving(folder / "privet.toml", tmp_path / "server.log") as port:
        until = time.monotonic() + SECONDS
        threads = [
            threading.Thread(target=Analyst(port, name, token, seen).work, args=(until,))
            for name, token in tokens.items()
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join(SECONDS + 300)
    with existing_ledger(read_config(folder / "privet.toml")) as ledger:
        ledger.verify()
        entries = ledger.entries()
        assert ledger.budget_of(None) == Pure(epsilon=ALL)
    charges = [one.record for one in entries if isinstance(one.record, Charged)]
    released = [one.record.digest for one in entries if isinstance(one.record, Answered)]
    assert sum(1 for one in charges if one.shared is None) * EPSILON <= ALL
    by_account = Counter(one.account for one in charges)
    assert all(count * EPSILON <= OWN for count in by_account.values())
    assert len(released) == len(set(released))
    answered = Counter(name for name, _ in seen.answered)
    assert all(answered[name] <= by_account[name] for name in ANALYSTS)
    assert len({*seen.answered.values()}) >= 1
    by_question: dict[int, set[str]] = {}
    for (_, number), rows in seen.answered.items():
        by_question.setdefault(number, set()).add(rows)
    assert all(len(rows) == 1 for rows in by_question.values())
    assert seen.statuses["released"] > 0
    assert set(seen.statuses) <= {"released", "budget.exceeded", "busy", "busy.rate"}
    if SOAK:
        times = sorted(seen.stored)
        ends = [one.time for one in entries if isinstance(one.record, Answered)]
        windows = Counter(int((end - min(ends)).total_seconds() // 5) for end in ends)
        print(f"\nscans that ended in each 5 seconds: {[windows[index] for index in range(max(windows) + 1)]}")
        assert all(windows[index] > 0 for index in range(11))
        print(f"{dict(seen.statuses)}; {len(charges)} charges")
        print(f"own stored answers as clients saw them: {_described([1000 * one for one in times])}")
        told = [json.loads(line) for line in (tmp_path / "server.log").read_text().splitlines()]
        asked = [one for one in told if one.get("route", "").endswith("/ask") and one["status"] in (200, 202)]
        in_server = {status: [one["ms"] for one in asked if one["status"] == status] for status in (200, 202)}
        for status, spent in in_server.items():
            print(f"in the server, status {status}: {_described(spent)}")
        assert sorted(in_server[200])[int(0.99 * len(in_server[200]))] < 50


def _described(milliseconds: list[float]) -> str:
    found = sorted(milliseconds)
    median, high = found[len(found) // 2], found[int(0.99 * len(found))]
    return f"{len(found)}, median {median:.1f} ms, 99th percentile {high:.1f} ms, most {found[-1]:.1f} ms"
