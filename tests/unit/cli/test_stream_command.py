"""`privet stream` at the shell: registered by its package, and each refusal with its exit status."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from privet import cli
from privet.core.budget import Approximate
from privet.ledger.sqlite import SqliteLedger

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run `privet stream` on a ledger of its own, as if the package had just been installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["privet.commands"]
    installed = tmp_path / "installed" / "streaming-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: streaming\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in project.items()]
    (installed / "entry_points.txt").write_text("\n".join(["[privet.commands]", *lines, ""]))
    monkeypatch.syspath_prepend(str(installed.parent))
    SqliteLedger(tmp_path / "ledger", Approximate(epsilon=10**6, delta=Fraction(1, 10**6))).close()

    def call(name: str, folder: str, *words: str) -> Result:
        arguments = ["stream", name, str(tmp_path / folder), "--ledger", str(tmp_path / "ledger"), *words]
        return CliRunner().invoke(cli.main, arguments)

    yield call
    assert "privet.stream.command" in sys.modules


def test_a_stream_is_opened_stepped_shown_and_verified(run: Run, tmp_path: Path) -> None:
    opened = run("open", "s", "--horizon", "10", "--epsilon", "100000")
    assert opened.exit_code == 0, opened.output
    assert "10 steps, by tree" in opened.output
    assert run("step", "s", "5").output.startswith("step 1: 5 [4.5, 5.5]")
    assert json.loads(run("step", "s", "2", "--number", "2", "--json").output)["value"] == 7
    assert json.loads(run("show", "s", "--at", "1", "--json").output)["value"] == 5
    assert run("show", "s", "--plot", str(tmp_path / "p.png")).exit_code == 0
    assert (tmp_path / "p.png").stat().st_size > 1000
    assert run("verify", "s").output == "Intact: 2 of 10 steps released.\n"
    assert json.loads(run("verify", "s", "--json").output) == {"steps": 2, "horizon": 10, "intact": True}


def test_rows_of_people_come_from_a_file(run: Run, tmp_path: Path) -> None:
    options = ["--group", "A", "--group", "B", "--rows-per-person", "1", "--high", "9", "--grid", "1/2"]
    assert run("open", "s", "--horizon", "10", "--epsilon", "100000", *options).exit_code == 0
    (tmp_path / "rows.csv").write_text("person,group,value\np,A,2.5\np,A,9\nq,B,x\nr,B,100\n,A,1\n")
    told = json.loads(run("step", "s", "--rows", str(tmp_path / "rows.csv"), "--json").output)
    assert {name: one["value"] for name, one in told["groups"].items()} == {"A": 2.5, "B": 9}
    (tmp_path / "other.csv").write_text("secret,group\n1,A\n")
    wrong = run("step", "s", "--rows", str(tmp_path / "other.csv"))
    assert wrong.exit_code == 2
    assert "heading" in wrong.output


def test_a_clock_is_given_as_a_start_and_a_length(run: Run) -> None:
    assert run("open", "s", "--horizon", "5", "--epsilon", "100000", "--start", "2026-01-01T00:00:00Z").exit_code == 2
    clock = ["--start", "2026-01-01T00:00:00Z", "--every", "1d"]
    assert run("open", "s", "--horizon", "5", "--epsilon", "100000", *clock).exit_code == 0
    assert run("step", "s", "4", "--at", "2026-01-03T12:00:00Z").output.startswith("step 3: 4")
    assert run("step", "s", "4", "--at", "2026-01-02T12:00:00Z").exit_code == 2


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["step", "s"], 2, "whole number"),
        (["step", "s", "x"], 2, "whole number"),
        (["step", "s", "1", "2"], 2, "whole number"),
        (["step", "s", "1", "--number", "7"], 2, "out of order"),
        (["step", "s", "1", "--at", "2026-01-02T12:00:00Z"], 2, "no clock"),
        (["step", "s", "1", "--at", "now"], 2, "not a time"),
        (["show", "s"], 2, "no steps yet"),
        (["show", "s", "--at", "3"], 2, "no steps yet"),
        (["verify", "none"], 5, "there is no stream"),
        (["open", "s", "--horizon", "5", "--epsilon", "1"], 5, "already"),
        (["open", "t", "--horizon", "5", "--epsilon", "10000000"], 3, "budget"),
        (["open", "t", "--horizon", "5"], 2, "epsilon or rho"),
        (["open", "t", "--horizon", "0", "--epsilon", "1"], 2, "horizon"),
        (["open", "t", "--horizon", "5", "--epsilon", "one"], 2, "not a number"),
        (["open", "t", "--horizon", "5", "--epsilon", "1", "--every", "2 days"], 2, "not a length"),
    ],
)
def test_what_cannot_be_done_is_told(run: Run, words: list[str], status: int, told: str, tmp_path: Path) -> None:
    assert run("open", "s", "--horizon", "5", "--epsilon", "1").exit_code == 0
    result = run(*words)
    assert result.exit_code == status, result.output
    assert told in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not (tmp_path / "t").exists()


def test_every_command_that_the_project_registers_can_be_loaded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][cli.GROUP]
    for name, place in project.items():
        module, _, attribute = place.partition(":")
        assert name not in cli.COMMANDS
        __import__(module)
        assert getattr(sys.modules[module], attribute).name == name
