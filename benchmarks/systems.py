"""The systems under measurement: one environment each under `.venvs`, one worker process each.

A peer that cannot be installed is an error, never a silent gap in the table.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / ".venvs"
PYTHONS = ("python3.11", "python3.12")
"""Interpreters to try for a peer that does not support the one that runs the driver."""


class MissingPeer(Exception):
    """A peer could not be installed or started."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"the peer {name!r} is missing, so this would not be a comparison\n{reason}\n"
            f"leave it out on purpose with: make bench BENCH='--without {name}'"
        )


@dataclass(frozen=True)
class System:
    """A system to measure: the packages to install by name (none: it lives in Privet's own environment)."""

    name: str
    packages: tuple[str, ...] = ()
    made: bool = False
    """Whether `make` makes its environment, with Privet in it."""
    checkout: Path | None = None
    """The folder of another commit of Privet, which runs its own worker in Privet's environment."""

    @property
    def worker(self) -> Path:
        if self.checkout is not None:
            return self.checkout / "benchmarks" / "workers" / "privet_worker.py"
        return HERE / "workers" / f"{self.name}_worker.py"

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables of its worker."""
        return os.environ | ({"PYTHONPATH": str(self.checkout / "src")} if self.checkout is not None else {})


BEFORE = "before"
"""What Privet as of another commit is called."""

SYSTEMS = {
    system.name: system
    for system in (
        System("privet"),
        System("opendp", packages=("opendp",)),
        System("tmlt", packages=("tmlt.core",)),
        System("dp_accounting", packages=("dp-accounting",)),
        System("opendp_polars", packages=("opendp[polars]",)),
        System("diffprivlib", packages=("diffprivlib", "scikit-learn<1.6")),
        System("pure_ldp", packages=("pure-ldp==1.2.0", "xxhash<4", "scikit-learn", "statsmodels")),
        System("multi_freq_ldpy", packages=("multi-freq-ldpy==0.2.5", "xxhash<4")),
        System("numpy"),
        System("duckdb"),
        System("postgres"),
        System("spark", made=True),
        System("tumult", packages=("tmlt.analytics==0.21.*", "pyspark==3.5.9")),
    )
}


def check_out(commit: str) -> System:
    """Return Privet as of another commit, laid in a folder of its own."""
    git = ["git", "-C", str(HERE.parent)]
    try:
        name = subprocess.run(
            [*git, "rev-parse", "--short", "--verify", f"{commit}^{{commit}}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        folder = ENVIRONMENTS / f"privet-{name}"
        if not folder.is_dir():
            _run([*git, "worktree", "add", "--quiet", "--force", "--detach", str(folder), name])
    except subprocess.CalledProcessError as error:
        raise MissingPeer(BEFORE, str(error.stderr or error).strip()) from None
    return System(BEFORE, checkout=folder)


def make_environment(system: System) -> Path:
    """Return the interpreter in which the system is installed, installing it if need be."""
    home = ENVIRONMENTS / system.name
    if system.made:
        try:
            _run(["make", "-C", str(HERE.parent), f"{ENVIRONMENTS.name}/{system.name}/.installed"])
        except subprocess.CalledProcessError as error:
            raise MissingPeer(system.name, str(error.stderr or error).strip()[-2000:]) from None
        return home / "bin" / "python"
    if not system.packages:
        return Path(sys.executable)
    stamp, wanted = home / ".installed", "\n".join(system.packages)
    if stamp.is_file() and stamp.read_text() == wanted:
        return home / "bin" / "python"
    reason = ""
    for python in (sys.executable, *filter(None, map(shutil.which, PYTHONS))):
        shutil.rmtree(home, ignore_errors=True)
        try:
            _run([python, "-m", "venv", str(home)])
            _run([*_installer(home), *system.packages])
        except subprocess.CalledProcessError as error:
            reason = reason or str(error.stderr or error).strip()[-2000:]  # the driver's own interpreter comes first
            continue
        stamp.write_text(wanted)
        return home / "bin" / "python"
    raise MissingPeer(system.name, reason)


def _installer(home: Path) -> list[str]:
    python = str(home / "bin" / "python")
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", python]
    return [python, "-m", "pip", "install", "--quiet"]


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


class Worker:
    """A running system that answers one timing request at a time."""

    def __init__(self, system: System) -> None:
        self._name = system.name
        self._program = subprocess.Popen(
            [str(make_environment(system)), str(system.worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=system.variables,
        )
        self.version: str = self._read()["version"]

    def ask(self, task: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the worker's reply: seconds, the mean size of draws, and figures and a note if there are any."""
        if self._program.stdin is None:
            raise MissingPeer(self._name, "its worker has no input")
        self._program.stdin.write(json.dumps({"task": task, "parameters": dict(parameters)}) + "\n")
        self._program.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the worker by closing its input."""
        if self._program.stdin is not None:
            self._program.stdin.close()
        self._program.wait(timeout=60)

    def _read(self) -> dict[str, Any]:
        line = self._program.stdout.readline() if self._program.stdout is not None else ""
        if not line:
            raise MissingPeer(self._name, f"its worker stopped with status {self._program.wait()}")
        reply: dict[str, Any] = json.loads(line)
        return reply
