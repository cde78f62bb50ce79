"""The parts of the front page and the site: measurements, the recording, extras, notebooks; nothing from elsewhere.

That the site builds without a warning, `make docs` checks; that a wheel installs and answers, `make wheel`.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import privet
from privet.core.given import install_hint, optional_package
from privet.demo.hospital import make_hospital

sys.path.insert(0, str(Path(__file__).parent))

from reading_pages import code_of, read_blocks

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES, MOST_SECONDS = 8, 3.0


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


site, recording, publish = (
    load(ROOT / name) for name in ("tools/site.py", "tools/recording.py", "benchmarks/publish.py")
)
PUBLISHED: dict[str, Any] = json.loads(publish.PUBLISHED.read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_table_of_the_readme_is_made_from_the_published_measurements() -> None:
    assert publish.table(PUBLISHED) in README
    assert publish.with_table(README, PUBLISHED) == README
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", PUBLISHED["date"])
    assert all(row["processor seconds"]["privet"] > 0 for row in PUBLISHED["rows"])
    assert {system for row in PUBLISHED["rows"] for system in row["processor seconds"]} == set(PUBLISHED["versions"])


def test_no_cell_of_the_readme_is_long() -> None:
    cells = [cell.split() for line in README.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert max(map(len, cells)) <= 25


def test_measurements_are_collected_by_unit_and_refused_in_two_versions(tmp_path: Path) -> None:
    for name in {row.benchmark for row in publish.ROWS}:
        timing = {"processor seconds": 2.0, "units": 4}
        cases = [{"title": row.case, "systems": {"privet": timing}} for row in publish.ROWS if row.benchmark == name]
        told = {"at": "2025-01-02T03:04", "versions": {"privet": "1"}, "machine": {}, "cases": cases}
        (tmp_path / f"{name}.json").write_text(json.dumps(told))
    found = publish.collected(tmp_path)
    assert [row["processor seconds"]["privet"] for row in found["rows"]] == [row.units / 2 for row in publish.ROWS]
    (tmp_path / "noise.json").write_text(json.dumps({**told, "versions": {"privet": "2"}}))
    with pytest.raises(SystemExit, match="two versions"):
        publish.collected(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.0123, "12 ms"), (0.0996, "100 ms"), (0.456, "0.46 s"), (138, "140 s")]
)
def test_times_have_two_digits(seconds: float, told: str) -> None:
    assert publish.shown(seconds) == told


def test_the_recording_shows_its_commands_and_loads_nothing() -> None:
    text = recording.PICTURE.read_text(encoding="utf-8")
    written = " ".join("".join(element.itertext()) for element in ElementTree.fromstring(text).iter())
    for command in recording.COMMANDS:
        assert all(line.strip() in written for line in command.splitlines())
    assert "privet" in written
    assert "it was answered before" in written
    assert site.outside_loads(text) == []
    assert re.findall(r"https?:[^\"<]*", text) == ["http://www.w3.org/2000/svg"]


def test_a_terminal_is_drawn_line_by_line_with_what_a_shell_printed(tmp_path: Path) -> None:
    lines = recording.record(("# why\necho '<a> & b'", f"printf '{'x' * 100}'"), tmp_path)
    told = [line.text for line in lines]
    assert told == ["$ # why", "$ echo '<a> & b'", "<a> & b", "", f"$ printf '{'x' * 100}'", "x" * 80, "x" * 20]
    assert [line.at for line in lines] == sorted(line.at for line in lines)
    assert "<a> & b" in ["".join(each.itertext()) for each in ElementTree.fromstring(recording.drawn(lines)).iter()]


@pytest.mark.parametrize(
    "text",
    [
        '<script async src="https://cdn.example/x.js"></script>',
        "<link rel='stylesheet' href='//fonts.example/css'>",
        '<img alt="a" src=http://example.org/a.png>',
        "body { background: url(https://example.org/a.png) }",
        '@import "https://example.org/a.css";',
        '<image href="https://example.org/a.png"/>',
    ],
)
def test_what_is_loaded_from_elsewhere_is_told(text: str) -> None:
    assert len(site.outside_loads(f"<p>{text}</p>")) == 1


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://example.org">far</a>',
        '<script src="_static/x.js"></script>',
        '<link rel="stylesheet" href="_static/x.css">',
        '<link rel="canonical" href="https://example.org/">',
        '<img src="data:image/png;base64,//8=">',
        "b { background: url('x.png') }",
    ],
)
def test_what_lies_beside_a_page_is_no_load_from_elsewhere(text: str) -> None:
    assert site.outside_loads(text) == []


def test_every_page_is_in_the_contents_of_the_site_once(tmp_path: Path) -> None:
    source = tmp_path / "source"
    site.stage(source)
    listed = list[str]()
    for page in source.rglob("*.md"):
        for block in read_blocks(page.read_text(encoding="utf-8")):
            if block.label == "{toctree}":
                listed += re.findall(r"^(?:.* <)?(/[^>\n]+)>?$", block.text, re.M)
    pages = {
        file.relative_to(source).with_suffix("")
        for kind in ("md", "rst", "ipynb")
        for file in source.rglob(f"*.{kind}")
    }
    assert sorted(listed) == sorted(f"/{page.as_posix()}" for page in pages - {Path("index")})


def test_every_public_name_is_in_the_reference() -> None:
    pages = "\n".join(site.references().values())
    for name in privet._HOME:
        if not isinstance(getattr(privet, name), ModuleType):
            assert re.search(rf"^\.\. (auto\w+|py:data):: privet\.(\w+\.)*{name}$", pages, re.M), name


def three_tasks() -> dict[str, str]:
    """Return the programs that are promised to be short and fast: the README's, and the last of the analyst's page."""
    analyst = (ROOT / "docs" / "start" / "analyst.md").read_text(encoding="utf-8")
    (eight,) = (block.text for block in read_blocks(analyst.partition("## Eight lines")[2]) if block.label == "python")
    return {"readme": code_of(README), "analyst": eight}


@pytest.mark.parametrize("page", ["readme", "analyst"])
def test_three_tasks_take_few_lines_and_little_time(page: str, tmp_path: Path) -> None:
    code = three_tasks()[page]
    assert all(word in code for word in ("COUNT(", "GROUP BY ward", "AVG(cost)", "MEDIAN(cost)"))
    assert len([line for line in code.splitlines() if line.strip()]) <= MOST_LINES
    assert max(map(len, code.splitlines())) <= 120
    (tmp_path / "hospital").mkdir()
    make_hospital(tmp_path / "hospital")
    timed = f"{code}\nimport sys, time\nprint(time.process_time(), file=sys.stderr)\n"
    seconds = []
    for _ in range(2):  # the better of two, for a machine that others use as well
        done = subprocess.run([sys.executable, "-c", timed], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        seconds.append(float(done.stderr.split()[-1]))
    print(f"{page}: {min(seconds):.2f} s of processor time")
    assert min(seconds) < MOST_SECONDS


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"]))
def test_every_extra_is_documented(extra: str) -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    assert f"| `{extra}` |" in page


@pytest.mark.parametrize(
    ("package", "extra"), [("matplotlib", "plot"), ("pandas", "frames"), ("polars", "frames"), ("pyarrow", "frames")]
)
def test_a_missing_package_is_told_with_a_command_that_installs_it(
    package: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert any(needed.startswith(package) for needed in PROJECT["optional-dependencies"][extra])
    monkeypatch.setitem(sys.modules, package, None)
    hint = f"python -m pip install {package}"
    assert install_hint(package) == hint
    with pytest.raises(privet.RequestError, match=f"^this needs {package}, which is not installed: {hint}$"):
        optional_package(package, "this needs")
    table = privet.Table("t.csv", unit=privet.Rows(), columns={"x": privet.integer(0, 9)})
    Path("t.csv").write_text("x\n" + "5\n" * 100)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=1)) as session:
        answer = session.ask("SELECT COUNT(*) AS n FROM t", epsilon=1)
    asked = {
        "matplotlib": answer.plot,
        "pandas": answer.to_pandas,
        "polars": answer.to_polars,
        "pyarrow": answer.to_arrow,
    }
    if package == "matplotlib":
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(privet.RequestError, match=hint):
        asked[package]()


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda file: file.stem)
def test_a_notebook_keeps_its_outputs_and_nothing_that_changes_by_itself(notebook: Path) -> None:
    kept = json.loads(notebook.read_text(encoding="utf-8"))
    codes = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in codes] == list(range(1, len(codes) + 1))
    assert sum(bool(cell["outputs"]) for cell in codes) >= 5
    assert not any("execution" in cell["metadata"] for cell in codes)
    assert set(kept["metadata"]["language_info"]) == {"name"}
    assert notebook.stat().st_size < 300_000
