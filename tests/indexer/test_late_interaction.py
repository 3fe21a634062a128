"""Token by token: what is near to what, kept in step with the rows."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from indexer.document import ToolDocument
from indexer.embedders.base import ClosenessWeights, TokenEncoder, Vectors
from indexer.embedders.hashing import HashingEmbedder
from indexer.embedders.remembering import RememberingEmbedder
from indexer.embedders.static import StaticEmbedder
from indexer.engine import PlannedQuery, embed_tools, rank_rows
from indexer.errors import CorruptSnapshotError
from indexer.late_interaction import NAME_TOKENS, TEXT_TOKENS, WIDTH, TokenIndex, closeness
from indexer.lexical import LexicalIndex
from indexer.matrix import VectorMatrix
from indexer.ranking import COVERED_AGAIN, LOOKED_AT_AGAIN

WEIGHTS = ClosenessWeights(text=np.float32(0.25), name=np.float32(0.15))


class Letters:
    """A token for each letter, with vectors one can work out by hand: of `a`, `b` and, between them, `c`."""

    token_encoder_id = "letters"
    token_dimensions = 2
    closeness_weights = WEIGHTS
    _known = "abc"
    _vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    _weights = np.array([1, 3, 2], dtype=np.float32)

    def tokens(self, text: str) -> Sequence[int]:
        return [self._known.index(letter) for letter in text if letter in self._known]

    def token_vectors(self, tokens: npt.NDArray[np.int64]) -> tuple[Vectors, npt.NDArray[np.float32]]:
        return self._vectors[tokens], self._weights[tokens]


class Numbers:
    """A token for each number below 64, all of them strangers to each other; the higher, the more it says."""

    token_encoder_id = "numbers"
    token_dimensions = 64
    closeness_weights = WEIGHTS

    def tokens(self, text: str) -> Sequence[int]:
        return [int(word) for word in text.split()]

    def token_vectors(self, tokens: npt.NDArray[np.int64]) -> tuple[Vectors, npt.NDArray[np.float32]]:
        return np.eye(64, dtype=np.float32)[tokens], tokens.astype(np.float32) + 1


def index_of(*documents: ToolDocument, encoder: TokenEncoder | None = None) -> TokenIndex:
    index = TokenIndex(encoder or Letters())
    index.add(documents)
    return index


def test_each_token_of_a_query_counts_its_nearest_one_of_a_tool_by_its_weight() -> None:
    index = index_of(ToolDocument(name="b", description="c"), ToolDocument(name="a"), ToolDocument(description="x"))
    close = index.snapshot().closeness(["ab"], np.array([0, 1, 2]))[0]
    # a (weight 1) is nearest to c (.6), b (weight 3) meets itself; in the second tool both meet a.
    assert close.text == pytest.approx([(0.6 + 3 * 1) / 4, 1 / 4, 0])
    assert close.name == pytest.approx([1, 1, 0])


def test_a_name_is_near_where_the_query_speaks_of_all_its_tokens() -> None:
    close = index_of(ToolDocument(name="ac")).snapshot().closeness(["b"], np.array([0]))[0]
    assert close.name == pytest.approx([(1 * 0 + 2 * 0.8) / 3])


def test_a_query_without_a_known_token_is_near_to_nothing() -> None:
    close = index_of(ToolDocument(name="a")).snapshot().closeness(["xyz"], np.array([0]))[0]
    assert (close.text.tolist(), close.name.tolist()) == ([0.0], [0.0])


def test_queries_looked_at_together_are_as_near_as_alone() -> None:
    documents = [ToolDocument(name=name, description=text) for name, text in (("a", "bc"), ("cb", ""), ("", "ab"))]
    snapshot, rows = index_of(*documents).snapshot(), np.array([2, 0, 1])
    queries = ["ab", "xyz", "c", "abc", ""]
    for query, together in zip(queries, snapshot.closeness(queries, rows), strict=True):
        (alone,) = snapshot.closeness([query], rows)
        assert together.text == pytest.approx(alone.text)
        assert together.name == pytest.approx(alone.name)


def test_opposite_tokens_count_as_strangers() -> None:
    cosines = np.full((WIDTH, 1), -1, dtype=np.float32)
    cosines[NAME_TOKENS:] = 0  # places without a token
    weights = np.zeros((NAME_TOKENS, 1), dtype=np.float32)
    weights[0] = 1
    (close,) = closeness(cosines, [np.ones(1, dtype=np.float32)], weights)
    assert close.text.tolist() == [0.0]
    assert close.name.tolist() == [-1.0]


def test_of_a_long_text_the_tokens_that_say_most_are_kept() -> None:
    said = TEXT_TOKENS + 20
    index = TokenIndex(Numbers())
    index.add([ToolDocument(description=" ".join(map(str, range(said))))])
    for number in range(said):
        close = index.snapshot().closeness([str(number)], np.array([0]))[0]
        assert close.text.tolist() == [float(number >= 20)], number


def test_tools_added_one_by_one_are_those_added_at_once() -> None:
    documents = [ToolDocument(name=name, description=text) for name, text in (("a", "bc"), ("cb", ""), ("", "ab"))]
    together, apart = index_of(*documents), TokenIndex(Letters())
    before = apart.snapshot()
    for document in documents:
        apart.add([document])
    rows = np.arange(3)
    for query in ("a", "bc", "abc"):
        one, other = together.snapshot().closeness([query], rows)[0], apart.snapshot().closeness([query], rows)[0]
        assert one.text == pytest.approx(other.text)
        assert one.name == pytest.approx(other.name)
    assert len(before.closeness(["a"], np.empty(0, dtype=np.int64))[0].text) == 0


def test_rows_that_are_kept_and_a_file_that_is_read_back_are_as_near_as_before() -> None:
    index = index_of(ToolDocument(name="a", description="b"), ToolDocument(name="b"), ToolDocument(name="c"))
    before = index.snapshot().closeness(["ab"], np.array([2, 0]))[0]
    kept = index.compacted(np.array([2, 0]))
    read = TokenIndex.from_arrays(kept.to_arrays(), Letters())
    assert kept.n_rows == read.n_rows == 2
    for copy in (kept, read):
        after = copy.snapshot().closeness(["ab"], np.array([0, 1]))[0]
        assert after.text.tolist() == before.text.tolist()
        assert after.name.tolist() == before.name.tolist()
    read.add([ToolDocument(name="bc")])
    assert read.n_rows == 3 and kept.n_rows == 2


def test_a_file_of_another_encoder_or_with_a_damaged_part_is_refused() -> None:
    arrays = index_of(ToolDocument(name="abc")).to_arrays()
    damaged = [
        {**arrays, "encoder": np.frombuffer(b"digits", dtype=np.uint8)},
        {**arrays, "slots": arrays["slots"][:1]},
        {**arrays, "tokens": arrays["tokens"][:, :-1]},
        {**arrays, "tokens": arrays["tokens"] - 1},
        {name: array for name, array in arrays.items() if name != "slots"},
    ]
    for one in damaged:
        with pytest.raises(CorruptSnapshotError):
            TokenIndex.from_arrays(one, Letters())


def test_a_shipped_encoder_reads_tokens_and_hashed_words_do_not() -> None:
    static = StaticEmbedder.load()
    assert RememberingEmbedder(static).token_encoder is static
    assert RememberingEmbedder(HashingEmbedder()).token_encoder is None
    vectors, weights = static.token_vectors(np.array(static.tokens("the museum"), dtype=np.int64))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert weights[0] < weights[1]


def test_of_tools_alike_to_words_and_vectors_the_one_comes_first_whose_name_is_spoken_of() -> None:
    embedder = StaticEmbedder.load()
    documents = [ToolDocument(name=f"note{number}", description="Keeps a note.") for number in range(40)]
    documents += [ToolDocument(name="pollen forecast", description="Says how it will be.")]
    matrix, lexical, tokens = VectorMatrix(embedder.dimensions), LexicalIndex(), TokenIndex(embedder)
    matrix.append(embed_tools(embedder, documents))
    lexical.add(documents)
    tokens.add(documents)
    query = PlannedQuery("hay fever outlook")
    found = rank_rows(
        query,
        embedder.embed_queries([query.text]),
        matrix=matrix.snapshot(),
        lexical=lexical.snapshot(),
        tokens=tokens.snapshot(),
        k=LOOKED_AT_AGAIN + 10,
    )
    assert found.rows[0] == 40
    assert np.all(np.diff(found.scores) <= 0)
    assert len(set(found.rows.tolist())) == len(found.rows) == LOOKED_AT_AGAIN + 10
    assert 0 < found.scores[0] <= 1


class NamesAboveAll(Letters):
    closeness_weights = ClosenessWeights(text=np.float32(0.1), name=np.float32(1))


def ranked_by_letters(query: PlannedQuery, *names: str, encoder: TokenEncoder | None = None) -> list[str]:
    """Names, best first, of tools that words tell apart by nothing: `ask` stands in the description of each."""
    documents = [ToolDocument(name=name, description="ask") for name in names]
    matrix, lexical = VectorMatrix(2), LexicalIndex()
    matrix.append(np.tile(np.array([[1, 0]], dtype=np.float32), (len(names), 1)))
    lexical.add(documents)
    tokens = index_of(*documents, encoder=encoder)
    found = rank_rows(
        query, None, matrix=matrix.snapshot(), lexical=lexical.snapshot(), tokens=tokens.snapshot(), k=len(names)
    )
    return [names[row] for row in found.rows]


def test_an_encoder_says_how_much_tokens_weigh_beside_its_vectors() -> None:
    query = PlannedQuery("ask a b")
    assert ranked_by_letters(query, "a", "c") == ["c", "a"]
    assert ranked_by_letters(query, "a", "c", encoder=NamesAboveAll()) == ["a", "c"]


def test_what_the_user_said_counts_in_the_second_look_too() -> None:
    assert ranked_by_letters(PlannedQuery("ask c"), "a", "b") == ["b", "a"]
    assert ranked_by_letters(PlannedQuery("ask c", context="ask a"), "a", "b") == ["a", "b"]


def test_a_tool_may_be_near_to_one_need_of_a_long_task() -> None:
    assert ranked_by_letters(PlannedQuery("ask c"), "a", "b") == ["b", "a"]
    needs = ("ask a", "ask a", "ask a", "ask a")
    assert ranked_by_letters(PlannedQuery("ask c", needs=needs), "a", "b") == ["a", "b"]


def test_a_query_whose_tokens_say_nothing_is_near_to_nothing() -> None:
    (close,) = closeness(
        np.ones((WIDTH, 1), dtype=np.float32),
        [np.zeros(1, dtype=np.float32)],
        np.zeros((NAME_TOKENS, 1), dtype=np.float32),
    )
    assert (close.text.tolist(), close.name.tolist()) == ([0.0], [0.0])


def score_of(query: str, document: ToolDocument, *, by_tokens: bool = True) -> float:
    """Of a tool that is alone in its catalog, by words and by tokens."""
    matrix, lexical = VectorMatrix(2), LexicalIndex()
    matrix.append(np.array([[1, 0]], dtype=np.float32))
    lexical.add([document])
    tokens = index_of(document).snapshot() if by_tokens else None
    found = rank_rows(
        PlannedQuery(query), None, matrix=matrix.snapshot(), lexical=lexical.snapshot(), tokens=tokens, k=1
    )
    return float(found.scores[0])


def test_a_tool_that_covers_the_query_gains_what_its_words_alone_do_not_say() -> None:
    most = 1 + WEIGHTS.text + WEIGHTS.name + COVERED_AGAIN
    assert score_of("ping pong", ToolDocument(description="ping pong")) == pytest.approx((1 + COVERED_AGAIN) / most)
    assert 1 / most < score_of("ping pong", ToolDocument(description="ping")) < (1 + COVERED_AGAIN) / most


def test_another_deed_takes_its_part_of_what_tokens_say_too() -> None:
    neither, other = ToolDocument(name="wizzy b"), ToolDocument(name="insert b")
    lost = score_of("delete b", neither, by_tokens=False) - score_of("delete b", other, by_tokens=False)
    met = 1 + WEIGHTS.text + WEIGHTS.name
    assert lost > 0.05
    assert score_of("delete b", neither) - score_of("delete b", other) == pytest.approx(
        lost * met / (met + COVERED_AGAIN)
    )
