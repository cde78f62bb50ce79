"""`privet ledger`: charges and answers, verification, copies and rules. For custodians."""

from __future__ import annotations

import json
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.core.errors import RequestError
from privet.core.given import read_place
from privet.core.numbers import in_digits, in_full
from privet.display import (
    Figures,
    charge_words,
    cost_words,
    html_facts,
    html_table,
    plain_sql,
    printable,
    shown_amount,
    shown_error,
)

from .ledger_owner import adopt, set_up
from .screen import (
    counting_number,
    json_option,
    number,
    print_facts,
    print_json,
    print_table,
    print_text,
    whole_number,
    working,
)
from .targets import config_option, existing_ledger, ledger_command, ledger_option

if TYPE_CHECKING:
    from privet.core.budget import Budget
    from privet.core.ports import LedgerEntry


# An entry of a ledger in a few words.


def listed(one: LedgerEntry) -> dict[str, Any]:
    """Return an entry as a list of entries shows it."""
    from privet.ledger.entries import write_time

    return {
        "entry": one.number,
        "time": write_time(one.time),
        "kind": one.kind,
        "account": one.account,
        "what": _what(one),
    }


def _what(entry: LedgerEntry) -> str:
    """Return the subject of an entry in a few words."""
    from privet.ledger.entries import (
        AccountOpened,
        Acted,
        Answered,
        Charged,
        Cleared,
        Failed,
        Frozen,
        Limited,
        Opened,
        PromiseOpened,
        Rescheduled,
        Stepped,
        ToppedUp,
        write_time,
    )

    match entry.record:
        case Opened(cap=cap) | AccountOpened(cap=cap):
            return cap.budget.describe()
        case PromiseOpened(promise=promise):
            return promise.describe()
        case ToppedUp(cap=cap, reason=reason):
            return f"adds {cap.budget.describe()}: {reason}"
        case Limited(per_query=most, reason=reason):
            return f"one query may cost {'anything' if most is None else most.describe()}: {reason}"
        case Rescheduled(expires=until, reason=reason):
            return f"spending ends {'never' if until is None else write_time(until)}: {reason}"
        case Charged(shared=int(shared)):
            return f"repeats the answer that entry {shared} paid for"
        case Charged() as charge:
            try:
                return charge_words(charge.facts)
            except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
                return "a charge whose plan was not recorded by Privet"
        case Answered(charge=charge):
            return f"to entry {charge}"
        case Failed(charge=charge):
            return f"of the database, after entry {charge}"
        case Cleared(reason=reason) | Frozen(reason=reason):
            return reason
        case Acted(actor=actor, role=role, act=act, note=note):
            return f"{act} by {actor} ({role}){note and f': {note}'}"
        case Stepped(charge=charge, phase=phase, step=step):
            return f"{phase}s step {step} of entry {charge}"
    return ""


# Changes by a custodian: `privet ledger top-up`, `limit`, `reschedule`, `clear`, each an entry with a reason.


@ledger_command("top-up")
@click.option("--epsilon", type=number, help="How much epsilon is added.")
@click.option("--delta", type=number, help="How much delta is added, for an (epsilon, delta) budget.")
@click.option("--rho", type=number, help="How much rho is added, for a budget that counts rho.")
@click.option("--account", help="Whose budget; the data set's if left out.")
@click.option("--reason", required=True, help="Why: it is recorded.")
def top_up(
    config: Path,
    ledger_path: Path | str | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    account: str | None,
    reason: str,
    as_json: bool,
) -> None:
    """Add to a budget. What was spent stays spent, and the promise is then the sum.

    \b
    Example:
      privet ledger top-up --epsilon 1 --delta 1e-7 --reason "second study"
      privet ledger top-up --epsilon 0.5 --account ana --reason "a question more"
    """
    budget = _budget(epsilon, delta, rho)
    with existing_ledger(config, ledger_path) as ledger:
        ledger.top_up(budget, reason=reason, account=account)
        now, head = ledger.budget_of(account), ledger.head()
    if as_json:
        print_json({"account": account, "budget": now.describe(), "head": head})
        return
    print_text(f"The budget of {account or 'the data set'} is now {now.describe()}.")


