"""`privet audit`: try to refute every guarantee, and show the attacks that break careless programs."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from .audit_own import Asked, audit_own, save_picture
from .numbers import number, whole_number
from .output import json_option, print_json
from .places import config_option
from .screen import print_text, printable
from .targets import is_target

if TYPE_CHECKING:
    from rich.table import Table

    from privet.audit.entry import Entry, Verdict
    from privet.audit.registry.doubles import Doubles
    from privet.audit.report import Report


@click.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Audit every mechanism.")
@click.option("--attacks", is_flag=True, help="Run the attacks of the lab instead.")
@click.option("--broken", is_flag=True, help="Audit known broken mechanisms, each of which must be caught.")
@click.option("--replay", metavar="SQL", help="For the custodian: replay a question without each unit. Private.")
@click.option("--epsilon", type=number, default="1", show_default=True, help="What the replayed question may cost.")
@config_option
@click.option(
    "--samples", type=whole_number, help="Releases of each neighbour; what each mechanism asks for if not given."
)
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
        raise click.UsageError("say which mechanisms to audit, or --all, --attacks, --broken or --replay")
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

    from privet.audit.registry import AUDITS
    from privet.audit.registry.doubles import DOUBLES
    from privet.audit.running import judge_all, look_at_bits

    chosen = [entry for entry in AUDITS if not names or _named(entry.name, names)]
    _check(names, chosen, [entry.name for entry in AUDITS], "mechanism")
    if plot and len(chosen) > 1:
        several = ", ".join(repr(entry.name) for entry in chosen[:3])
        raise click.UsageError(f"--plot draws one mechanism, and {len(chosen)} are named: choose one ({several}, ...)")
    screen = Console(stderr=True)
    quiet, processes = not screen.is_terminal, os.cpu_count() or 1
    judged = judge_all(chosen, samples=samples, processes=processes)
    verdicts = list(track(judged, "auditing", len(chosen), console=screen, disable=quiet, transient=True))
    roads = () if names else DOUBLES
    looked = look_at_bits(roads, processes=processes)
    bits = list(track(looked, "looking at bits", len(roads), console=screen, disable=quiet, transient=True))
    if plot:
        save_picture(verdicts[0].report, plot, verdicts[0].entry.name)
    if as_json:
        leaks = [
            {
                "name": f"low bits: {road.name}",
                "epsilon": found.epsilon,
                "found": found.found,
                "stands": not found.refuted,
            }
            for road, found in bits
        ]
        print_json([*(verdict.to_dict() for verdict in verdicts), *leaks])
    else:
        Console(soft_wrap=True).print(verdict_table(verdicts))
        if bits:
            Console(soft_wrap=True).print("", bits_table(bits))
    return all(verdict.stands for verdict in verdicts) and not any(found.refuted for _, found in bits)


def bits_table(bits: list[tuple[Doubles, Report]]) -> Table:
    """Return the table of what the low bits of doubles tell on each road."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("low bits of", "claim", "found", "verdict"):
        table.add_column(heading, justify="right" if heading in ("claim", "found") else "left", no_wrap=True)
    for road, found in bits:
        verdict = "BITS LEAK" if found.refuted else "stands"
        table.add_row(road.name, f"{found.epsilon:.3g}", f"{found.found:.3g}", verdict)
    return table


def verdict_table(verdicts: list[Verdict]) -> Table:
    """Return the table of verdicts: claimed, found, power, and whether the planted fault was caught."""
    from rich.table import Table

    caption = (
        "claim: what the tested pair may leak, exactly, where that is less than stated\n"
        "power: the chance to catch a claim understated by 10%; caught: a planted fault of at least 10%"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), caption=caption, caption_justify="left")
    for heading in ("mechanism", "stated", "claim", "delta", "found", "power", "caught", "verdict"):
        side: Literal["left", "right"] = "left" if heading in ("mechanism", "verdict") else "right"
        table.add_column(heading, justify=side, no_wrap=True)
    for verdict in verdicts:
        report, planted = verdict.report, verdict.planted
        table.add_row(
            verdict.entry.name,
            f"{report.epsilon if verdict.entry.stated is None else verdict.entry.stated:.3g}",
            f"{report.epsilon:.3g}",
            f"{report.delta:g}",
            f"{report.found:.3g}",
            f"{report.power:.3f}",
            f"{planted.found:.3g} > {planted.epsilon:.3g}" if planted.refuted else "missed",
            _words(verdict),
        )
    return table


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
    from privet.audit.broken import BROKEN

    chosen = [one for one in BROKEN if not names or _named(one.name, names)]
    _check(names, [one.name for one in chosen], [one.name for one in BROKEN], "broken mechanism")
    found = []
    for broken in chosen:
        found.append(one := broken.to_dict())
        if not as_json:
            claim = f"{one['epsilon']:.3g}" + (f" at delta {one['delta']:g}" if one["delta"] else "")
            verdict = "caught" if one["caught"] else "MISSED"
            click.echo(f"{one['name']}: {verdict}\n  claimed epsilon {claim}, found at least {one['found']:.3g}")
            click.echo(f"  {one['wrong']}\n")
    if as_json:
        print_json(found)
    return all(bool(one["caught"]) for one in found)


def _replay(sql: str, epsilon: Fraction, config: Path, as_json: bool) -> bool:
    from dataclasses import asdict

    from privet.audit.replay import replay
    from privet.config import read_config
    from privet.ledger.memory import MemoryLedger
    from privet.session import Session

    declared = read_config(config)
    with Session(declared.tables, views=declared.views, ledger=MemoryLedger(declared.rules.budget)) as session:
        plan = session.plan(sql, epsilon=epsilon)
    found = replay(declared.tables, plan)
    if as_json:
        print_json({"private": True, "holds": found.holds, **asdict(found)})
    else:
        for line in str(found).splitlines():
            print_text(printable(line))
    return found.holds


def _named(name: str, wanted: tuple[str, ...]) -> bool:
    return any(part.casefold() in name.casefold() for part in wanted)


def _check(names: tuple[str, ...], chosen: list[Entry] | list[str], known: list[str], what: str) -> None:
    from privet.core.errors import UnknownName

    if not chosen:
        raise UnknownName(what, " ".join(names), known)
