"""The engine keeps to its memory limit, spills to a private folder that goes away, and fails with one message."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

import privet
from privet.core import schema
from privet.core.errors import BadParameter, EngineError, RequestError
from privet.core.relation import ColumnRef
from privet.core.scan import Discovery, GroupKey, Norm, Scan, Sum
from privet.core.unit import Person
from privet.engines.duckdb.engine import LEAST_MEMORY, DuckDB, read_memory_limit

SECRET = "Mallory-7d1f"
COLUMNS = {"who": privet.integer(), "city": privet.text(), "pay": privet.number(0, 10)}
COUNT = Sum(None, 1, 1)
SHOP = GroupKey(ColumnRef("city"), None, False)
ASKED = "SELECT city, COUNT(*) AS n, AVG(pay) AS m FROM t GROUP BY city"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million rows of 200,000 people in 50 cities: their cells need about 150 MB."""
    file = tmp_path_factory.mktemp("many") / "t.parquet"
    city = f"CASE WHEN i = 7 THEN '{SECRET}' ELSE printf('city-%03d', hash(i) % 50) END"
    with duckdb.connect() as made:
        made.execute(
            f"COPY (SELECT (hash(i + 1) % 200000)::BIGINT AS who, {city} AS city, (i % 10)::DOUBLE AS pay "
            f"FROM range(1000000) AS t(i)) TO '{file}' (FORMAT parquet)"
        )
    return file


def table(source: Path, **declared: int) -> privet.Table:
    limit = privet.Contribution(groups=5, rows=2)
    return privet.Table(str(source), unit=Person("who"), columns=COLUMNS, contribution=limit, **declared)


def scan(facts: schema.Schema) -> Scan:
    return Scan("t", facts, None, (SHOP,), (COUNT,), Norm(2, 7, 10), Discovery(5, 2, 10))


def test_the_limit_is_that_of_the_database_and_of_every_connection(many: Path) -> None:
    with DuckDB({"t": table(many)}, memory_limit="64MiB", scans=2) as engine:
        for _ in range(2):
            assert engine._fetch("SELECT current_setting('memory_limit')") == [("64.0 MiB",)]
        with pytest.raises(EngineError):
            engine._fetch("SET memory_limit = '1GB'")
        assert engine._fetch("SELECT current_setting('temp_directory')") == [(engine._spill,)]


def test_what_does_not_fit_is_spilled_to_a_private_folder_that_goes_away(many: Path) -> None:
    engine = DuckDB({"t": table(many)}, memory_limit="40MB", threads=1, parts=1)
    folder, seen, over = Path(engine._spill), [], threading.Event()

    def watch() -> None:
        while not over.wait(0.002):
            seen.extend(file.stat().st_size for file in folder.glob("*") if file.is_file())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        groups = engine.scan(scan(table(many).schema))._groups
    finally:
        over.set()
        watching.join()
    assert len(groups) == 51
    assert max(seen) > 0, "this scan was to need more than its memory"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    engine.close()
    assert not folder.exists()
    with DuckDB({"t": table(many)}, memory_limit="2GB", threads=1) as roomy:
        assert roomy.scan(scan(table(many).schema))._groups.keys() == groups.keys()


