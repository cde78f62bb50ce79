"""`privet survey`: make a survey, answer it, collect reports, estimate, draw, and show it as a web page.

Registered as an entry point of the group `privet.commands`, so that the command line imports nothing of surveys.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from privet.core.errors import RequestError, raise_alone
from privet.core.numbers import written_ratio, written_whole
from privet.local import FrequencyOracle, KaryResponse, Reports
from privet.local.trust import Trust

from .differences import Difference, PairedCounts, ResponseCounts, compare, compare_paired, sample_size
from .questionnaire import METHODS, Survey, SurveyQuestion, made_of
from .respondent import Respondent
from .simulated import simulate
from .survey_folder import SurveyFolder, plot_survey

_NAMED = re.compile(r"([a-z][a-z0-9-]{0,30})=(.+)", re.S)
_COVERS = ("reports", "population")


def _number(text: str) -> Fraction:
    number = written_ratio(str(text))
    if number is None:
        raise click.BadParameter(f"{text!r} is not a number such as 0.5, 1e-6 or 1/3")
    return number


def _whole_number(text: str) -> int:
    number = written_whole(str(text))
    if number is None:
        raise click.BadParameter(f"{text!r} is not a whole number such as 3")
    return number


def _on_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options that all of them have."""
    json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return click.argument("folder", type=click.Path(path_type=Path))(json_option(function))


def _on_estimates(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--covers",
            type=click.Choice(_COVERS),
            default="reports",
            show_default=True,
            help="What intervals are for: those who answered, or the population of which they are a random sample.",
        ),
        click.option(
            "--confidence", type=_number, default="0.95", show_default=True, help="Confidence level of the intervals."
        ),
    ):
        function = option(function)
    return function


@click.group("survey")
def command() -> None:
    """Ask a survey in which each person randomises before sending.

    \b
    Example:
      privet survey new flu --question "Did you have the flu?" --answer no --answer yes --epsilon 1
      privet survey respond flu
      privet survey collect flu
      privet survey estimate flu
    """


@command.command("new")
@_on_folder
@click.option("--question", "questions", multiple=True, help="What is asked; NAME=TEXT names it. Repeatable.")
@click.option("--answer", "answers", multiple=True, help="A possible answer to all questions. Repeatable.")
@click.option("--epsilon", type=_number, help="The privacy loss of one report.")
@click.option("--two-coins", is_flag=True, help="Randomise by two fair coins, instead of --epsilon.")
@click.option("--method", type=click.Choice(METHODS[1:]), help="How answers are randomised; chosen if left out.")
@click.option("--total", type=_number, help="The most epsilon of one respondent; all questions once, if left out.")
@click.option("--name", help="What the survey is called; the name of the folder if left out.")
@click.option("--from", "source", type=click.Path(path_type=Path), help="A TOML file with name and [[questions]].")
def new_command(
    folder: Path,
    as_json: bool,
    questions: tuple[str, ...],
    answers: tuple[str, ...],
    epsilon: Fraction | None,
    two_coins: bool,
    method: str | None,
    total: Fraction | None,
    name: str | None,
    source: Path | None,
) -> None:
    """Make a survey in a new FOLDER.

    \b
    Example:
      privet survey new flu --question "Did you have the flu?" --answer no --answer yes --epsilon 1
      privet survey new class --question before="Do you cheat?" --question after="Do you cheat?" --answer no
          --answer yes --two-coins
    """
    if source is not None:
        if questions or answers or epsilon is not None or two_coins or method:
            raise RequestError("a survey is read from a file or made of options: pass --from or --question, not both")
        survey = _read_toml(source, name or folder.name, total)
    else:
        if not questions or len(answers) < 2:
            raise RequestError("pass --question, and --answer for each possible answer, two at least")
        if two_coins == (epsilon is not None):
            raise RequestError("pass either --epsilon or --two-coins")
        if two_coins and method is not None:
            raise RequestError("two coins are a method of their own: leave out --method")
        chosen = "two coins" if two_coins else method
        least = SurveyQuestion("least", "?", answers, epsilon=epsilon, method=chosen).oracle("").epsilon
        if total is not None and total < Fraction(least):
            raise RequestError(f"--total must be at least {least:.6g}, which one report costs")
        asked = [_named(text, place, len(questions)) for place, text in enumerate(questions, 1)]
        survey = Survey(
            name or folder.name,
            tuple(SurveyQuestion(label, text, answers, epsilon=epsilon, method=chosen) for label, text in asked),
            epsilon=total,
        )
    made = SurveyFolder.create(folder, survey).survey
    if as_json:
        click.echo(made.to_json())
        return
    for question in made.questions:
        oracle = made.oracles[question.name]
        needed = sample_size(oracle, Fraction(1, 20))
        click.echo(
            f"{question.name}: {question.method}, epsilon {oracle.epsilon:.4g} a report; for shares within ±0.05, ask "
            f"{needed:,} people."
        )
    click.echo(f"Each person sends epsilon {float(made.stated):.4g} at most. Ask: privet survey respond {folder}")


