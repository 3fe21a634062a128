import pytest

from indexer.embedders.factory import make_embedder
from indexer.errors import UnknownEncoderError


def test_the_hashing_encoder_is_made_by_name() -> None:
    assert make_embedder("hashing").embedder_id.startswith("hashing-")


def test_an_unknown_name_is_answered_with_the_names_there_are_and_the_extra_to_install() -> None:
    with pytest.raises(UnknownEncoderError) as caught:
        make_embedder("word2vec")
    message = str(caught.value)
    assert "'word2vec'" in message
    for part in ("static", "hashing", "sentence-transformers:NAME", "pip install 'toolscout[transformers]'"):
        assert part in message
