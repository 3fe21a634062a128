"""`toolscout serve` and `toolscout mcp`: the gateway for the network, and for one MCP client on stdio."""

import asyncio
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Final

from gateway.cli.exits import Exit
from gateway.cli.output import write_error, write_line
from gateway.demo.catalog import is_indexed, require_packages
from gateway.home import live_server
from gateway.listening import check_listening
from gateway.settings import GatewaySettings
from indexer import IndexerSettings


def serve_gateway(host: str | None, port: int | None, workers: int, *, with_demo_catalog: bool) -> Exit:
    """`toolscout serve`, until it is interrupted."""
    from gateway.server import run_server
    from gateway.workers import run_workers

    indexer = IndexerSettings.from_environment()
    gateway = GatewaySettings.from_environment()
    gateway = replace(gateway, host=gateway.host if host is None else host, port=gateway.port if port is None else port)
    check_listening(gateway)
    if workers > 1 and indexer.qdrant_url is None:
        write_error(
            f"--workers {workers} needs a Qdrant server: the embedded catalog has one owner, no second process can "
            "open it. Set TOOLSCOUT_QDRANT_URL, or leave --workers out"
        )
        return Exit.USAGE
    running = live_server(indexer.home)
    if running is not None and indexer.qdrant_url is None:
        write_error(
            f"a gateway already serves the catalog in {indexer.home}: {running.url}, process {running.pid}; "
            "use that one, stop it, or set TOOLSCOUT_HOME to another folder"
        )
        return Exit.UNAVAILABLE
    load = _DemoCatalogLoad() if with_demo_catalog and not is_indexed(indexer.home) else None
    if load is not None:
        require_packages()
    on_ready = _say_what_to_try if load is None else load.start
    try:
        if workers > 1:
            code = run_workers(gateway, indexer, workers, on_ready=on_ready)
            return Exit(code) if code in set(Exit) else Exit.FAILED
        run_server(gateway, indexer, on_ready=on_ready)
    finally:
        if load is not None:
            load.stop()
    return Exit.OK


def serve_mcp() -> Exit:
    """`toolscout mcp`: over this process's stdin and stdout, so nothing else may be written there."""
    asyncio.run(_serve_mcp())
    return Exit.OK


async def _serve_mcp() -> None:
    from gateway.app import installed_version, make_mcp_server, open_services
    from gateway.mcp_server.server import build_mcp_server, run_stdio

    indexer = IndexerSettings.from_environment()
    gateway = GatewaySettings.from_environment()
    server = live_server(indexer.home)
    if server is None:
        async with open_services(gateway, indexer) as services:
            await run_stdio(make_mcp_server(services))
        return
    from gateway.remote import RemoteGateway
    from gateway.remote_index import RemoteToolIndex

    index = RemoteToolIndex(RemoteGateway(server.url, token=server.token))
    await run_stdio(build_mcp_server(index, version=installed_version(), max_results=gateway.loop.max_results))


_WHAT_TO_TRY: Final = """
Toolscout is ready at {url}. Stop it with Ctrl+C. What to try:

  a search     curl -s {url}/v1/search -H 'content-type: application/json' \\
                 -d '{{"query": "restart a virtual machine"}}'
  a chat       curl -s {url}/v1/chat/completions -H 'content-type: application/json' \\
                 -d '{{"model": "any", "messages": [{{"role": "user", "content": "Which S3 buckets do I have?"}}]}}'
  the docs     {url}/docs
  MCP          claude mcp add toolscout -- {command} mcp      (or over HTTP: {url}/mcp)
  the demo     {command} demo
"""


def _say_what_to_try(url: str) -> None:
    write_line(_WHAT_TO_TRY.format(url=url, command=_command()))
    sys.stdout.flush()


def _command() -> str:
    """How this installation's command is called from here."""
    beside = Path(sys.executable).with_name("toolscout")
    return shutil.which("toolscout") or (str(beside) if beside.exists() else "toolscout")


class _DemoCatalogLoad:
    """Loads the demo catalog into the gateway that just started, from a process of its own.

    So the gateway answers from its first second, with what is there so far, and reading forty thousand operations does
    not take turns with its requests.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, url: str) -> None:
        write_line(
            f"Toolscout answers at {url}. Indexing the catalog of real AWS and Google operations, once; "
            "searches see what is there so far."
        )
        sys.stdout.flush()
        self._process = subprocess.Popen([sys.executable, "-m", "gateway.cli", "index", "demo"])
        threading.Thread(target=self._wait, args=(self._process, url), daemon=True).start()

    def _wait(self, process: "subprocess.Popen[bytes]", url: str) -> None:
        if process.wait() in (Exit.OK, Exit.NOTHING):
            _say_what_to_try(url)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
