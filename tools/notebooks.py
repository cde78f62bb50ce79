"""Runs the notebooks of the documentation in place and keeps their outputs: `make notebooks`, or with names of some.

Each runs in an empty folder. What would differ without meaning anything (times, the version of the kernel) is not kept.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def run(file: Path) -> None:
    """Run one notebook, and write it back with its outputs."""
    notebook = nbformat.read(file, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    notebook.metadata = nbformat.from_dict(METADATA)  # the kernel adds its own
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
        outputs = cell.get("outputs", [])
        if stray := [output for output in outputs if output.get("name") == "stderr"]:
            raise SystemExit(f"{file.name}, cell {number}: {stray[0].text}")
        for output in outputs:
            output.pop("metadata", None) if output.output_type == "stream" else output.update(metadata={})
    nbformat.validate(notebook)
    nbformat.write(notebook, file)


def main() -> None:
    names = sys.argv[1:]
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or file.stem in names:
            run(file)
            print(file.relative_to(NOTEBOOKS.parents[1]))


if __name__ == "__main__":
    main()
