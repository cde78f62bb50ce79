"""How the tests run: examples may take their time, and in continuous integration they are the same on every run."""

from __future__ import annotations

import os

from hypothesis import settings

# Two test processes on two cores: threads of linear algebra would wait for each other instead of computing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("patient", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "patient")
