"""A way to break privacy with one edit, which must make some test fail.

A mutant is an address, `module:qualname` as in `planner.plan:Measure.error` (`module:` for what stands at the top of a
module), a snippet of code that occurs exactly once in that definition, the snippet that replaces it, and the tests that
are run. How snippets are matched is said in `edit.py`. The mutants of a package stand in `of_<package>.py`; add two for
every module that carries privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edit import edited


@dataclass(frozen=True)
class Mutant:
    """One breakage: where it is, what to replace by what, and the tests that should notice."""

    address: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def module(self) -> str:
        """Return the module below privet, as in `planner.plan`."""
        return self.address.partition(":")[0]

    def file(self, package: Path) -> Path:
        """Return the file of the module below the folder of the package."""
        path = package.joinpath(*self.module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")

    def applied(self, source: str) -> str:
        """Return the module's source with the mutant in it; raise `Lost` where the code is not found exactly once."""
        return edited(source, self.address.partition(":")[2], self.old, self.new)


def of(address: str, tests: str, *changes: tuple[str, str]) -> list[Mutant]:
    """Return the mutants of one definition, which the same tests should notice."""
    return [Mutant(address, old, new, tuple(f"tests/{test}" for test in tests.split())) for old, new in changes]
