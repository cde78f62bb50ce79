"""What every worker shares: it answers timing requests, one JSON object a line. Runs inside a peer's environment.

Standard library only. A task takes the case's parameters, prepares outside the clock, and returns the call to time.
"""

from __future__ import annotations

import atexit
import gc
import importlib.metadata
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

Task = Callable[..., Callable[[], Any]]


def serve(package: str, tasks: Mapping[str, Task]) -> None:
    """Answer requests until the driver closes the pipe. What a peer prints of its own goes to stderr.

    Started with a task and its parameters as arguments, do that once and say what the whole process took.
    """
    if len(sys.argv) == 3:
        _once(tasks[sys.argv[1]], json.loads(sys.argv[2]))
        return
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print(json.dumps({"version": importlib.metadata.version(package)}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_measure(tasks[request["task"]], request["parameters"])), file=replies, flush=True)


def _once(task: Task, parameters: dict[str, Any]) -> None:
    call = task(**parameters)
    start, spent = time.perf_counter(), time.process_time()
    call()
    took = {"call seconds": time.perf_counter() - start, "call cpu": time.process_time() - spent}
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "peak MB": _peak() / 1024, **took}))


def _peak() -> int:
    """Return the most memory this program held, in kB; getrusage would count the process that started it too."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def apart(task: str, figure: str) -> Task:
    """Return a task that does another one in a process of its own, and reports what that took: "cpu" or "peak MB".

    With "call" it reports the processor time of the call alone, and beside it its wall time and the peak.
    """

    def made(**parameters: Any) -> Callable[[], dict[str, Any]]:
        command = [sys.executable, sys.argv[0], task, json.dumps(parameters)]

        def call() -> dict[str, Any]:
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=_with_bytecode())
            used: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
            if figure == "cpu":
                return {"seconds": used["cpu"], "cpu": used["cpu"]}
            if figure == "call":
                shown = {"wall seconds": used["call seconds"], "peak MB": used["peak MB"]}
                return {"seconds": used["call cpu"], "cpu": used["call cpu"], "figures": shown}
            return {"figures": {figure: used[figure]}}

        return call

    return made


@cache
def _with_bytecode() -> dict[str, str]:
    """Return an environment in which modules are compiled once, as they are where a package was installed."""
    place = tempfile.mkdtemp(prefix="bench-bytecode-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": place}


def _measure(task: Task, parameters: dict[str, Any]) -> dict[str, Any]:
    call = task(**parameters)
    gc.collect()
    gc.disable()
    start, spent = time.perf_counter(), time.process_time()
    result = call()
    took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - spent}
    gc.enable()
    if isinstance(result, dict):  # figures beside the time, or a time of the task's own clock
        return {**took, "size": None, **result}
    return {**took, "size": _mean_size(result)}


def processor_time(work: Callable[[], Any]) -> dict[str, Any]:
    """Return what some work took in processor time, where that is what is compared, with the wall's as a figure."""
    start, spent = time.perf_counter(), time.process_time()
    work()
    cpu = time.process_time() - spent
    return {"seconds": cpu, "cpu": cpu, "figures": {"wall seconds": time.perf_counter() - start}}


def _mean_size(result: Any) -> float | None:
    """Return the mean absolute value of many draws, by which the driver sees that all did the same work."""
    if hasattr(result, "mean"):
        return float(abs(result).mean())
    if isinstance(result, Sequence):
        return sum(abs(float(value)) for value in result) / len(result)
    return None


def importing(module: str) -> Task:
    """Return a task that measures the processor time of an import, over that of a bare interpreter."""

    def task() -> Callable[[], dict[str, float | None]]:
        return lambda: {"seconds": _least(f"import {module}") - _least("pass"), "size": None}

    return task


def _least(program: str) -> float:
    # the least of each, and then the difference: the least of many differences would be an accident of a busy machine
    return min(_spend(program) for _ in range(7))


def _spend(program: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, cwd="/", stdout=sys.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
