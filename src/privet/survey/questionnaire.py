"""The questions and promises of a survey: a public value that respondents, web page and collector share as JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from privet.core.errors import BadParameter, ParseError, RequestError, raise_alone
from privet.core.given import choice, instance, listed, plain_text, set_fields
from privet.core.numbers import Number, open_probability, positive, written_ratio
from privet.local import FrequencyOracle, KaryResponse, OptimizedUnary

VERSION = 1
METHODS = ("two coins", "k-ary response", "optimized unary")
"""The methods that a phone can draw exactly; each is an oracle of `privet.local`."""

_MOST_ANSWERS = 64
_MOST_QUESTIONS = 50
_LARGEST = 2**20
_NAME = re.compile("[a-z][a-z0-9-]{0,30}")


@dataclass(frozen=True)
class SurveyQuestion:
    """One question, its answers, and how an answer is randomised.

    Args:
        name: a short name in small letters, digits and hyphens.
        text: the text of the question.
        answers: the possible answers.
        epsilon: the privacy loss of one report; two coins are tossed if it is left out.
        method: `two coins`, `k-ary response` or `optimized unary`; if left out, the one that errs least at epsilon.
        truth: with two coins, the probability of heads of the first, on which the answer is true.

    Raises:
        BadParameter: if a text or a number is not one that can be asked.

    Example:
        >>> question = survey.SurveyQuestion("flu", "Did you have the flu?", ["no", "yes"], epsilon=1)
        >>> question.method
        'k-ary response'
    """

    name: str
    text: str
    answers: tuple[str, ...]
    epsilon: Number | None = None
    method: str | None = None
    truth: Number | None = None

    def __post_init__(self) -> None:
        if type(self.name) is not str or not _NAME.fullmatch(self.name):
            raise BadParameter("name", self.name, "a name of small letters, digits and hyphens, such as before")
        plain_text(self.text, "text", "a question", least=1, most=2000)
        listed(self.answers, "answers", "two or more different texts")
        answers = tuple(plain_text(answer, "answers", "texts", least=1, most=200) for answer in self.answers)
        if not 2 <= len(answers) <= _MOST_ANSWERS or len(set(answers)) < len(answers):
            raise BadParameter("answers", self.answers, f"2 to {_MOST_ANSWERS} different texts")
        set_fields(self, answers=answers)
        if type(self.method) is str and self.method.lower() == "rappor":
            raise BadParameter(
                "method",
                self.method,
                "left out, or a method for one report: RAPPOR randomises twice so that one person can report again and "
                "again, and a survey takes one report of each; keep a local.Memo of local.Rappor on each device",
            )
        if self.method is not None:
            choice(self.method, "method", METHODS)
        if self.method is None and self.epsilon is None:
            set_fields(self, method="two coins")
        if self.method == "two coins":
            if self.epsilon is not None:
                raise BadParameter("epsilon", self.epsilon, "left out: two coins have the epsilon of their odds")
            set_fields(self, truth=open_probability(Fraction(1, 2) if self.truth is None else self.truth, "truth"))
        elif self.truth is not None or self.epsilon is None:
            if self.truth is not None:
                raise BadParameter("truth", self.truth, "left out, unless the method is two coins")
            raise BadParameter("epsilon", self.epsilon, "given, unless the method is two coins")
        else:
            set_fields(self, epsilon=positive(self.epsilon, "epsilon"))
            set_fields(self, method=self.method or _least_error(self.answers, self.epsilon))
        self.oracle("")

    def oracle(self, survey: str) -> FrequencyOracle:
        """Return the oracle of this question in the survey of a name."""
        name = json.dumps([plain_text(survey, "survey"), self.name])
        if self.method == "two coins":
            return KaryResponse.two_coins(self.answers, truth=_given(self.truth), survey=name)
        kind = KaryResponse if self.method == "k-ary response" else OptimizedUnary
        return kind(self.answers, epsilon=_given(self.epsilon), survey=name)

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain data."""
        odds = {"truth": self.truth} if self.method == "two coins" else {"epsilon": self.epsilon}
        written = {name: str(value) for name, value in odds.items()}
        return {"name": self.name, "text": self.text, "answers": list(self.answers), "method": self.method, **written}


