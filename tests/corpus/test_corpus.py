"""The corpus: no answer differs from plain DuckDB, nothing that was answered is refused, nothing is removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus.corpus import Outcome, Worlds, files, judge, read_file, read_questions
from corpus.run import read_answered

KEPT = read_answered()


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    with Worlds() as opened:
        yield opened


def outcomes(path: Path, worlds: Worlds) -> list[Outcome]:
    return [judge(question, worlds[question.world]) for question in read_file(path)]


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_question_of_the_corpus_is_wrong_and_what_was_answered_stays_answered(path: Path, worlds: Worlds) -> None:
    found = outcomes(path, worlds)
    wrong = [f"{one.question.key}: {one.message}" for one in found if one.verdict == "wrong"]
    lost = [
        f"{one.question.key}: {one.message}" for one in found if one.question.key in KEPT and one.verdict == "refused"
    ]
    assert not wrong
    assert not lost


def test_nothing_is_removed_from_the_corpus() -> None:
    assert not KEPT - {question.key for question in read_questions()}


def test_each_item_and_each_source_has_at_least_twelve_questions() -> None:
    numbers = [path.name[:2] for path in files() if path.parent.name == "items"]
    assert numbers == [f"{number:02d}" for number in range(1, 16)]
    assert not [path.stem for path in files() if len(read_file(path)) < 12]
