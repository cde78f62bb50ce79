"""Strings as code words of a fixed number of digits: numbered, and permuted so that all digits look random.

Two strings differ in the first digits of their codes almost always: that is what a search through prefixes needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .mixing import permuted, unpermuted

DIGIT_BITS = 3
_FIRST_BITS = 8
"""The first digit has at most this many bits, as its few values can all be looked at; each further digit has three."""


@dataclass(frozen=True)
class StringCodes:
    """Codes of strings of at most `length` characters of an alphabet; of bytes in UTF-8 if the alphabet is empty."""

    length: int
    alphabet: str
    key: bytes

    @property
    def radix(self) -> int:
        """The number of different characters."""
        return len(self.alphabet) or 256

    @cached_property
    def strings(self) -> int:
        """The number of different strings."""
        return sum(self.radix**size for size in range(self.length + 1))

    @cached_property
    def bits(self) -> int:
        """The number of bits of a code, which is even."""
        return max(2, (self.strings - 1).bit_length() + 1 & ~1)

    @cached_property
    def digits(self) -> int:
        """The number of digits of a code."""
        return 1 + max(0, -(-(self.bits - _FIRST_BITS) // DIGIT_BITS))

    @property
    def first_bits(self) -> int:
        """The number of bits of the first digit."""
        return self.bits - DIGIT_BITS * (self.digits - 1)

    def encode(self, text: str) -> bytes | None:
        """Return the digits of a string's code, or None if it is too long or has other characters."""
        try:
            symbols = [self._places[one] for one in text] if self.alphabet else list(text.encode())
        except (KeyError, UnicodeEncodeError):
            return None
        if len(symbols) > self.length:
            return None
        number = 0
        for symbol in symbols:
            number = number * self.radix + symbol
        number += sum(self.radix**size for size in range(len(symbols)))
        code = permuted(number, self.bits, self.key)
        rest = [code >> DIGIT_BITS * place & (1 << DIGIT_BITS) - 1 for place in reversed(range(self.digits - 1))]
        return bytes([code >> DIGIT_BITS * (self.digits - 1), *rest])

    def decode(self, digits: bytes) -> str | None:
        """Return the string with this code, or None if none has it."""
        code = 0
        for digit in digits:
            code = code << DIGIT_BITS | digit
        number = unpermuted(code, self.bits, self.key)
        if number >= self.strings:
            return None
        size = 0
        while number >= self.radix**size:
            number -= self.radix**size
            size += 1
        symbols = []
        for _ in range(size):
            number, symbol = divmod(number, self.radix)
            symbols.append(symbol)
        symbols.reverse()
        if self.alphabet:
            return "".join(self.alphabet[symbol] for symbol in symbols)
        try:
            return bytes(symbols).decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {one: place for place, one in enumerate(self.alphabet)}
