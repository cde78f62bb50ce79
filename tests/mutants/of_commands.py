"""Breakages of what a ledger and the command line tell people."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "ledger/balance.py",
        "unit/ledger/test_certificates.py",
        ("min(left.largest_epsilon, over.largest_epsilon)", "left.largest_epsilon"),
        ("return max(charged, _share(delta, one.keys_delta))", "return charged"),
    ),
    *of(
        "ledger/certificate.py",
        "unit/ledger/test_certificates.py",
        ('"chain": str(then)', '"chain": str(last)'),
        ('"taken": {"data set": _taken(charge.by_dataset)', '"taken": {"data set": _taken(charge.by_account)'),
        ("not 1 <= number <= last", "not number <= last"),
    ),
    *of(
        "cli/__init__.py",
        "unit/cli/test_door.py",
        ("did not expect ({type(error).__name__})", "did not expect ({error})"),
        ("ctx.exit(wrong.exit_status)", "pass"),
    ),
    *of(
        "cli/answers.py",
        "unit/cli/test_answer_tables.py",
        ("return math.ceil(value * scale - 1e-9) / scale", "return round(value * scale) / scale"),
        ("-_up(-bottom, decimals)", "_up(bottom, decimals)"),
        ("max(top - value, value - bottom), decimals)", "top - value, decimals)"),
    ),
    *of(
        "cli/budget.py",
        "unit/cli/test_answer_tables.py",
        ("ROUND_FLOOR", "ROUND_CEILING"),
        ("math.ceil(share * 1000)", "math.floor(share * 1000)"),
    ),
    *of(
        "ledger/entries.py",
        "unit/ledger/test_certificates.py",
        ('data.keys() != _FIELDS.get((data["v"], kind))', "not _ALL <= data.keys()"),
        ('text(data["facts"]) if "facts" in data else None', 'data.get("facts")'),
    ),
]
