"""Made-up respondents with known answers, to try a survey before anyone is asked.

A folder is either simulated or real: neither takes the other's reports.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privet import noise
from privet.core.durable_files import replace_file
from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.given import instance
from privet.core.numbers import Number, probability, whole

from .questionnaire import VERSION
from .survey_folder import SIMULATION, SurveyFolder

_MOST_PEOPLE = 10**6


def simulate(
    collected: SurveyFolder, people: int, shares: Mapping[str, Number], question: str | None = None
) -> dict[str, int]:
    """Let made-up people answer a question, and return the number of people for each answer.

    Args:
        collected: the folder of a survey without real reports. People who were made up for another question answer
            this one as well.
        people: the number of people.
        shares: the share of each answer; those left out have none, and all must sum to 1.
        question: the question's name, where there are several.

    Raises:
        RequestError: if the folder has real reports, or the question was answered already.

    Example:
        >>> import tempfile
        >>> asked = survey.SurveyQuestion("flu", "Did you have the flu?", ["no", "yes"], epsilon=1)
        >>> folder = survey.SurveyFolder.create(tempfile.mkdtemp() + "/flu", survey.Survey("health", [asked]))
        >>> survey.simulate(folder, 100, {"yes": 0.3, "no": 0.7})
        {'no': 70, 'yes': 30}
    """
    instance(collected, SurveyFolder, "collected", "the folder of a survey")
    size = whole(people, "people", least=1, most=_MOST_PEOPLE)
    asked = collected.survey.question(question)
    counts = _counts(size, shares, asked.answers)
    simulation = _told(collected)
    if collected.reports[asked.name]:
        raise RequestError(f"the question {asked.name!r} was answered already; make another folder to simulate again")
    known: list[str] = simulation["people"]
    known += [secrets.token_hex(16) for _ in range(size - len(known))]
    simulation["truth"][asked.name] = counts
    replace_file(collected.folder / SIMULATION, json.dumps(simulation).encode())
    answers = [answer for answer, count in counts.items() for _ in range(count)]
    order = noise.uniform_below(2**62, size).argsort()  # so that answers to several questions are independent
    reports = collected.survey.oracles[asked.name].client.reports([answers[place] for place in order])
    head = {"privet_survey": VERSION, "survey": collected.survey.digest, "question": asked.name}
    collected.add_all(
        json.dumps({**head, "respondent": person, "report": json.loads(report.to_json())})
        for person, report in zip(known[:size], reports, strict=True)
    )
    return counts


def _told(collected: SurveyFolder) -> dict[str, Any]:
    truth = collected.truth
    if truth is None:
        if any(collected.reports.values()):
            raise RequestError("this folder has reports of real people; simulate in another")
        return {"privet_simulation": VERSION, "people": [], "truth": {}}
    try:
        simulation: dict[str, Any] = json.loads((collected.folder / SIMULATION).read_bytes())
    except (OSError, ValueError):
        raise_alone(RequestError(f"{str(collected.folder / SIMULATION)!r} is damaged; simulate in another folder"))
    return simulation


def _counts(people: int, shares: Mapping[str, Number], answers: tuple[str, ...]) -> dict[str, int]:
    """Return the number of people for each answer, the shares rounded so that the counts sum to all of them."""
    if not isinstance(shares, Mapping) or not all(type(name) is str for name in shares) or shares.keys() - set(answers):
        raise BadParameter("shares", shares, f"the share of each answer, among {', '.join(answers)}")
    wanted = [probability(shares.get(answer, 0), "shares") for answer in answers]
    total = sum(wanted, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):  # 0.33 and 0.67 as floats sum to nearly 1
        raise BadParameter("shares", dict(shares), "shares that sum to 1")
    exact = [share / total * people for share in wanted]
    counts = [int(number) for number in exact]
    largest = sorted(range(len(answers)), key=lambda place: counts[place] - exact[place])
    for place in largest[: people - sum(counts)]:
        counts[place] += 1
    return dict(zip(answers, counts, strict=True))
