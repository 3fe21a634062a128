"""An MCP server on stdio, written without the SDK, of whose tools some break the SDK's types."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
TOOLS = [
    {"name": "first", "description": "Works.", "inputSchema": SCHEMA},
    {"name": "listing", "description": "Gives a list.", "inputSchema": SCHEMA, "outputSchema": {"type": "array"}},
    {"name": "no_schema", "description": "Takes nothing."},
    {"name": "bad_icons", "inputSchema": SCHEMA, "icons": "none", "annotations": None, "title": None},
    {"description": "Has no name.", "inputSchema": SCHEMA},
    "not a tool",
    {"name": "bad_schema", "inputSchema": "object"},
    {"name": "last", "inputSchema": SCHEMA, "somethingNew": {"x": 1}},
]


def answer(method: str, params: dict[str, object]) -> dict[str, object]:
    match method:
        case "initialize":
            version = params["protocolVersion"]
            info = {"name": "odd", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": f"ran {params['name']}"}]}
        case _:
            return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        reply: dict[str, object] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in ("initialize", "tools/list", "tools/call", "ping"):
            reply["result"] = answer(request["method"], request.get("params") or {})
        else:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        print(json.dumps(reply), flush=True)  # noqa: T201  this is how it speaks
