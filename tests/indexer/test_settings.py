"""Settings from the environment, and what is said of those that cannot be used."""

from pathlib import Path

import pytest

from indexer.errors import InvalidSettingError
from indexer.settings import IndexerSettings, QdrantSettings


def test_without_any_variable_the_catalog_is_embedded_under_the_users_home() -> None:
    settings = IndexerSettings.from_environment({})
    assert settings == IndexerSettings(home=Path.home() / ".local" / "share" / "toolscout")
    assert settings.qdrant == QdrantSettings()


def test_every_variable_is_read() -> None:
    settings = IndexerSettings.from_environment(
        {
            "TOOLSCOUT_HOME": "/data",
            "TOOLSCOUT_ENCODER": "hashing",
            "TOOLSCOUT_RECALL": "0.99",
            "TOOLSCOUT_QDRANT_URL": "https://qdrant.example:6333/",
            "TOOLSCOUT_QDRANT_API_KEY": "secret",
            "TOOLSCOUT_COLLECTION": "team-a",
            "TOOLSCOUT_QDRANT_SHARDS": "6",
            "TOOLSCOUT_QDRANT_REPLICATION": "3",
            "TOOLSCOUT_QDRANT_WRITE_CONSISTENCY": "2",
            "TOOLSCOUT_QDRANT_TIMEOUT": "10",
            "TOOLSCOUT_POLL_INTERVAL": "0.25",
            "TOOLSCOUT_TOMBSTONE_HOURS": "24",
            "TOOLSCOUT_MEMORY_BUDGET_MB": "2048",
        }
    )
    assert (settings.home, settings.encoder, settings.qdrant_url) == (
        Path("/data"), "hashing", "https://qdrant.example:6333",
    )  # fmt: skip
    assert settings.qdrant == QdrantSettings(
        url="https://qdrant.example:6333",
        api_key="secret",
        collection="team-a",
        shards=6,
        replicas=3,
        write_consistency=2,
        timeout_seconds=10,
        poll_seconds=0.25,
        tombstone_hours=24,
        memory_budget_mb=2048,
    )
    assert settings.recall == 0.99
    assert "secret" not in repr(settings)


def test_a_home_given_as_text_is_a_path() -> None:
    settings = IndexerSettings(home="/srv/catalog")  # pyright: ignore[reportArgumentType]
    assert settings.snapshot_directory == Path("/srv/catalog/snapshots")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("TOOLSCOUT_QDRANT_URL", "localhost:6333", "is no address; write http://HOST:6333"),
        ("TOOLSCOUT_COLLECTION", "a/b", "is no name for a collection"),
        ("TOOLSCOUT_QDRANT_SHARDS", "many", "is no whole number; set it to 1..1024"),
        ("TOOLSCOUT_QDRANT_SHARDS", "0", "is out of range; set it to 1..1024"),
        ("TOOLSCOUT_QDRANT_REPLICATION", "17", "is out of range; set it to 1..16"),
        ("TOOLSCOUT_QDRANT_WRITE_CONSISTENCY", "2", "is more than there are replicas"),
        ("TOOLSCOUT_QDRANT_TIMEOUT", "1.5", "is no whole number"),
        ("TOOLSCOUT_POLL_INTERVAL", "0", "is out of range; set it to 0.05..3600"),
        ("TOOLSCOUT_POLL_INTERVAL", "nan", "is out of range"),
        ("TOOLSCOUT_TOMBSTONE_HOURS", "-1", "is out of range; set it to 1..8784"),
        ("TOOLSCOUT_MEMORY_BUDGET_MB", "x", "is no whole number; set it to 1..1073741824"),
        ("TOOLSCOUT_RECALL", "0.5", "is out of range; set it to 0.9..1"),
        ("TOOLSCOUT_RECALL", "1.01", "is out of range"),
        ("TOOLSCOUT_RECALL", "most", "is no number"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_what_to_set(name: str, value: str, told: str) -> None:
    with pytest.raises(InvalidSettingError) as wrong:
        IndexerSettings.from_environment({name: value})
    assert name in str(wrong.value)
    assert told in str(wrong.value)
