"""One Spark in a worker's process, set up alike for every system, and the processor time of all that belongs to it.

Standard library and PySpark only: it runs inside a peer's environment too.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SETTINGS = {
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
"""The same for all: two processors, and parts of a size that suits them."""


@cache
def session() -> Any:
    """Return the Spark of this process; Python processes that it starts use the interpreter of this one."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def timed(work: Callable[[], Any]) -> dict[str, Any]:
    """Return the processor seconds that some work took here, in the JVM and in all processes below, and the wall's."""
    before, began = _spent(), time.perf_counter()
    work()
    cpu = _spent() - before
    return {"seconds": cpu, "cpu": cpu, "figures": {"wall seconds": time.perf_counter() - began}}


def _spent() -> float:
    """Return the processor seconds of this process and of all that it started, ended ones with them."""
    return sum(_of_process(process) for process in (os.getpid(), *_below(os.getpid()))) / os.sysconf("SC_CLK_TCK")


def _of_process(process: int) -> int:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(field) for field in fields[11:15])  # its own, and its children's that have ended
    return 0


def _below(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _below(child)
