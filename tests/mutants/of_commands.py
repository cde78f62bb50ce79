"""Breakages of what a ledger and the command line tell people."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "ledger/balance.py",
        "unit/ledger/test_certificates.py",
        ("min(left.largest_epsilon, over.largest_epsilon)", "left.largest_epsilon"),
        ("return max(charged, _share(delta, one.keys_delta))", "return charged"),
        ("math.ceil(share * 1000)", "math.floor(share * 1000)"),
    ),
    *of(
        "ledger/certificate.py",
        "unit/ledger/test_certificates.py",
        ('"chain": str(then)', '"chain": str(last)'),
        ('"taken": {"data set": _taken(charge.by_dataset)', '"taken": {"data set": _taken(charge.by_account)'),
        ("not 1 <= number <= last", "not number <= last"),
    ),
    *of(
        "ledger/entries.py",
        "unit/ledger/test_certificates.py",
        ('data.keys() != _FIELDS.get((data["v"], kind))', "not _ALL <= data.keys()"),
        ("if value is not None and type(value) is not dict", "if False"),
    ),
]
