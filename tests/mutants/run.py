"""Breaks the code on purpose, one edit at a time, and checks that some test fails each time.

Each mutant is a tree of links to one compiled copy of src, outside the repository, with one file of its own; its tests
run in a process forked from one that has imported everything but privet (`zygote.py`). A mutant that survives, that no
longer imports, or whose code is no longer found fails the run. Give parts of module names as arguments to run only
those; `--changed` runs those of modules that changed against a base, within a time limit. See CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import importlib.util
import json
import os
import py_compile
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit import Lost
from mutant import Mutant
from zygote import BROKEN, HANGS

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in tests/conftest.py, for the processes that import NumPy
MUTANTS: list[Mutant] = [
    mutant
    for file in sorted(Path(__file__).parent.glob("of_*.py"))
    for mutant in importlib.import_module(file.stem).MUTANTS
]
KILLED = 1
"""What pytest says when tests ran and some failed; a collection error or a usage error says something else."""

PATIENCE, TIMES = 120.0, 10.0
"""Tests hang when they take this many seconds, and this many times what they take without a mutant, together."""

EACH = 20
"""Mutants after which progress is told."""

TOLD = 2000
"""How many signs of what the tests print are shown where they fail without a mutant."""

MINUTES = 25.0
"""The time limit of a run of what changed, unless another is given."""

WIDE = 60
"""A change of more modules has more mutants than there is time for: its sample is a report, and no verdict."""

WORKERS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""How many run at a time, unless another number is given."""

_IMPORTS = ("privet.accounting", "privet.mechanisms", "privet.noise", "privet.core.sensitivity")


class Fails(Exception):
    """Tests fail without any mutant."""


@dataclass
class Zygote:
    """A process that runs tests on order, one after another."""

    process: subprocess.Popen[str]

    @classmethod
    def started(cls) -> Zygote:
        """Start one, and wait until it is ready."""
        command = [sys.executable, str(Path(__file__).with_name("zygote.py"))]
        zygote = cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        zygote.answer()
        return zygote

    def answer(self) -> int | str:
        """Return what it answers."""
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            raise RuntimeError("the process that runs the tests has ended")
        answer: int | str = json.loads(line)
        return answer

    def run(self, order: dict[str, object]) -> int | str:
        """Have tests run, and return their status."""
        assert self.process.stdin is not None
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return self.answer()

    def end(self) -> None:
        """End it, when it has nothing to do."""
        with self.process:  # closes its pipes, and waits
            pass


@dataclass
class Runner:
    """What runs mutants of the src below root, in a place of its own: copies of src, and idle processes.

    Tests that killed a mutant before run first, and then the shorter before the longer: that changes no verdict.
    """

    root: Path
    place: Path
    patience: float = PATIENCE
    idle: queue.SimpleQueue[Zygote] = field(default_factory=queue.SimpleQueue)
    sound: dict[str, Future[float]] = field(default_factory=dict)
    sooner: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def clean(self) -> Path:
        """Return the copy of src without a mutant."""
        return self.place / "clean" / "src"

    def prepare(self) -> None:
        """Copy src and compile it, once for all mutants."""
        shutil.copytree(self.root / "src", self.clean, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(
            self.clean, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, force=True
        )

    def judge(self, mutant: Mutant) -> str:
        """Return what became of a mutant: killed, survived, broken or lost."""
        taken = sum(self.check(test) for test in mutant.tests)
        with tempfile.TemporaryDirectory(dir=self.place) as place:
            source = Path(place) / "src"
            link_tree(self.clean, source)
            file = mutant.file(source / "privet")
            try:
                broken = mutant.applied(file.read_text(encoding="utf-8"))
            except (Lost, FileNotFoundError) as error:
                return f"lost, as {error}"
            file.unlink()  # else it would be written in every tree
            file.write_text(broken, encoding="utf-8")
            Path(importlib.util.cache_from_source(str(file))).unlink()
            status = self.run_tests(source, mutant.tests, stop=True, limit=self.patience + TIMES * taken)
        named = {
            0: "SURVIVED",
            KILLED: "killed",
            HANGS: "killed, as its tests hang",
            BROKEN: "broken, as it does not import",
        }
        return named.get(status, f"broken, as pytest said {status}")

    def check(self, test: str) -> float:
        """Return how long tests take without a mutant; raise where they fail. Each are run once."""
        with self.lock:
            first = test not in self.sound
            done = self.sound.setdefault(test, Future())
        if first:
            start, log = time.monotonic(), self.place / f"{len(self.sound)}-{threading.get_ident()}.log"
            try:
                status = self.run_tests(self.clean, [test], stop=False, limit=None, log=log)
                if status != 0:
                    raise Fails(f"{test} fails without any mutant; mend it first\n{log.read_text()[-TOLD:]}")
                done.set_result(time.monotonic() - start)
            except BaseException as error:
                done.set_exception(error)
        return done.result()

    def run_tests(
        self, source: Path, tests: Sequence[str], *, stop: bool, limit: float | None, log: Path | None = None
    ) -> int | str:
        """Run tests against a copy of src, and return their status."""
        arguments = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests, *(["-x"] if stop else [])]
        files = {test.partition("::")[0] for test in tests}
        notes = source.with_name(f"notes-{threading.get_ident()}.json")
        order = {
            "root": str(self.root),
            "source": str(source),
            "imports": _IMPORTS,
            "environment": environment(source),
            "arguments": arguments,
            "limit": limit,
            "log": str(log or os.devnull),
            "keep": not stop,  # what pytest makes of the tests' own files serves all mutants
            "sooner": {test: when for test, when in self.sooner.items() if test.partition("::")[0] in files},
            "notes": str(notes),
        }
        with self.zygote() as zygote:
            status = zygote.run(order)
        if notes.exists():
            self.learn(json.loads(notes.read_text(encoding="utf-8")), clean=not stop)
        return status

    def learn(self, notes: dict[str, Any], *, clean: bool) -> None:
        """Take down how long tests take without a mutant, and which noticed one: those come first from now on."""
        with self.lock:
            changes = notes["took"] if clean else dict.fromkeys(notes["failed"], -1.0)
            self.sooner = {**self.sooner, **changes}

    @contextmanager
    def zygote(self) -> Iterator[Zygote]:
        """Lend an idle process, or a new one; there are as many as threads that ask."""
        try:
            one = self.idle.get_nowait()
        except queue.Empty:
            one = Zygote.started()
        yield one
        self.idle.put(one)

    def end(self) -> None:
        """End the processes."""
        while not self.idle.empty():
            self.idle.get().end()


