"""What a search knows of a tool beside its words: its deed, how plain its name is, and whether it is deprecated."""

import numpy as np
import pytest

from indexer.deeds import deeds_named
from indexer.document import ToolDocument
from indexer.traits import trait_factors, traits_of


def factor(request_text: str, **fields: str) -> float:
    return float(trait_factors(deeds_named(request_text))[traits_of(ToolDocument(**fields))])


def test_a_plain_name_keeps_more_of_its_score_than_a_longer_one() -> None:
    plain = factor("list instances", name="DescribeInstances")

    assert factor("list instances", name="DescribeInstanceCreditSpecifications") < plain < 1
    assert factor("anything", name="a_b_c_d_e_f_g") == factor("anything", name="a_b_c_d_e_f_g_h_i_j")


def test_a_tool_that_does_another_deed_keeps_less() -> None:
    assert factor("delete an event", name="events.delete") > factor("delete an event", name="events.list")


@pytest.mark.parametrize(
    "fields",
    [
        {"description": "Deprecated: Use `drives.create` instead."},
        {"description": "This operation is deprecated. Lists tags."},
        {"description": "The operation is on the path to deprecation."},
        {"tags": "aws\ndeprecated"},
    ],
)
def test_a_deprecated_tool_keeps_less(fields: dict[str, str]) -> None:
    assert factor("create a drive", name="drives.create", **fields) < factor("create a drive", name="drives.create")


def test_a_tool_about_deprecated_things_is_not_deprecated() -> None:
    about = "Finds deprecated packages."

    assert factor("find packages", name="find", description=about) == factor("find packages", name="find")


def test_every_number_of_traits_has_a_factor_above_nothing() -> None:
    factors = trait_factors(deeds_named("delete the file"))
    worst = traits_of(ToolDocument(name="create_a_b_c_d_e_f", description="Deprecated.", tags="deprecated"))

    assert worst < len(factors)
    assert float(factors.min()) > 0
    assert float(factors.max()) == 1
    assert factors.dtype == np.float32
    assert not factors.flags.writeable
