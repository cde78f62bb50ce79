"""What the how-to pages show for other programs works with Privet: the DAG of Airflow, the image and command of Docker.

Neither program is needed: the DAG runs with a stand-in that takes what Airflow's decorators take, and of a container
the command is run in a folder that holds what the page mounts, and nothing else.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

import privet
from privet import cli
from privet.demo.hospital import make_hospital

sys.path.insert(0, str(Path(__file__).parent))

from reading_pages import code_of, read_blocks

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW, DOCKER = (ROOT / "docs" / "how-to" / f"{name}.md" for name in ("airflow", "docker"))
RUN_ID = "scheduled__2025-12-01T00:00:00+00:00"


def block(page: Path, label: str) -> str:
    (found,) = (one.text for one in read_blocks(page.read_text(encoding="utf-8")) if one.label == label)
    return found


class Schedule:
    """A stand-in for Airflow: keeps the tasks that a DAG lists, and runs each with the id of a run."""

    def __init__(self) -> None:
        self.tasks: list[tuple[int, Callable[..., None]]] = []
        self.flows = 0

    def module(self) -> ModuleType:
        made: Any = ModuleType("airflow.decorators")

        def dag(*, schedule: str, start_date: datetime, catchup: bool) -> Callable[[Callable[[], None]], Any]:
            assert (schedule, catchup) == ("@monthly", False)
            assert start_date < datetime.now()

            def flow(function: Callable[[], None]) -> Callable[[], None]:
                def listed() -> None:
                    self.flows += 1
                    function()

                return listed

            return flow

        def task(*, retries: int) -> Callable[[Callable[..., None]], Callable[[], None]]:
            return lambda function: lambda: self.tasks.append((retries, function))

        made.dag, made.task = dag, task
        return made  # type: ignore[no-any-return]

    def run(self, run_id: str) -> None:
        """Run each task as if it were killed and tried again each time: Airflow gives it the id of its run by name."""
        for retries, function in self.tasks:
            for _ in range(1 + retries):
                function(run_id=run_id)


def test_the_dag_of_the_page_asks_once_for_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page: Any = ModuleType("page_with_a_dag")
    exec(code_of(AIRFLOW.read_text(encoding="utf-8")), vars(page))
    report = page.monthly_report
    with privet.open("hospital/privet.toml") as session:
        charged = len(session.history())
    asked: list[tuple[str, str, str]] = []

    def with_folders_of_the_test(config: str, run_id: str, target: str) -> None:
        asked.append((config, run_id, target))
        report(config.replace("/srv/privet", "hospital"), run_id, target.replace("/srv/reports", "."))

    airflow = Schedule()
    monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.decorators", airflow.module())
    page.monthly_report = with_folders_of_the_test
    exec(block(AIRFLOW, "text"), vars(page))
    assert (airflow.flows, len(airflow.tasks)) == (1, 1)
    for run_id in (RUN_ID, RUN_ID.replace("12-01", "11-01")):
        airflow.run(run_id)
    assert {run_id for _, run_id, _ in asked} == {RUN_ID, RUN_ID.replace("12-01", "11-01")}
    assert len(asked) == 8
    with privet.open("hospital/privet.toml") as session:
        # the question and the data are those of the page's own run, so that no run is charged again
        assert len(session.history()) == charged
    told = json.loads(Path(f"{RUN_ID}.json").read_text(encoding="utf-8"))
    assert told["rows"] == json.loads(Path("report.json").read_text(encoding="utf-8"))["rows"]


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, list(arguments), env={"COLUMNS": "80"})


def test_the_command_for_cron_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_hospital(tmp_path)
    (line,) = re.findall(r"for cron: `(privet [^`]*)`", AIRFLOW.read_text(encoding="utf-8"))
    command, target = line.replace("$(date +%Y-%m)", "2025-12").split(" > ")
    Path("report.sql").write_text("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", encoding="utf-8")
    first, again = (ask(*shlex.split(command)[1:]) for _ in range(2))
    assert (first.exit_code, again.exit_code, target) == (0, 0, "report.json")
    assert (json.loads(first.stdout)["charged"], json.loads(again.stdout)["charged"]) == (True, False)


def run_of_docker() -> tuple[dict[str, str], list[str], list[str]]:
    """Return the folders that the page mounts, by where they are mounted, its other options, and Privet's arguments."""
    lines = block(DOCKER, "sh").replace("\\\n", " ").splitlines()
    assert [shlex.split(line)[0] for line in lines] == ["make", "docker", "docker"]
    build, words = shlex.split(lines[1]), shlex.split(lines[2])
    assert build[:4] == ["docker", "build", "--tag", "privet"]
    image = words.index("privet", 2)
    options, mounted = words[2:image], dict[str, str]()
    while "--volume" in options:
        place = options.index("--volume")
        outside, inside, *mode = options[place + 1].split(":")
        mounted[inside] = ":".join((outside, *mode))
        del options[place : place + 2]
    return mounted, options, words[image + 1 :]