def test_parts_keep_the_spill_small_and_give_the_same(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By declared rows alone; not a byte is spilled where each part fits."""
    monkeypatch.setattr("privet.engines.duckdb.engine.secrets.randbits", lambda bits: 99)
    facts = table(many).schema
    with DuckDB({"t": table(many)}, memory_limit="2GB", threads=1) as roomy:
        whole = roomy.scan(scan(facts))._groups
    with DuckDB({"t": table(many, rows=10**6)}, memory_limit="40MB", threads=1) as engine:
        assert engine._parts_of(scan(facts)) == 4
        largest, over = [0], threading.Event()

        def watch() -> None:
            while not over.wait(0.002):
                sizes = [file.stat().st_size for file in Path(engine._spill).glob("*") if file.is_file()]
                largest[0] = max(largest[0], sum(sizes))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            assert engine.scan(scan(facts))._groups == whole
        finally:
            over.set()
            watching.join()
    assert largest[0] < 10 * 2**20


def test_the_folder_goes_away_after_a_failure_too(many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = DuckDB({"t": table(many)}, memory_limit="16MB", threads=1)
    folder = engine._spill
    with pytest.raises(EngineError) as caught:
        engine._fetch("SELECT list(a.range) FROM range(50000000) a")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    engine.close()
    assert not os.path.exists(folder)
    with pytest.raises(RequestError):
        DuckDB({"t": table(many.with_name("none.parquet"))})
    assert os.listdir(tmp_path) == []


def test_several_scans_share_the_limit(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.engines.duckdb.engine.secrets.randbits", lambda bits: 99)
    facts = table(many).schema
    with DuckDB({"t": table(many)}, memory_limit="200MB", threads=2, scans=3, parts=4) as engine:
        with ThreadPoolExecutor(3) as threads:
            found = [one.result() for one in [threads.submit(engine.scan, scan(facts)) for _ in range(3)]]
        assert found[0]._groups == found[1]._groups == found[2]._groups
        assert len(found[0]._groups) == 51


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limit",
    [
        "1MB",
        "15.999MB",
        "0GB",
        "1KB",
        "none",
        "null",
        "unlimited",
        "",
        "4",
        "4GBs",
        "80%",
        "4 GB",
        "-1GB",
        "1e9MB",
        "99999999999999GB",
        None,
        4,
        4.0,
        True,
        b"4GB",
        "4GB; SET x",
        "4GB\n",
    ],
)
def test_a_limit_that_is_too_small_or_none_is_refused_by_name(many: Path, limit: object) -> None:
    with pytest.raises(BadParameter, match="memory_limit"):
        DuckDB({"t": table(many)}, memory_limit=limit)  # type: ignore[arg-type]


def test_sizes_are_those_of_the_engine() -> None:
    for text in ("16MB", "512MB", "1.5GiB", "2GB", "3gb", "20000KB", "1TB", "0.5GiB", "999.999MiB"):
        with duckdb.connect(config={"memory_limit": text}) as made:
            shown = made.execute("SELECT current_setting('memory_limit')").fetchone()[0]
        number, unit = shown.split()
        size = float(number) * 1024 ** {"KiB": 1, "MiB": 2, "GiB": 3}[unit]
        assert read_memory_limit(text) == pytest.approx(size, rel=0.06)  # the engine shows one digit
    assert read_memory_limit("16MB") == LEAST_MEMORY
    assert read_memory_limit("4GiB") == 4 * 2**30


def test_the_least_limit_is_enough_for_a_small_table(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    with duckdb.connect() as made:
        made.execute(f"COPY (SELECT i AS who, 'u' AS city, 1.0 AS pay FROM range(1000) t(i)) TO '{file}'")
    with DuckDB({"t": table(file)}, memory_limit="16MB", threads=2) as engine:
        assert engine.scan(scan(table(file).schema))._groups[("u",)][0] == 1000 * 2**10


@pytest.mark.parametrize("parts", [0, -1, 1025, 1.5, "2", True])
def test_a_number_of_parts_that_is_none_is_refused(many: Path, parts: object) -> None:
    with pytest.raises(RequestError, match="parts"):
        DuckDB({"t": table(many)}, parts=parts)  # type: ignore[arg-type]


def session(source: Path, **engine: object) -> privet.Session:
    held = {"t": table(source)}
    budget = privet.Approximate(epsilon=10, delta=1e-6)
    return privet.Session(held, budget=budget, engine=DuckDB(held, threads=1, **engine))  # type: ignore[arg-type]


def test_without_a_folder_to_spill_to_nothing_opens(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(many.with_name("gone")))
    with pytest.raises(RequestError, match="TMPDIR") as caught:
        DuckDB({"t": table(many)})
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_folder_that_is_gone_is_noticed_before_the_charge(many: Path) -> None:
    asking = session(many)
    shutil.rmtree(asking._executor.engine._spill)
    before = asking.remaining().amount
    with pytest.raises(RequestError, match="TMPDIR"):
        asking.ask(ASKED, epsilon=1)
    assert asking.remaining().amount == before
    asking.close()


def test_a_scan_that_needs_more_than_there_is_leaves_the_charge_and_quotes_no_row(many: Path) -> None:
    """Rows may have been read: whether a scan runs out of memory is an output, and stays charged."""
    asking = session(many, memory_limit="16MB")
    before = asking.remaining().amount
    with pytest.raises(EngineError) as caught:
        asking.ask(
            "SELECT city, COUNT(*) AS n FROM (SELECT who, city, pay, ROW_NUMBER() OVER (PARTITION BY who ORDER BY pay) "
            "AS i FROM t) WHERE i > 1 GROUP BY city",
            epsilon=1,
        )
    assert SECRET not in str(caught.value)
    assert str(caught.value) == str(EngineError())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert asking.remaining().amount < before
    asking.close()


FULL = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_memory_limits as tests
from privet.core.errors import EngineError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
asking = tests.session(Path(sys.argv[1]), memory_limit="30MB", parts=1)
before = asking.remaining().amount
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))  # no file may grow any further
try:
    asking.ask(tests.ASKED, epsilon=1)
except EngineError as error:
    assert str(error) == str(EngineError()) and error.__cause__ is None and error.__context__ is None
    assert asking.remaining().amount < before
    print("one message, charged")
"""


def test_a_folder_that_is_full_fails_with_one_message_and_leaves_the_charge(many: Path) -> None:
    assert resource.RLIMIT_FSIZE is not None
    command = [sys.executable, "-c", FULL, str(many), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "one message, charged"), done.stderr[-2000:]
    assert SECRET not in done.stderr
