"""Reading and deleting: the same answers whether the command opens the catalog or a gateway owns it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.catalog import LocalCatalog, catalog_home, open_catalog
from indexer import IndexerSettings, SourceError, ToolDefinition
from tests.gateway.cli.conftest import Run


def test_search_finds_a_tool_and_says_why(catalog: str, run: Run) -> None:
    found = run("search", "refund", "an", "order")
    assert found.code == 0
    assert "shop/refund_order" in found.out
    assert "refund" in found.out.split("shop/refund_order", 1)[1]


def test_search_prints_what_the_http_interface_answers(catalog: str, run: Run) -> None:
    answer = run("search", "refund an order", "-k", "1", "--json").json
    [result] = answer["results"]
    assert (result["namespace"], result["name"], result["alias"]) == ("shop", "refund_order", "shop__refund_order")
    assert set(answer) == {
        "results",
        "catalog_revision",
        "degraded",
        "stale",
        "stale_seconds",
        "calibrating",
        "reranking",
        "empty",
        "took_ms",
    }


def test_search_can_be_narrowed_to_namespaces_and_tags(catalog: str, run: Run) -> None:
    narrowed = run("search", "list orders", "--namespace", "archive", "--json").json
    assert {result["namespace"] for result in narrowed["results"]} == {"archive"}
    tagged = run("search", "list orders", "--tag", "orders", "--json").json
    assert {result["namespace"] for result in tagged["results"]} == {"shop"}


def test_several_needs_share_the_places(catalog: str, run: Run) -> None:
    answer = run("search", "refund an order", "--also", "weather forecast", "-k", "2", "--json").json
    assert {result["query"] for result in answer["results"]} == {"refund an order", "weather forecast"}


def test_a_search_without_results_says_why_and_exits_with_1(catalog: str, run: Run) -> None:
    nothing = run("search", "orders", "--namespace", "nowhere")
    assert nothing.code == 1
    assert "namespace" in nothing.out


def test_more_than_five_needs_are_a_usage_error(run: Run) -> None:
    refused = run("search", "a", *(part for need in "bcdef" for part in ("--also", need)))
    assert refused.code == 2
    assert "at most five" in refused.err


@pytest.mark.parametrize("arguments", [[""], ["  "], ["orders", "--also", " "]])
def test_a_need_without_words_is_a_usage_error(catalog: str, run: Run, arguments: list[str]) -> None:
    refused = run("search", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert "a need was empty" in refused.err


def test_list_is_in_order_and_can_be_paged(catalog: str, run: Run) -> None:
    tools = run("list", "--json").json["tools"]
    names = [f"{tool['namespace']}/{tool['name']}" for tool in tools]
    assert names == ["archive/list_orders", "shop/list_orders", "shop/refund_order", "weather/get_weather"]
    page = run("list", "--offset", "1", "--limit", "2", "--json").json["tools"]
    assert [tool["name"] for tool in page] == ["list_orders", "refund_order"]
    assert "weather/get_weather" in run("list").out


def test_show_takes_a_path_an_alias_or_a_unique_name(catalog: str, run: Run) -> None:
    for name in ("shop/refund_order", "shop__refund_order", "refund_order"):
        shown = run("show", name, "--json")
        assert shown.code == 0, shown.err
        assert shown.json["description"] == "Refund a paid order."
        assert shown.json["status"] == "active"
    assert "order_id" in run("show", "refund_order").out


def test_show_asks_which_one_where_a_name_is_not_unique(catalog: str, run: Run) -> None:
    shown = run("show", "list_orders")
    assert shown.code == 1
    assert "archive/list_orders, shop/list_orders" in shown.err


def test_show_of_an_unknown_tool_exits_with_1(catalog: str, run: Run) -> None:
    shown = run("show", "shop/nothing")
    assert (shown.code, shown.out) == (1, "")
    assert "there is no tool 'shop/nothing'" in shown.err


def test_a_tool_in_quarantine_is_shown_and_deleted_by_its_name_alone(catalog: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    tools = [
        {"name": "odd", "namespace": "lab", "input_schema": {"type": "no-such-type"}},
        {"name": "refund_order", "namespace": "lab", "input_schema": {"type": "no-such-type"}},
    ]
    path.write_text(json.dumps(tools), encoding="utf-8")
    run("index", str(path))
    shown = run("show", "odd", "--json")
    assert (shown.code, shown.json["status"]) == (0, "quarantined")
    assert 'not \'no-such-type\'. Set "type": "object"' in shown.json["reason"]
    assert "lab/refund_order, shop/refund_order" in run("delete", "refund_order").err
    assert run("delete", "odd", "lab__refund_order", "--json").json["deleted"] == ["lab/odd", "lab/refund_order"]
    assert run("list", "--quarantined", "--json").json["tools"] == []


def test_all_namesakes_are_counted_and_some_are_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "same.json"
    tools = [{"name": "peek", "namespace": f"n{number:02}", "description": f"Peek {number}."} for number in range(30)]
    path.write_text(json.dumps(tools), encoding="utf-8")
    run("index", str(path))
    refused = run("delete", "peek")
    assert "the name of 30 tools; say which: n00/peek, n01/peek" in refused.err
    assert "n09/peek, and 20 more" in refused.err
    assert run("delete", *(f"n{number:02}/peek" for number in range(30)), "--json").json["problems"] == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--namespace", "nowhere"], "there are no tools of those namespaces and tags"),
        (["--quarantined"], "no tool is in quarantine"),
        (["--offset", "1000"], "there are not more than 1000 tools"),
    ],
)
def test_a_list_of_nothing_says_so(catalog: str, run: Run, options: list[str], told: str) -> None:
    listed = run("list", *options)
    assert (listed.code, listed.out) == (1, "")
    assert told in listed.err
    as_json = run("list", *options, "--json")
    assert (as_json.json, as_json.err) == ({"tools": []}, "")


def test_delete_takes_out_what_is_there_and_reports_what_is_not(catalog: str, run: Run) -> None:
    deleted = run("delete", "shop/refund_order", "nothing", "--json")
    assert deleted.code == 1
    assert deleted.json["deleted"] == ["shop/refund_order"]
    assert "nothing" in deleted.json["problems"][0]
    assert "refund_order" not in run("search", "refund", "--json").out


def test_stats_tell_what_the_catalog_holds(catalog: str, run: Run) -> None:
    record = run("stats", "--json").json
    assert (record["tools"], record["namespaces"], record["store"]) == (4, 3, "edge")
    assert "hashing" in run("stats").out


def test_terminal_escapes_in_a_tools_text_are_not_printed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    text = "Clear \u202ethe screen \u200b now"
    path.write_text(json.dumps([{"name": "evil", "description": text}]), encoding="utf-8")
    run("index", str(path))
    assert "\u202e" not in run("search", "clear the screen").out


def test_a_catalog_that_another_process_holds_is_explained(run: Run, home: Path) -> None:
    holder = LocalCatalog(IndexerSettings.from_environment(os.environ))
    try:
        refused = run("list")
    finally:
        holder.close()
    assert refused.code == 3
    assert refused.err.startswith(f"toolscout: the catalog in {home} is in use by another process")
    assert len(refused.err.splitlines()) == 1


@pytest.mark.parametrize("environment", [{}, {"TOOLSCOUT_HOME": "~/tools"}, {"TOOLSCOUT_HOME": "/srv/tools"}])
def test_home_is_found_as_the_settings_find_it(environment: dict[str, str]) -> None:
    assert catalog_home(environment) == IndexerSettings.from_environment(environment).home


def test_what_came_before_a_source_broke_is_in_the_catalog_either_way(catalog: str) -> None:
    def entries() -> Iterator[ToolDefinition]:
        yield ToolDefinition(name="before_the_break", description="Something else.")
        raise SourceError("source", "broke")

    with open_catalog() as opened:
        with pytest.raises(SourceError):
            opened.register(entries(), lambda done: None)
        assert opened.delete("default", "before_the_break")  # the gateway is shared with other tests


def test_tools_of_any_size_are_sent_in_batches_that_a_gateway_takes(catalog: str) -> None:
    large = [ToolDefinition(name=f"large_{number}", description="x" * 60_000) for number in range(75)]
    heard: list[int] = []
    with open_catalog() as opened:
        report = opened.register(large, heard.append)
        assert all(opened.delete("default", definition.name) for definition in large)
    assert report.added == len(large)
    assert len(heard) > 1 and heard[-1] == len(large)
