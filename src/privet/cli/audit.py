"""`privet audit`: try to refute every guarantee, and show the attacks that break careless programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import printable

from .screen import (
    json_option,
    number,
    print_facts,
    print_json,
    print_table,
    print_text,
    whole_number,
    working,
)
from .targets import config_option, is_target, load_target, read_input, takes_a_count

if TYPE_CHECKING:
    from privet.audit.entry import AuditEntry, Verdict
    from privet.audit.report import Report


# `privet audit module:name`: try to refute a claim about any code.


_BATCHED, _ONE_BY_ONE, _BITS = 1_000_000, 100_000, 50_000
"""Default number of releases of each input: of functions that return many at once, of others; for low bits."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of an audit of the user's own code."""

    target: str
    neighbours: tuple[str, str] | None
    claimed: Fraction | None
    delta: Fraction | None
    samples: int | None
    batched: bool | None
    plot: Path | None
    as_json: bool


def audit_own(asked: Asked) -> bool:
    """Audit a mechanism, print the report, and return whether the claim stands."""
    from privet.audit import audit, audit_bits
    from privet.mechanisms import Mechanism

    if asked.neighbours is None:
        raise click.UsageError("pass the two inputs: --neighbours 10 11 (JSON: numbers, lists, texts, tables)")
    values = (read_input(asked.neighbours[0]), read_input(asked.neighbours[1]))
    subject = load_target(asked.target)
    _verify(subject, asked.target)
    claim = _claim(asked, subject)
    known = isinstance(subject, Mechanism)
    batched = known or (takes_a_count(subject) if asked.batched is None else asked.batched)
    size = asked.samples or (_BATCHED if batched else _ONE_BY_ONE)
    draw = subject.simulate if known else subject
    if batched:
        with working(f"drawing and auditing {size:,} releases of each input"):
            report = audit(draw, values, claim, size, batched=True)
            bits = _bits(audit_bits, draw, claim, min(size, _BITS), values)
    else:
        with _counted(draw, 2 * size + 2 * min(size, _BITS)) as counted:
            report = audit(counted, values, claim, size)
            many = _many(counted)
            bits = _bits(audit_bits, many, claim, min(size, _BITS), values)
    if asked.plot is not None:
        save_picture(report, asked.plot, asked.target)
    if asked.as_json:
        low = None if bits is None else bits.to_dict()
        print_json({"mechanism": asked.target, "neighbours": list(values), **report.to_dict(), "low_bits": low})
    else:
        _print(asked, report, bits)
    return not report.refuted and not (bits is not None and bits.refuted)


def save_picture(report: Report, path: Path, title: str) -> None:
    """Write the picture of an audit; raise `RequestError` where it cannot be written."""
    from privet.core.errors import RequestError
    from privet.plots import plot_audit

    try:
        plot_audit(report, title=title, path=path)
    except (OSError, ValueError):
        raise RequestError(f"the picture cannot be written to {str(path)!r}; pass a file such as audit.png") from None


def _verify(subject: Any, target: str) -> None:
    from privet.core.errors import RequestError
    from privet.mechanisms import Mechanism

    if isinstance(subject, type):
        raise RequestError(
            f"{target} is a class; point at a function, or at an object that you made: one = {subject.__name__}(...)"
        )
    if not callable(subject) and not isinstance(subject, Mechanism):
        raise RequestError(
            f"{target} is of type {type(subject).__name__}, which cannot be called; point at a function of one input, "
            "or of an input and a count that returns that many releases"
        )


def _claim(asked: Asked, subject: Any) -> Any:
    from privet.mechanisms import Mechanism

    if asked.claimed is not None:
        return (asked.claimed, asked.delta) if asked.delta else asked.claimed
    if isinstance(subject, Mechanism) and asked.delta is None:
        return subject.event
    raise click.UsageError("pass the claim: --claimed 1 for epsilon, and also --delta 1e-3 for an (epsilon, delta)")


