"""The files for Compose, read without an engine: keys, ports, images, health checks, and how a cluster starts."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from indexer import IndexerSettings

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
FILES = ("docker-compose.yml", "docker-compose.cluster.yml")
NODES = ("qdrant-1", "qdrant-2", "qdrant-3")
GATEWAYS = ("gateway-1", "gateway-2")


def compose(name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load((ROOT / name).read_text(encoding="utf-8")))


def services_in(name: str) -> dict[str, dict[str, Any]]:
    return cast("dict[str, dict[str, Any]]", compose(name)["services"])


@pytest.fixture(params=FILES)
def services(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    return services_in(request.param)


@pytest.fixture
def cluster() -> dict[str, dict[str, Any]]:
    return services_in("docker-compose.cluster.yml")


def test_every_service_has_a_health_check(services: dict[str, dict[str, Any]]) -> None:
    assert "HEALTHCHECK" in DOCKERFILE
    unchecked = {name for name, service in services.items() if "healthcheck" not in service and "build" not in service}
    assert unchecked == set()


def test_no_secret_has_a_default_and_each_that_is_needed_says_how_to_make_one(
    services: dict[str, dict[str, Any]],
) -> None:
    secrets = [
        (name, str(value))
        for service in services.values()
        for name, value in service["environment"].items()
        if re.search("KEY|SECRET|TOKEN|PASSWORD", name)
    ]
    optional = {name for name, value in secrets if value == f"${{{name}:-}}"}
    required = [
        (name, value)
        for name, value in secrets
        if re.fullmatch(r"\$\{[A-Z_]+:\?set [A-Z_]+ to .*; openssl rand -hex 32 makes one\}", value)
    ]
    assert optional == {"TOOLSCOUT_UPSTREAM_KEY"}
    assert {name for name, _ in required} == {
        "QDRANT__SERVICE__API_KEY",
        "TOOLSCOUT_API_KEY",
        "TOOLSCOUT_QDRANT_API_KEY",
    }
    assert len(required) + len([name for name, _ in secrets if name in optional]) == len(secrets)


def test_ports_are_bound_to_this_machine_only(services: dict[str, dict[str, Any]]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:\d+:8080", port)] == []
    assert len(set(ports)) == len(ports)


def test_images_are_pinned_to_a_version_or_built_here(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        if "build" in service:
            assert service["image"] == "toolscout:local", name
        else:
            assert re.fullmatch(r"qdrant/qdrant:v\d+\.\d+\.\d+", service["image"]), name


def test_both_files_run_the_same_images() -> None:
    one, three = (services_in(name) for name in FILES)
    assert {service["image"] for service in one.values()} == {service["image"] for service in three.values()}


def test_every_service_keeps_its_data_in_a_volume_of_its_own() -> None:
    for file in FILES:
        mounts = [mount.split(":")[0] for service in services_in(file).values() for mount in service["volumes"]]
        assert len(mounts) == len(set(mounts)) == len(services_in(file))
        assert set(mounts) == set(compose(file)["volumes"])


def test_the_cluster_is_three_nodes_and_two_gateways(cluster: dict[str, dict[str, Any]]) -> None:
    assert set(cluster) == {*NODES, *GATEWAYS}


def test_each_node_says_its_own_address_and_all_but_the_first_join_it(cluster: dict[str, dict[str, Any]]) -> None:
    for name in NODES:
        environment, command = cluster[name]["environment"], cluster[name]["command"]
        port = environment["QDRANT__CLUSTER__P2P__PORT"]
        assert environment["QDRANT__CLUSTER__ENABLED"] == "true"
        assert command[command.index("--uri") + 1] == f"http://{name}:{port}"
        joins = [] if name == NODES[0] else ["--bootstrap", f"http://{NODES[0]}:{port}"]
        assert command[1:-2] == joins


def test_no_node_waits_until_another_is_ready_for_none_is_ready_alone(cluster: dict[str, dict[str, Any]]) -> None:
    for name in NODES:
        conditions = [one["condition"] for one in cluster[name].get("depends_on", {}).values()]
        assert set(conditions) <= {"service_started"}
    for name in GATEWAYS:
        assert {node: one["condition"] for node, one in cluster[name]["depends_on"].items()} == dict.fromkeys(
            NODES, "service_healthy"
        )


def test_nodes_are_reached_on_a_closed_network_only(cluster: dict[str, dict[str, Any]]) -> None:
    assert compose("docker-compose.cluster.yml")["networks"]["storage"] == {"internal": True}
    for name in NODES:
        assert set(cluster[name]["networks"]) == {"storage"}
        assert "ports" not in cluster[name]
        assert cluster[name]["networks"]["storage"]["aliases"] == ["qdrant"]
    for name in GATEWAYS:
        assert set(cluster[name]["networks"]) == {"storage", "default"}
        assert cluster[name]["environment"]["TOOLSCOUT_QDRANT_URL"] == "http://qdrant:6333"


def test_gateways_ask_for_settings_that_exist(services: dict[str, dict[str, Any]]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for service in services.values():
        names = [name for name in service["environment"] if name.startswith("TOOLSCOUT_")]
        assert [name for name in names if f"`{name}`" not in readme] == []


def test_one_node_may_fail_and_every_shard_is_still_there(cluster: dict[str, dict[str, Any]]) -> None:
    for name in GATEWAYS:
        qdrant = IndexerSettings.from_environment(cluster[name]["environment"]).qdrant
        assert (qdrant.url, qdrant.replicas, qdrant.write_consistency) == ("http://qdrant:6333", 2, 1)
        assert qdrant.shards is not None and qdrant.shards % len(NODES) == 0
