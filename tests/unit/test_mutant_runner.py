"""The runner of mutants tells apart what is killed, survives, is broken, is lost or hangs, and leaves src alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutants"))

import run as runner  # noqa: E402
from mutant import Mutant, of  # noqa: E402

SUM = """\
LIMIT = 3


def double(value: int) -> int:
    unused = value
    while value > 10:
        value -= 1
    return value + value
"""

TEST = """\
import random
import subprocess
import sys

from privet.core.doubled import LIMIT, double


def test_double():
    assert double(11) == 20


def test_limit_in_a_process_of_its_own():
    code = "from privet.core.doubled import LIMIT; print(LIMIT)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "3\\n"


def test_random_numbers_are_not_those_of_every_child(tmp_path):
    with open({seen!r}, "a") as file:
        print(random.random(), file=file)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runner, "PRELOADED", ["pytest"])
    package = tmp_path / "src" / "privet"
    for name in ("core", "accounting", "mechanisms", "noise"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "core" / "unit.py").write_text("from privet.core.doubled import double\n")
    (package / "core" / "doubled.py").write_text(SUM)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_double.py").write_text(TEST.format(seen=str(tmp_path / "seen")))
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nfilterwarnings = ['error']\n")
    return tmp_path


def mutants(old: str, new: str, qualname: str = "double") -> list[Mutant]:
    return of(f"core.doubled:{qualname}", "test_double.py", (old, new))


KILLED = mutants("value + value", "value")
IN_PROCESS = mutants("LIMIT = 3", "LIMIT = 4", "")
HANGS = mutants("value -= 1", "value += 1")
SURVIVES = mutants("unused = value", "unused = 0")
BROKEN = mutants("LIMIT = 3", "LIMIT = missing", "")
LOST = mutants("value * value", "value")
NOWHERE = of("core.absent:double", "test_double.py", ("value", "0"))


def test_killed_and_hanging_mutants_pass(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "TIMES", 0)
    assert runner.run([*KILLED, *IN_PROCESS, *HANGS], project, patience=4, workers=2) == 0
    told = capfd.readouterr().out
    assert "3 of 3 mutants killed in" in told
    assert "killed, as its tests hang: core.doubled:double" in told
    assert (project / "src" / "privet" / "core" / "doubled.py").read_text() == SUM
    assert list(project.glob("src/**/__pycache__")) == []


