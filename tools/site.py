"""Builds the documentation as a site, with warnings as errors: `make docs` runs it, and build/site/html is the result.

The pages are copied first, so that generated ones (the reference of public names, the list of papers, copies of the
root's pages) never lie among those that people write.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import privet

ROOT = Path(__file__).resolve().parents[1]
DOCS, BUILD = ROOT / "docs", ROOT / "build" / "site"
PACKAGES = ("accounting", "audit", "config", "mechanisms", "noise", "plots", "testing", "aggregates", "inference")
DATA = {
    "privet.mechanisms.MECHANISMS": "Every mechanism, as the tests and the audit find them.",
    "privet.aggregates.AGGREGATES": "Every aggregate of the package, in the order in which names are looked up.",
}
"""Public names that are neither classes nor functions."""

LETTERS = ("SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Pages of the root that are part of the site."""


def stage(source: Path) -> None:
    """Copy the pages to a folder and add what is generated."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    for page in source.rglob("*.md"):
        page.write_text(from_docs(page.read_text(encoding="utf-8")), encoding="utf-8")
    for name in LETTERS:
        text = from_root((ROOT / name).read_text(encoding="utf-8"))
        (source / name.lower()).write_text(text, encoding="utf-8")
    (source / "references.md").write_text(
        papers((DOCS / "references.bib").read_text(encoding="utf-8")), encoding="utf-8"
    )
    (source / "reference").mkdir(exist_ok=True)
    for name, text in references().items():
        (source / "reference" / f"{name}.rst").write_text(text, encoding="utf-8")
    add_contents(source)


def add_contents(source: Path) -> None:
    """Give each page a table of contents of the pages that it is the first to link to, seen from the index.

    Those of the index have its words for them, and the captions of its sections. The index of a folder comes before
    other pages, so that the folder's pages are its own. So a page is in the site's navigation where it is linked.
    """
    index = source / "index.md"
    known, waiting = {index}, [index]
    while waiting:
        page = min(waiting, key=lambda each: each.stem != "index")
        waiting.remove(page)
        text = page.read_text(encoding="utf-8") if page.suffix == ".md" else ""
        trees = ""
        for title, section in re.findall(r"(?:^## (.*)\n|\A)((?:(?!## ).*\n)*)", text, re.M):
            fresh = {each: words for each, words in linked(section, page.parent).items() if each not in known}
            known |= fresh.keys()
            waiting += fresh
            entries = [entry(each.relative_to(source), words if page == index else "") for each, words in fresh.items()]
            if page == index and title == "Reference":
                entries[1:1] = [f"/reference/{name}" for name in ("privet", *sorted(PACKAGES))]
            if entries:
                caption = f":caption: {title}\n" if page == index else ""
                listed = "\n".join(entries)
                trees += f"\n```{{toctree}}\n:hidden:\n{caption}\n{listed}\n```\n"
        if trees:
            page.write_text(text + trees, encoding="utf-8")


def entry(page: Path, words: str) -> str:
    """Return the line of a table of contents for a page, with words of its own where there are any."""
    name = f"/{page.with_suffix('').as_posix()}"
    return f"{words if '.' in words else words[0].upper() + words[1:]} <{name}>" if words else name


def linked(text: str, folder: Path) -> dict[Path, str]:
    """Return the pages and notebooks that a text links to, in order, with the words of the first link."""
    found = dict[Path, str]()
    for words, target in re.findall(r"\[([^\]]*)\]\(([^)\s#:]+\.(?:md|ipynb))(?:#[^)\s]*)?\)", text):
        found.setdefault((folder / target).resolve(), words)
    return found


def from_docs(text: str) -> str:
    """Return a page's text with links that lead to the root's pages, and to generated ones, led into the site."""
    for name in LETTERS:
        text = text.replace(f"../{name}", name.lower())
    return re.sub(r"\]\(((?:\.\./)*)references\.bib\)", r"](\1references.md)", text)


def from_root(text: str) -> str:
    """Return the text of one of the root's pages with its links as seen from docs."""
    for name in LETTERS:
        text = text.replace(f"]({name}", f"]({name.lower()}")
    return from_docs(re.sub(r"\]\(docs/", "](", text)).replace("](README.md", "](index.md")


