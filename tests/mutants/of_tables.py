"""Breakages of several tables: links, joins, and what stays within one unit."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "core/links.py",
        "unit/core/test_links.py",
        ("if schema.neighbors != target.neighbors:", "if False:"),
        ("if owner.casefold() in {column.casefold() for column in columns}:", "if False:"),
        ("if isinstance(target.unit, Rows):", "if False:"),
        ('version = f"{schema.version}; {link.to}: {target.version}" if target.version else', "version ="),
    ),
    *of(
        "engines/links.py",
        "unit/engines/test_links.py",
        ("JOIN {relations[link.to]} AS o ON", "LEFT JOIN {relations[link.to]} AS o ON 1 = 1 OR"),
        ("if schema.key is not None:", "if False:"),
        ("[0][0] > schema.rows:", "[0][0] < 0:"),
    ),
]
