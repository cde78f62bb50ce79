"""The noise of steps that are open: the ledger keeps it with the entry that opens them, until they are closed.

So a process that takes over from one that died finds the noise that was drawn, and draws none for the same step.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.core.errors import LedgerError
from privet.core.ports import StepProgress
from privet.ledger.steps import hash_of_text

Draw = Callable[[int], Any]
"""Returns this many whole numbers, freshly drawn."""


@dataclass(frozen=True)
class NoiseAhead:
    """Noise that was drawn for the steps after one that is closed, in the order in which they use it.

    Guarantee: noise is drawn for a step once. It is drawn in the transaction that opens the step, after the ledger has
    found the state to be the latest, and kept there with a hash in the entry; who opens the step again, since a
    process died before it was closed, uses what is kept, and draws only for steps that had none. What may be passed the
    second time are other rows. That is sound: of the first pass nothing was shown, as nothing is before a step is
    closed, and each step is closed once. So what is shown of a step is one function of one noise, which is independent
    of all that was shown before and of the rows of both passes: the law is that of a stream that never died, with the
    rows that were passed last. Two results from one noise are never shown. Where the first pass had made its next state
    durable, that state is closed and the second pass is not made: the step has the rows that were passed first.
    """

    salt: str
    step: int
    numbers: Any

    def text(self) -> str:
        """Return the noise as a text; its salt keeps the hash of it from being guessed."""
        if self.numbers.dtype == np.int64:
            packed: Any = base64.b64encode(self.numbers.astype("<i8").tobytes()).decode("ascii")
        else:
            packed = self.numbers.tolist()
        return json.dumps({"noise": 1, "salt": self.salt, "step": self.step, "numbers": packed}, separators=(",", ":"))

    def after(self, step: int, used: int) -> NoiseAhead | None:
        """Return the noise left once the steps up to one are closed, which use some of it; None where none is."""
        left = self.numbers[used:]
        return NoiseAhead(self.salt, step, left) if len(left) else None


def whole_numbers(numbers: list[int]) -> Any:
    """Return Python integers as an array that keeps them exact, however large."""
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def read_ahead(text: str) -> NoiseAhead:
    """Return the noise in a text."""
    try:
        data = json.loads(text)
        packed = data["numbers"]
        if isinstance(packed, str):
            numbers: Any = np.frombuffer(base64.b64decode(packed, validate=True), dtype="<i8").astype(np.int64)
        else:
            numbers = whole_numbers([int(number) for number in packed])
        return NoiseAhead(str(data["salt"]), int(data["step"]), numbers)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise LedgerError("the noise that the ledger keeps for a stream is damaged; put back the ledger as it was")


def draw_ahead(
    step: int, needed: int, draw: Draw, *, left: str | None = None
) -> Callable[[StepProgress, str | None], str]:
    """Return how a ledger gets the noise of the steps after one: the noise that it keeps, and fresh noise for the rest.

    Args:
        step: the last closed step.
        needed: how many numbers the steps use that are to be opened.
        draw: draws fresh ones.
        left: the hash of the noise left after the last step was closed; None where none was.
    """

    def found(progress: StepProgress, text: str | None) -> str:
        known = left if progress.opened is None else progress.about
        ahead = NoiseAhead(secrets.token_hex(32), step, np.empty(0, dtype=np.int64))
        if known is not None:
            ahead = read_ahead(kept_noise(text, known))
        missing = needed - len(ahead.numbers)
        if missing > 0:
            fresh = np.asarray(draw(missing)).reshape(-1)
            numbers = np.concatenate([ahead.numbers, fresh]) if len(ahead.numbers) else fresh
            ahead = NoiseAhead(ahead.salt, step, numbers)
        return ahead.text()

    return found


def kept_noise(text: str | None, known: str) -> str:
    """Return the text of noise that a ledger keeps, if it is the one whose hash is known; it is never drawn anew."""
    if not text:
        raise LedgerError(
            "the noise of the step that is open is not in this copy of the ledger: an export leaves it out. It is not "
            "drawn anew; put back the ledger as it was, or open another stream"
        )
    if hash_of_text(text) != known:
        raise LedgerError(
            "the noise of the step that is open is not the one that the ledger knows: an old copy was put back, or it "
            "was changed. It is refused; put back the ledger as it was"
        )
    return text
