"""Which keys may be shown, decided from how many people hold each: what every rule for that has in common.

A key is a group that public facts do not name, such as a diagnosis found in the data. Each person holds at most so
many; whoever holds more must be cut to that, by a choice that depends on nobody else's data, before people are counted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter, BadValue
from privet.core.exact import open_probability, whole
from privet.core.sensitivity import Neighbors, read_neighbors

from .mechanism import Mechanism, read_times
from .reading import Numbers, read_numbers

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

MOST = 10**6
"""As many keys may a group of people hold at most: noise is drawn for at least twice as many at a time."""

_LEAST_BLOCK = 256
_ALLOWED = "the number of people for one key (a whole number of at least 0), an array of them, or a mapping of keys"


class KeySelection(Mechanism):
    """A rule that shows a key, or does not, with a probability that rises with the number of people who hold it.

    `keys` is how many keys a person holds at most, `group` how many people are protected together, and `neighbors`
    whether a person is added or removed, or changed into another.
    """

    keys: int
    group: int
    neighbors: Neighbors

    @abstractmethod
    def probability(self, people: int) -> Fraction | float:
        """Return how likely a key is shown that so many people hold; 0 for none."""

    def release(self, counts: Any) -> Any:
        """Return whether a key is shown: True or False for a count, an array for an array, a set for a mapping.

        A mapping gives each key's number of people, and comes back as the set of the keys that are shown.
        """
        if isinstance(counts, Mapping):
            numbers = _read(list(counts.values()))
            return frozenset(key for key, shown in zip(counts, self._decide(numbers), strict=True) if shown)
        numbers = _read(counts)
        shown = self._decide(numbers)
        return bool(shown[0]) if numbers.shape is None else shown.reshape(numbers.shape)

    def simulate(self, counts: Any, times: int) -> Any:
        """Return so many decisions about a key that so many people hold. Each costs the event once more."""
        numbers = _read(counts)
        if numbers.shape is not None:
            return super().simulate(counts, times)
        import numpy as np

        return self.release(np.full(read_times(times), numbers.values))

    def people(self, probability: object = 0.5) -> int:
        """Return the least number of people with which a key is shown with at least this probability."""
        wanted = open_probability(probability, "probability")
        high = 1
        while self.probability(high) < wanted:
            high *= 2
        low = 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.probability(middle) >= wanted else (middle, high)
        return high

    @abstractmethod
    def _draw(self, counts: NDArray[np.object_]) -> NDArray[np.bool_]:
        """Return a decision for each count of at least 1, drawn afresh; what it returns for 0 is not used."""

    def _decide(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return the decisions, drawn in blocks of a public length: noise on a vector may depend on how long it is."""
        import numpy as np

        counts = np.array(numbers.values, dtype=object).reshape(-1)
        block = max(_LEAST_BLOCK, 2 * self.keys * self.group)
        padded = np.zeros(counts.size + -counts.size % block, dtype=object)
        padded[: counts.size] = counts
        drawn = [self._draw(padded[start : start + block]) for start in range(0, padded.size, block)]
        shown = np.concatenate(drawn)[: counts.size] if drawn else np.zeros(0, dtype=np.bool_)
        return shown & (counts > 0).astype(np.bool_)


def read_people(keys: object, group: object, neighbors: object) -> tuple[int, int, Neighbors]:
    """Return how many keys a person holds, how many people are protected together, and under which relation."""
    several, together = whole(keys, "keys", least=1, most=MOST), whole(group, "group", least=1, most=MOST)
    if several * together > MOST:
        raise BadParameter("group", group, f"such that all of them hold at most {MOST:,} keys")
    return several, together, read_neighbors(neighbors)


def read_count(people: object) -> int:
    """Return a public number of people, as `probability` takes it."""
    return whole(people, "people")


def _read(counts: Any) -> Numbers:
    numbers = read_numbers(counts, "counts", wide=True)
    import numpy as np

    if numbers.size and (not numbers.whole or bool(np.any(np.asarray(numbers.values) < 0))):
        raise BadValue("counts", "something else", _ALLOWED)
    return numbers
