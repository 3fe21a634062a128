"""Model-facing aliases: always acceptable, never mistaken, independent of everything but the key."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.alias import RESERVED_ALIASES, model_alias
from indexer.definition import DEFAULT_NAMESPACE, DEFAULT_TENANT, ToolKey

ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
HASHED = re.compile(r"_0[a-z2-7]{10}\Z")

any_text = st.text(min_size=1, max_size=150)
clean_text = st.text(string.ascii_letters + string.digits + "_-.", min_size=1, max_size=80)
near_text = st.text("ab_-.0", min_size=1, max_size=6)
"""Few letters and all separators: where two keys are most likely to meet."""


def key(namespace: str, name: str, tenant: str = DEFAULT_TENANT) -> ToolKey:
    return ToolKey(tenant, namespace, name)


@pytest.mark.parametrize(
    ("namespace", "name", "alias"),
    [
        (DEFAULT_NAMESPACE, "get_weather", "get_weather"),
        (DEFAULT_NAMESPACE, "get-sum", "get-sum"),
        ("github", "create_issue", "github__create_issue"),
        ("aws.ec2", "RunInstances", "aws--ec2__RunInstances"),
        ("google.compute.v1", "instances.list", "google--compute--v1__instances--list"),
    ],
)
def test_clean_names_stay_readable(namespace: str, name: str, alias: str) -> None:
    assert model_alias(key(namespace, name)) == alias


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        (DEFAULT_NAMESPACE, "github__create_issue"),
        (DEFAULT_NAMESPACE, "get weather"),
        (DEFAULT_NAMESPACE, "날씨_조회"),
        (DEFAULT_NAMESPACE, "x" * 65),
        (DEFAULT_NAMESPACE, "a--b"),
        ("a_", "b"),
        ("a", "_b"),
        (DEFAULT_NAMESPACE, "refund_0abcdefghij"),
        *((DEFAULT_NAMESPACE, name) for name in sorted(RESERVED_ALIASES)),
    ],
)
def test_whatever_could_be_mistaken_carries_a_hash(namespace: str, name: str) -> None:
    assert HASHED.search(model_alias(key(namespace, name)))


def test_a_long_name_keeps_the_start_of_its_namespace_and_the_end_of_its_name() -> None:
    name = "organizations.locations.workloads.complianceStatus.violations.remediations.acknowledgeViolation"
    alias = model_alias(key("google.assuredworkloads.v1", name))
    assert alias.startswith("google--assuredworkloads")
    assert "acknowledgeViolation_0" in alias
    assert len(alias) <= 64


def test_a_name_with_nothing_readable_still_has_an_alias() -> None:
    assert model_alias(key(DEFAULT_NAMESPACE, "날씨")).startswith("tool_0")


@given(any_text, any_text)
def test_every_alias_is_accepted_by_the_model_apis(namespace: str, name: str) -> None:
    alias = model_alias(key(namespace, name))
    assert ACCEPTED.match(alias)
    assert alias not in RESERVED_ALIASES


@given(any_text, any_text, any_text)
def test_an_alias_does_not_depend_on_the_tenant(namespace: str, name: str, tenant: str) -> None:
    assert model_alias(key(namespace, name)) == model_alias(key(namespace, name, tenant))


@given(
    st.one_of(near_text, clean_text, st.just(DEFAULT_NAMESPACE)),
    st.one_of(near_text, clean_text),
    st.one_of(near_text, clean_text, st.just(DEFAULT_NAMESPACE)),
    st.one_of(near_text, clean_text),
)
def test_different_tools_have_different_aliases(namespace: str, name: str, namespace2: str, name2: str) -> None:
    one, other = key(namespace, name), key(namespace2, name2)
    assert (model_alias(one) == model_alias(other)) == (one == other)


def test_no_two_short_keys_meet() -> None:
    parts = [a + b + c for a in "a_-." for b in "ab_-." for c in ("", *"a_-.")]
    keys = [key(namespace, name) for namespace in [DEFAULT_NAMESPACE, *parts] for name in parts]
    assert len({model_alias(k) for k in keys}) == len(keys)


@given(clean_text, clean_text)
def test_the_alias_of_an_alias_in_the_default_namespace_is_another_tools(namespace: str, name: str) -> None:
    alias = model_alias(key(namespace, name))
    if namespace != DEFAULT_NAMESPACE:
        assert model_alias(key(DEFAULT_NAMESPACE, alias)) != alias