def _bits(audit_bits: Any, draw: Any, claim: Any, size: int, values: tuple[Any, Any]) -> Report | None:
    """Return the leak of the low bits, where releases are doubles; None for other releases."""
    import numpy as np

    from privet.core.errors import RequestError

    try:
        some = [np.asarray(draw(value, 2)) for value in values]
    except Exception:  # an occasional error is an output, which has no low bits
        return None
    if any(each.dtype.kind != "f" or each.ndim == 0 for each in some) or some[0].shape != some[1].shape:
        return None
    try:
        report: Report = audit_bits(draw, claim, size, pairs=(values,))
    except RequestError:
        return None
    return report


def _many(function: Any) -> Any:
    return lambda value, count: [function(value) for _ in range(count)]


@contextmanager
def _counted(function: Any, calls: int) -> Iterator[Any]:
    """Yield the function, with a bar on a terminal that shows how many of the calls are done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield function
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("drawing releases", total=calls)
        done = 0

        def counted(value: Any) -> Any:
            nonlocal done
            done += 1
            if done % 256 == 0:
                progress.advance(task, 256)
            return function(value)

        yield counted


def _print(asked: Asked, report: Report, bits: Report | None) -> None:
    names = asked.neighbours or ("", "")
    shown = [name if len(name) <= 30 else f"{name[:27]}..." for name in names]
    seen = [f"{count / report.counts.trials:.3%}" for count in report.seen]
    facts = [
        ("mechanism", asked.target),
        ("inputs", f"{shown[0]} and {shown[1]}, {report.counts.trials:,} releases of each counted"),
        ("claimed", report.claim),
        ("found", f"epsilon is at least {report.found:.4g} (wrong at most once in {1 / report.alarm:,.0f} audits)"),
        ("witness", f"{report.witness}: {seen[0]} of the releases for the first input, {seen[1]} for the second"),
        ("power", f"an epsilon understated by 10% would have been caught with probability {report.power:.2f}"),
    ]
    if bits is not None:
        alone = f"the last bits of the doubles alone imply an epsilon of at least {bits.found:.4g}"
        more = "" if bits.refuted else "; other pairs may leak more, such as 0.1 and 0.7"
        facts.append(("low bits", alone + more))
    print_facts([(name, printable(text)) for name, text in facts])
    print_text(f"\n{_verdict(report, bits)}", style="bold")


def _verdict(report: Report, bits: Report | None) -> str:
    if report.refuted:
        return "REFUTED: the claim is false."
    if bits is not None and bits.refuted:
        return (
            "REFUTED by the low bits: the noise may have the right size, but the last bits of the doubles distinguish "
            "the inputs. Draw whole numbers, on a grid."
        )
    if report.power < 0.5:
        return "not refuted, and it proves little: power is low. Draw more releases, or choose inputs that differ more."
    return "not refuted: for these two inputs the releases are in line with the claim."


@click.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Audit every mechanism.")
@click.option("--attacks", is_flag=True, help="Run the attacks of the lab instead.")
@click.option("--broken", is_flag=True, help="Audit known broken mechanisms, each of which must be caught.")
@click.option("--replay", metavar="SQL", help="For the custodian: replay a question without each unit. Private.")
@click.option("--epsilon", type=number, default="1", show_default=True, help="What the replayed question may cost.")
@config_option
@click.option("--samples", type=whole_number, help="Releases of each neighbour. [default: as each mechanism requires]")
@click.option("--neighbours", "--neighbors", nargs=2, metavar="A B", help="Two inputs for your own code, as JSON.")
@click.option("--claimed", type=number, metavar="EPSILON", help="What your own code claims.")
@click.option("--delta", type=number, help="The delta that is claimed beside it.")
@click.option("--batched/--one-by-one", default=None, help="Whether your function also takes a count.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Write the trade-off as a picture.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    everything: bool,
    attacks: bool,
    broken: bool,
    replay: str | None,
    epsilon: Fraction,
    config: Path,
    samples: int | None,
    neighbours: tuple[str, str] | None,
    claimed: Fraction | None,
    delta: Fraction | None,
    batched: bool | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Try to refute the guarantees of mechanisms by looking at what they release.

    A name with a colon in it is your own code: module:function or file.py:function. The function takes one of the
    two inputs, or an input and how many releases of it to return. The exit status is 1 if the claim is refuted.

    Other NAMES are parts of the names of Privet's mechanisms, of attacks or of broken mechanisms. Each mechanism is
    also run with a fault planted, which the audit must catch: the exit status is 1 if it is missed, too.
    With --replay nothing is asked of the ledger and nothing is released: what is printed is private.

    \b
    Example:
      privet audit my_code.py:noisy_count --neighbours 10 11 --claimed 1
      privet audit my_package.sums:mean --neighbours "[1, 2]" "[1, 9]" --claimed 1 --delta 1e-3 --plot mean.png
      privet audit laplace --samples 200000
      privet audit --all
      privet audit --attacks
      privet audit --broken
      privet audit --replay "SELECT COUNT(*) FROM visits"
    """
    if not (names or everything or attacks or broken or replay):
        raise click.UsageError("name the mechanisms to audit, or pass --all, --attacks, --broken or --replay")
    if own := [name for name in names if is_target(name)]:
        if len(names) > 1 or everything or attacks or broken or replay:
            raise click.UsageError(f"audit {own[0]!r} by itself, without --all, --attacks, --broken and --replay")
        asked = Asked(
            target=own[0],
            neighbours=neighbours,
            claimed=claimed,
            delta=delta,
            samples=samples,
            batched=batched,
            plot=plot,
            as_json=as_json,
        )
        passed = audit_own(asked)
    elif neighbours or claimed is not None or delta is not None or batched is not None:
        raise click.UsageError(
            "--neighbours, --claimed, --delta and --batched are for your own code: module:function or file.py:function"
        )
    elif plot and (attacks or broken or replay):
        raise click.UsageError("--plot draws the audit of one mechanism: privet audit 'laplace, reals' --plot out.png")
    elif replay:
        passed = _replay(replay, epsilon, config, as_json)
    elif attacks:
        passed = _attacks(names, as_json)
    else:
        passed = _broken(names, as_json) if broken else _audits(names, samples, plot, as_json)
    if not passed:
        ctx.exit(1)