def test_the_command_of_the_container_needs_no_more_than_what_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted, options, arguments = run_of_docker()
    assert options == ["--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp"]
    home = Path("/srv/privet")
    assert mounted == {
        "/srv/privet/data": "$PWD/data:ro",
        "/srv/privet/privet.toml": "$PWD/privet.toml:ro",
        "/srv/privet/ledger": "privet-ledger",
    }
    (tmp_path / "data").mkdir()
    made = make_hospital(tmp_path / "data")
    declared = re.sub(r'"(\w+\.parquet)"', r'"data/\1"', made.read_text(encoding="utf-8"))
    assert declared.count("data/") >= 1
    made.unlink()
    (ledger,) = re.findall(r'path = "(ledger/[\w.]+)"', DOCKER.read_text(encoding="utf-8"))
    assert str(home / Path(ledger).parent) in mounted
    (tmp_path / "privet.toml").write_text(f'{declared}\n[ledger]\npath = "{ledger}"\n', encoding="utf-8")
    (tmp_path / "ledger").mkdir(mode=0o700)
    before = {path: path.stat().st_mtime_ns for path in outside_of_the_ledger(tmp_path)}
    monkeypatch.chdir(tmp_path)
    answered = ask(*arguments)
    assert answered.exit_code == 0, answered.output
    assert "births" in answered.output
    assert (tmp_path / ledger).exists()
    assert {path: path.stat().st_mtime_ns for path in outside_of_the_ledger(tmp_path)} == before


def outside_of_the_ledger(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if "ledger" not in path.relative_to(folder).parts]


def test_the_image_is_made_of_the_wheel_and_has_a_ledger_of_its_own_user() -> None:
    lines = [line.split(maxsplit=1) for line in block(DOCKER, "dockerfile").splitlines()]
    by_word = {word: [rest for other, rest in lines if other == word] for word, _ in lines}
    assert set(by_word) == {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (entry,) = json.loads(by_word["ENTRYPOINT"][0])
    assert entry in project["scripts"]
    least = tuple(map(int, project["requires-python"].removeprefix(">=").split(".")))
    (version,) = re.findall(r"^python:(\d+)\.(\d+)-slim$", by_word["FROM"][0])
    assert tuple(map(int, version)) >= least
    source, folder = by_word["COPY"][0].split()
    assert source == f"dist/{project['name']}-*.whl"  # where `make wheel` leaves it
    assert f"pip install --no-cache-dir {folder}privet-*.whl" in by_word["RUN"][1]
    (user,) = by_word["USER"]
    assert re.search(rf"useradd .*\b{user}\b", by_word["RUN"][0])
    # a new volume takes its owner and its mode from the folder of the image that it is mounted on
    owned = f"install --directory --owner {user} --mode 700 {by_word['WORKDIR'][0]}/ledger"
    assert owned in by_word["RUN"][0]
    assert by_word["WORKDIR"][0] + "/ledger" in run_of_docker()[0]
