"""How far a release in several steps has come: its steps are opened before they are drawn, and closed before shown.

An object that is charged once and then releases again and again, such as a stream, keeps its own state elsewhere. The
ledger keeps the number of its last step and the hash of the state after it. Each step is a compare-and-set on both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from privet.core.errors import BadParameter, LedgerError
from privet.core.event import Plain, Receipt
from privet.core.given import called, function
from privet.core.numbers import whole

from . import codec
from .entries import Charged, Stepped
from .history import History, KeepsText, StoredHistory
from .state import Progress, read_name

_HASH = re.compile("[0-9a-f]{64}")
_MOST_STEPS = 2**60
_LONGEST = 2**25

Draw = Callable[[Progress, str | None], str]
"""Returns the text to keep with an opening, from how far the steps have come and the text that is kept."""


def hash_of_text(text: str) -> str:
    """Return the hash by which an entry knows a text that is kept beside it."""
    return hashlib.sha256(text.encode()).hexdigest()


class StepKeeping:
    """The part of a ledger that counts the steps of releases in several steps.

    Guarantee: for each charge, steps are closed in order, each once, and only by who opened it last from the state
    that the step before was closed with. So a state that is old, copied or forked closes no step, and of each step at
    most one outcome is ever closed; what was never closed was never shown.
    """

    _history: StoredHistory
    _check_receipt: Callable[[History, Receipt], None]

    def begin_steps(self, receipt: Receipt, *, state: str, kept: str | None = None) -> Progress:
        """Tie a first state to a charge, once, and return step 0; the same state again returns the progress so far.

        A charge that repeats another's answer was not paid for in full, and is refused. `kept` is a secret text that
        the ledger's store keeps beside the entry, as in `open_steps` and `close_steps`: in place of the one before. An
        empty text removes it.
        """
        hashed = _read_hash(state)
        with self._history.writing() as history:
            self._check_receipt(history, receipt)
            charge = history.read(receipt.entry).record
            if isinstance(charge, Charged) and charge.shared is not None:
                raise LedgerError("this charge repeats another one, which paid for its steps: open a stream of its own")
            progress = history.state.steps.get(receipt.entry)
            if progress is not None and progress != Progress(0, hashed):
                raise LedgerError(
                    f"the charge of entry {receipt.entry} has begun with another state: of one charge there is one "
                    "stream; open the one that it paid for, or charge again"
                )
            if progress is None:
                history.append(Stepped(receipt.account, receipt.entry, "begin", 0, hashed))
                _keep(history, receipt, kept)
            return history.state.steps[receipt.entry]

    def open_steps(
        self,
        receipt: Receipt,
        *,
        after: int,
        upto: int,
        state: str,
        about: str | None = None,
        kept: str | None = None,
    ) -> int:
        """Open the steps after one up to another, before they are drawn, and return the number of the opening.

        They are open once this returns, or refused: the last closed step must be `after`, with that very state. Steps
        that were opened and never closed, since a process died in between, were never shown, and may be opened again;
        an earlier opener can then no longer close them. `about` names the question, where the steps differ.
        """
        hashed = _read_hash(state)
        if about is not None:
            read_name(about, "about")
        last = _read_steps(after, upto)
        with self._history.writing() as history:
            self._admitted(history, receipt, last, hashed)
            _keep(history, receipt, kept)
            return history.append(Stepped(receipt.account, receipt.entry, "open", upto, hashed, about))

    def draw_steps(self, receipt: Receipt, *, after: int, upto: int, state: str, draw: Draw) -> tuple[int, str]:
        """Open steps as `open_steps` does, with a secret text; return the number of the opening and the text.

        `draw` is called once the steps are admitted, with how far they have come and the text that is kept so far. What
        it returns is kept in the same transaction, and the entry is about the hash of it. So the text is drawn for
        steps that are open, and the next opener finds it.
        """
        hashed, last = _read_hash(state), _read_steps(after, upto)
        function(draw, "draw", "a function of how far the steps have come and of the text that is kept")
        with self._history.writing() as history:
            progress = self._admitted(history, receipt, last, hashed)
            text = called(draw, "draw", progress, _kept(history, receipt))
            if type(text) is not str or not text:
                raise BadParameter("draw", type(text).__name__, "a function that returns a text")
            _keep(history, receipt, text)
            opened = Stepped(receipt.account, receipt.entry, "open", upto, hashed, hash_of_text(text))
            return history.append(opened), text

    def _admitted(self, history: History, receipt: Receipt, after: int, state: str) -> Progress:
        """Return how far steps have come, or raise unless they may go on from a state.

        Guarantee: of an account, or a ledger, that has expired or is frozen, no further step is opened.
        """
        self._check_receipt(history, receipt)
        history.state.check_going_on(receipt.account, history.now())
        progress = _begun(history, receipt)
        if progress.over:
            raise LedgerError(f"the steps of entry {receipt.entry} are over: charge for new ones")
        if (progress.step, progress.state) != (after, state):
            raise progress.differs(after)
        return progress

    def close_steps(
        self,
        receipt: Receipt,
        *,
        opening: int,
        state: str,
        released: Plain = None,
        last: bool = False,
        kept: str | None = None,
    ) -> Progress:
        """Close the steps of an opening with the state after them, before anything of them is shown.

        `released` is kept in the entry; after the `last` steps none can be opened.
        """
        hashed, written = _read_hash(state), codec.write_plain(released)
        if type(last) is not bool:
            raise BadParameter("last", last, "True or False")
        whole(opening, "opening", least=1, most=_MOST_STEPS)
        with self._history.writing() as history:
            self._check_receipt(history, receipt)
            progress = _begun(history, receipt)
            if progress.opened is None or progress.opening != opening:
                raise LedgerError(
                    "these steps were closed or opened by another process meanwhile, so what was drawn for them here "
                    "is not shown; open it again, and keep one process on it"
                )
            step = Stepped(
                receipt.account, receipt.entry, "close", progress.opened, hashed, progress.about, written, last=last
            )
            history.append(step)
            _keep(history, receipt, kept)
            return history.state.steps[receipt.entry]

    def progress(self, receipt: Receipt) -> Progress | None:
        """Return how far the steps of a charge have come; None where they have not begun."""
        with self._history.reading() as history:
            self._check_receipt(history, receipt)
            return history.state.steps.get(receipt.entry)

    def kept_text(self, receipt: Receipt) -> str | None:
        """Return the secret text that was kept last for a charge; None where there is none, as in a restored export."""
        with self._history.reading() as history:
            self._check_receipt(history, receipt)
            return _kept(history, receipt)


def _kept(history: History, receipt: Receipt) -> str | None:
    text = history.transaction.kept(receipt.entry) if isinstance(history.transaction, KeepsText) else None
    if text is not None and type(text) is not str:
        raise LedgerError("what the ledger keeps for a charge is not text: the file was damaged or changed")
    return text or None


def _keep(history: History, receipt: Receipt, text: str | None) -> None:
    if text is None:
        return
    if type(text) is not str or not text.isascii() or len(text) > _LONGEST:
        raise BadParameter("kept", type(text).__name__, "a text of ASCII characters, 32 MiB at most")
    if not isinstance(history.transaction, KeepsText):
        raise LedgerError("the store of this ledger keeps no secret texts; use a SqliteLedger")
    history.transaction.keep(receipt.entry, text)


def _read_steps(after: int, upto: int) -> int:
    last = whole(after, "after", most=_MOST_STEPS)
    if whole(upto, "upto", least=1, most=_MOST_STEPS) <= last:
        raise BadParameter("upto", upto, f"a later step than after, which is {last}")
    return last


def _begun(history: History, receipt: Receipt) -> Progress:
    progress = history.state.steps.get(receipt.entry)
    if progress is None:
        raise LedgerError(f"the charge of entry {receipt.entry} has no steps: begin them first")
    return progress


def _read_hash(state: object) -> str:
    if not isinstance(state, str) or not _HASH.fullmatch(state):
        raise BadParameter("state", state, "the SHA-256 of a state, as 64 hexadecimal digits")
    return state
