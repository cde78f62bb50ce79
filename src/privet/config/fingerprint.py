"""A fingerprint of the data, for the custodian alone: has a table changed while its version says that it has not?

It is an HMAC under the custodian's key over the bytes of the sources. It is kept in a file beside the privet.toml, and
is no part of a plan, a digest, an export or a certificate: whoever lacks the key learns nothing from it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from privet.core import given
from privet.core.errors import RequestError, raise_alone
from privet.core.schema import Table
from privet.engines.sources import DatabaseTable, paths_at

from .values import Config, check_config

_DOMAIN = b"privet fingerprint 1\n"
_FORMAT = 1
_LEAST_KEY = 32
_LARGEST_KEY = 4096
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Compared:
    """What a comparison found: tables seen for the first time in their version, unchanged ones, changed ones."""

    file: Path
    new: tuple[str, ...]
    same: tuple[str, ...]
    changed: tuple[str, ...]


def compare(config: Config, key_file: Path) -> Compared:
    """Return which tables have changed since their version was first seen, and remember those that are new."""
    check_config(config)
    key = read_key(Path(given.path(key_file, "key_file", "the path of the custodian's key")))
    place = config.path.with_name(f"{config.path.stem}.fingerprints.json")
    known = _read(place, key)
    new, same, changed = list[str](), list[str](), list[str]()
    for name, table in config.tables.items():
        found, versions = fingerprint(key, name, table), known.setdefault(name, {})
        held = versions.get(table.schema.version)
        if held is None:
            versions[table.schema.version] = found
            new.append(name)
        else:
            (same if hmac.compare_digest(held, found) else changed).append(name)
    if new:
        _write(place, key, known)
    return Compared(place, tuple(new), tuple(same), tuple(changed))


def fingerprint(key: bytes, name: str, table: Table) -> str:
    """Return the HMAC-SHA256 of the bytes of a table's files, each after its length, in the order of their paths.

    Guarantee: a pseudorandom function of the files, so that without the key two tables cannot be told apart by it.
    """
    source = table.source
    patterns = [source.path] if isinstance(source, DatabaseTable) else [source] if isinstance(source, str) else source
    paths = sorted(path for pattern in patterns for path in paths_at(str(pattern)))  # type: ignore[attr-defined]
    if not paths:
        raise RequestError(f"table {name!r}: there is no file at the path that is declared for it")
    code = hmac.new(key, _DOMAIN, hashlib.sha256)
    try:
        for path in paths:
            with open(path, "rb") as file:
                code.update(os.fstat(file.fileno()).st_size.to_bytes(8, "big"))
                while block := file.read(_BLOCK):
                    code.update(block)
    except OSError:
        raise_alone(RequestError(f"the source of table {name!r} cannot be read"))
    return code.hexdigest()


def read_key(path: Path) -> bytes:
    """Return the custodian's key; one is made where there is no file, and others may not read it."""
    try:
        if not path.exists():
            _create(path, secrets.token_bytes(_LEAST_KEY))
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise RequestError(f"the key_file {str(path)!r} is not a file")
        if os.name == "posix" and mode & 0o077:
            raise RequestError(f"others may read or write the key {str(path)!r}; run: chmod 600 {path}")
        with path.open("rb") as file:
            key = file.read(_LARGEST_KEY + 1)
    except OSError:
        told = f"the key_file {str(path)!r} cannot be read or made; check its folder and who owns it"
        raise_alone(RequestError(told))
    if not _LEAST_KEY <= len(key) <= _LARGEST_KEY:
        raise RequestError(f"the key_file {str(path)!r} must have {_LEAST_KEY} to {_LARGEST_KEY} random bytes")
    return key


def _read(place: Path, key: bytes) -> dict[str, dict[str, str]]:
    if not place.exists():
        return {}
    try:
        held = json.loads(place.read_text(encoding="utf-8"))
        known = {str(name): {str(k): str(v) for k, v in one.items()} for name, one in held["tables"].items()}
        written = held["format"], held["key"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise_alone(RequestError(f"{place} is not a file of fingerprints; move it away to start anew"))
    if written != (_FORMAT, _name_of(key)):
        raise RequestError(f"{place} was made with another key_file; use that one, or move the file away to start anew")
    return known


def _write(place: Path, key: bytes, known: dict[str, dict[str, str]]) -> None:
    text = json.dumps({"format": _FORMAT, "key": _name_of(key), "tables": known}, indent=2, sort_keys=True)
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        _create(temporary, text.encode())
        os.replace(temporary, place)
    except OSError:
        raise_alone(RequestError(f"{place} cannot be written; check its folder and who owns it"))


def _create(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _name_of(key: bytes) -> str:
    """Return what tells keys apart and says nothing about them."""
    return hmac.new(key, b"privet fingerprint key\n", hashlib.sha256).hexdigest()[:16]
