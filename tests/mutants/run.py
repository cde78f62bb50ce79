"""Breaks the code on purpose, one edit at a time, and checks that some test fails each time.

Each mutant is a tree of links to one compiled copy of src, outside the repository, with one file of its own; its tests
run in a process forked from one that has imported everything but privet (`zygote.py`). A mutant that survives, that no
longer imports, or whose code is no longer found fails the run. A test that fails twice without any mutant is reported,
and only mutants that no other test kills are left out for it. The test that killed each mutant is remembered between
runs (`build/mutants.json`, `killers.json`) and runs first and alone. Give parts of addresses to run only those;
`--changed` runs those of modules that changed against a base, within a time limit. See CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit import Lost
from mutant import Mutant
from zygote import BROKEN, HANGS, PRELOADED

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

AGAIN = 4.0
"""A test that killed a mutant before has this part of the patience: it fails soon, or hangs as it did."""

EACH = 20
"""Mutants after which progress is printed, and killing tests are written down."""

SHOWN = 2000
"""How many characters of the tests' output are shown where they fail without a mutant."""

REMEMBERED = Path("build", "mutants.json")
"""Where the test that killed each mutant is written, below the root."""

COMMITTED = Path("tests", "mutants", "killers.json")
"""Where the same is kept for everybody, so that a first run on a machine is no slower; `--keep` writes it."""

MINUTES = 25.0
"""The time limit of a run of what changed, unless another is given."""

WIDE = 60
"""A change of more modules has more mutants than there is time for: its sample is a report, and no verdict."""

