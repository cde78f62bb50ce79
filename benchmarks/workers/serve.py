"""What every worker shares: it answers timing requests, one JSON object a line. Runs inside a peer's environment.

Standard library only. A task takes the case's parameters, prepares outside the clock, and returns the call to time.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Task = Callable[..., Callable[[], Any]]


def serve(package: str, tasks: Mapping[str, Task]) -> None:
    """Answer requests until the driver closes the pipe. What a peer prints of its own goes to stderr."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print(json.dumps({"version": importlib.metadata.version(package)}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_measure(tasks[request["task"]], request["parameters"])), file=replies, flush=True)


def _measure(task: Task, parameters: dict[str, Any]) -> dict[str, float | None]:
    call = task(**parameters)
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    gc.enable()
    if isinstance(result, dict):  # the task kept its own clock
        return result
    return {"seconds": seconds, "size": _mean_size(result)}


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
        return lambda: {"seconds": max(_spend(f"import {module}") - _spend("pass"), 1e-6), "size": None}

    return task


def _spend(program: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, cwd="/", stdout=sys.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
