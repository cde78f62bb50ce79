"""Write the hashes of the survey page's script and style into its policy: `python tools/page_policy.py`."""

from __future__ import annotations

import re
from pathlib import Path

from privet.survey.receiver import page_policy

PAGE = Path(__file__).resolve().parents[1] / "src" / "privet" / "survey" / "page.html"
_POLICY = re.compile(r'(<meta http-equiv="Content-Security-Policy" content=")[^"]*(">)')


def main() -> None:
    """Replace the policy of the page by the one that its script and style need."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_POLICY.sub(lambda found: found[1] + page_policy() + found[2], text), encoding="utf-8")


if __name__ == "__main__":
    main()
