"""The made-up hospital with three accounts, for `privet serve --demo`."""

from __future__ import annotations

from pathlib import Path

from privet.demo.hospital import make_hospital

from .listening import ACCOUNTS
from .token_store import TokenStore

PEOPLE = {"alice": "analyst", "carol": "custodian", "otto": "auditor"}

_ANALYST = """
[analysts.alice]
epsilon = 2
delta = 1e-7
"""


def make_demo(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return the privet.toml of a made-up hospital in a folder, and a token for each of three accounts."""
    config = make_hospital(folder)
    config.write_text(config.read_text(encoding="utf-8") + _ANALYST, encoding="utf-8")
    accounts = TokenStore(folder / ACCOUNTS)
    try:
        tokens = {f"{name} ({role})": accounts.add(name, role)[0] for name, role in PEOPLE.items()}
    finally:
        accounts.close()
    return config, tokens
