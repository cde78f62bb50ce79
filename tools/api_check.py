"""Runs schemathesis against a throw-away demo server: `python tools/api_check.py SCHEMATHESIS [EXAMPLES]`.

Requests are generated from the description of each listener, valid ones and others; no reply may be an error of the
server's own, have a status or a type that is not described, or a body that its schema does not allow. The server is on
this computer alone, and its folder is removed afterwards.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from privet.server.job_queue import ServerLimits
from privet.server.listening import ServerOptions, running_server
from privet.server.serve_command import make_demo

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
LEFT_OUT = "/(events|backup|logout|revoke|freeze)$"
"""Streams that last as long as a question, copies of the ledger, and what would end the run's own accounts."""

LIMITS = ServerLimits(
    rate=10_000, burst=10_000, unknown_rate=10_000, unknown_burst=10_000, in_flight=100, time_step=0.1
)
ROLES = ((0, "alice (analyst)"), (1, "carol (custodian)"), (1, "otto (auditor)"))


def main(program: str, examples: str = "8") -> int:
    """Return 0 where every reply to every role was as described."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        config, tokens = make_demo(Path(folder))
        options = ServerOptions({"hospital": config}, port=0, custodian_port=0, limits=LIMITS)
        with running_server(options) as server:
            (Path(folder) / "schemathesis.toml").write_text('[parameters]\n"path.dataset" = "hospital"\n')
            for listener, name in ROLES:
                url = server.urls[listener]
                given = ["--header", f"Authorization: Bearer {tokens[name]}", "--checks", CHECKS, "--seed", "11"]
                given += ["--exclude-path-regex", LEFT_OUT, "--max-examples", examples, "--phases", "coverage,fuzzing"]
                given += ["--suppress-health-check", "all", "--generation-database", "none", "--no-color"]
                done = subprocess.run(
                    [program, "run", f"{url}/v1/openapi.json", *given], timeout=300, cwd=folder, check=False
                )
                print(f"{name}: {'failed' if done.returncode else 'as described'}", flush=True)
                failed += done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
