"""Settings of Sphinx for the site that `make docs` builds. Everything a page loads lies beside it."""

from __future__ import annotations

import re
from typing import Any

from pygments.lexers.special import TextLexer

import privet

project = "Privet"
author = "The Privet authors"
version = release = privet.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"
suppress_warnings = ["myst-nb.lexer"]

autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autosummary_generate = False
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "Privet"
html_static_path = ["_static"]
html_css_files = ["privet.css"]
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_copy_source = False
html_show_sphinx = False
templates_path: list[str] = []
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

FIELD = re.compile(r"^( *)(Guarantee|Cites): ", re.M)


def escaped(text: str) -> str:
    """Return prose with inline code in double backticks, and nothing else that reStructuredText would interpret."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(
        f"`{part}`" if place % 2 else re.sub(r"([*|\\])", r"\\\1", re.sub(r"(?<=\w)_(?!\w)", r"\\_", part))
        for place, part in enumerate(parts)
    )


def to_restructured(lines: list[str]) -> list[str]:
    """Return the lines of one of our docstrings as reStructuredText; examples stay as they are."""
    written, example = list[str](), False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if field := FIELD.match(line):
            written += ["", f"{field[1]}**{field[2]}:** {escaped(line[field.end() :])}"]
        else:
            written.append(line if example else escaped(line))
    return written


def rewrite_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    lines[:] = to_restructured(lines)


def setup(app: Any) -> None:
    app.add_lexer("layers", TextLexer)  # what tools/architecture.py draws
    app.connect("autodoc-process-docstring", rewrite_docstring, priority=400)
