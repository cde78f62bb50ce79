"""Builds a wheel and tries it: `make wheel`. Each environment is empty but for the wheel, alone and with one extra.

In each a question is asked; with an extra, what the extra is for is used as well. Where a package is missing, the
command that the error names is run, and then it must work.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

ASK = """
import sys
from pathlib import Path

import privet

assert "site-packages" in privet.__file__, privet.__file__
Path("visits.csv").write_text("ward,cost\\n" + "".join(f"{'AB'[i % 2]},{i % 500}\\n" for i in range(1000)))
columns = {"ward": privet.category(["A", "B"]), "cost": privet.number(0, 500)}
visits = privet.Table("visits.csv", unit=privet.Rows(), columns=columns)
session = privet.Session({"visits": visits}, budget=privet.Pure(epsilon=5))
answer = session.ask("SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward", epsilon=2)
assert [row["ward"] for row in answer] == ["A", "B"]
assert all(abs(row["n"] - 500) < 100 for row in answer)
"""
PLOT = "answer.plot('answer.png')\nassert Path('answer.png').stat().st_size > 1000\n"
FRAMES = """
for frame in (answer.to_pandas(), answer.to_polars(), answer.to_arrow()):
    table = privet.Table(frame, unit=privet.Rows(), columns={"ward": privet.category(["A", "B"])})
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=50)) as again:
        assert abs(again.ask("SELECT COUNT(*) FROM t", epsilon=50).value - 2) < 2
"""
CELL = """
import nbformat
from nbclient import NotebookClient

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(Path(sys.argv[0]).read_text().split("# cell")[0])])
NotebookClient(notebook).execute()
"""
DATA = "from privet.strategy.kept import kept_sizes\nassert kept_sizes()\n"  # read from a file beside the modules
SERVER = """
from privet.server.listening import analyst_routes, make_application
assert any(route.path == "/v1/datasets" for route in analyst_routes())
"""
USES = {
    "": DATA,
    "plot": PLOT,
    "frames": FRAMES,
    "postgres": "import psycopg\n",
    "lakes": "import deltalake, pyiceberg.table\n",
    "spark": "import pyspark.sql\nfrom privet.engines.spark import Spark\nassert Spark(remote='sc://host')\n",
    "spark-local": "import pyspark.sql\nfrom privet.engines.spark import Spark\nassert Spark()\n",
    "server": SERVER,
    "notebook": f"# cell\n{PLOT}{FRAMES}{CELL}",
    "docs": "import furo, myst_nb, sphinx, sphinx_copybutton\n",
    "dev": f"{PLOT}{FRAMES}import hypothesis, mypy, pyright, pytest, ruff\n",
}
"""What is tried with each extra, after a question."""

LARGE = {"spark-local"}
"""Extras of hundreds of megabytes: tried only with PRIVET_LARGE=1, for `make test-spark` installs them, too."""

MISSING = {
    "plot": "answer.plot('answer.png')",
    "frames": "answer.to_pandas()",
}
"""Calls that fail without an extra."""


def build(folder: Path) -> Path:
    """Return a wheel of the project."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("privet-*.whl")
    return wheel


class Environment:
    """An empty environment in a folder, in which programs run that see nothing of this project but the wheel."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        python = str(self.folder / "env" / "bin" / "python")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [python, *arguments], cwd=self.folder, env=kept, capture_output=True, text=True, check=False
        )

    def succeed(self, *arguments: str) -> None:
        if (done := self.run(*arguments)).returncode:
            raise SystemExit(f"{' '.join(arguments)}\n{done.stdout}{done.stderr}")

    def install(self, what: str) -> None:
        self.succeed("-m", "pip", "install", "--quiet", what)

    def ask(self, code: str) -> None:
        """Ask a question, and run more code after it."""
        (self.folder / "ask.py").write_text(ASK + code, encoding="utf-8")
        self.succeed("ask.py")

    def follow_hint(self, call: str) -> None:
        """Make a call that lacks a package, run the command that its error names, and make the call again."""
        (self.folder / "ask.py").write_text(f"{ASK}{call}\n", encoding="utf-8")
        failed = self.run("ask.py")
        hint = re.search(r"RequestError: .*: python (-m pip install [\w-]+)$", failed.stderr, re.M)
        if hint is None:
            raise SystemExit(f"{call} names no command that would install what it needs:\n{failed.stderr}")
        self.succeed(*hint[1].split())
        self.succeed("ask.py")


def main() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    if set(USES) != {"", *extras}:
        raise SystemExit(f"tools/wheel.py tries {sorted(USES)}, and the project has the extras {sorted(extras)}")
    with tempfile.TemporaryDirectory() as name:
        wheel = build(Path(name))
        for extra, code in USES.items():
            if extra in LARGE and not os.environ.get("PRIVET_LARGE"):
                continue
            folder = Path(name) / (extra or "alone")
            folder.mkdir()
            environment = Environment(folder)
            environment.install(f"{wheel}[{extra}]" if extra else str(wheel))
            environment.ask(code)
            for call in MISSING.values() if not extra else ():
                environment.follow_hint(call)
            print(f"{wheel.name}{f'[{extra}]' if extra else ''}: installs, and answers", flush=True)
        kept = ROOT / "dist" / wheel.name
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(wheel.read_bytes())
    print(kept.relative_to(ROOT))


if __name__ == "__main__":
    main()
