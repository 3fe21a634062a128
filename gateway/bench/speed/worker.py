"""A process that holds contenders: JSON lines in, JSON lines out. Started by `processes.Worker`.

Contenders with native code that does not live together stay apart this way, each with one thread for its linear
algebra (the environment says so before numpy is imported), and all of them can still take turns.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from gateway.bench.speed.lanes import Contender

_ROOM: Final = "gateway.bench.speed"


class LaneHost:
    """The contenders of this process, by the number they were given."""

    def __init__(self) -> None:
        self._lanes: dict[int, Contender] = {}

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a message asks."""
        match message["op"]:
            case "open":
                started = time.perf_counter()
                lane = self._lanes[message["lane"]] = made(message["maker"], message["settings"])
                # As the server does once it has loaded: what stays is not looked through again in the middle of a call.
                gc.collect()
                gc.freeze()
                return {"notes": {"set_up_seconds": round(time.perf_counter() - started, 2), **lane.notes}}
            case "turn":
                turn = self._lanes[message["lane"]].turn(message["numbers"])
                return {"seconds": turn.seconds, "answers": turn.answers}
            case "close":
                lane = self._lanes.pop(message["lane"], None)
                if lane is not None:
                    lane.close()
                gc.collect()
                return {}
            case "measure":
                return {"measured": made(message["maker"], message["settings"])}
            case other:
                raise ValueError(f"unknown message {other!r}")


def made(maker: str, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a contender, or a measurement's record
    """Call `module:function` of this room with settings."""
    module, _, function = maker.partition(":")
    return getattr(import_module(f"{_ROOM}.{module}"), function)(settings)


def main() -> None:
    """Serve messages until the other side closes."""
    # Whatever a library prints goes to stderr: the pipe carries answers only.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    gc.set_threshold(100_000, 20, 20)
    host = LaneHost()
    for line in sys.stdin:
        try:
            answer = host.handle(json.loads(line))
        except Exception as error:  # noqa: BLE001 - code of others; the other side decides what it means
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
