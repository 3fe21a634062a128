"""Other ways of getting tools to a model, written anew from their documented behaviour; one small file each.

They are run beside the product by `toolscout bench tokens`, in the same conversations over the same catalogs. They
live here, outside the distribution: the product ships no imitation of anyone. The command finds them where a checkout
is installed, which is how `make install` does it, and says so where it does not.
"""

from typing import Final

from benchmarks.baselines.anthropic_bm25 import AnthropicBm25
from benchmarks.baselines.anthropic_regex import AnthropicRegex
from benchmarks.baselines.fastmcp_proxy import FastMcpProxy
from benchmarks.baselines.litellm_preselect import LiteLlmPreselect
from benchmarks.baselines.spring_ai import SpringAi
from gateway.bench.tokens.delivery import DeliveryMaker

BASELINES: Final[tuple[DeliveryMaker, ...]] = (SpringAi, AnthropicBm25, AnthropicRegex, LiteLlmPreselect, FastMcpProxy)
"""In the order of the report."""
