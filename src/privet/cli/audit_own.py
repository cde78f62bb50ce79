"""`privet audit module:name`: try to refute a claim about anybody's own code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import print_json
from .screen import print_facts, print_text, printable, working
from .targets import load_target, read_input, takes_a_count

if TYPE_CHECKING:
    from privet.audit.report import Report

_BATCHED, _ONE_BY_ONE, _BITS = 1_000_000, 100_000, 50_000
"""Releases of each input if nobody says how many: of functions that return many at once, of others; for low bits."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says about one's own code."""

    target: str
    neighbours: tuple[str, str] | None
    claimed: Fraction | None
    delta: Fraction | None
    samples: int | None
    batched: bool | None
    plot: Path | None
    as_json: bool


def audit_own(asked: Asked) -> bool:
    """Audit what was asked for, print the report, and return whether the claim stands."""
    from privet.audit import audit, audit_bits
    from privet.mechanisms import Mechanism

    if asked.neighbours is None:
        raise click.UsageError("say between which two inputs: --neighbours 10 11 (JSON: numbers, lists, texts, tables)")
    values = (read_input(asked.neighbours[0]), read_input(asked.neighbours[1]))
    found = load_target(asked.target)
    _verify(found, asked.target)
    claim = _claim(asked, found)
    known = isinstance(found, Mechanism)
    batched = known or (takes_a_count(found) if asked.batched is None else asked.batched)
    size = asked.samples or (_BATCHED if batched else _ONE_BY_ONE)
    draw = found.simulate if known else found
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
        raise RequestError(f"the picture cannot be written to {str(path)!r}; give a file such as audit.png") from None


def _verify(found: Any, target: str) -> None:
    from privet.core.errors import RequestError
    from privet.mechanisms import Mechanism

    if isinstance(found, type):
        raise RequestError(
            f"{target} is a class; point at a function, or at an object that you made: one = {found.__name__}(...)"
        )
    if not callable(found) and not isinstance(found, Mechanism):
        raise RequestError(
            f"{target} is of type {type(found).__name__}, which cannot be called; point at a function of one input, "
            "or of an input and a count that returns so many releases"
        )


def _claim(asked: Asked, found: Any) -> object:
    from privet.mechanisms import Mechanism

    if asked.claimed is not None:
        return (asked.claimed, asked.delta) if asked.delta else asked.claimed
    if isinstance(found, Mechanism) and asked.delta is None:
        return found.event
    raise click.UsageError(
        "say what is claimed: --claimed 1 for epsilon, and --delta 1e-3 beside it for an (epsilon, delta)"
    )


def _bits(audit_bits: Any, draw: Any, claim: object, size: int, values: tuple[Any, Any]) -> Report | None:
    """Return what the low bits tell, where releases are doubles; None where they are something else."""
    import numpy as np

    from privet.core.errors import RequestError

    try:
        some = [np.asarray(draw(value, 2)) for value in values]
    except Exception:  # an error that comes now and then is an output, which has no low bits
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
        alone = f"the last bits of the doubles alone give an epsilon of at least {bits.found:.4g}"
        more = "" if bits.refuted else "; other pairs may tell more, such as 0.1 and 0.7"
        facts.append(("low bits", alone + more))
    print_facts([(name, printable(told)) for name, told in facts])
    print_text(f"\n{_verdict(report, bits)}", style="bold")


def _verdict(report: Report, bits: Report | None) -> str:
    if report.refuted:
        return "REFUTED: the claim is false."
    if bits is not None and bits.refuted:
        return (
            "REFUTED by the low bits: the noise may have the right size, but the last bits of the doubles tell the "
            "inputs apart. Draw whole numbers, on a grid."
        )
    if report.power < 0.5:
        return "not refuted, and it proves little: power is low. Draw more releases, or choose inputs that differ more."
    return "not refuted: for these two inputs the releases are in line with the claim."