def papers(text: str) -> str:
    """Return the list of cited papers as a page, by their keys."""
    lines = ["# References", "", "The papers behind the code, by the keys that docstrings cite.", ""]
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.M | re.S):
        fields = {name: " ".join(value.split()) for name, value in re.findall(r"(\w+) *= *\{(.*?)\},?\n", body, re.S)}
        place = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or fields.get("note") or ""
        told = [fields["author"].replace(" and ", ", "), f"*{fields['title']}*", place, fields.get("year", "")]
        lines += [f"**{key}**", ": " + ". ".join(re.sub(r"[{}]", "", part) for part in told if part) + ".", ""]
    return "\n".join(lines)


def references() -> dict[str, str]:
    """Return a page of reference for each package, of all its public names, and for the names of privet itself."""
    packages = {name: importlib.import_module(f"privet.{name}") for name in PACKAGES}
    homes = {name: f"privet.{package}.{name}" for package, module in packages.items() for name in module.__all__}
    pages = {}
    for name, module in packages.items():
        pages[name] = page_of(
            f"privet.{name}", module.__doc__ or "", [f"privet.{name}.{each}" for each in module.__all__]
        )
    names = sorted(privet._HOME, key=str.lower)
    own = [f"privet.{name}" for name in names if name not in homes and not inspect.ismodule(getattr(privet, name))]
    elsewhere = [homes[name] for name in names if name in homes]
    text = page_of("privet", privet.__doc__ or "", [*own, "privet.answer.Answer", "privet.planner.plan.Plan"])
    others = "\n".join(f"   ~{name}" for name in elsewhere)
    pages["privet"] = f"{text}\nMechanisms\n----------\n\nAlso names of ``privet``:\n\n.. autosummary::\n\n{others}\n"
    return pages


def page_of(package: str, about: str, names: list[str]) -> str:
    """Return one page in reStructuredText: a table of the names, and each with its docstring."""
    first = about.strip().split("\n\n")[0]
    listed = "\n".join(f"   ~{name}" for name in names)
    parts = [f"{package}\n{'=' * len(package)}\n\n{re.sub('`', '``', first)}\n\n.. autosummary::\n\n{listed}\n"]
    for name in names:
        owner, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(owner), attribute)
        kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
        if kind == "data":
            parts.append(f".. py:data:: {name}\n   :no-index-entry:\n\n   {DATA[name]}\n")
            continue
        kind = "exception" if kind == "class" and issubclass(value, BaseException) else kind
        more = "   :members:\n" if kind == "class" else ""
        parts.append(f".. auto{kind}:: {name}\n{more}")
    return "\n".join(parts)


LOADS = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object|use|image)\b[^>]*?(?:src|srcset|data|href)\s*=\s*["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|next|prev|license))[^>]*?href\s*=\s*["']?(?:https?:)?//[^"'\s>]+"""
    r"""|(?:url\(\s*["']?|@import\s+["'])(?:https?:)?//[^"')\s]+"""
)
"""What makes a browser fetch something from elsewhere; plain links do not."""


def outside_loads(text: str) -> list[str]:
    """Return the parts of a page, a style sheet or a drawing that load something from another host."""
    return LOADS.findall(text)


def main() -> int:
    source, html = BUILD / "source", BUILD / "html"
    stage(source)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(BUILD / "doctrees")]
    built = subprocess.run([*command, *sys.argv[1:], str(source), str(html)], check=False)
    files = [file for kind in ("html", "css", "svg") for file in html.rglob(f"*.{kind}")]
    for file in files:
        for load in outside_loads(file.read_text(encoding="utf-8")):
            print(f"{file.relative_to(ROOT)} loads from elsewhere: {load}", file=sys.stderr)
            return 1
    if built.returncode == 0:
        print(f"{html.relative_to(ROOT)}/index.html")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