@ledger_command("limit")
@click.option("--epsilon", type=number, help="The most epsilon that one query may cost.")
@click.option("--delta", type=number, help="The delta at which that applies, for an (epsilon, delta) budget.")
@click.option("--rho", type=number, help="The most rho that one query may cost, for a budget that counts rho.")
@click.option("--none", "unlimited", is_flag=True, help="Take the limit away.")
@click.option("--reason", required=True, help="Why: it is recorded.")
def limit(
    config: Path,
    ledger_path: Path | str | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    rho: Fraction | None,
    unlimited: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Change the most that one query may cost. Change privet.toml accordingly, or it will not open.

    \b
    Example:
      privet ledger limit --epsilon 0.5 --delta 1e-8 --reason "no more big questions"
      privet ledger limit --none --reason "the pilot is over"
    """
    from privet.core.errors import RequestError

    if unlimited and (epsilon, delta, rho) != (None, None, None):
        raise RequestError("pass what one query may cost, or --none, not both")
    most = None if unlimited else _budget(epsilon, delta, rho)
    with existing_ledger(config, ledger_path) as ledger:
        ledger.limit(most, reason=reason)
        head = ledger.head()
    words = None if most is None else most.describe()
    if as_json:
        print_json({"per_query": words, "head": head})
        return
    print_text(f"One query may cost {words or 'anything that the budget admits'} from now on.")


@ledger_command("reschedule")
@click.argument("until")
@click.option("--account", help="Whose spending ends then; the data set's if left out.")
@click.option("--reason", required=True, help="Why: it is recorded.")
def reschedule(
    config: Path, ledger_path: Path | str | None, until: str, account: str | None, reason: str, as_json: bool
) -> None:
    """Change when spending ends, or pass never. What was spent stays spent. Change privet.toml accordingly.

    \b
    Example:
      privet ledger reschedule 2027-12-31T23:59:59Z --reason "the study was extended"
      privet ledger reschedule never --account ana --reason "ana stays"
    """
    import datetime

    from privet.core.errors import BadParameter
    from privet.ledger.entries import write_time

    try:
        when = None if until == "never" else datetime.datetime.fromisoformat(until)
    except ValueError:
        raise BadParameter("UNTIL", until, "a time with its zone, such as 2027-12-31T23:59:59Z, or never") from None
    with existing_ledger(config, ledger_path) as ledger:
        ledger.reschedule(when, reason=reason, account=account)
        ends, head = ledger.expires(account), ledger.head()
    words = None if ends is None else write_time(ends)
    if as_json:
        print_json({"account": account, "expires": words, "head": head})
        return
    print_text(f"Spending of {account or 'the data set'} ends {f'at {words}' if words else 'never'}.")


@ledger_command("freeze")
@click.argument("account")
@click.option("--reason", required=True, help="Why: it is recorded.")
def freeze(config: Path, ledger_path: Path | str | None, account: str, reason: str, as_json: bool) -> None:
    """Let an account spend nothing more, until `privet ledger clear`. Answers that it paid for stay free.

    \b
    Example:
      privet ledger freeze ana --reason "left the project"
    """
    with existing_ledger(config, ledger_path) as ledger:
        ledger.freeze(account, reason=reason)
        head = ledger.head()
    if as_json:
        print_json({"account": account, "head": head})
        return
    print_text(f"The account {account} may spend nothing more until it is cleared.")


@ledger_command("clear")
@click.argument("account")
@click.option("--reason", required=True, help="Why: it is recorded.")
def clear(config: Path, ledger_path: Path | str | None, account: str, reason: str, as_json: bool) -> None:
    """Unfreeze an account that was frozen by a custodian, or because the database failed three times in a row.

    \b
    Example:
      privet ledger clear ana --reason "the disk was full"
    """
    with existing_ledger(config, ledger_path) as ledger:
        ledger.clear(account, reason=reason)
        head = ledger.head()
    if as_json:
        print_json({"account": account, "head": head})
        return
    print_text(f"The account {account} may spend again.")


def _budget(epsilon: Fraction | None, delta: Fraction | None, rho: Fraction | None) -> Budget:
    from privet.core.budget import Approximate, Pure, Zcdp
    from privet.core.errors import RequestError

    if rho is not None and epsilon is None and delta is None:
        return Zcdp(rho=rho)
    if rho is None and epsilon is not None:
        return Pure(epsilon=epsilon) if delta is None else Approximate(epsilon=epsilon, delta=delta)
    raise RequestError("pass one amount: --epsilon, --epsilon and --delta, or --rho")


# `privet ledger export`, `import` and `backup`: copies of a ledger, each checked as it is made or read.


@ledger_command("export")
@click.option("--output", type=click.Path(path_type=Path), help="A new file, instead of standard output.")
def export(config: Path, ledger_path: Path | str | None, output: Path | None, as_json: bool) -> None:
    """Write every entry with its hash as a line of JSON, oldest first.

    \b
    Example:
      privet ledger export --output ledger.jsonl
    """
    from privet.core.errors import RequestError

    with existing_ledger(config, ledger_path) as ledger:
        lines, head = list(ledger.export()), ledger.head()
    if output is None:
        click.echo("\n".join(lines))
        return
    try:
        with output.open("x", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)
    except FileExistsError:
        raise RequestError(f"{str(output)!r} exists already; choose another name") from None
    except OSError:
        raise RequestError(f"{str(output)!r} cannot be written; check the folder and who may write to it") from None
    if as_json:
        print_json({"entries": len(lines), "head": head, "output": str(output)})
        return
    print_text(f"{len(lines):,} entries are in {output}. Head:\n{head}")


@click.command("import")
@click.argument("source", type=click.File(encoding="utf-8"))
@click.option("--ledger", "ledger_path", type=read_place, metavar="PLACE", required=True, help="The new ledger.")
@click.option("--head", help="A head that you kept: the lines must contain that entry.")
@json_option
def restore(source: Any, ledger_path: Path | str, head: str | None, as_json: bool) -> None:
    """Make a new ledger of exported lines, after checking all of them. SOURCE is a file, or - for standard input.

    An old export lacks what was spent after it: pass the last head that you know. In PostgreSQL, make the tables first,
    with init.

    \b
    Example:
      privet ledger import ledger.jsonl --ledger restored.ledger --head 12:9f3c...
      privet ledger import ledger.jsonl --ledger postgresql://privet_app@db.example.org/hospital
    """
    from privet.config.sessions import restore_ledger
    from privet.core.errors import RequestError
    from privet.ledger.postgres.server_address import shown_place

    try:
        lines = [line for line in source.read().splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise RequestError("the lines are not text in UTF-8, so they are no exported ledger") from None
    with working("checking every line"), restore_ledger(ledger_path, lines, head=head) as ledger:
        ledger.verify()
        last = ledger.head()
    if as_json:
        print_json({"entries": len(lines), "head": last, "ledger": shown_place(ledger_path)})
        return
    print_text(f"{len(lines):,} entries are in {shown_place(ledger_path)}, the ledger is intact. Head:\n{last}")


@ledger_command("backup")
@click.argument("target", type=read_place)
def backup(config: Path, ledger_path: Path | str | None, target: Path | str, as_json: bool) -> None:
    """Copy the ledger to a new one while others go on spending: to a file, or into empty tables of PostgreSQL.

    To move a ledger, stop all processes that use it first, and make sure that the old one is not opened again.

    \b
    Example:
      privet ledger backup copy.ledger
      privet ledger backup postgresql://privet_app@db.example.org/hospital
    """
    from privet.ledger.postgres.server_address import shown_place

    with existing_ledger(config, ledger_path) as ledger:
        ledger.backup(target)
        head = ledger.head()
    if as_json:
        print_json({"copy": shown_place(target), "head": head})
        return
    print_text(f"The copy is {shown_place(target)}. The ledger's head:\n{head}")


# `privet ledger list`, `show` and `verify`: the contents of a ledger, and the proof that it is intact.


@ledger_command("list")
@click.option("--account", help="Only what is about this account.")
@click.option("--last", type=counting_number, help="Only the latest entries, this many.")
@click.option("--after", type=counting_number, help="Begin after the entry of this number.")
@click.option("--limit", type=counting_number, help="At most this many entries.")
def list_entries(
    config: Path,
    ledger_path: Path | str | None,
    account: str | None,
    last: int | None,
    after: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List entries: charges, answers, failures and changes of the rules. A page of them is read without the rest.

    \b
    Example:
      privet ledger list --last 10
      privet ledger list --after 1000 --limit 50
    """
    with existing_ledger(config, ledger_path) as ledger:
        if account is not None and last is not None:  # the latest of one account, wherever they are
            entries = ledger.entries(account=account)[-last:]
        else:
            entries = ledger.entries(after=after or 0, limit=limit, last=last, account=account)
        head = ledger.head()
    if as_json:
        print_json({"entries": [listed(entry) for entry in entries], "head": head})
        return
    rows = [_row(listed(entry)) for entry in entries]
    print_table(("entry", "time (UTC)", "kind", "account", "what"), rows, right=(0,))
    print_text(f"\nhead {head}", style="dim")


@ledger_command("show")
@click.argument("number", type=whole_number)
def show(config: Path, ledger_path: Path | str | None, number: int, as_json: bool) -> None:
    """Show one complete entry, as it is written.

    \b
    Example:
      privet ledger show 4
    """
    with existing_ledger(config, ledger_path) as ledger:
        entry = ledger.entry(number)
    body = entry.to_dict()
    if as_json:
        print_json(body)
        return
    summary = listed(entry)
    facts = [(name, str(summary[name])) for name in ("entry", "time", "kind", "account", "what") if summary[name]]
    apart = {
        name: body.pop(name) for name in ("v", "kind", "number", "time", "account", "text", "facts") if name in body
    }
    facts += [(name, _plain(value)) for name, value in body.items() if value is not None]
    print_facts([(name, printable(text)) for name, text in facts])
    if apart.get("text"):
        print_text("\n" + "\n".join(printable(line) for line in apart["text"].splitlines()))


@ledger_command("verify")
@click.option("--head", help="A head that you kept: the ledger must still contain that entry.")
def verify(config: Path, ledger_path: Path | str | None, head: str | None, as_json: bool) -> None:
    """Verify the ledger from its store alone: the chain of all entries, the cost of every event, every budget.

    \b
    Example:
      privet ledger verify --head 12:9f3c...
    """
    with existing_ledger(config, ledger_path) as ledger:
        if head is not None:
            ledger.pin(head)
        with working("reading every entry"):
            ledger.verify()
        last = ledger.head()
    entries = int(last.partition(":")[0])
    if as_json:
        print_json({"valid": True, "entries": entries, "head": last, "pinned": head})
        return
    print_text(f"The ledger is intact: {entries:,} entries, each as it was written, and no budget was exceeded.")
    if head is not None:
        print_text(f"It still contains entry {head.partition(':')[0]}, which you kept.")
    print_text(f"Keep this head elsewhere, to know an old copy from this one:\n{last}")


@ledger_command("review")
def review(config: Path, ledger_path: Path | str | None, as_json: bool) -> None:
    """List releases that an earlier version made with a form of question that leaked. Changes nothing.

    Entries of old releases contain the plan in words and not every expression, so some of those listed may be
    harmless; none is missing.

    \b
    Example:
      privet ledger review
    """
    with existing_ledger(config, ledger_path) as ledger:
        leaks, head = ledger.review(), ledger.head()
    if as_json:
        print_json({"releases": [leak.to_dict() for leak in leaks], "head": head})
        return
    if not leaks:
        print_text("No release of this ledger used a form of question that leaked.")
        return
    rows = [
        (
            str(leak.entry),
            leak.time.replace("T", " ")[:16],
            printable(leak.account),
            _sure(leak.sure),
            printable(leak.why),
        )
        for leak in leaks
    ]
    print_table(("entry", "time (UTC)", "account", "leaked", "why"), rows, right=(0,))
    sure = sum(leak.sure for leak in leaks)
    print_text(
        f"\n{len(leaks):,} releases to look at; {sure:,} of them name such a form. Ask again what matters, with this "
        "version: see SECURITY.md for what could be learned."
    )


def _sure(sure: bool) -> str:
    return "can have" if sure else "cannot be excluded"


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    time = str(entry["time"]).replace("T", " ")[:16]
    return (
        str(entry["entry"]),
        time,
        str(entry["kind"]),
        printable(entry["account"] or ""),
        printable(str(entry["what"])),
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# `privet certificate`: what a release protected, how, and at what cost, for anyone who reads its numbers.


@click.command()
@click.argument("number", type=whole_number)
@click.option("--html", "as_html", is_flag=True, help="Print one page of HTML, to hand over.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write it to a new file that ends in .html or .json.",
)
@config_option
@ledger_option
@json_option
def certificate_command(
    number: int, as_html: bool, output: Path | None, config: Path, ledger_path: Path | str | None, as_json: bool
) -> None:
    """Print the certificate of a release: NUMBER is the entry of the ledger that charged or answered it.

    It is public: what was protected, bounds and truncation, noise, cost, versions, and the ledger's head.

    \b
    Example:
      privet certificate 4
      privet certificate 4 --json > certificate.json
      privet certificate 4 --output certificate.html
    """
    if output is not None and output.suffix.lower() not in (".html", ".json"):
        raise RequestError(f"--output {str(output)!r} must end in .html or .json")
    with existing_ledger(config, ledger_path) as ledger:
        proof = ledger.certificate(number)
    if output is not None:
        page = json.dumps(proof, indent=2, default=str) if output.suffix.lower() == ".json" else certificate_page(proof)
        _write_new(output, page)
        print_text(f"Wrote {output}.")
        return
    if as_html:
        click.echo(certificate_page(proof))
        return
    if as_json:
        print_json(proof)
        return
    try:
        facts = [(name, printable(text)) for name, text in _facts(proof) if text]
        releases = [_release(release) for release in proof.get("releases") or []]
        measured = [_measured(row) for row in proof.get("measurements") or []]
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        print_json(proof)  # another program described the plan, in another form
        return
    print_facts(facts)
    if releases:
        print_text("")
        print_table(_HEADS, releases, right=(1,))
    if measured:
        print_text("")
        print_table(("group", "released", "worth", "noise", "measurement"), measured[:_MEASURED], right=(1, 2))
        if len(measured) > _MEASURED:
            print_text(f"and {len(measured) - _MEASURED:,} more measurements; --json has them all", style="dim")
    print_text(f"\nchain {proof['chain']}\nhead  {proof['head']}", style="dim")


_MEASURED = 40
"""Measurements that are printed as text."""


_HEADS = ("noise", "95% within", "sensitivity", "clamped to", "released sum")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:52em;margin:2.5em auto;padding:0 1.5em;color:#1a1a1a}"
    "h1{font-size:1.5em}h2{font-size:1.1em;margin-top:1.8em}table{border-collapse:collapse;width:100%}"
    "td,th{border-bottom:1px solid #ddd;vertical-align:top}code{word-break:break-all;font-size:85%}"
    "@media print{body{margin:0;max-width:none;font-size:11px}}"
)


def certificate_page(told: dict[str, Any]) -> str:
    """Return a certificate as one self-contained page of HTML; every value in it is escaped."""
    try:
        facts = [(name, printable(text)) for name, text in _facts(told) if text]
        releases = [_release(release) for release in told.get("releases") or []]
        chain = f"<p><code>chain {escape(str(told['chain']))}<br>head {escape(str(told['head']))}</code></p>"
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        facts, releases, chain = [(str(name), printable(str(value))) for name, value in told.items()], [], ""
    columns = [
        Figures(head, cells, right=head == "95% within")
        for head, cells in zip(_HEADS, zip(*releases, strict=True), strict=False)
    ]
    listed = f"<h2>Released</h2>{html_table(columns, most=len(releases))}" if releases else ""
    proof = "The head, kept outside the ledger, shows whether this entry is still in it: privet ledger verify."
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Certificate of a private release</title><style>{_STYLE}</style></head><body>"
        "<h1>Certificate of a private release</h1>"
        "<p>This page states what was protected in a release, how, and at what cost. It contains no data.</p>"
        f"{html_facts(facts)}{listed}<h2>Proof</h2><p>{proof}</p>{chain}</body></html>"
    )


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except FileExistsError:
        raise RequestError(f"there is a file {str(path)!r} already; choose another --output") from None
    except (OSError, ValueError):
        raise RequestError(f"{str(path)!r} cannot be written; check its folder and who owns it") from None