def _audits(names: tuple[str, ...], samples: int | None, plot: Path | None, as_json: bool) -> bool:
    from rich.console import Console
    from rich.progress import track

    from privet.audit.registry import AUDITS, judge_all, look_at_bits
    from privet.audit.registry.end_to_end import DOUBLES

    chosen = [entry for entry in AUDITS if not names or _named(entry.name, names)]
    _check(names, chosen, [entry.name for entry in AUDITS], "mechanism")
    if plot and len(chosen) > 1:
        examples = ", ".join(repr(entry.name) for entry in chosen[:3])
        raise click.UsageError(f"--plot draws one mechanism, and {len(chosen)} are named: choose one ({examples}, ...)")
    screen = Console(stderr=True)
    quiet, processes = not screen.is_terminal, os.cpu_count() or 1
    judged = judge_all(chosen, samples=samples, processes=processes)
    verdicts = list(track(judged, "auditing", len(chosen), console=screen, disable=quiet, transient=True))
    doubles = () if names else DOUBLES
    looked = look_at_bits(doubles, processes=processes)
    bits = list(track(looked, "looking at bits", len(doubles), console=screen, disable=quiet, transient=True))
    if plot:
        save_picture(verdicts[0].report, plot, verdicts[0].entry.name)
    if as_json:
        leaks = [
            {
                "name": f"low bits: {checked.name}",
                "epsilon": bit.epsilon,
                "found": bit.found,
                "stands": not bit.refuted,
            }
            for checked, bit in bits
        ]
        print_json([*(verdict.to_dict() for verdict in verdicts), *leaks])
    else:
        print_verdicts(verdicts)
        if bits:
            click.echo()
            rows = [
                (checked.name, f"{bit.epsilon:.3g}", f"{bit.found:.3g}", "BITS LEAK" if bit.refuted else "stands")
                for checked, bit in bits
            ]
            print_table(("low bits of", "claim", "found", "verdict"), rows, right=(1, 2))
    return all(verdict.stands for verdict in verdicts) and not any(bit.refuted for _, bit in bits)


