"""Breaks the code on purpose, one edit at a time, and checks that some test fails each time.

Each mutant is made in a copy of src, outside the repository. A mutant that survives, that no longer imports, or whose
code is no longer found fails the run. Give parts of module names as arguments to run only those.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from edit import Lost
from mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
MUTANTS: list[Mutant] = [
    mutant
    for file in sorted(Path(__file__).parent.glob("of_*.py"))
    for mutant in importlib.import_module(file.stem).MUTANTS
]
KILLED = 1
"""What pytest says when tests ran and some failed; a collection error or a usage error says something else."""

LIMIT = 900
"""Seconds after which the tests of a mutant count as hanging."""

EACH = 20
"""Mutants after which progress is told."""

TOLD = 2000
"""How many signs of what the tests print are shown where they fail without a mutant."""

_IMPORT = "import privet.accounting, privet.mechanisms, privet.noise, privet.core.sensitivity; print(privet.__file__)"


def main(wanted: list[str]) -> int:
    """Run the mutants whose modules hold one of the wanted parts, and return an exit status."""
    chosen = [
        mutant for mutant in MUTANTS if not wanted or any(part.replace("/", ".") in mutant.module for part in wanted)
    ]
    start = time.monotonic()
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    with tempfile.TemporaryDirectory() as place:
        clean = copy_source(Path(place))
        found = run_tests(clean, tests, stop=False)
        if found.returncode != 0:
            print(f"the tests fail without any mutant; mend them first\n{found.stdout[-TOLD:]}")
            return 2
    killed = 0
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for number, (mutant, verdict) in enumerate(zip(chosen, pool.map(judge, chosen), strict=True), start=1):
            if verdict == "killed":
                killed += 1
            else:
                print(f"{verdict}: {mutant.address}\n  - {mutant.old}\n  + {mutant.new}", flush=True)
            if number % EACH == 0:
                print(f"{number} of {len(chosen)}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"{killed} of {len(chosen)} mutants killed in {time.monotonic() - start:.0f} s")
    return 0 if killed == len(chosen) else 1


def judge(mutant: Mutant) -> str:
    """Return what became of a mutant: killed, survived, broken or lost."""
    with tempfile.TemporaryDirectory() as place:
        source = copy_source(Path(place))
        file = mutant.file(source / "privet")
        try:
            broken = mutant.applied(file.read_text(encoding="utf-8"))
        except (Lost, FileNotFoundError) as error:
            return f"lost, as {error}"
        file.write_text(broken, encoding="utf-8")
        tried = subprocess.run(
            [sys.executable, "-c", _IMPORT], env=environment(source), cwd=ROOT, capture_output=True, text=True
        )
        if tried.returncode != 0 or not tried.stdout.startswith(str(source)):
            return "broken, as it does not import"
        try:
            status = run_tests(source, mutant.tests, stop=True).returncode
        except subprocess.TimeoutExpired:
            return "killed"  # a test that never ends has noticed
        return {0: "SURVIVED", KILLED: "killed"}.get(status, f"broken, as pytest said {status}")


def copy_source(place: Path) -> Path:
    """Return a copy of src."""
    target = place / "src"
    shutil.copytree(ROOT / "src", target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def run_tests(source: Path, tests: list[str] | tuple[str, ...], *, stop: bool) -> subprocess.CompletedProcess[str]:
    """Run tests against a copy of src."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests]
    if stop:
        command.append("-x")
    limit = LIMIT if stop else None
    return subprocess.run(command, env=environment(source), cwd=ROOT, capture_output=True, text=True, timeout=limit)


def environment(source: Path) -> dict[str, str]:
    """Return an environment in which `import privet` finds the copy, and leaves nothing behind."""
    return {
        **os.environ,
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "examples"),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