@command.command("respond")
@_on_folder
@click.option("--question", "name", help="The question, where there are several; all that fit if left out.")
@click.option("--me", type=click.Path(path_type=Path), help="Keeps what you sent, so that it is never drawn again.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the report here, instead of into the folder.")
def respond_command(folder: Path, as_json: bool, name: str | None, me: Path | None, out: Path | None) -> None:
    """Answer the survey of a FOLDER: the answer is asked for, randomised here, and never kept or shown.

    An answer is not an option, as options stay in the shell's history.

    \b
    Example:
      privet survey respond flu --me flu-mine.json
    """
    collected = SurveyFolder(folder)
    collected.check_real()
    person = Respondent(collected.survey, me)
    asked = collected.survey.questions if name is None else (collected.survey.question(name),)
    lines = []
    for question in asked:
        click.echo(question.text, err=True)
        kept = question.name in person.answered
        if kept:
            click.echo("You have answered this; the same report is sent again.", err=True)
        answer = question.answers[0] if kept else _choose(question)
        lines.append(person.respond(answer, question.name))
    if out is not None:
        _write(out, "".join(f"{line}\n" for line in lines))
    else:
        for line in lines:
            collected.arrive(line)
    sent = float(person.sent)
    if as_json:
        click.echo(json.dumps({"reports": len(lines), "epsilon": sent}))
        return
    place = "" if out is None else f" to {out}"
    many = _many(len(lines), "report")
    click.echo(f"Randomised and written{place}: {many}. You have sent epsilon {sent:.4g} in all.")


@command.command("collect")
@_on_folder
@click.option("--reports", "sources", multiple=True, type=click.Path(path_type=Path), help="Files of more reports.")
def collect_command(folder: Path, as_json: bool, sources: tuple[Path, ...]) -> None:
    """Take the reports that arrived: each respondent within the stated epsilon, each question once.

    \b
    Example:
      privet survey collect flu
      privet survey collect flu --reports arrived.jsonl
    """
    collected = SurveyFolder(folder)
    collected.check_real()
    total = collected.collect()
    for path in sources:
        try:
            lines = [line for line in path.read_bytes().splitlines() if line.strip()]
        except OSError:
            raise_alone(RequestError(f"{str(path)!r} cannot be read"))
        total.update(collected.add_all(lines))
    accepted = total.pop("accepted", 0)
    if as_json:
        counts = {"accepted": accepted, "rejected": dict(total), "respondents": collected.respondents}
        click.echo(json.dumps({**counts, "reports": collected.reports}))
        return
    refused = "".join(f"; {count:,} {reason}" for reason, count in sorted(total.items()))
    click.echo(f"{accepted:,} accepted{refused}. {_many(collected.respondents, 'respondent')} so far.")


@command.command("estimate")
@_on_folder
@_on_estimates
@click.option("--question", "name", help="One question; all if left out.")
@click.option("--compare", "compared", nargs=2, help="Two questions of which the first answer's change is shown.")
@click.option("--answer", help="With --compare: the answer; the last one if left out.")
@click.option("--delta", type=_number, help="Show what shuffling would promise but for this probability.")
def estimate_command(
    folder: Path,
    as_json: bool,
    confidence: Fraction,
    covers: Any,
    name: str | None,
    compared: tuple[str, str] | None,
    answer: str | None,
    delta: Fraction | None,
) -> None:
    """Estimate the share of each answer, with intervals. Estimates cost nothing.

    \b
    Example:
      privet survey estimate flu --covers population
      privet survey estimate class --compare before after --answer yes
    """
    collected = SurveyFolder(folder)
    if compared is not None:
        change = _compared(collected, compared, answer, confidence, covers)
        click.echo(json.dumps(vars(change)) if as_json else repr(change))
        return
    asked = collected.survey.questions if name is None else (collected.survey.question(name),)
    estimates: dict[str, Any] = {}
    for question in asked:
        if name is None and len(asked) > 1 and not collected.reports[question.name]:
            continue
        estimate = collected.estimate(question.name, confidence=confidence, covers=covers)
        estimates[question.name] = estimate.to_dict()
        if not as_json:
            click.echo(question.text)
            click.echo(repr(estimate))
            if delta is not None:
                click.echo(repr(Trust(collected.survey.oracles[question.name], estimate.n, delta)))
    if as_json:
        click.echo(json.dumps({"questions": estimates, "rejected": collected.rejected}))
    elif not estimates:
        raise RequestError("no report was collected yet, so nothing can be estimated")
    elif collected.rejected:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(collected.rejected.items()))
        click.echo(f"Rejected: {reasons}.")


@command.command("plot")
@_on_folder
@_on_estimates
@click.option("--output", type=click.Path(path_type=Path), default="survey.png", show_default=True, help="The picture.")
def plot_command(folder: Path, as_json: bool, confidence: Fraction, covers: Any, output: Path) -> None:
    """Draw the estimates with their intervals, beside the truth if people were made up.

    \b
    Example:
      privet survey plot flu --output flu.png
    """
    plot_survey(SurveyFolder(folder), confidence=confidence, covers=covers, path=output)
    click.echo(json.dumps({"picture": str(output)}) if as_json else f"Picture: {output}")


