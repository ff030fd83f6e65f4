"""Scenarios of the conformance suite against `neuralc mcp`: part of `make mcp-conformance`.

    python3 tools/mcp_conformance.py NEURALC FOLDER SCENARIO...

In: the binary, the folder the suite is installed in, scenarios; out: a line for each, and exit code 1 if a check of any failed. The suite
sends no token, so the server answers without one, on a port of its own, with an empty folder granted.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile


def main(neuralc: str, folder: str, *scenarios: str) -> int:
    modules = pathlib.Path(folder) / "node_modules"
    suite = [modules / ".bin/node", modules / "@modelcontextprotocol/conformance/dist/index.js", "server"]
    with tempfile.TemporaryDirectory() as root:
        command = [neuralc, "mcp", "--root", root, "--http", "0", "--without-token"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                url = server.stderr.readline().strip()
                passed = [run(suite, url, scenario) for scenario in scenarios]
            finally:
                server.kill()
    print(f"{sum(passed)} of {len(passed)} scenarios passed")
    return 0 if all(passed) else 1


def run(suite: list[pathlib.Path | str], url: str, scenario: str) -> bool:
    done = subprocess.run([*suite, "--url", url, "--scenario", scenario], capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings", done.stdout + done.stderr)
    print(f"{scenario}: {found[0] if found else 'no result'}")
    return found is not None and found[3] == "0"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
