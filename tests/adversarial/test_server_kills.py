"""Kill -9 of a server that answers: nothing that was shown is lost, nothing is drawn or charged twice."""

from __future__ import annotations

import http.client as http_client
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from privet.config.reading import read_config
from privet.config.sessions import existing_ledger
from privet.ledger.entries import Answered, Charged
from served import DECLARED, add_tokens, http, write_world

ROUNDS = 200 if os.environ.get("PRIVET_SOAK") else 3
QUESTIONS = 40 if os.environ.get("PRIVET_SOAK") else 8
EPSILON = 0.0625
PLENTY = DECLARED.replace("epsilon = 40", "epsilon = 400").replace("epsilon = 20", "epsilon = 200")


class Servers:
    """A process that starts one server after another over a folder; each is killed before the next."""

    def __init__(self, folder: Path) -> None:
        program = [sys.executable, str(Path(__file__).with_name("serving.py")), "--again", str(folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._starter = subprocess.Popen(program, text=True, **pipes)  # type: ignore[call-overload]

    @contextmanager
    def running(self) -> Iterator[tuple[int, str]]:
        """Start a server, return its process and its address, and kill it in the end."""
        self._starter.stdin.write("again\n")
        self._starter.stdin.flush()
        process, _, url = self._starter.stdout.readline().strip().partition(" ")
        try:
            yield int(process), url
        finally:
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
            assert self._starter.stdout.readline() == "gone\n"

    def close(self) -> None:
        """End the process that starts servers."""
        self._starter.stdin.close()
        self._starter.wait(60)
        self._starter.stdout.close()


def question(number: int) -> dict[str, Any]:
    return {"question": f"SELECT COUNT(*) AS n FROM visits WHERE age > {number}", "epsilon": EPSILON}


def ask(url: str, token: str, number: int, shown: dict[int, set[str]]) -> bool:
    """Ask one question until it is answered, and keep what is shown; False where the server is gone."""
    try:
        path = f"{url}/v1/datasets/clinic/ask"
        found = http(path, question(number), token=token, headers={"Idempotency-Key": f"key {number}"})
        while found.status == 202:
            found = http(f"{url}{found.headers['location']}?wait=20", token=token)
    except (OSError, http_client.HTTPException):  # also in the middle of a reply
        return False
    if found.status == 200 and "result" in found.json:
        shown.setdefault(number, set()).add(json.dumps(found.json["result"]["rows"]))
        return True
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run it on Linux or macOS")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kills_lose_nothing_and_draw_nothing_twice(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    folder, declared = tmp_path / "clinic", PLENTY
    if kind == "postgres":
        declared += f'\n[ledger]\nurl = "{request.getfixturevalue("ledger_address")()}"\n'
    config = write_world(folder, declared=declared)
    tokens = add_tokens(folder)
    shown: dict[str, dict[int, set[str]]] = {"ana": {}, "ben": {}}
    source, servers, interrupted = random.Random(7), Servers(folder), 0
    try:
        for _ in range(ROUNDS):
            with servers.running() as (process, url):
                threads = [
                    threading.Thread(target=ask, args=(url, tokens[who], source.randrange(QUESTIONS), shown[who]))
                    for who in ("ana", "ben", "ana", "ben")
                ]
                for one in threads:
                    one.start()
                threading.Event().wait(0.02 + source.random() * 0.6)
                os.kill(process, signal.SIGKILL)
                interrupted += sum(1 for one in threads if one.is_alive())
                for one in threads:
                    one.join(60)
        with servers.running() as (_, url):
            for who, answers in shown.items():
                for number in range(QUESTIONS):
                    assert ask(url, tokens[who], number, answers)
    finally:
        servers.close()
    print(f"\n{kind}: {ROUNDS} kills, {interrupted} questions interrupted")
    assert interrupted > 0
    for number in range(QUESTIONS):  # before and after any kill, and for both accounts, there is one answer
        assert len(shown["ana"][number] | shown["ben"][number]) == 1
    with existing_ledger(read_config(config)) as ledger:
        ledger.verify()
        entries = ledger.entries()
        charges = [one.record for one in entries if isinstance(one.record, Charged)]
        answers_to = [one.record.digest for one in entries if isinstance(one.record, Answered)]
    assert sorted((one.account, one.key or "") for one in charges) == sorted(
        (who, f"key {number}") for who in shown for number in range(QUESTIONS)
    )
    assert len(answers_to) == len(set(answers_to)) == QUESTIONS
    assert sum(1 for one in charges if one.shared is None) == QUESTIONS