@command.command("simulate")
@_on_folder
@click.option("--people", type=_whole_number, required=True, help="How many made-up people answer.")
@click.option("--share", "shares", multiple=True, required=True, help="ANSWER=SHARE; repeatable, with sum 1.")
@click.option("--question", "name", help="The question, where there are several.")
def simulate_command(folder: Path, as_json: bool, people: int, shares: tuple[str, ...], name: str | None) -> None:
    """Let made-up people answer, whose answers are known, in a FOLDER without real reports.

    \b
    Example:
      privet survey simulate flu --people 500 --share yes=0.2 --share no=0.8
    """
    wanted: dict[str, Fraction] = {}
    for text in shares:
        answer, _, number = text.rpartition("=")
        share = written_ratio(number)
        if not answer or share is None or answer in wanted:
            raise RequestError("pass --share ANSWER=SHARE for each answer that occurs, such as yes=0.2")
        wanted[answer] = share
    counts = simulate(SurveyFolder(folder), people, wanted, name)
    counted = ", ".join(f"{answer} {count:,}" for answer, count in counts.items())
    click.echo(json.dumps(counts) if as_json else f"{people:,} made-up people answered: {counted}.")


@command.command("serve")
@_on_folder
@click.option("--port", type=_whole_number, default="8080", show_default=True, help="The port on this machine.")
@click.option("--public", help="The https address under which a proxy shows the page.")
def serve_command(folder: Path, as_json: bool, port: int, public: str | None) -> None:
    """Show the survey as a web page on this machine, and take reports. Phones reach it through a proxy with https.

    \b
    Example:
      privet survey serve flu --port 8080 --public https://survey.example.org
    """
    from .receiver import make_server

    with make_server(SurveyFolder(folder), port, public=public) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        click.echo(json.dumps({"address": address}) if as_json else f"Listening at {address} until interrupted.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)


def _compared(
    collected: SurveyFolder, names: tuple[str, str], answer: str | None, confidence: Fraction, covers: Any
) -> Difference:
    first, second = (collected.survey.question(name) for name in names)
    if first.answers != second.answers or first.name == second.name:
        raise RequestError("compare two different questions with the same answers")
    chosen = first.answers[-1] if answer is None else answer
    if chosen not in first.answers:
        raise RequestError(f"name one of the answers: {', '.join(first.answers)}")
    both = collected.both(first.name, second.name)
    # a few people in both groups make the difference vary less than between two groups of strangers, not more
    if both and len(both) >= max(collected.reports[first.name], collected.reports[second.name]) / 2:
        place = first.answers.index(chosen)
        oracles = collected.survey.oracles[first.name], collected.survey.oracles[second.name]
        sides = [_supports(oracle, [pair[side] for pair in both], place) for side, oracle in enumerate(oracles)]
        pairs = list(zip(*sides, strict=True))
        counts = [pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))]
        return compare_paired(PairedCounts(oracles[0], *counts), chosen, confidence=confidence, covers=covers)
    before, after = (ResponseCounts.of(collected.server(name)) for name in (first.name, second.name))
    return compare(before, after, chosen, confidence=confidence, covers=covers)


def _supports(oracle: FrequencyOracle, reports: list[Reports], place: int) -> list[bool]:
    """Return which reports support an answer."""
    data = np.concatenate([report.data for report in reports])
    if isinstance(oracle, KaryResponse):
        return [bool(bit) for bit in data[:, 0] == place]
    return [bool(bit) for bit in np.unpackbits(data, axis=1)[:, place]]


def _choose(question: SurveyQuestion) -> str:
    hidden = sys.stdin.isatty()  # no one reads it over a shoulder
    for place, answer in enumerate(question.answers, 1):
        click.echo(f"  {place}  {answer}", err=True)
    while True:
        text = click.prompt("Your answer (it is randomised before anything is written)", err=True, hide_input=hidden)
        number = written_whole(text)
        if number is not None and 1 <= number <= len(question.answers):
            return question.answers[number - 1]
        if text in question.answers:
            return str(text)
        click.echo("Please type one of the numbers.", err=True)


def _named(text: str, place: int, count: int) -> tuple[str, str]:
    match = _NAMED.fullmatch(text)
    return (match[1], match[2]) if match else ("question" if count == 1 else f"question-{place}", text)


def _read_toml(source: Path, name: str, total: Fraction | None) -> Survey:
    try:
        data = tomllib.loads(source.read_text(encoding="utf-8"))
        unknown = data.keys() - {"name", "epsilon", "questions"}
        unknown |= {key for question in data["questions"] for key in question.keys() - _KEYS}
        if unknown:
            raise RequestError(f"{str(source)!r} has unknown entries: {', '.join(sorted(unknown))}")
        return made_of({"name": name, **data, **({} if total is None else {"epsilon": str(total)})})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise_alone(
            RequestError(
                f"{str(source)!r} is not the TOML of a survey: it has [[questions]], each with name, text, answers and "
                'epsilon, or method = "two coins"'
            )
        )


_KEYS = {"name", "text", "answers", "epsilon", "method", "truth"}


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise_alone(RequestError(f"{str(path)!r} cannot be written: {error.strerror}"))


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
