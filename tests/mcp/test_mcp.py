"""A whole session of the official client with `neuralc mcp`, over standard streams and over HTTP: `make test-mcp`.

`NEURALC` names the binary."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

NEURALC = os.environ["NEURALC"]
LINE = "x,y\n0,1\n1,3.1\n2,4.9\n3,7.05\n4,9\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "line.csv").write_text(LINE)
    (tmp_path / "model.scm").write_text("(param a 1)\n(param b 1)\n(+ a (* b x))\n")
    subprocess.run([NEURALC, "library", "init", "--library", tmp_path / "library"], check=True, stdout=subprocess.DEVNULL)
    return tmp_path


async def call(session: ClientSession, tool: str, /, **arguments: Any) -> tuple[bool, Any]:
    result = await session.call_tool(tool, arguments)
    return bool(result.is_error), json.loads(result.content[0].text)  # type: ignore[union-attr]


async def whole(session: ClientSession) -> None:
    """From a mistake to a fitted model and a module of the library."""
    hello = await session.initialize()
    assert hello.server_info.name == "neuralc"
    tools = (await session.list_tools()).tools
    assert {"check", "run", "fit", "simulate", "show", "library", "reference"} <= {t.name for t in tools} and len(tools) <= 8
    wrong, found = await call(session, "check", text="(sqrtt x)")
    assert wrong and found["diagnostics"][0]["code"] == "unknown-function" and "sqrt" in found["diagnostics"][0]["help"]
    assert await call(session, "run", text="(* 0.5 m (square v))", inputs={"m": 2, "v": 3}) == (False, {"value": 9.0})
    wrong, found = await call(session, "fit", file="model.scm", data="line.csv", target="y", save="fitted.scm")
    assert not wrong and abs(found["params"]["b"]["value"] - 1.995) < 1e-9
    wrong, found = await call(session, "simulate", file="fitted.scm", data="line.csv")
    assert not wrong and len(found["csv"].splitlines()) == 6
    wrong, found = await call(session, "library", action="add", name="energy", text="(* 0.5 m (square v))", examples=["m=2, v=3 => 9"])
    assert not wrong and found["version"] == 1
    assert (await call(session, "run", text="(use energy@1) (energy 2 3)"))[1] == {"value": 9.0}
    assert (await call(session, "fit", file="model.scm", data="/etc/passwd", target="y"))[1]["diagnostics"][0]["code"] == "outside-root"
    uris = {str(r.uri) for r in (await session.list_resources()).resources}
    assert {"neuralc://spec/forms", "neuralc://library/energy@1"} <= uris
    for uri in sorted(uris):
        assert (await session.read_resource(uri)).contents[0].text  # type: ignore[arg-type, union-attr]
    assert len((await session.list_resource_templates()).resource_templates) == 2
    with pytest.raises(Exception, match="no tool"):
        await session.call_tool("delete", {})


def test_over_standard_streams(root: Path) -> None:
    async def main() -> None:
        server = StdioServerParameters(command=NEURALC, args=["mcp", "--root", str(root)])
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await whole(session)

    asyncio.run(main())


def test_over_http(root: Path) -> None:
    command = [NEURALC, "mcp", "--root", str(root), "--http", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            url = server.stderr.readline().strip()
            name, _, value = server.stderr.readline().strip().partition(": ")

            async def main() -> None:
                async with (
                    httpx2.AsyncClient(headers={name: value}, timeout=60) as client,
                    streamable_http_client(url, http_client=client) as streams,
                    ClientSession(streams[0], streams[1]) as session,
                ):
                    await whole(session)

            asyncio.run(main())
            assert httpx2.post(url, json={}).status_code == 401
        finally:
            server.kill()
