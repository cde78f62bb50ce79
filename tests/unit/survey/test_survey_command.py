"""`privet survey` at the shell: registered by its package, from a question to a picture."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from privet import cli

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., Result]
NEW = ("new", "s", "--question", "Did you?", "--answer", "no", "--answer", "yes")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run `privet survey` in a folder of its own, as if the package had just been installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["privet.commands"]
    installed = tmp_path / "installed" / "surveying-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: surveying\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in project.items()]
    (installed / "entry_points.txt").write_text("\n".join(["[privet.commands]", *lines, ""]))
    monkeypatch.syspath_prepend(str(installed.parent))
    monkeypatch.chdir(tmp_path)

    def call(*words: str, typed: str = "") -> Result:
        return CliRunner().invoke(cli.main, ["survey", *words], input=typed)

    return call


def test_a_survey_from_a_question_to_an_estimate(run: Run, tmp_path: Path) -> None:
    assert "epsilon 1 a report" in run(*NEW, "--epsilon", "1").output
    for _ in range(3):
        responded = run("respond", "s", typed="2\n")
        assert responded.exit_code == 0, responded.output
    assert run("respond", "s", "--me", "me.json", typed="maybe\n7\nyes\n").exit_code == 0
    assert run("respond", "s", "--me", "me.json", "--out", "again.jsonl").exit_code == 0
    collected = run("collect", "s", "--reports", "again.jsonl", "--json")
    assert json.loads(collected.output) == {
        "accepted": 4,
        "rejected": {"repeated": 1},
        "respondents": 4,
        "reports": {"question": 4},
    }
    told = json.loads(run("estimate", "s", "--json").output)
    assert told["questions"]["question"]["reports"] == 4
    assert told["rejected"] == {"repeated": 1}
    shown = run("estimate", "s", "--covers", "population", "--delta", "1e-6").output
    assert "Rejected: 1 repeated." in shown
    assert "No one is trusted" in shown
    assert run("respond", "s", "--question", "nothing").exit_code == 2


def test_an_answer_is_in_no_file_and_no_output(run: Run, tmp_path: Path) -> None:
    run("new", "s", "--question", "Which?", "--answer", "aardvark", "--answer", "wombat", "--epsilon", "1")
    said = run("respond", "s", "--me", "me.json", typed="wombat\n")
    assert "wombat" not in said.stdout
    for path in [*tmp_path.glob("s/reports/*"), tmp_path / "me.json"]:
        assert b"wombat" not in path.read_bytes()
        assert b"aardvark" not in path.read_bytes()


def test_before_and_after_in_a_simulated_class(run: Run, tmp_path: Path) -> None:
    made = run("new", "c", "--question", "before=Did you?", "--question", "after=Did you?", "--answer", "no",
               "--answer", "yes", "--two-coins")  # fmt: skip
    assert "epsilon 2.197" in made.output
    for name, share in (("before", "0.1"), ("after", "0.9")):
        rest = f"no={1 - float(share):.1f}"
        said = run("simulate", "c", "--people", "2000", "--question", name, "--share", f"yes={share}", "--share", rest)
        assert said.exit_code == 0, said.output
    change = json.loads(run("estimate", "c", "--compare", "before", "after", "--json").output)
    assert change["same_people"]
    # a standard error of 0.055: nine of them to the truth of 0.8
    assert 0.3 < change["value"] < 1.3
    assert "same people" in run("estimate", "c", "--compare", "before", "after").output
    assert run("plot", "c", "--output", "c.png").exit_code == 0
    assert (tmp_path / "c.png").stat().st_size > 5000
    assert "made-up" in run("respond", "c", typed="1\n").output
    assert "made-up" in run("collect", "c").output
    assert run("estimate", "c", "--compare", "before", "before").exit_code == 2
    assert run("estimate", "c", "--compare", "before", "after", "--answer", "perhaps").exit_code == 2


def test_a_survey_is_read_from_toml(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'name = "From a file"\nepsilon = 2.5\n'
        '[[questions]]\nname = "a"\ntext = "A?"\nanswers = ["x", "y"]\nepsilon = 1\n'
        '[[questions]]\nname = "b"\ntext = "B?"\nanswers = ["x", "y"]\nmethod = "two coins"\n'
    )
    told = json.loads(run("new", "s", "--from", "s.toml", "--json").output)
    assert (told["name"], told["epsilon"]) == ("From a file", "5/2")
    assert [one["method"] for one in told["questions"]] == ["k-ary response", "two coins"]
    (tmp_path / "t.toml").write_text('[[questions]]\nname = "a"\nepsilom = 1\n')
    assert "epsilom" in run("new", "t", "--from", "t.toml").output
    (tmp_path / "t.toml").write_text("questions = 3")
    assert "not the TOML of a survey" in run("new", "t", "--from", "t.toml").output
    assert "not both" in run(*NEW[:2], "--from", "s.toml", "--epsilon", "1").output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (NEW, "either --epsilon or --two-coins"),
        ((*NEW, "--epsilon", "1", "--two-coins"), "either --epsilon or --two-coins"),
        ((*NEW[:6], "--epsilon", "1"), "two at least"),
        ((*NEW, "--two-coins", "--method", "optimized unary"), "leave out --method"),
        ((*NEW, "--epsilon", "0"), "epsilon"),
        ((*NEW, "--epsilon", "1", "--total", "0.5"), "--total must be at least 1"),
        (("collect", "nowhere"), "has no survey"),
        (("estimate", "nowhere"), "has no survey"),
        (("simulate", "nowhere", "--people", "3", "--share", "yes"), "ANSWER=SHARE"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(run: Run, words: tuple[str, ...], told: str) -> None:
    refused = run(*words)
    assert refused.exit_code == 2
    assert told in " ".join(refused.output.split())


def test_nothing_to_estimate_or_draw_is_told(run: Run) -> None:
    run(*NEW, "--epsilon", "1")
    assert "no report" in run("estimate", "s").output
    assert "no report" in run("plot", "s").output