def print_verdicts(verdicts: list[Verdict]) -> None:
    """Print the verdicts: claimed, found, power, and whether the planted fault was caught."""
    rows = []
    for verdict in verdicts:
        report, planted = verdict.report, verdict.planted
        rows.append(
            (
                verdict.entry.name,
                f"{report.epsilon if verdict.entry.stated is None else verdict.entry.stated:.3g}",
                f"{report.epsilon:.3g}",
                f"{report.delta:g}",
                f"{report.found:.3g}",
                f"{report.power:.3f}",
                f"{planted.found:.3g} > {planted.epsilon:.3g}" if planted.refuted else "missed",
                _words(verdict),
            )
        )
    heads = ("mechanism", "stated", "claim", "delta", "found", "power", "caught", "verdict")
    print_table(heads, rows, right=range(1, 7))
    print_text(
        "claim: what the tested pair may leak, exactly, where that is less than stated\n"
        "power: the probability to catch a claim understated by 10%; caught: a planted fault of at least 10%",
        style="dim",
    )


def _words(verdict: Verdict) -> str:
    if verdict.report.refuted:
        return "REFUTED"
    if verdict.bits and verdict.bits.refuted:
        return "BITS LEAK"
    return "stands" if verdict.stands else "too weak"


def _attacks(names: tuple[str, ...], as_json: bool) -> bool:
    from dataclasses import asdict

    from privet.audit.attacks import ATTACKS

    chosen = {name: attack for name, attack in ATTACKS.items() if not names or _named(name, names)}
    _check(names, list(chosen), list(ATTACKS), "attack")
    outcomes = []
    for attack in chosen.values():
        outcomes.append(attack())
        if not as_json:
            click.echo(f"{outcomes[-1]}\n")
    if as_json:
        print_json([asdict(outcome) for outcome in outcomes])
    return all(outcome.broke and outcome.held for outcome in outcomes)


def _broken(names: tuple[str, ...], as_json: bool) -> bool:
    from privet.audit.attacks import BROKEN

    chosen = [attack for attack in BROKEN if not names or _named(attack.name, names)]
    _check(names, [attack.name for attack in chosen], [attack.name for attack in BROKEN], "broken mechanism")
    results = []
    for broken in chosen:
        results.append(facts := broken.to_dict())
        if not as_json:
            claim = f"{facts['epsilon']:.3g}" + (f" at delta {facts['delta']:g}" if facts["delta"] else "")
            verdict = "caught" if facts["caught"] else "MISSED"
            click.echo(f"{facts['name']}: {verdict}\n  claimed epsilon {claim}, found at least {facts['found']:.3g}")
            click.echo(f"  {facts['wrong']}\n")
    if as_json:
        print_json(results)
    return all(bool(result["caught"]) for result in results)


def _replay(sql: str, epsilon: Fraction, config: Path, as_json: bool) -> bool:
    from dataclasses import asdict

    from privet.audit.replay import replay
    from privet.config import read_config
    from privet.ledger.memory import MemoryLedger
    from privet.session import Session

    declared = read_config(config)
    with Session(declared.tables, views=declared.views, ledger=MemoryLedger(declared.rules.budget)) as session:
        plan = session.plan(sql, epsilon=epsilon)
    replayed = replay(declared.tables, plan)
    if as_json:
        print_json({"private": True, "holds": replayed.holds, **asdict(replayed)})
    else:
        for line in str(replayed).splitlines():
            print_text(printable(line))
    return replayed.holds


def _named(name: str, wanted: tuple[str, ...]) -> bool:
    return any(part.casefold() in name.casefold() for part in wanted)


def _check(names: tuple[str, ...], chosen: list[AuditEntry] | list[str], known: list[str], what: str) -> None:
    from privet.core.errors import UnknownName

    if not chosen:
        raise UnknownName(what, " ".join(names), known)
