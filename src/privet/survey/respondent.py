"""One person's side of a survey: draws each report once, keeps it, and sends the same bytes again.

Answers are never kept: only the randomised reports are, with a random identifier of the respondent.
"""

from __future__ import annotations

import json
import re
import secrets
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from privet.core import given
from privet.core.durable_files import locked, replace_file
from privet.core.errors import RequestError, raise_alone

from .questionnaire import VERSION, Survey, cost_of

RESPONDENT = re.compile("[0-9a-f]{32}")
_LARGEST = 2**22


class Respondent:
    """Answers the questions of a survey, each once.

    Args:
        survey: the survey.
        path: the file that keeps sent reports, made if there is none; kept in memory alone if left out. A person who
            loses it and answers again spends epsilon again.

    Raises:
        RequestError: if the file is of another survey, or not whole.

    Example:
        >>> question = survey.SurveyQuestion("flu", "Did you have the flu?", ["no", "yes"], epsilon=1)
        >>> health = survey.Survey("health", [question])
        >>> person = survey.Respondent(health)
        >>> person.respond("yes") == person.respond("no")
        True

    Guarantee: a report is drawn once for each question, made durable before it leaves, and sent again as the same
    bytes, whatever the answer is then; reports cost no more together than the survey states.
    """

    def __init__(self, survey: Survey, path: str | PathLike[str] | None = None) -> None:
        self.survey: Survey = given.instance(survey, Survey, "survey", "a survey")
        self._path = None if path is None else Path(given.path(path, "path", "a file, or None"))
        self._kept: dict[str, Any] = {
            "privet_respondent": VERSION,
            "survey": survey.digest,
            "respondent": secrets.token_hex(16),
            "sent": {},
        }
        if self._path is not None and self._path.exists():
            self._read()

    @property
    def sent(self) -> Fraction:
        """The epsilon of all that was sent."""
        return sum((cost_of(self.survey.oracles[name]) for name in self._kept["sent"]), Fraction(0))

    @property
    def answered(self) -> tuple[str, ...]:
        """The names of the questions that were answered."""
        return tuple(self._kept["sent"])

    def respond(self, answer: str, question: str | None = None) -> str:
        """Return what to send, as one line of JSON; if the question was answered before, the same as then.

        Args:
            answer: one of the question's answers.
            question: the question's name, where there are several.

        Raises:
            RequestError: if one more report would cost more than the survey states.
        """
        name = self.survey.question(question).name
        oracle = self.survey.oracles[name]
        number = oracle._read(answer)
        if self._path is None:
            return self._sent(name, number)
        with locked(self._path.with_name(f".{self._path.name}.lock")):
            if self._path.exists():
                self._read()
            return self._sent(name, number)

    def _sent(self, name: str, number: Any) -> str:
        sent: dict[str, str] = self._kept["sent"]
        oracle = self.survey.oracles[name]
        if name not in sent:
            if self.sent + cost_of(oracle) > self.survey.stated:
                raise RequestError(
                    f"one more report would cost more than epsilon {float(self.survey.stated):.6g}, which the survey "
                    "states for all reports of one person; nothing was sent"
                )
            report = json.loads(oracle.client._send(number.reshape(1)).to_json())
            sent[name] = json.dumps(
                {
                    "privet_survey": VERSION,
                    "survey": self.survey.digest,
                    "respondent": self._kept["respondent"],
                    "question": name,
                    "report": report,
                }
            )
            if self._path is not None:
                replace_file(self._path, json.dumps(self._kept).encode())
        return sent[name]

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("rb") as file:
                kept = json.loads(file.read(_LARGEST))
            whole = (
                kept["privet_respondent"] == VERSION
                and RESPONDENT.fullmatch(kept["respondent"]) is not None
                and type(kept["sent"]) is dict
                and all(type(line) is str for line in kept["sent"].values())
            )
            mine = kept["survey"] == self.survey.digest
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            self._damaged()
        if not whole:
            self._damaged()
        if not mine or not kept["sent"].keys() <= self.survey.oracles.keys():
            raise RequestError(f"{str(self._path)!r} keeps what was sent to another survey; name another file")
        self._kept = kept

    def _damaged(self) -> NoReturn:
        raise_alone(
            RequestError(
                f"{str(self._path)!r} does not hold what a respondent sent; put back its latest copy, as answering "
                "anew would spend epsilon again"
            )
        )

    def __repr__(self) -> str:
        return f"Respondent({len(self.answered)} of {len(self.survey.questions)} questions of {self.survey.name!r})"
