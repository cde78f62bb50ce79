"""The collector's side of a survey, in a folder: reports are checked, counted once for each respondent, kept and drawn.

The folder has survey.json, the reports that arrived as files (reports/), accepted ones (collected.jsonl, one line
for each report, append-only) and counts of rejected ones (rejected.json). Estimates are free. A picture
shows each answer's share with its interval, and the truth beside it in a simulation.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, NoReturn

from privet.core import given
from privet.core.durable_files import append_file, locked, replace_file
from privet.core.errors import BadParameter, ParseError, RequestError, raise_alone
from privet.core.numbers import Number, open_probability
from privet.local import Frequencies, Reports, Server, read_reports
from privet.local.server import ANOTHER, FORGED, NOT_WHOLE, REPEATED
from privet.plots.canvas import COLOURS, canvas, finish, read_theme

from .questionnaire import VERSION, Survey, cost_of, read_survey
from .respondent import RESPONDENT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SURVEY, ARRIVED, KEPT, REJECTED, REFUSED = "survey.json", "reports", "collected.jsonl", "rejected.json", "rejected"
SIMULATION = "simulation.json"
ANSWERED, BEYOND = "answered before", "beyond the stated epsilon"
MOST_BYTES = 2**16
"""The largest report of one respondent to one question."""


class SurveyFolder:
    """A survey's folder and all reports that were accepted into it.

    Args:
        folder: the folder of a survey, which `SurveyFolder.create` makes.

    Raises:
        RequestError: if there is no survey in it, or its contents are damaged.

    Example:
        >>> import tempfile
        >>> question = survey.SurveyQuestion("flu", "Did you have the flu?", ["no", "yes"], epsilon=1)
        >>> folder = survey.SurveyFolder.create(tempfile.mkdtemp() + "/flu", survey.Survey("health", [question]))
        >>> folder.add(survey.Respondent(folder.survey).respond("yes"))
        'accepted'

    Guarantee: for each respondent, the accepted reports cost no more together than the survey states, and each
    question is counted once. Respondents who invent new identifiers are not recognised: see `robustness`.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(given.path(folder, "folder", "the folder of a survey"))
        try:
            text = (self.folder / SURVEY).read_bytes()
        except OSError:
            raise_alone(RequestError(f"the folder {str(self.folder)!r} has no survey; make one by privet survey new"))
        self.survey: Survey = read_survey(text)
        self._mutex = Lock()
        self._forget()
        with self._alone():
            self._read()

    def _forget(self) -> None:
        self._servers: dict[str, Server] = {name: oracle.server() for name, oracle in self.survey.oracles.items()}
        self._sent: dict[str, dict[str, Reports]] = {}
        self._rejected: Counter[str] = Counter()
        self._place = 0

    @classmethod
    def create(cls, folder: str | PathLike[str], survey: Survey) -> SurveyFolder:
        """Return the new folder of a survey.

        Args:
            folder: the folder to make.
            survey: the survey.

        Raises:
            RequestError: if there is something of that name already.
        """
        given.instance(survey, Survey, "survey", "a survey")
        place = Path(given.path(folder, "folder", "a folder to make"))
        try:
            place.mkdir(mode=0o700)
            (place / ARRIVED).mkdir(mode=0o700)
        except OSError as error:
            raise_alone(RequestError(f"the folder {str(place)!r} cannot be made: {error.strerror}"))
        replace_file(place / SURVEY, survey.to_json().encode())
        return cls(place)

    @property
    def respondents(self) -> int:
        """The number of respondents with accepted reports."""
        return len(self._sent)

    @property
    def reports(self) -> dict[str, int]:
        """The number of accepted reports on each question."""
        return {name: server.n for name, server in self._servers.items()}

    @property
    def rejected(self) -> dict[str, int]:
        """How many reports were rejected, by reason."""
        return dict(self._rejected)

    @property
    def truth(self) -> dict[str, dict[str, int]] | None:
        """The number of made-up people for each answer to each question; None for a survey of real people."""
        try:
            data = json.loads((self.folder / SIMULATION).read_bytes())
            truth = data["truth"]
            return {str(name): {str(label): int(count) for label, count in row.items()} for name, row in truth.items()}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._damaged(SIMULATION)

    def check_real(self) -> None:
        """Raise `RequestError` if this folder has made-up people."""
        if self.truth is not None:
            raise RequestError("this survey is a simulation with made-up people: make another folder to ask real ones")

    def epsilon_sent(self, respondent: str) -> Fraction:
        """Return the epsilon of a respondent's accepted reports."""
        given.plain_text(respondent, "respondent", "the identifier of a respondent")
        return sum((cost_of(self.survey.oracles[name]) for name in self._sent.get(respondent, ())), Fraction(0))

    def add(self, line: str | bytes) -> str:
        """Take one report of one respondent, as `Respondent.respond` returned it; return `accepted` or why it is not.

        A report that was accepted before is `repeated`, and is not counted again; so are all others that are not
        accepted, by reason, and no estimate changes.
        """
        given.instance(line, (str, bytes), "line", "the text or the bytes of a report")
        return self.add_all([line])[0]

    def add_all(self, lines: Iterable[str | bytes]) -> list[str]:
        """Take many reports; return for each `accepted` or why it is not."""
        listing = list(given.listed(lines, "lines", "lines of reports"))
        for line in listing:
            given.instance(line, (str, bytes), "lines", "texts or bytes of reports")
        with self._alone():
            self._read()
            results: list[str] = []
            kept: list[bytes] = []
            for line in listing:
                taken = self._taken(line)
                results.append(taken if isinstance(taken, str) else "accepted")
                if not isinstance(taken, str):
                    kept.append(json.dumps(taken).encode() + b"\n")
            if kept:
                body = b"".join(kept)
                try:
                    append_file(self.folder / KEPT, body)
                except RequestError:
                    self._forget()  # the counted reports were not kept: the next call reads all anew
                    raise
                self._place += len(body)
            refused = Counter(result for result in results if result != "accepted")
            if refused:
                self._rejected.update(refused)
                replace_file(self.folder / REJECTED, json.dumps(dict(self._rejected)).encode())
        return results

    def arrive(self, line: str) -> Path:
        """Put a report among those that arrived as files, under a random name, and return where."""
        given.plain_text(line, "line", "the line of a report")
        place = self.folder / ARRIVED / f"{secrets.token_hex(16)}.json"
        replace_file(place, line.encode())
        return place

    def collect(self) -> Counter[str]:
        """Take all reports that arrived as files; return how many were accepted, and rejected by each reason.

        Files of which a line is rejected are moved to the folder rejected; all others are removed when their reports
        are kept.
        """
        total: Counter[str] = Counter()
        for path in sorted((self.folder / ARRIVED).glob("*.json*")):
            try:
                if path.stat().st_size > 2**30:
                    raise RequestError(f"{str(path)!r} is larger than 1 GiB; split it")
                lines = [line for line in path.read_bytes().splitlines() if line.strip()]
            except OSError:
                raise_alone(RequestError(f"{str(path)!r} cannot be read; check who owns it"))
            results = self.add_all(lines or [b""])
            total.update(results)
            if set(results) == {"accepted"}:
                path.unlink(missing_ok=True)
            else:
                (self.folder / REFUSED).mkdir(mode=0o700, exist_ok=True)
                os.replace(path, self.folder / REFUSED / path.name)
        return total

    def estimate(
        self,
        question: str | None = None,
        *,
        confidence: Number = 0.95,
        covers: Literal["reports", "population"] = "reports",
    ) -> Frequencies:
        """Return the shares of all answers to a question, with intervals; it costs nothing.

        Args:
            question: the question's name, where there are several.
            confidence: the confidence level of each interval.
            covers: `reports` for the shares among those who answered; `population` for those among people of whom they
                are a random sample.
        """
        shares: Frequencies = self.server(question).estimate(confidence, covers=covers)
        return shares

    def server(self, question: str | None = None) -> Server:
        """Return the server of a question's reports."""
        return self._servers[self.survey.question(question).name]

    def both(self, first: str, second: str) -> list[tuple[Reports, Reports]]:
        """Return the reports of all respondents who answered both questions."""
        known = [question.name for question in self.survey.questions]
        for name, parameter in ((first, "first"), (second, "second")):
            if type(name) is not str or name not in known:
                raise BadParameter(parameter, name, f"one of the survey's questions: {', '.join(known)}")
        names = first, second
        return [(sent[names[0]], sent[names[1]]) for sent in self._sent.values() if all(name in sent for name in names)]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads and other processes out."""
        with self._mutex, locked(self.folder / ".lock"):
            yield

    def _taken(self, line: str | bytes) -> dict[str, str] | str:
        """Return the kept part of a report, or why it is rejected."""
        if len(line) > MOST_BYTES:
            return NOT_WHOLE
        try:
            data = json.loads(line)
            respondent, question = data["respondent"], data["question"]
            if data["privet_survey"] != VERSION or not RESPONDENT.fullmatch(respondent):
                return NOT_WHOLE
            if data["survey"] != self.survey.digest:
                return ANOTHER
            if type(question) is not str or question not in self._servers:
                return ANOTHER
            report = read_reports(json.dumps(data["report"]))
        except (ValueError, KeyError, TypeError, ParseError, RecursionError):
            return NOT_WHOLE
        if len(report) != 1:
            return NOT_WHOLE
        refused = self._count(respondent, question, report)
        wire = base64.b64encode(report.to_bytes()).decode()
        return refused or {"respondent": respondent, "question": question, "report": wire}

    def _count(self, respondent: str, question: str, report: Reports) -> str:
        """Count a report; return why not, and nothing where it was counted."""
        oracle, server = self.survey.oracles[question], self._servers[question]
        if report.digest != oracle.digest:
            return ANOTHER
        if report.data.shape[1] != oracle.width:
            return NOT_WHOLE
        if not oracle._allowed(report.data, report.ids).all():
            return FORGED
        before = self._sent.get(respondent, {})
        if question in before:
            return REPEATED if before[question] == report else ANSWERED
        if self.epsilon_sent(respondent) + cost_of(oracle) > self.survey.stated:
            return BEYOND
        if not server.add(report):
            return REPEATED
        self._sent.setdefault(respondent, {})[question] = report
        return ""

    def _read(self) -> None:
        """Read the reports that other processes have kept since, and their counts of rejected ones."""
        try:
            with (self.folder / KEPT).open("rb+") as file:
                file.seek(self._place)
                body = file.read()
                whole = body.rfind(b"\n") + 1
                if whole < len(body):  # a line that a crash cut short was never acknowledged
                    file.truncate(self._place + whole)
        except FileNotFoundError:
            if self._place:
                self._damaged(KEPT)
            whole = 0
            body = b""
        except OSError:
            raise_alone(RequestError(f"{str(self.folder / KEPT)!r} cannot be read; check who owns it"))
        for line in body[:whole].splitlines():
            try:
                data = json.loads(line)
                report = read_reports(base64.b64decode(data["report"], validate=True))
                refused = self._count(data["respondent"], data["question"], report)
            except (ValueError, KeyError, TypeError, ParseError, RecursionError):
                refused = NOT_WHOLE
            if refused:
                self._damaged(KEPT)
        self._place += whole
        try:
            counts = json.loads((self.folder / REJECTED).read_bytes())
            self._rejected = Counter({str(reason): int(count) for reason, count in counts.items()})
        except FileNotFoundError:
            self._rejected = Counter()
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            self._damaged(REJECTED)

    def _damaged(self, name: str) -> NoReturn:
        raise_alone(RequestError(f"{str(self.folder / name)!r} is damaged; put back its latest copy"))

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {count:,}" for name, count in self.reports.items())
        refused = f", {sum(self._rejected.values()):,} rejected" if self._rejected else ""
        return f"SurveyFolder({self.survey.name!r}, {counts} reports{refused})"


_LONGEST = 40


def plot_survey(
    collected: SurveyFolder,
    *,
    confidence: Number = 0.95,
    covers: Literal["reports", "population"] = "reports",
    path: str | os.PathLike[str] | None = None,
    theme: Literal["light", "dark"] = "light",
) -> Figure:
    """Return a picture of all questions that were answered: a row for each answer."""
    chosen, truth = read_theme(theme), collected.truth or {}
    rows: list[tuple[str, float, float, float, float | None]] = []
    for question in collected.survey.questions:
        if not collected.reports[question.name]:
            continue
        estimates = collected.estimate(question.name, confidence=confidence, covers=covers)
        known = truth.get(question.name, {})
        for answer in question.answers:
            name = answer if len(collected.survey.questions) == 1 else f"{question.name}: {answer}"
            true = known[answer] / sum(known.values()) if known else None
            rows.append((name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…", *estimates[answer], true))
    if not rows:
        raise RequestError("no report was collected yet, so there is nothing to draw")
    level = float(open_probability(confidence, "confidence"))
    title = f"{collected.survey.name}: shares with {level:.0%} intervals"
    figure, axes = canvas(title, "share of the people", "", height=max(2.2, 0.9 + 0.38 * len(rows)))
    places = range(len(rows), 0, -1)
    for place, (_, value, low, high, true) in zip(places, rows, strict=True):
        first = place == len(rows)
        axes.plot([low, high], [place, place], color=COLOURS[0], lw=6, alpha=0.3, solid_capstyle="butt")
        axes.plot([value], [place], "o", color=COLOURS[0], ms=6, label="estimate" if first else None)
        if true is not None:
            axes.plot(
                [true], [place], "D", color=COLOURS[1], ms=8, mfc="none", mew=1.8, label="truth" if first else None
            )
    axes.set_yticks(list(places), [name.replace("$", r"\$") for name, *_ in rows])
    axes.set_ylim(0.4, len(rows) + 0.6)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    if truth:
        figure.legend(frameon=False, loc="outside lower right", ncols=2)
    return finish(figure, path, chosen)
