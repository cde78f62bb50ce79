"""These tests need Chromium and run by `make test-browser`, not with the others."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("PRIVET_BROWSER") else ["test_*.py"]
