"""What every way into the gateway shares: the catalog, who runs its tools, and the model behind the loop."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from gateway.settings import GatewaySettings
from indexer import ToolIndex

if TYPE_CHECKING:
    from gateway.advisors.metrics import CountingSink
    from gateway.chat.tokens import TokenCounter
    from gateway.client import ChatClient
    from gateway.models.base import ChatModel
    from gateway.registry.registry import ToolRegistry


class Services:
    """One gateway's parts. What a search does not need is made when it is first asked for: start-up is short."""

    def __init__(
        self,
        *,
        index: ToolIndex,
        registry: "ToolRegistry",
        settings: GatewaySettings,
        make_model: "Callable[[Services], ChatModel]",
        make_client: "Callable[[Services], ChatClient]",
        make_counter: "Callable[[], TokenCounter]",
    ) -> None:
        self.index = index
        self.registry = registry
        self.settings = settings
        self._make_model = make_model
        self._make_client = make_client
        self._make_counter = make_counter

    @cached_property
    def model(self) -> "ChatModel":
        """The upstream model, or the scripted one that stands in where none is configured."""
        return self._make_model(self)

    @cached_property
    def client(self) -> "ChatClient":
        """Runs requests through the tool loop over the catalog."""
        return self._make_client(self)

    @cached_property
    def counter(self) -> "TokenCounter":
        """Counts prompt tokens."""
        return self._make_counter()

    @cached_property
    def counts(self) -> "CountingSink":
        """What the tool loop has done since the start."""
        from gateway.advisors.metrics import CountingSink

        return CountingSink()

    async def aclose(self) -> None:
        """Close connections first, the catalog last: a tool that still runs may not outlive it."""
        if "model" in vars(self):
            await self.model.aclose()
        await self.registry.aclose()
        await self.index.aclose()
