"""Tool searches made by others that run offline, measured by `toolscout bench quality --peers` where installed."""

from typing import Final

from gateway.bench.peers.adk_tool_search import AdkToolSearch
from gateway.bench.peers.base import Peer
from gateway.bench.peers.callbus_bm25 import CallbusBm25
from gateway.bench.peers.dehydrator_bm25 import Dehydrator
from gateway.bench.peers.fastmcp_bm25 import FastMcpBm25
from gateway.bench.peers.graph_tool_call import GraphToolCall
from gateway.bench.peers.langgraph_store import LangGraphStore
from gateway.bench.peers.pydantic_ai_keywords import PydanticAiKeywords

ALL_PEERS: Final[tuple[Peer, ...]] = (
    FastMcpBm25(),
    CallbusBm25(),
    GraphToolCall(),
    AdkToolSearch(),
    Dehydrator(),
    PydanticAiKeywords(),
    LangGraphStore(),
)
