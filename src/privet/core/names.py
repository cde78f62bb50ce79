"""Names of accounts that people can tell apart: two that look alike would let one analyst spend as another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_ALIKE = {
    "a": "\u0430\u0410\u03b1\u0391\u0251",
    "b": "\u0412\u0392\u0432",
    "c": "\u0441\u0421\u03f2\u03f9",
    "d": "\u0501\u0500",
    "e": "\u0435\u0415\u0395\u0454\u04bd",
    "g": "\u0261\u050c\u050d",
    "h": "\u04bb\u041d\u0397\u04ba\u043d",
    "i": "\u0456\u0406\u03b9\u0399\u0131\u04cf\u04c0",
    "j": "\u0458\u0408\u03f3\u037f",
    "k": "\u043a\u041a\u03ba\u039a",
    "l": "1|\u2502\u01c0",
    "m": "\u043c\u041c\u039c",
    "n": "\u0578\u039d",
    "o": "0\u043e\u041e\u03bf\u039f\u0585",
    "p": "\u0440\u0420\u03c1\u03a1",
    "q": "\u051b\u051a",
    "s": "\u0455\u0405",
    "t": "\u0442\u0422\u03c4\u03a4",
    "u": "\u057d\u03c5",
    "v": "\u03bd\u0475\u0474",
    "w": "\u051d\u051c\u03c9",
    "x": "\u0445\u0425\u03c7\u03a7",
    "y": "\u0443\u0423\u03a5\u04af\u04ae",
    "z": "\u0396",
}
"""Letters of Cyrillic, Greek and Armenian, and signs, that look like Latin letters."""

_LATIN = {sign: letter for letter, signs in _ALIKE.items() for sign in signs}
_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad")


def looks_of(name: str) -> frozenset[str]:
    """Return the forms of a name by which it is mistaken for another: in any case, and by the shapes of its letters.

    Spaces at the ends, several spaces and signs that are not seen count for nothing.
    """
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    seen = "".join("-" if sign in _DASHES else sign for sign in plain if unicodedata.category(sign) != "Cf")
    cased = "".join(_LATIN.get(sign, sign) for sign in seen)
    # a capital I is also a small l, and a case that is not told apart
    return frozenset((cased.casefold(), cased.replace("I", "l").casefold()))


def alike(name: str, others: Iterable[str]) -> str | None:
    """Return one of the other names that a name can be mistaken for, if there is one."""
    looks = looks_of(name)
    return next((other for other in others if other != name and looks & looks_of(other)), None)
