"""Spark on a cluster that loses an executor between two stages of a scan, while the files that it reads change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from privet.core.errors import EngineError
from privet.engines.spark import Spark

CHECKSUM = "spark.sql.shuffle.orderIndependentChecksum"
HERE = Path(__file__).parent


def test_rows_that_are_lost_and_read_again_from_changed_files_break_no_bound(tmp_path: Path) -> None:
    ways = [str(HERE), str(HERE.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    ran = subprocess.run(
        [sys.executable, str(HERE / "lost_executor.py"), str(tmp_path)],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(ways)},
        text=True,
        timeout=400,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["same"], "without a loss, the integers are those of DuckDB"
    assert told["killed"], "the scan was over before an executor was killed"
    if "error" in told:
        assert told["error"] == str(EngineError())
        return
    assert told["attempts"] > 1, "nothing was read again"
    assert 0 < told["sum"] <= told["most"]


def test_what_is_read_again_and_differs_is_never_mixed_whatever_the_caller_s_settings(spark: Any) -> None:
    names = (f"{CHECKSUM}.enabled", f"{CHECKSUM}.enableFullRetryOnMismatch")
    held = {name: spark.conf.get(name) for name in names}
    for name in names:
        spark.conf.set(name, "false")
    try:
        with Spark(session=spark).over({}) as engine:
            assert [engine._session.conf.get(name) for name in names] == ["true", "true"]
    finally:
        for name, value in held.items():
            spark.conf.set(name, value)