WORKERS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""How many run at a time, unless another number is given."""

_IMPORTS = ("privet.accounting", "privet.mechanisms", "privet.noise", "privet.core.unit")


class Fails(Exception):
    """Tests fail without any mutant, and did so again."""

    def __init__(self, test: str, output: str) -> None:
        self.test = test
        super().__init__(f"{test} fails without any mutant; mend it first\n{output}")


@dataclass
class Zygote:
    """A process that runs tests on order, one after another."""

    process: subprocess.Popen[str]

    @classmethod
    def started(cls) -> Zygote:
        """Start one, and wait until it is ready."""
        command = [sys.executable, str(Path(__file__).with_name("zygote.py")), *PRELOADED]
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
class Killers:
    """The test that killed each mutant in an earlier run, by the mutant's text; only decides what runs first."""

    file: Path
    tests: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path) -> Killers:
        """Return those of earlier runs, here or committed; none where there was none, or where it cannot be read."""
        kept: dict[str, object] = {}
        for file in (root / COMMITTED, root / REMEMBERED):
            try:
                kept |= json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
        return cls(root / REMEMBERED, {key: test for key, test in kept.items() if isinstance(test, str)})

    def test(self, mutant: Mutant) -> str | None:
        """Return the test that killed a mutant; None where it is not known, or not one of those that are to run."""
        test = self.tests.get(_key(mutant))
        return test if test is not None and any(_within(test, wide) for wide in mutant.tests) else None

    def among(self, mutants: Sequence[Mutant]) -> dict[str, list[str]]:
        """Return the tests that killed these mutants, by their files."""
        grouped: dict[str, set[str]] = {}
        for test in filter(None, map(self.test, mutants)):
            grouped.setdefault(test.partition("::")[0], set()).add(test)
        return {file: sorted(tests) for file, tests in grouped.items()}

    def write(self) -> None:
        """Write them down, whole or not at all."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        new.write_text(json.dumps(dict(self.tests), indent=0, sort_keys=True), encoding="utf-8")
        new.replace(self.file)

    def keep(self, file: Path, mutants: Sequence[Mutant]) -> None:
        """Write those of mutants that are still there to the file that is committed."""
        keys = {_key(mutant) for mutant in mutants}
        kept = {key: test for key, test in self.tests.items() if key in keys}
        file.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def _key(mutant: Mutant) -> str:
    """Return a short name of a mutant, which stays when its code moves to another module."""
    name = mutant.address.partition(":")[2]
    return hashlib.sha256("\n".join((name, mutant.old, mutant.new)).encode()).hexdigest()[:16]


def _within(test: str, wide: str) -> bool:
    """Return whether a test is one of those that a file, a class or a function of tests names."""
    return test == wide or test.startswith((f"{wide}::", f"{wide}["))


@dataclass(frozen=True)
class Ran:
    """A run of tests: the status, how long each took, and those that failed."""

    status: int | str
    took: dict[str, float]
    failed: list[str]


@dataclass
class Runner:
    """What runs mutants of the src below root, in a place of its own: copies of src, and idle processes.

    Tests that killed a mutant before run first, and then the shorter before the longer: that changes no verdict.
    """

    root: Path
    place: Path
    killers: Killers
    patience: float = PATIENCE
    known: dict[str, list[str]] = field(default_factory=dict)
    idle: queue.SimpleQueue[Zygote] = field(default_factory=queue.SimpleQueue)
    sound: dict[str, Future[Any]] = field(default_factory=dict)
    sooner: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def clean(self) -> Path:
        """Return the copy of src without a mutant."""
        return self.place / "clean" / "src"

    def prepare(self, mutants: Sequence[Mutant]) -> None:
        """Copy src and compile it, once for all mutants; look up the tests that killed them before."""
        shutil.copytree(self.root / "src", self.clean, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(
            self.clean, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, force=True
        )
        self.known = self.killers.among(mutants)

    def judge(self, mutant: Mutant) -> str:
        """Return what became of a mutant: killed, survived, broken or lost; raise where sound tests do not decide."""
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
            status = self.killed_again(mutant, source) or self.tried(mutant, source)
        named = {
            0: "SURVIVED",
            KILLED: "killed",
            HANGS: "killed, as its tests hang",
            BROKEN: "broken, as it does not import",
        }
        return named.get(status, f"broken, as pytest said {status}")

    def killed_again(self, mutant: Mutant, source: Path) -> int | str | None:
        """Return the status of the test that killed a mutant before, run alone; None where it does not kill it now."""
        test = self.killers.test(mutant)
        if test is None:
            return None
        took = self.passing(test.partition("::")[0]).get(test)
        if took is None:
            return None
        limit = self.patience / AGAIN + TIMES * took
        ran = self.run_tests(source, [test.partition("::")[0]], only=[test], stop=True, limit=limit)
        return ran.status if ran.status in (KILLED, HANGS) else None

    def tried(self, mutant: Mutant, source: Path) -> int | str:
        """Return the status of a mutant's tests; those that fail without it too are left out, and may be missed."""
        sound, taken, fails = [], 0.0, None
        for test in mutant.tests:
            try:
                taken += self.check(test)
                sound.append(test)
            except Fails as error:
                fails = error
        if fails is not None and not sound:
            raise fails
        ran = self.run_tests(source, sound, stop=True, limit=self.patience + TIMES * taken)
        if ran.status in (KILLED, HANGS) and ran.failed:
            with self.lock:
                self.killers.tests[_key(mutant)] = ran.failed[0]
        if fails is not None and ran.status == 0:
            raise fails
        return ran.status

    def check(self, test: str) -> float:
        """Return how long tests take without a mutant; raise where they fail twice. Each are run once if they pass."""

        def taken() -> float:
            log = self.place / f"{hashlib.sha256(test.encode()).hexdigest()}.log"
            for last in (False, True):
                start = time.monotonic()
                if self.run_tests(self.clean, [test], stop=False, limit=None, log=log).status == 0:
                    return time.monotonic() - start
                if not last:
                    print(f"{test} fails without any mutant; it is tried once more", flush=True)
            raise Fails(test, log.read_text()[-SHOWN:])

        done: float = self.once(test, taken)
        return done

    def passing(self, file: str) -> dict[str, float]:
        """Return those tests of a file that killed mutants before and pass without one, with the time of each."""

        def taken() -> dict[str, float]:
            ran = self.run_tests(self.clean, [file], only=self.known.get(file, []), stop=False, limit=None)
            return {test: took for test, took in ran.took.items() if test not in ran.failed}

        done: dict[str, float] = self.once(f"{file} of {REMEMBERED}", taken)
        return done

    def once(self, name: str, action: Callable[[], Any]) -> Any:
        """Return what an action returned or raise what it raised, in whichever thread it ran first."""
        with self.lock:
            first = name not in self.sound
            done = self.sound.setdefault(name, Future())
        if first:
            try:
                done.set_result(action())
            except BaseException as error:
                done.set_exception(error)
        return done.result()

    def run_tests(
        self,
        source: Path,
        tests: Sequence[str],
        *,
        stop: bool,
        limit: float | None,
        only: Sequence[str] | None = None,
        log: Path | None = None,
    ) -> Ran:
        """Run tests against a copy of src, all or only those named, and return what became of them."""
        arguments = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests, *(["-x"] if stop else [])]
        files = {test.partition("::")[0] for test in tests}
        notes = source.with_name(f"notes-{threading.get_ident()}.json")
        notes.unlink(missing_ok=True)
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
            "only": only,
            "notes": str(notes),
        }
        with self.zygote() as zygote:
            status = zygote.run(order)
        noted = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {"took": {}, "failed": []}
        ran = Ran(status, noted["took"], noted["failed"])
        self.learn(ran, clean=not stop)
        return ran

    def learn(self, ran: Ran, *, clean: bool) -> None:
        """Take down how long tests take without a mutant, and which noticed one: those come first from now on."""
        with self.lock:
            changes = ran.took if clean else dict.fromkeys(ran.failed, -1.0)
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

    def remember(self) -> None:
        """Write down which tests killed which mutants, for the next run."""
        with self.lock:
            self.killers.write()

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
    """Return what makes `import privet` find the copy, also in processes that tests start, and leave nothing behind.

    Temporary folders are beside the copy: a mutant of what removes its own may remove the folder that all share.
    """
    folder = source.with_name("temporary")
    folder.mkdir(exist_ok=True)
    return {
        "TMPDIR": str(folder),
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
    """Run mutants, and return an exit status: 1 where one is not killed, 2 where tests fail without a mutant.

    When the time is up, begin no more, and print how many were left.
    """
    start = time.monotonic()
    killed, left, ran = 0, 0, 0
    sick: dict[str, int] = {}

    def in_time(mutant: Mutant) -> str | None:
        return None if minutes is not None and time.monotonic() - start > 60 * minutes else runner.judge(mutant)

    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(workers) as pool:
        runner = Runner(root, Path(place), Killers.read(root), patience)
        runner.prepare(mutants)
        verdicts = [(mutant, pool.submit(in_time, mutant)) for mutant in mutants]
        try:
            for mutant, promise in verdicts:
                try:
                    verdict = promise.result()
                except Fails as error:
                    if error.test not in sick:
                        print(error, flush=True)
                    sick[error.test] = sick.get(error.test, 0) + 1
                    continue
                if verdict is None:
                    left += 1
                    continue
                ran += 1
                killed += verdict.startswith("killed")
                if verdict != "killed":
                    print(f"{verdict}: {mutant.address}\n  - {mutant.old}\n  + {mutant.new}", flush=True)
                if ran % EACH == 0:
                    runner.remember()
                    print(f"{ran} of {len(mutants)}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
            runner.remember()
            runner.end()
    for test, many in sick.items():
        print(f"{many} of {len(mutants)} mutants were NOT RUN, as {test} fails without any")
    if left:
        print(f"{left} of {len(mutants)} mutants were NOT RUN, as the {minutes:g} minutes were up")
    print(f"{killed} of {ran} mutants killed in {time.monotonic() - start:.0f} s")
    return 2 if sick else 0 if killed == ran else 1


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
    parser.add_argument("parts", nargs="*", help="run the mutants whose addresses, module:qualname, hold one of these")
    parser.add_argument("--changed", action="store_true", help="only of modules that changed against the base")
    parser.add_argument("--base", default=os.environ.get("BASE"), help="the commit to compare with")
    parser.add_argument("--print-base", action="store_true", help="print the base that is found, and do nothing else")
    parser.add_argument("--limit", type=float, help="minutes after which no more are begun")
    parser.add_argument("--seed", type=int, help="the order in which a run with a limit takes them")
    parser.add_argument("--workers", type=int, default=WORKERS, help="how many run at a time")
    parser.add_argument(
        "--keep", action="store_true", help=f"write what runs remembered to {COMMITTED}, and run nothing"
    )
    asked = parser.parse_args(arguments)
    if asked.keep:
        Killers.read(ROOT).keep(ROOT / COMMITTED, MUTANTS)
        return 0
    if asked.print_base:
        print(asked.base or find_base() or "")
        return 0
    parts = [part.replace("/", ".").removesuffix(".py") for part in asked.parts]
    chosen = [mutant for mutant in MUTANTS if not parts or any(part in mutant.address for part in parts)]
    if not chosen:
        print(f"no mutant has an address with any of: {', '.join(parts)}")
        return 2
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
