"""Breakages of what a ledger and the command line tell people."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "ledger.state:_balance",
        "unit/ledger/test_certificates.py",
        ("min(left.largest_epsilon, over.largest_epsilon)", "left.largest_epsilon"),
    ),
    *of(
        "ledger.state:spent_share",
        "unit/ledger/test_certificates.py",
        ("max(charged, _share(delta, one.keys_delta))", "charged"),
    ),
    *of(
        "ledger.certificate:make_certificate",
        "unit/ledger/test_certificates.py",
        ("str(then)", "str(last)"),
        ("charge.by_dataset", "charge.by_account"),
    ),
    *of(
        "ledger.certificate:_charge",
        "unit/ledger/test_certificates.py",
        ("1 <= number <= last", "number <= last"),
    ),
    *of(
        "cli:CommandGroup.invoke",
        "unit/cli/test_entry_point.py",
        ("type(error).__name__", "error"),
        ("ctx.exit(wrong.exit_status)", "pass"),
    ),
    *of(
        "cli:registered",
        "unit/cli/test_entry_point.py",
        ("entry.name not in COMMANDS and _NAME.fullmatch(entry.name)", "entry.name not in COMMANDS"),
        ("entry.name not in COMMANDS and _NAME.fullmatch(entry.name)", "_NAME.fullmatch(entry.name)"),
    ),
    *of(
        "cli:load_registered",
        "unit/cli/test_entry_point.py",
        ("len(places) != 1", "False"),
        ("type(error).__name__", "error"),
    ),
    *of(
        "display:_up",
        "unit/cli/test_answer_tables.py",
        ("math.ceil(value * scale - 1e-9)", "round(value * scale)"),
    ),
    *of(
        "display:figures",
        "unit/cli/test_answer_tables.py",
        ("-_up(-bottom, decimals)", "_up(bottom, decimals)"),
        ("error_up(max(top - value, value - bottom))", "error_up(top - value)"),
    ),
    *of(
        "display:round_down",
        "unit/cli/test_answer_tables.py",
        ("ROUND_FLOOR", "ROUND_CEILING"),
    ),
    *of(
        "display:percent",
        "unit/cli/test_answer_tables.py",
        ("math.ceil", "math.floor"),
    ),
    *of(
        "ledger.entries:read_entry",
        "unit/ledger/test_certificates.py",
        ('data.keys() != _FIELDS.get((data["v"], kind))', "not _ALL <= data.keys()"),
    ),
    *of(
        "ledger.entries:_read_charge",
        "unit/ledger/test_certificates.py",
        ('text(data["facts"]) if "facts" in data else None', 'data.get("facts")'),
    ),
]
