"""The corpus: no answer differs from plain DuckDB, nine of ten are answered and stay so, nothing is removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from corpus.corpus import Outcome, Worlds, files, judge, read_file, read_questions
from corpus.run import ANSWERED, ASKED, read_list

KEPT = read_list(ANSWERED)


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Callable[[Path], list[Outcome]]]:
    """What becomes of the questions of a file, asked once."""
    with Worlds() as worlds:
        yield cache(lambda path: [judge(question, worlds[question.world]) for question in read_file(path)])


def told(found: list[Outcome]) -> list[str]:
    return [f"{one.question.key}: {one.message}" for one in found]


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_question_of_the_corpus_is_wrong_and_what_was_answered_stays_answered(
    path: Path, outcomes: Callable[[Path], list[Outcome]]
) -> None:
    found = outcomes(path)
    assert not told([one for one in found if one.verdict == "wrong"])
    assert not told([one for one in found if one.verdict == "refused" and one.question.key in KEPT])


def test_nine_of_ten_questions_that_can_be_answered_are_answered_as_they_stand(
    outcomes: Callable[[Path], list[Outcome]],
) -> None:
    found = [one for path in files() for one in outcomes(path)]
    answered = sum(one.verdict == "answered" for one in found)
    assert answered >= 0.9 * (answered + sum(one.verdict in {"refused", "wrong"} for one in found))


def test_nothing_is_removed_from_the_corpus() -> None:
    assert not (KEPT | read_list(ASKED)) - {question.key for question in read_questions()}


def test_each_item_and_each_source_has_at_least_twelve_questions() -> None:
    numbers = [path.name[:2] for path in files() if path.parent.name == "items"]
    assert numbers == [f"{number:02d}" for number in range(1, 16)]
    assert len([path for path in files() if path.parent.name == "sources"]) >= 12
    assert not [path.stem for path in files() if len(read_file(path)) < 12]
