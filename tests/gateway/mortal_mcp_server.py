"""A small MCP server on stdio that can be told to die. Written without the SDK, which takes a second to import."""

import json
import os
import sys
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {"name": "pid", "description": "Tell the process id.", "inputSchema": {"type": "object"}},
    {"name": "die", "description": "Die at once.", "inputSchema": {"type": "object"}},
    {"name": "wait", "description": "Never answer.", "inputSchema": {"type": "object"}},
]
INITIALIZED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "mortal", "version": "1"},
}
ANSWERS: dict[str, Any] = {"initialize": INITIALIZED, "tools/list": {"tools": TOOLS}}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in ANSWERS:
            answer["result"] = ANSWERS[request["method"]]
        elif request["method"] != "tools/call":
            answer["error"] = {"code": -32601, "message": "unknown method"}
        elif request["params"]["name"] == "die":
            os._exit(3)
        elif request["params"]["name"] == "wait":
            continue
        else:
            answer["result"] = {"content": [{"type": "text", "text": str(os.getpid())}]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
