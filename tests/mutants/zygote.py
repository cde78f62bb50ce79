"""A process that has imported what tests need, but nothing of privet, and forks a child for each run of tests.

It reads one order a line, as JSON, and answers each with the exit status of its child. The child finds privet in the
folder that the order names, and so do the processes that it starts. A child that takes too long is ended with all
that it started.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HANGS = "hangs"
"""What is answered in place of a status where the tests did not end in time."""

BROKEN = 100
"""The status of a child that could not import privet from the folder it was given; pytest has none like it."""

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Set to 1: a fork copies no threads."""

PRELOADED = (
    "pytest",
    "hypothesis",
    "hypothesis.strategies",
    "hypothesis.internal.conjecture.engine",
    "numpy",
    "numpy.random",
    "scipy.special",
    "scipy.stats",
    "scipy.fft",
    "scipy.signal",
    "scipy.optimize",
    "scipy.integrate",
    "duckdb",
    "pyarrow",
    "pyarrow.parquet",
    "pyarrow.dataset",
    "pandas",
    "polars",
    "sqlglot",
    "sqlglot.optimizer",
    "click",
    "click.testing",
    "rich.console",
    "rich.table",
    "rich.text",
    "rich.progress",
    "mpmath",
    "msgspec",
    "matplotlib.figure",
    "matplotlib.dates",
    "sqlite3",
    "multiprocessing",
    "concurrent.futures",
    "_hypothesis_pytestplugin",
    "anyio.pytest_plugin",
    "xdist.plugin",
    "xdist.looponfail",
    "starlette.applications",
    "starlette.responses",
    "starlette.routing",
    "asyncio",
)
"""What tests import, as a rule; the arguments of the process are those that it imports before it forks."""

PAUSE = 0.01
"""Seconds between looks at the child."""


def main() -> int | None:
    """Carry out the orders that are read; return a status in a child, and None in the zygote itself."""
    sys.dont_write_bytecode = True
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if loaded := [name for name in sys.modules if name.split(".")[0] == "privet"]:
        raise RuntimeError(f"the process that is forked has already imported {loaded}")
    gc.collect()
    gc.freeze()  # else each child looks through all of this again, and so copies it, each time that it collects
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            return obey(order)
        print(json.dumps(watch(child, order["limit"])), flush=True)
    return None


def watch(child: int, limit: float | None) -> int | str:
    """Return the exit status of a child, or that it hangs; end it, with all that it started, when it is over."""
    parent, start = os.getppid(), time.monotonic()
    try:
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if limit is not None and time.monotonic() - start > limit:
                return HANGS
            if os.getppid() != parent:
                raise SystemExit("the process that started these tests has ended")
            time.sleep(PAUSE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def obey(order: dict[str, Any]) -> int:
    """Run the tests of an order in this process, and return its exit status."""
    os.setsid()
    for path, mode, fds in ((os.devnull, os.O_RDONLY, (0,)), (order["log"], os.O_WRONLY | os.O_CREAT, (1, 2))):
        opened = os.open(path, mode, 0o600)
        for fd in fds:
            os.dup2(opened, fd)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    os.chdir(order["root"])
    os.environ.update(order["environment"])
    tempfile.tempdir = None  # it is looked up again: each mutant has a folder of its own
    here = str(Path(__file__).parent)
    sys.path[:] = [order["root"], order["source"], *(entry for entry in sys.path if entry not in (here, ""))]
    sys.dont_write_bytecode = not order["keep"]
    seed_anew()
    try:
        for name in order["imports"]:
            importlib.import_module(name)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return BROKEN
    if not str(sys.modules["privet"].__file__).startswith(order["source"]):
        return BROKEN
    import pytest

    quiet = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]  # which is on purpose here
    sys.argv = ["pytest", *quiet, *order["arguments"]]
    noted = Noted(order["sooner"], order["only"], Path(order["notes"]))
    status = int(pytest.main(sys.argv[1:], plugins=[noted]))
    noted.write(noted.took, noted.failed)
    return status


class Noted:
    """A plugin of pytest that puts tests in order, and notes how long each took and which failed."""

    def __init__(self, sooner: dict[str, float], only: list[str] | None, file: Path) -> None:
        self.sooner = sooner
        self.only = only
        self.file = file
        self.took: dict[str, float] = {}
        self.failed: list[str] = []

    def write(self, took: dict[str, float], failed: list[str]) -> None:
        """Write down how long tests took and which failed."""
        self.file.write_text(json.dumps({"took": took, "failed": failed}), encoding="utf-8")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the tests that are asked for, those first that are likely to fail soon; others stay in their order."""
        if self.only is not None:
            items[:] = [item for item in items if item.nodeid in self.only]
        items.sort(key=lambda item: self.sooner.get(item.nodeid, math.inf))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note a test before it runs: where it hangs, nothing is written after it."""
        self.write({}, [nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how long a test took and whether it failed."""
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def seed_anew() -> None:
    """Give this process random numbers of its own: a fork begins with those of its parent."""
    import random

    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "hypothesis.core" in sys.modules:
        sys.modules["hypothesis.core"]._hypothesis_global_random = None  # type: ignore[attr-defined]


if __name__ == "__main__":
    for name in THREADS:
        os.environ[name] = "1"
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)  # tests have cleaned up after themselves; taking down all that is imported takes long