def _facts(proof: dict[str, Any]) -> list[tuple[str, str]]:
    from privet.ledger.codec import read_budget

    cost = cost_words(proof.get("cost") or {})
    versions = [f"{table} {label}" for table, label in proof["versions"].items() if label]
    promise = read_budget(proof["promise"]["data set"]).describe()
    if proof["repeats"] is not None:
        cost += f", but nothing of the data set's budget: it repeats the answer that entry {proof['repeats']} paid for"
    return [
        ("entry", f"{proof['entry']}, {proof['time']}, by {proof['account']}"),
        ("protects", _protected(proof)),
        ("bounding", str(proof.get("bounding") or "")),
        (
            "groups",
            f"{', '.join(map(plain_sql, proof['group_by']))} ({proof.get('keys')})" if proof.get("group_by") else "",
        ),
        ("where", plain_sql(proof.get("where") or "")),
        ("cost", cost or " ".join(proof["words"])),
        ("promise", f"{promise}, for all releases of this ledger together"),
        ("versions", "; ".join([*versions, f"Privet {proof['privet']}" if "privet" in proof else ""]).strip("; ")),
        ("answer", "none was released" if proof["answer"] is None else f"in entry {proof['answer']}"),
    ]


def _protected(proof: dict[str, Any]) -> str:
    if "protects" not in proof:
        return ""
    return f"{proof['protects']} of {proof.get('table')}, {proof.get('neighbors')} neighbours"


