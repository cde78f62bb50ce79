"""`privet choose` and `privet above`: a choice and a sparse vector on the command line, charged once and continued."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from privet.cli import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

COUNT = "SELECT COUNT(*) FROM visits WHERE age >= :option"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_visits(tmp_path)
    return tmp_path / "privet.toml"


def run(config: Path, *words: str) -> Any:
    return CliRunner().invoke(main, [*words, "--analyst=ana", f"--config={config}"])


def test_an_option_is_chosen_for_one_charge(config: Path) -> None:
    words = ("choose", COUNT, "--option=18", "--option=65", "--epsilon=0.2")
    first = json.loads(run(config, *words, "--json").output)
    again = json.loads(run(config, *words, "--json").output)
    assert first["chosen"] in (18, 65)
    assert (first["charged"], again["charged"]) == (True, False)
    assert again["chosen"] == first["chosen"]
    shown = run(config, *words)
    assert shown.exit_code == 0
    assert f"paid for in entry {first['entry']}" in shown.output


def test_a_vector_is_opened_once_and_continued(config: Path) -> None:
    vector = ("--limit=1", "--epsilon=0.5")
    first = json.loads(run(config, "above", "100000", "SELECT COUNT(*) FROM visits", *vector, "--json").output)
    assert (first["above"], first["charged"], first["asked"]) == (False, True, 1)  # 100,000 away at epsilon 0.5
    second = json.loads(
        run(config, "above", "100000", "SELECT COUNT(*) FROM visits WHERE age > 5", *vector, "--json").output
    )
    assert (second["charged"], second["asked"], second["entry"]) == (False, 2, first["entry"])
    shown = run(config, "above", "100000", "SELECT COUNT(*) FROM visits", *vector)
    assert shown.exit_code == 0
    assert "below" in shown.output
    assert "nothing more" in shown.output


def test_a_plan_shows_what_a_choice_or_a_vector_would_cost_and_charges_nothing(config: Path) -> None:
    choice = ("choose", COUNT, "--option=18", "--option=65", "--epsilon=0.1")
    vector = ("above", "1", "SELECT COUNT(*) FROM visits", "--limit=1", "--epsilon=0.5")
    for words, told in ((choice, "permute-and-flip"), (vector, "Answers for each question")):
        shown = run(config, *words, "--plan")
        assert shown.exit_code == 0
        assert told in shown.output
        assert "fits what is left of the budget" in shown.output
    assert not (config.parent / "privet.ledger").exists()
    assert "fits" in json.loads(run(config, *vector, "--plan", "--json").output)
    too_far = run(config, "above", "5", "SELECT SUM(age) FROM visits", "--limit=1", "--plan")
    assert "can move this question by" in too_far.output
    run(config, *choice)
    assert "asking again is free" in run(config, *choice, "--plan").output
    opened = ("above", "100000", "SELECT COUNT(*) FROM visits", "--limit=1", "--epsilon=0.3")
    run(config, *opened)
    assert "its questions cost nothing more" in " ".join(run(config, *opened, "--plan").output.split())
    run(config, *vector)
    assert "and closed; another one needs" in " ".join(run(config, *vector, "--plan").output.split())


@pytest.mark.parametrize(
    "words",
    [
        ("choose", COUNT, "--option=18"),
        ("choose", COUNT, "--option=18", "--option=18"),
        ("choose", "SELECT AVG(age) FROM visits WHERE age > :option", "--option=1", "--option=2"),
        ("above", "5", "SELECT SUM(age) FROM visits", "--limit=1"),
        ("above", "5", "SELECT COUNT(*) FROM visits", "--limit=0"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_asked_is_refused_in_words(words: tuple[str, ...], config: Path) -> None:
    refused = run(config, *words)
    assert refused.exit_code != 0
    assert "Traceback" not in refused.output
    assert len(refused.output) > 20
