"""One option chosen from a public list by scores over private rows: planned, charged once and first, and stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from typing import Literal as OneOf

from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.event import Receipt
from privet.core.given import called, choice, listed
from privet.core.relation import Value
from privet.display import draw_facts, html_facts, printable, shown_error, written
from privet.planner.comparison_plans import (
    MOST_OPTIONS,
    NAMES,
    ChoicePlan,
    Law,
    ScalarQuestion,
    make_choice,
    scalar_question,
    verify_choice,
)
from privet.query.sql.parse import Wish
from privet.query.terms import Constant, constant

from .executor import Executor
from .request import AskOptions, Catalog, Question, read_question, spend_of

OPTION = "option"
"""The parameter that stands for the option in a score."""

ScoreOf = str | Callable[[Any], Question]
"""How options are scored: SQL in which :option stands for one, or a function that returns a question for one."""

Chooses = OneOf["permute-and-flip", "exponential"]
"""The mechanisms by which an option may be chosen."""

_LAWS: Mapping[str, Law] = {"permute-and-flip": "exponential", "exponential": "gumbel"}
_ALLOWED = "a list of 2 to 1,000 different numbers, texts or dates"


@dataclass(frozen=True, repr=False)
class ChosenOption:
    """The chosen option, the list it is from, and the receipt of the charge. The scores are not known.

    `behind` bounds how far its score is below the best one, with probability `confidence`.

    Example:
        >>> chosen = session.choose([20, 40], "SELECT COUNT(*) FROM visits WHERE cost > :option", epsilon=0.5)
        >>> chosen.value in chosen.options
        True
    """

    value: Any
    options: tuple[Any, ...]
    behind: float
    confidence: float
    cost: Mapping[str, float]
    receipt: Receipt
    plan: ChoicePlan = field(compare=False)

    @property
    def index(self) -> int:
        """The place of the option in the list, from 0."""
        return self.options.index(self.value)

    @property
    def notes(self) -> tuple[str, ...]:
        """The facts known about the choice, in plain words."""
        return (
            f"Chosen by {NAMES[self.plan.law]}: with probability {self.confidence:.3g} its score is at most "
            f"{shown_error(self.behind)} below the best one.",
            "The scores are not released; to know one, ask for it by itself.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice and its facts as plain data that JSON can represent."""
        return {
            "chosen": printable_option(self.value),
            "index": self.index,
            "behind": self.behind,
            "confidence": self.confidence,
            "entry": self.receipt.entry,
            "head": self.receipt.head,
            **self.plan.to_dict(),
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return the facts to show, line by line."""
        notes = [("" if place else "notes", note) for place, note in enumerate(self.notes)]
        return [("chosen", printable(str(self.value))), ("of", f"{len(self.options):,} options"), *notes]

    def __repr__(self) -> str:
        return written(lambda console: draw_facts(console, self.facts()))

    def _repr_html_(self) -> str:
        return f"<div>{html_facts(self.facts())}</div>"


def printable_option(option: Any) -> Any:
    """Return an option as plain data that JSON can represent."""
    return option if option is None or isinstance(option, (bool, int, float, str)) else str(option)


def plan_choice(
    options: Sequence[Constant],
    score: ScoreOf,
    how: AskOptions,
    catalog: Catalog,
    *,
    mechanism: Chooses | None = None,
) -> ChoicePlan:
    """Return every decision about a choice, and its price. It reads no data."""
    values = _read_options(options)
    law = None if mechanism is None else _LAWS[choice(mechanism, "mechanism", tuple(_LAWS))]
    named = read_named(how)
    scores = [_scored(option, value, score, named, how, catalog) for option, value in zip(options, values, strict=True)]
    return make_choice(values, scores, spend=spend_of(catalog.budget, how), law=law)


def list_options(options: object) -> tuple[Any, ...]:
    """Return the options as they are given, in a list that can be read twice."""
    given = listed(options, "options", _ALLOWED, most=MOST_OPTIONS)
    if len(given) < 2:
        raise BadParameter("options", given, _ALLOWED)
    return tuple(given)


def _read_options(options: Sequence[Constant]) -> tuple[Value, ...]:
    """Return public options as constants, each once."""
    literals = [constant(option, "options") for option in options]
    if not all(literal.is_constant for literal in literals):
        raise BadParameter("options", "a column", _ALLOWED)
    values = tuple(literal.constant for literal in literals)
    if len(set(values)) < len(values):
        twice = next(value for place, value in enumerate(values) if value in values[:place])
        raise BadParameter("options", str(twice), f"{_ALLOWED}; this one is in the list twice")
    return values


def read_named(how: AskOptions) -> dict[str, Any]:
    """Return the parameters of a score beside the option, by their names."""
    given = how.parameters
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise BadParameter("parameters", type(given).__name__, "a mapping of names to values; the option is :option")
    if OPTION in given:
        raise RequestError("the parameter :option stands for each option in turn; leave it out of parameters=")
    return dict(given)


def _scored(
    option: Any, value: Value, score: ScoreOf, named: Mapping[str, Any], how: AskOptions, catalog: Catalog
) -> ScalarQuestion:
    if isinstance(score, str):
        query, wish, _ = read_question(score, catalog, {**named, OPTION: cast(Any, value)})
    elif callable(score):
        query, wish, _ = read_question(called(score, "score", option), catalog, named or None)
    else:
        allowed = "SQL in which :option stands for the option, or a function that returns a question for an option"
        raise BadParameter("score", type(score).__name__, allowed)
    if wish != Wish():
        raise Unsupported("a score states nothing about its own cost or width; pass epsilon= for the choice")
    return scalar_question(
        query, catalog.schemas, bound=how.bound, contribution=how.stated, what="the score of an option"
    )


def run_choice(executor: Executor, plan: ChoicePlan, options: Sequence[Any], *, key: str | None) -> ChosenOption:
    """Return the choice of a plan: from the ledger, or else charge, scan and draw."""
    executor.check_open()
    verify_choice(plan, executor.schemas)
    chosen = executor.find_choice(plan, key)
    if chosen is None:
        with executor.turn(plan.digest):
            chosen = executor.release_choice(plan, key)
    receipt, place = chosen
    return ChosenOption(options[place], tuple(options), plan.behind(), 0.95, plan.cost, receipt, plan)
