"""These tests need Chromium and run by `make test-browser`, not with the others."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

collect_ignore_glob = [] if os.environ.get("PRIVET_BROWSER") else ["test_*.py"]


@pytest.fixture(scope="session")
def chrome() -> Iterator[Any]:
    """Return Chromium, driven by Playwright; one for all tests, each with contexts of its own."""
    from playwright_chromium import launched

    with launched() as browser:
        yield browser