def _release(release: dict[str, Any]) -> tuple[str, ...]:
    """Return one released sum as a row; a later version may record less of it, or more."""
    ends, width, moved = release.get("clamped_to"), release.get("half_width_95"), release.get("sensitivity")
    return (
        str(release.get("noise", "")),
        "" if width is None else f"±{shown_error(width)}",
        "" if moved is None else f"{shown_amount(moved)} ({release.get('norm')})",
        "" if ends is None else f"{in_full(ends[0])} to {in_full(ends[1])}",
        printable(str(release.get("sum", ""))),
    )


def _measured(measured: dict[str, Any]) -> tuple[str, ...]:
    """Return one released number as a row."""
    law, released, value = measured["noise"], measured["released"], measured["value"]
    chosen = f"{measured['mechanism']}, chosen" if measured["kind"] == "selection" else str(measured["mechanism"])
    return (
        printable(", ".join(map(str, measured["group"].values()))),
        printable(f"{released:,}" if type(released) is int else str(released)),
        printable(in_full(value) if isinstance(value, float) else str(value)),
        chosen if law is None else f"{law['law']}, deviation {in_digits(measured['standard_deviation'], 4)}",
        printable(str(measured["sum"])),
    )


@click.group()
def command() -> None:
    """Inspect, verify, copy and repair the ledger. For custodians.

    \b
    Example:
      privet ledger list
      privet ledger verify --head 12:9f3c...
      privet ledger export --output ledger.jsonl
    """


for one in (
    set_up,
    adopt,
    list_entries,
    show,
    verify,
    review,
    export,
    restore,
    backup,
    top_up,
    limit,
    reschedule,
    freeze,
    clear,
):
    command.add_command(one)
