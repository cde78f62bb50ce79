"""One release in several steps as the ledger's history tells it: a fold over its entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from privet.core.errors import LedgerError

from .entries import Stepped


@dataclass(frozen=True)
class Progress:
    """How far the steps of one charge have come: the last closed step, and the hash of the state after it.

    `opened` is the step up to which the next ones are open and not closed yet, with the number of the entry that opened
    them and what they are about; None where none is open. Where it is `over`, no more steps are opened.
    """

    step: int
    state: str
    opened: int | None = None
    opening: int | None = None
    about: str | None = None
    over: bool = False

    def differs(self, step: int) -> LedgerError:
        """Return the error for a state that claims to be the one after a step, and is not the ledger's."""
        if step < self.step:
            return LedgerError(
                f"this state is of step {step}, and the ledger has closed step {self.step}: an old copy was put back, "
                "or another copy went on. It is refused, since its next step was drawn before; put back the latest one"
            )
        return LedgerError(
            f"this state is not the one after step {self.step} that the ledger knows: it was changed, or it is a "
            "fork or another stream's; put back the latest one"
        )


Steps = Mapping[int, Progress]
"""Every release in several steps, by the number of the entry that charged it."""


def after_step(steps: Steps, number: int, record: Stepped) -> Steps:
    """Return the steps after one more entry, or raise `LedgerError` where it could not have been written."""
    found = steps.get(record.charge)
    if found is not None and found.over:
        raise LedgerError("the ledger contains a step after the last one")
    match record.phase:
        case "begin" if found is None and record.step == 0:
            now = Progress(0, record.state)
        case "open" if found is not None and record.step > found.step and record.state == found.state:
            now = replace(found, opened=record.step, opening=number, about=record.about)
        case "close" if found is not None and found.opened == record.step:
            now = Progress(record.step, record.state, over=record.last)
        case _:
            raise LedgerError("the ledger contains a step that does not follow from the one before")
    return {**steps, record.charge: now}


def after_failure(steps: Steps, charge: int) -> Steps:
    """Return the steps after the engine failed for a charge: no more of its steps are opened."""
    found = steps.get(charge)
    return steps if found is None else {**steps, charge: Progress(found.step, found.state, over=True)}


def write_steps(steps: Steps) -> dict[str, Any]:
    """Return the steps for a cached balance, as plain data; nothing where there are none."""
    if not steps:
        return {}
    return {"steps": {str(charge): list(vars(found).values()) for charge, found in steps.items()}}


def read_steps(data: Mapping[str, Any]) -> Steps:
    """Return the steps of a cached balance."""
    return {int(charge): Progress(*found) for charge, found in data.get("steps", {}).items()}
