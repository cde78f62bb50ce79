"""A cluster that loses a process in the middle of a scan, while its files change; a program of its own, for its JVM.

Run with a folder as its argument, it prints what came of each scan as one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyarrow import parquet
from test_spark_sources import CITIES, COUNT, LISTED, SHIFT, found, people, scan_of

from privet.core.errors import EngineError
from privet.core.scan import Norm
from privet.engines.duckdb.engine import DuckDB
from privet.engines.spark import Spark

PARTS, PEOPLE, FILES, ROWS = 20, 40, 4, 10
LIMIT = 2
MOST = PEOPLE * LIMIT * 2**SHIFT
"""What all people together may add to the sums of a scan."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.liveUpdate.period": "0",  # what is done is known at once
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.shuffle.readHostLocalDisk": "false",  # as on a cluster, where a lost machine takes its disk along
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "100ms",
    "spark.sql.adaptive.enabled": "false",  # would make one part of so few rows
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.files.openCostInBytes": "128m",  # each file is read by a task of its own
    "spark.sql.shuffle.partitions": str(PARTS),
    # a cluster may be set so, and Spark 4.1 is, if nothing is said
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
}


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Any]:
    """Start a driver and two workers on this machine, each with an executor in a process of its own."""
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_WORKER_DIR"] = str(folder / "work")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,512]").appName("privet tests")
    places = {"spark.local.dir": folder / "spill", "spark.sql.warehouse.dir": folder / "warehouse"}
    for name, value in {**SETTINGS, **{name: str(place) for name, place in places.items()}}.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    try:
        yield made
    finally:
        made.stop()


def executors() -> list[int]:
    """Return the processes of executors that descend from this one."""
    parents, named = {}, []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            own = int(place.name)
            parents[own] = int((place / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            words = (place / "cmdline").read_bytes().split(b"\0")
            if any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words) and b"java" in words[0]:
                named.append(own)

    def ours(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return [process for process in named if ours(process)]


def await_executors(session: Any) -> None:
    """Wait until both executors run and are known to the driver: a worker starts another one for one that is lost."""
    until = time.monotonic() + 60
    tracker = session.sparkContext._jsc.sc().statusTracker()
    while len(executors()) != 2 or len(list(tracker.getExecutorInfos())) != 3:  # the driver is told as one of them
        if time.monotonic() > until:
            raise RuntimeError("the cluster does not start")
        time.sleep(0.1)


def write_files(folder: Path, cities: list[str], last: list[str]) -> None:
    """Write the rows of all people, who have the last one in some other city; all such files are of one length."""
    folder.mkdir(exist_ok=True)
    for file in range(FILES):
        rows = [
            {"who": who, "city": chosen[(who + row) % len(chosen)], "age": 5, "pay": 1.0}
            for who in range(PEOPLE)
            for row in range(ROWS)
            for chosen in (cities if row < ROWS - 1 else last,)
        ]
        table = pa.Table.from_pylist(
            rows, pa.schema({"who": "int64", "city": "string", "age": "int32", "pay": "double"})
        )
        path = folder / f"part-{file}.parquet"
        parquet.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)


class Disaster(threading.Thread):
    """Replaces all files and kills an executor, once a stage of the scan has come so far."""

    def __init__(self, session: Any, rows: Path, others: Path, stage: int, done: int) -> None:
        super().__init__(daemon=True)
        self.tracker = session.sparkContext._jsc.sc().statusTracker()
        self.rows, self.others, self.stage, self.done = rows, others, stage, done
        self.before = set(self.tracker.getJobIdsForGroup(None))
        self.killed = False
        self.attempts = 0
        self.over = False

    def run(self) -> None:
        stages: list[int] = []
        victims = executors()
        while not self.over and len(stages) <= self.stage:
            for job in set(self.tracker.getJobIdsForGroup(None)) - self.before:
                told = self.tracker.getJobInfo(job)
                stages = sorted(told.get().stageIds()) if told.isDefined() else []
            time.sleep(0.002)
        while not self.over:
            told = self.tracker.getStageInfo(stages[self.stage])
            if told.isDefined() and told.get().numCompletedTasks() >= self.done:
                for process in victims:
                    os.kill(process, signal.SIGSTOP)
                time.sleep(0.2)  # what they have told the driver is known by then
                for path in self.others.iterdir():
                    os.replace(path, self.rows / path.name)
                self.killed = True
                os.kill(victims[0], signal.SIGKILL)
                os.kill(victims[1], signal.SIGCONT)
                break
            time.sleep(0.002)
        while not self.over:
            for stage in stages:
                told = self.tracker.getStageInfo(stage)
                if told.isDefined():
                    self.attempts = max(self.attempts, told.get().currentAttemptId() + 1)
            time.sleep(0.02)


def main(folder: Path) -> None:
    """Print what a scan returns, and what it returns where an executor dies after the rows were read."""
    told: dict[str, Any] = {"most": MOST}
    early, late = list(CITIES[10:20]), list(CITIES[20:30])
    rows, others = folder / "rows", folder / "others"
    write_files(rows, early, late)
    write_files(others, late, late)
    table = people(str(rows))
    scan = scan_of(table, (LISTED,), (COUNT,), Norm(1, LIMIT, SHIFT))
    with cluster(folder) as session, Spark(session=session, timeout=240).over({"t": table}) as engine:
        with DuckDB({"t": people(str(rows / "*.parquet"))}) as duck:
            told["same"] = found(engine, scan) == found(duck, scan) != {}
        await_executors(session)
        disaster = Disaster(session, rows, others, stage=1, done=1)
        disaster.start()
        try:
            sums = found(engine, scan)
            told["sum"] = sum(map(sum, sums.values()))
            told["late"] = sum(sum(given) for cell, given in sums.items() if cell[0] in late)
        except EngineError as error:
            told["error"] = str(error)
        disaster.over = True
        disaster.join()
        told |= {"killed": disaster.killed, "attempts": disaster.attempts}
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
