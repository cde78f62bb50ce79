"""One Spark for all of these tests, which run by `make test-spark`, in an environment of their own."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if os.environ.get("PRIVET_SPARK") else ["test_*.py"]

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "laws"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark of this process: no page, no event log, one partition, and no compiled stages for such small scans."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a pandas that is newer than PySpark has seen
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("privet tests")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.eventLog.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.memory": "2g",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.local.dir": str(tmp_path_factory.mktemp("spill")),
        }.items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
    yield made
    made.stop()