@dataclass(frozen=True)
class Survey:
    """A survey: its name, its questions, and the most epsilon that one respondent sends.

    Args:
        name: the name of the survey.
        questions: the questions.
        epsilon: the most that the reports of one respondent may cost together; all questions once, if left out.

    Raises:
        BadParameter: if two questions have one name, or no question can be answered within epsilon.

    Example:
        >>> question = survey.SurveyQuestion("flu", "Did you have the flu?", ["no", "yes"], epsilon=1)
        >>> float(survey.Survey("health", [question]).epsilon)
        1.0
    """

    name: str
    questions: tuple[SurveyQuestion, ...]
    epsilon: Number | None = None

    def __post_init__(self) -> None:
        plain_text(self.name, "name", "a name", least=1, most=200)
        for question in listed(self.questions, "questions", "questions"):
            instance(question, SurveyQuestion, "questions", "questions")
        names = [asked.name for asked in self.questions]
        if not 1 <= len(names) <= _MOST_QUESTIONS or len(set(names)) < len(names):
            raise BadParameter("questions", names, f"1 to {_MOST_QUESTIONS} questions with different names")
        set_fields(self, questions=tuple(self.questions))
        costs = [cost_of(oracle) for oracle in self.oracles.values()]
        stated = sum(costs, Fraction(0)) if self.epsilon is None else positive(self.epsilon, "epsilon")
        if stated < min(costs):
            raise BadParameter("epsilon", self.epsilon, f"at least {float(min(costs)):.6g}, to answer one question")
        set_fields(self, epsilon=stated)

    @property
    def stated(self) -> Fraction:
        """The most epsilon that one respondent sends."""
        return positive(self.epsilon, "epsilon")

    @cached_property
    def oracles(self) -> dict[str, FrequencyOracle]:
        """The oracle of each question, by its name."""
        return {question.name: question.oracle(self.name) for question in self.questions}

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that distinguish this survey from every other."""
        return hashlib.sha256(json.dumps(self._told, ensure_ascii=True, sort_keys=True).encode()).hexdigest()[:16]

    def question(self, name: str | None) -> SurveyQuestion:
        """Return a question by its name, or the only one.

        Raises:
            RequestError: if there is none, or there are several and no name.
        """
        names = [asked.name for asked in self.questions]
        if name is not None and type(name) is not str:
            raise BadParameter("question", name, "the name of a question")
        if name is None and len(names) == 1:
            return self.questions[0]
        for question in self.questions:
            if question.name == name:
                return question
        raise RequestError(f"name one of the survey's questions: {', '.join(names)}")

    @property
    def _told(self) -> dict[str, Any]:
        asked = [question.to_dict() for question in self.questions]
        return {"privet_survey": VERSION, "name": self.name, "epsilon": str(self.stated), "questions": asked}

    def to_json(self) -> str:
        """Return the survey as JSON, with the exact odds that a web page draws with."""
        data = self._told
        for asked, oracle in zip(data["questions"], self.oracles.values(), strict=True):
            asked["odds"] = {
                "kind": oracle.kind,
                "digest": oracle.digest.hex(),
                "p": [str(oracle.p.numerator), str(oracle.p.denominator)],
                "q": [str(oracle.q.numerator), str(oracle.q.denominator)],
                "epsilon": oracle.epsilon,
            }
        return json.dumps({**data, "survey": self.digest}, indent=2, ensure_ascii=False)


def read_survey(text: str | bytes) -> Survey:
    """Return the survey of its JSON.

    Args:
        text: the result of `to_json`.

    Raises:
        ParseError: if it is not a whole survey of this version, or its odds are not those that it states.

    Example:
        >>> question = survey.SurveyQuestion("flu", "Did you have the flu?", ["no", "yes"], epsilon=1)
        >>> health = survey.Survey("health", [question])
        >>> survey.read_survey(health.to_json()) == health
        True
    """
    if type(text) not in (str, bytes):
        raise BadParameter("text", text, "the JSON of a survey")
    if len(text) > _LARGEST:
        raise ParseError(f"a survey has at most {_LARGEST:,} characters")
    try:
        data = json.loads(text)
        survey = made_of(data)
        whole = json.loads(survey.to_json()) == data
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    except RequestError as error:
        raise_alone(ParseError(f"this is not a survey: {error}"))
    if not whole:
        raise ParseError(f"this is not a whole survey of version {VERSION}, or its odds were changed")
    return survey


def made_of(told: Mapping[str, Any]) -> Survey:
    """Return the survey of plain data, as JSON or TOML has it."""
    questions = tuple(
        SurveyQuestion(
            question["name"],
            question["text"],
            tuple(question["answers"]),
            epsilon=_number(question.get("epsilon")),
            method=question.get("method"),
            truth=_number(question.get("truth")),
        )
        for question in told["questions"]
    )
    return Survey(told["name"], questions, epsilon=_number(told.get("epsilon")))


def cost_of(oracle: FrequencyOracle) -> Fraction:
    """Return the cost of one report, as an exact number."""
    return Fraction(oracle.epsilon)


def _number(value: Any) -> Number | None:
    if isinstance(value, str):
        return written_ratio(value) or Fraction(0)
    if value is not None and type(value) not in (int, float):
        raise TypeError
    return value  # type: ignore[no-any-return]


def _given(value: Number | None) -> Number:
    if value is None:
        raise BadParameter("epsilon", value, "a number")
    return value


def _least_error(answers: tuple[str, ...], epsilon: Number) -> str:
    kary, unary = (kind(answers, epsilon=epsilon) for kind in (KaryResponse, OptimizedUnary))
    return "k-ary response" if kary.variance(0, 1) <= unary.variance(0, 1) else "optimized unary"
