"""What a round of the tool loop costs beside the model: ours with 12 advisors, against other libraries' loops.

Every contestant plays the same script (ten rounds with one tool call each, then an answer) in a process of its own;
the processes take turns, so that a machine that becomes busy slows all of them. Run it from the checkout:

    python -m venv /tmp/loop-peers && /tmp/loop-peers/bin/pip install langgraph pydantic-ai-slim
    python -m benchmarks.loop_overhead --peers /tmp/loop-peers/bin/python
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.loop_contestants import CONTESTANTS, ROUNDS
from gateway.bench.speed.machine import this_machine

RESULTS: Final = Path(__file__).parent / "results"
BUDGET_MICROSECONDS: Final = 1000.0
"""What our loop with 12 advisors may cost a round."""
_SCRIPT: Final = Path(__file__).parent / "loop_contestants.py"
_OURS: Final = "toolscout"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 if ours is over its budget or a peer's loop is faster."""
    asked = _parser().parse_args(arguments)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTESTANTS}
    skipped: dict[str, str] = {}
    for block in range(asked.blocks):
        names = list(CONTESTANTS)
        for name in names[block % len(names) :] + names[: block % len(names)]:
            if name not in skipped:
                _play(name, asked, found, skipped)
    rows = [_row(name, found[name]) if found[name] else {"loop": name, "skipped": skipped[name]} for name in found]
    for row in rows:
        sys.stdout.write(_line(row) + "\n")
    if asked.results is not None:
        _write(asked, rows)
    return 0 if _holds(rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What a round of the tool loop costs beside the model.")
    parser.add_argument("--peers", default=sys.executable, help="a Python that has langgraph and pydantic-ai")
    parser.add_argument("--runs", type=int, default=100, help="timed runs in each block")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=3, help="how often each one has its turn")
    parser.add_argument("--results", type=Path, help="folder for the JSON result, benchmarks/results say")
    return parser


def _play(
    name: str, asked: argparse.Namespace, found: dict[str, list[dict[str, Any]]], skipped: dict[str, str]
) -> None:
    """Let one contestant have its turn; a peer that is not there is skipped, and said to be."""
    is_ours = name.startswith(_OURS)
    python, script = (sys.executable, ["-m", "benchmarks.loop_contestants"]) if is_ours else (asked.peers, [_SCRIPT])
    command = [str(python), *map(str, script), name, str(asked.warm_up), str(asked.runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_SCRIPT.parent.parent)
    if done.returncode == 0:
        found[name].append(json.loads(done.stdout))
        return
    reason = done.stderr.strip().rsplit("\n", 1)[-1]
    if is_ours or "ModuleNotFoundError" not in reason:
        raise RuntimeError(f"{name} failed: {done.stderr}")
    skipped[name] = reason


def _row(name: str, blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    wall, cpu = zip(*(timing for block in blocks for timing in block["timings"]), strict=True)
    return {
        "loop": name,
        "version": blocks[0]["version"],
        "runs": len(cpu),
        "cpu_microseconds_a_round": {"median": round(statistics.median(cpu), 1), "fastest": round(min(cpu), 1)},
        "wall_microseconds_a_round": {"median": round(statistics.median(wall), 1), "fastest": round(min(wall), 1)},
    }


def _line(row: dict[str, Any]) -> str:
    if "skipped" in row:
        return f"{row['loop']:<28} skipped: {row['skipped']}"
    cpu, wall = row["cpu_microseconds_a_round"], row["wall_microseconds_a_round"]
    return (
        f"{row['loop']:<28} {row['version']:<10} cpu {cpu['median']:>8.1f} µs a round (fastest {cpu['fastest']:.1f})   "
        f"wall {wall['median']:>8.1f} µs (fastest {wall['fastest']:.1f})"
    )


def _holds(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether ours keeps to its budget and is the fastest, advisors and all."""
    medians = {row["loop"]: row["cpu_microseconds_a_round"]["median"] for row in rows if "skipped" not in row}
    ours = medians["toolscout, 12 advisors"]
    return ours < BUDGET_MICROSECONDS and all(ours <= other for name, other in medians.items() if _OURS not in name)


def _write(asked: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> None:
    now = datetime.now(UTC)
    result = {
        "benchmark": "loop_overhead",
        "date": now.isoformat(timespec="seconds"),
        "rounds_a_run": ROUNDS,
        "budget_microseconds_a_round": BUDGET_MICROSECONDS,
        "machine": {
            "processor": this_machine().cpu,
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
        },
        "loops": list(rows),
    }
    path = asked.results / f"loop_overhead-{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
