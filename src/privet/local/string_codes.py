"""Strings as code words of a fixed number of digits: numbered, checked, and permuted so that all digits look random.

Two strings differ in the first digits of their codes almost always, and a code that no string has is told by its
check: that is what a search through prefixes needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .mixing import permuted, unpermuted

DIGIT_BITS = 4
_CHECK_BITS = 16


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
    def digits(self) -> int:
        """The number of digits of a code; a digit has four bits."""
        bits = (self.strings - 1).bit_length() + _CHECK_BITS
        return -(-bits // DIGIT_BITS)

    @property
    def _spare(self) -> int:
        return self.digits * DIGIT_BITS - (self.strings - 1).bit_length()

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
        code = permuted(number << self._spare, self.digits * DIGIT_BITS, self.key)
        return bytes(code >> DIGIT_BITS * place & 15 for place in reversed(range(self.digits)))

    def decode(self, digits: bytes) -> str | None:
        """Return the string with this code, or None if none has it."""
        code = 0
        for digit in digits:
            code = code << DIGIT_BITS | digit
        raw = unpermuted(code, self.digits * DIGIT_BITS, self.key)
        number = raw >> self._spare
        if raw & ((1 << self._spare) - 1) or number >= self.strings:
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