def test_a_mutant_that_survives_fails_the_run(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert runner.run([*KILLED, *SURVIVES], project, workers=1) == 1
    told = capfd.readouterr().out
    assert "SURVIVED: core.doubled:double\n  - unused = value\n  + unused = 0\n" in told
    assert "1 of 2 mutants killed in" in told


def test_mutants_that_are_broken_or_lost_fail_the_run(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert runner.run([*BROKEN, *LOST, *NOWHERE], project, workers=1) == 1
    told = capfd.readouterr().out
    assert "broken, as it does not import: core.doubled:\n" in told
    assert "lost, as its code occurs 0 times in double: core.doubled:double\n" in told
    assert "lost, as [Errno 2]" in told
    assert "0 of 3 mutants killed in" in told


def test_each_child_has_random_numbers_of_its_own(project: Path) -> None:
    assert runner.run([*SURVIVES, *SURVIVES], project, workers=1) == 1
    seen = (project / "seen").read_text().split()
    assert len(seen) == len(set(seen)) == 3


def test_tests_that_fail_without_a_mutant_fail_the_run(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "src" / "privet" / "core" / "doubled.py").write_text(SUM.replace("LIMIT = 3", "LIMIT = 4"))
    assert runner.run(KILLED, project, workers=1) == 2
    assert "tests/test_double.py fails without any mutant" in capfd.readouterr().out


def test_a_test_that_fails_once_without_a_mutant_is_tried_again(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flaky = f"""
from pathlib import Path

def test_fails_the_first_time():
    mark = Path({str(project / "mark")!r})
    known = mark.exists()
    mark.touch()
    assert known
"""
    with open(project / "tests" / "test_double.py", "a") as file:
        file.write(flaky)
    assert runner.run([*KILLED, *IN_PROCESS], project, workers=2) == 0
    shown = capfd.readouterr().out
    assert shown.count("tests/test_double.py fails without any mutant; it is tried once more") == 1
    assert "2 of 2 mutants killed in" in shown


def test_a_test_that_fails_without_a_mutant_leaves_out_only_the_mutants_that_need_it(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "tests" / "test_sick.py").write_text("def test_sick():\n    assert False\n")
    edit = ("value + value", "value")
    alone = of("core.doubled:double", "test_sick.py", edit)
    beside = of("core.doubled:double", "test_sick.py test_double.py", edit, ("unused = value", "unused = 0"))
    assert runner.run([*alone, *beside, *KILLED], project, workers=2) == 2
    shown = capfd.readouterr().out
    assert shown.count("tests/test_sick.py fails without any mutant; mend it first") == 1
    assert "2 of 4 mutants were NOT RUN, as tests/test_sick.py fails without any" in shown
    assert "2 of 2 mutants killed in" in shown
    assert "SURVIVED" not in shown


def seen(project: Path) -> int:
    """Return how often the third of the tests ran, which kills nothing."""
    return len((project / "seen").read_text().split())


def test_the_test_that_killed_a_mutant_runs_alone_the_next_time(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "TIMES", 0)
    chosen = [*KILLED, *IN_PROCESS, *HANGS]
    assert runner.run(chosen, project, patience=4, workers=1) == 0
    kept = json.loads((project / runner.REMEMBERED).read_text())
    assert sorted(kept.values()) == [
        "tests/test_double.py::test_double",
        "tests/test_double.py::test_double",
        "tests/test_double.py::test_limit_in_a_process_of_its_own",
    ]
    before = seen(project)
    assert runner.run(chosen, project, patience=8, workers=1) == 0
    assert seen(project) == before
    assert "killed, as its tests hang: core.doubled:double" in capfd.readouterr().out


def test_killing_tests_of_other_machines_are_kept_in_the_repository(project: Path) -> None:
    chosen = [*KILLED, *IN_PROCESS]
    assert runner.run(chosen, project, workers=1) == 0
    before, kept = seen(project), project / runner.COMMITTED
    kept.parent.mkdir(parents=True, exist_ok=True)
    killers = runner.Killers.read(project)
    killers.keep(kept, KILLED)
    assert json.loads(kept.read_text()) == {runner._key(mutant): killers.test(mutant) for mutant in KILLED}
    killers.keep(kept, chosen)
    (project / runner.REMEMBERED).unlink()
    assert runner.run(chosen, project, workers=1) == 0
    assert seen(project) == before


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "gone", "passes", "elsewhere"])
def test_what_is_remembered_changes_no_verdict(text: str, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = {"gone": "double.py::test_gone", "passes": "double.py::test_passes", "elsewhere": "sick.py::test_sick"}
    if text in names:
        (project / "tests" / "test_sick.py").write_text("def test_sick():\n    assert False\n")
        with open(project / "tests" / "test_double.py", "a") as file:
            file.write("\n\ndef test_passes():\n    assert True\n")
        text = json.dumps({runner._key(mutant): f"tests/test_{names[text]}" for mutant in (*KILLED, *SURVIVES)})
    file = project / runner.REMEMBERED
    file.parent.mkdir()
    file.write_text(text)
    assert runner.run([*KILLED, *SURVIVES], project, workers=1) == 1
    assert "1 of 2 mutants killed in" in capfd.readouterr().out


def test_each_mutant_has_a_folder_of_its_own_for_temporary_files(project: Path) -> None:
    named = project / "named"
    with open(project / "tests" / "test_double.py", "a") as file:
        file.write(
            f"\n\ndef test_folder():\n    import tempfile\n\n    with open({str(named)!r}, 'a') as file:\n"
            "        print(tempfile.gettempdir(), file=file)\n"
        )
    assert runner.run([*IN_PROCESS, *SURVIVES], project, workers=1) == 1
    folders = set(named.read_text().split())
    assert len(folders) >= 2
    assert tempfile.gettempdir() not in folders
    assert not any(Path(folder).exists() for folder in folders)


def test_mutants_left_out_for_time_are_counted_and_told(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert runner.run([*SURVIVES, *KILLED], project, minutes=-1, workers=1) == 0
    assert "2 of 2 mutants were NOT RUN, as the -1 minutes were up\n0 of 0" in capfd.readouterr().out


def test_what_changed_is_found_with_and_without_a_base(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def git(*command: str) -> None:
        named = {f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run(["git", *command], cwd=project, check=True, capture_output=True, env={**os.environ, **named})

    monkeypatch.setattr(runner, "ROOT", project)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))
    assert runner.changed(None) is None
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "First")
    assert runner.changed(None) is None  # no parent
    assert runner.changed("nonsense") is None
    file = project / "src" / "privet" / "core" / "doubled.py"
    file.write_text(SUM + "\n")
    git("commit", "-qam", "Second")
    assert runner.changed(None) == {"core.doubled"}
    (project / "src" / "privet" / "core" / "new.py").write_text("")
    (project / "src" / "privet" / "noise" / "__init__.py").write_text("pass\n")
    assert runner.changed(None) == {"core.doubled", "core.new", "noise"}
    assert runner.changed("HEAD") == {"core.new", "noise"}
    git("tag", "v1")
    git("commit", "-qam", "Third")
    assert runner.find_base() == "v1"
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert runner.find_base() == "v1"  # origin/main is HEAD itself
    git("update-ref", "refs/remotes/origin/main", "HEAD~2")
    assert runner.changed(None) == {"core.doubled", "core.new", "noise"}


@pytest.mark.parametrize(("many", "status"), [(1, 1), (runner.WIDE, 1), (runner.WIDE + 1, 0), (None, 0)])
def test_a_sample_of_a_wide_change_is_a_report(
    many: int | None, status: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    modules = None if many is None else {f"module{number}" for number in range(many)}
    monkeypatch.setattr(runner, "changed", lambda base: modules)
    monkeypatch.setattr(runner, "run", lambda mutants, **options: 1)
    assert runner.main(["--changed"]) == status
    assert ("this is a report" in capfd.readouterr().out) == (status == 0)
    assert runner.main([]) == 1


def test_mutants_are_chosen_by_a_part_of_their_addresses(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(runner, "run", lambda mutants, **options: ran.append([one.address for one in mutants]) or 0)
    address = runner.MUTANTS[0].address
    assert runner.main([address]) == 0
    assert ran[0]
    assert all(address in one for one in ran[0])
    assert runner.main(["no.such:Thing"]) == 2
    assert "no.such:Thing" in capfd.readouterr().out
    assert len(ran) == 1