def link_tree(clean: Path, target: Path) -> None:
    """Make a tree of links to the files of another."""
    for folder, _, files in os.walk(clean):
        made = target / os.path.relpath(folder, clean)
        made.mkdir(parents=True)
        for file in files:
            os.link(os.path.join(folder, file), made / file)


def environment(source: Path) -> dict[str, str]:
    """Return what makes `import privet` find the copy, also in processes that tests start, and leave nothing behind."""
    return {
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "examples"),
    }


def run(
    mutants: Sequence[Mutant],
    root: Path = ROOT,
    *,
    minutes: float | None = None,
    patience: float = PATIENCE,
    workers: int = WORKERS,
) -> int:
    """Run mutants, and return an exit status; when the time is up, begin no more, and say how many were left."""
    start = time.monotonic()
    killed, left, ran, sick = 0, 0, 0, False

    def in_time(mutant: Mutant) -> str | None:
        return (
            None if sick or (minutes is not None and time.monotonic() - start > 60 * minutes) else runner.judge(mutant)
        )

    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(workers) as pool:
        runner = Runner(root, Path(place), patience)
        runner.prepare()
        verdicts = [(mutant, pool.submit(in_time, mutant)) for mutant in mutants]
        try:
            for mutant, promise in verdicts:
                try:
                    verdict = promise.result()
                except Fails as error:
                    if not sick:
                        print(error, flush=True)
                    sick = True
                    continue
                if verdict is None:
                    left += 1
                    continue
                ran += 1
                killed += verdict.startswith("killed")
                if verdict != "killed":
                    print(f"{verdict}: {mutant.address}\n  - {mutant.old}\n  + {mutant.new}", flush=True)
                if ran % EACH == 0:
                    print(f"{ran} of {len(mutants)}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
            runner.end()
    if sick:
        return 2
    if left:
        print(f"{left} of {len(mutants)} mutants were NOT RUN, as the {minutes:g} minutes were up")
    print(f"{killed} of {ran} mutants killed in {time.monotonic() - start:.0f} s")
    return 0 if killed == ran else 1


def changed(base: str | None) -> set[str] | None:
    """Return the modules of which the source changed since the base, or None where there is no base."""
    base = base or find_base()
    if base is None or (names := git("diff", "--name-only", base, "--", "src/privet")) is None:
        print("there is no commit to compare with: every mutant counts as changed")
        return None
    new = git("ls-files", "--others", "--exclude-standard", "--", "src/privet") or ""
    files = [Path(name).relative_to("src/privet") for name in (names + "\n" + new).split() if name.endswith(".py")]
    modules = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    print(f"{len(modules)} modules changed since {base}")
    return modules


def find_base() -> str | None:
    """Return where HEAD left origin/main, else the last tag, else the parent of HEAD, the first that is not HEAD."""
    head = git("rev-parse", "HEAD")
    for command in (
        ("merge-base", "HEAD", "origin/main"),
        ("describe", "--tags", "--abbrev=0"),
        ("rev-parse", "--verify", "HEAD~1"),
    ):
        found = git(*command)
        if found and git("rev-parse", f"{found}^{{commit}}") != head:
            return found
    return None


def git(*command: str) -> str | None:
    """Return what git says, or None where it fails or is not there."""
    try:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def main(arguments: list[str]) -> int:
    """Run the mutants that are asked for, and return an exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="run the mutants of modules whose names hold one of these")
    parser.add_argument("--changed", action="store_true", help="only of modules that changed against the base")
    parser.add_argument("--base", default=os.environ.get("BASE"), help="the commit to compare with")
    parser.add_argument("--print-base", action="store_true", help="print the base that is found, and do nothing else")
    parser.add_argument("--limit", type=float, help="minutes after which no more are begun")
    parser.add_argument("--seed", type=int, help="the order in which a run with a limit takes them")
    parser.add_argument("--workers", type=int, default=WORKERS, help="how many run at a time")
    asked = parser.parse_args(arguments)
    if asked.print_base:
        print(asked.base or find_base() or "")
        return 0
    parts = [part.replace("/", ".").removesuffix(".py") for part in asked.parts]
    chosen = [mutant for mutant in MUTANTS if not parts or any(part in mutant.module for part in parts)]
    minutes, wide = asked.limit, False
    if asked.changed:
        minutes = MINUTES if minutes is None else minutes
        modules = changed(asked.base or None)
        chosen = [mutant for mutant in chosen if modules is None or mutant.module in modules]
        wide = modules is None or len(modules) > WIDE
    if minutes is not None:
        seed = random.randrange(10**6) if asked.seed is None else asked.seed
        print(f"{len(chosen)} mutants, in the order of seed {seed}, for {minutes:g} minutes", flush=True)
        random.Random(seed).shuffle(chosen)
    status = run(chosen, minutes=minutes, workers=asked.workers)
    if status and wide:
        print(f"more than {WIDE} modules changed, so this is a report: `make mutants` runs all of them and decides")
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
