"""Connections to PostgreSQL: the driver, where an address leads, whether it must be encrypted, for tables and ledgers.

An address may contain a password. So none is ever quoted.
"""

from __future__ import annotations

import importlib
import ipaddress
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .errors import BadParameter, RequestError, raise_alone

KEEPALIVES: Mapping[str, Any] = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""Seconds and tries after which a server that has gone is noticed."""


def load_driver(needing: str) -> Any:
    """Return PostgreSQL's driver, or raise `RequestError` with its purpose, and the command that installs it."""
    with suppress(ImportError):
        return importlib.import_module("psycopg")
    raise RequestError(f"{needing} psycopg, which is not installed: python -m pip install 'psycopg[binary]'")


def stated_in(driver: Any, address: str, parameter: str, allowed: str) -> dict[str, Any]:
    """Return the options that an address states, or raise `BadParameter` without quoting it."""
    try:
        stated: dict[str, Any] = driver.conninfo.conninfo_to_dict(address)
    except (driver.Error, ValueError):
        raise_alone(BadParameter(parameter, "an address that PostgreSQL cannot read", allowed))
    return stated


def hosts_of(stated: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where a connection leads, by its address or else by the environment; a service may lead anywhere."""
    if stated.get("service") or os.environ.get("PGSERVICE"):
        return ("a service",)
    named = stated.get("hostaddr") or os.environ.get("PGHOSTADDR") or stated.get("host") or os.environ.get("PGHOST", "")
    return tuple(host.strip() for host in str(named).split(",") if host.strip())


def encryption_of(stated: Mapping[str, Any]) -> dict[str, str]:
    """Return the option that has a connection encrypted, where its address does not decide about it.

    Guarantee: the connection is encrypted and the server's certificate is checked against its name, unless the address
    itself states another `sslmode`, or every host that it leads to is a Unix socket or a loopback address.
    """
    needless = "sslmode" in stated or all(map(_stays_here, hosts_of(stated)))
    return {} if needless else {"sslmode": "verify-full"}


def _stays_here(host: str) -> bool:
    """Return whether a connection to a host never leaves the machine: a Unix socket, or a loopback address."""
    if host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
