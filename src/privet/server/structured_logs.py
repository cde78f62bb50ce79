"""Logs as lines of JSON: route, status, account, duration. No question, no answer, and no path as it was sent."""

from __future__ import annotations

import datetime
import json
import logging
import sys


class JsonLines(logging.Formatter):
    """Writes what a record tells in its `told`, and its level and name. A traceback is reduced to its kind."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"time": when, "level": record.levelname.lower(), "name": record.name}
        told = getattr(record, "told", None)
        if told is not None:
            line |= {"event": str(record.msg), **told}
        elif record.name.startswith("uvicorn"):
            line["event"] = "listener"  # its texts may quote what a caller sent
        else:
            line["event"] = "note"
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__  # its text may quote a row
        return json.dumps(line)


def log_to_stderr() -> None:
    """Send the server's logs to standard error, a line of JSON for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("privet.server", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
