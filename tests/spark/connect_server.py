"""A Spark Connect server on this machine, in a process of its own that a test may kill."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pyspark

SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}


class ConnectServer:
    """A server that listens on a free port of the loopback; its one process is the JVM itself."""

    def __init__(self, folder: Path, within: float = 120) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        home = Path(pyspark.__file__).parent
        settings = {
            **SETTINGS,
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.local.dir": str(folder / "spill"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        kind = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
        self._process = subprocess.Popen(
            [str(home / "bin" / "spark-submit"), *kind, "--master", "local[2]", *options, "spark-internal"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "SPARK_HOME": str(home)},
        )
        until = time.monotonic() + within
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError("the Spark Connect server does not start; is Java 17 installed?")
            time.sleep(0.2)

    @property
    def remote(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End the server as a power cut would."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=60)

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False
