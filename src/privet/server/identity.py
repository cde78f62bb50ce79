"""Who is asking: a name, a role, and what it may see. Where identities come from is behind one small protocol."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from privet.core.errors import AccessError, BadParameter

Role = Literal["analyst", "auditor", "custodian"]
ROLES: tuple[Role, ...] = get_args(Role)

UNKNOWN = "this needs a valid token; ask the custodian for one, and send it as Authorization: Bearer TOKEN"
"""What everyone is told whose token is missing, wrong, expired or revoked: which of these it is, is not told."""
NO_LOG_IN = "this token is not valid here; copy all of it, from privet_ to its end, or ask the custodian for another"
"""The same for a log-in, where a person types the token."""


@dataclass(frozen=True)
class Identity:
    """An account of the server as a request proves it.

    `datasets` and `tables` are None where all are allowed; `withheld` lists columns as "table.column" or "column".
    `token` is the number of the token in the store of accounts.
    """

    name: str
    role: Role
    token: int
    datasets: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None
    withheld: tuple[str, ...] = ()
    expires: datetime.datetime | None = None

    def to_dict(self) -> dict[str, object]:
        """Return what an account may know about itself."""
        return {
            "name": self.name,
            "role": self.role,
            "datasets": None if self.datasets is None else list(self.datasets),
            "tables": None if self.tables is None else list(self.tables),
            "withheld": list(self.withheld),
            "expires": None if self.expires is None else self.expires.isoformat(),
        }


class ProvesIdentity(Protocol):
    """Where identities come from: the store of tokens, or an identity provider of an organisation."""

    def identify(self, secret: str) -> Identity | None:
        """Return whose secret it is; None for one that is unknown, expired or revoked."""


def read_role(value: object) -> Role:
    """Return a role, or refuse."""
    if value not in ROLES:
        raise BadParameter("role", value, "one of " + ", ".join(ROLES))
    return value


def unknown() -> AccessError:
    """Return the one error for every way of not being known."""
    return AccessError(UNKNOWN)
