"""What counts as a weak match, catalog by catalog."""

import numpy as np
import pytest

from indexer.confidence import (
    FOREIGN_SHARE,
    UNCALIBRATED,
    Calibration,
    calibration_from,
    confidences,
    foreign_requests,
    margins,
    script_group,
)
from indexer.top_k import Floats


def _floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float32)


def test_a_match_at_the_threshold_is_as_likely_weak_as_not() -> None:
    np.testing.assert_allclose(confidences(_floats(1, 2, 3), 2.0), [1 / (1 + np.e), 0.5, np.e / (1 + np.e)], rtol=1e-6)


def test_each_kind_of_evidence_speaks_for_a_match() -> None:
    zero = _floats(0)
    nothing = margins(zero, zero, zero, zero)
    assert nothing.tolist() == [0]
    for place in range(4):
        features = [zero] * 4
        features[place] = _floats(0.5)
        coverage, cosine, lead, words = features
        assert margins(coverage, cosine, lead, words) > nothing
    # A cosine below 0 says no more than one of 0.
    assert margins(zero, _floats(-0.5), zero, zero) == nothing


def test_tokens_that_are_near_speak_for_a_match_those_of_the_name_above_all() -> None:
    zero, half = _floats(0), _floats(0.5)
    strange = margins(zero, zero, zero, zero, (zero, zero))
    by_text, by_name = (margins(zero, zero, zero, zero, close) for close in ((half, zero), (zero, half)))
    assert strange < by_text < by_name
    every_kind = margins(_floats(0.3), _floats(0.5), _floats(0.1), _floats(2), (_floats(0.45), _floats(0.4)))
    # 0.3 x 0.3 + 2.8 x 0.5 + 2 x 0.1 + 2.7 x 2 / 10 + 1.9 x 0.45 + 2.6 x 0.4 - 1.35
    assert every_kind == pytest.approx([2.775])


def test_without_a_vector_coverage_stands_in_for_meaning() -> None:
    known, zero = _floats(0.8), _floats(0)
    np.testing.assert_allclose(margins(known, None, zero, zero), margins(known, known, zero, zero))


@pytest.mark.parametrize(
    ("query", "group"),
    [
        ("refund the order", "latin"),
        ("Überweise 50 € an Zoë", "latin"),
        ("날씨 알려줘", "hangul"),
        ("GitHub 이슈 목록을 보여줘", "hangul"),
        ("查询北京天气", "cjk"),
        ("東京の天気", "cjk"),
        ("طقس الرياض غداً", "arabic"),
        ("покажи погоду", "other"),
        ("2 + 2", "latin"),
        ("", "latin"),
    ],
)
def test_queries_are_grouped_by_the_script_they_are_written_in(query: str, group: str) -> None:
    assert script_group(query) == group


def test_thresholds_lie_where_most_foreign_requests_stay_below() -> None:
    found = {f"request {'x' * number}": number / 100 for number in range(101)}

    calibration = calibration_from(found)

    assert calibration.threshold("refund the order") == pytest.approx(FOREIGN_SHARE)
    # No foreign request was Korean: the mildest threshold there is.
    assert calibration.threshold("날씨") == pytest.approx(FOREIGN_SHARE)


def test_a_calibration_without_requests_calls_nothing_weak() -> None:
    assert calibration_from({}) == Calibration(dict.fromkeys(UNCALIBRATED.thresholds, 0.0))


def test_foreign_requests_are_many_distinct_and_in_every_group_that_has_a_threshold_of_its_own() -> None:
    requests = foreign_requests()
    groups = [script_group(request) for request in requests]

    assert len(requests) == len(set(requests)) >= 240
    assert {group: groups.count(group) >= 40 for group in ("latin", "hangul", "cjk", "arabic")} == {
        "latin": True,
        "hangul": True,
        "cjk": True,
        "arabic": True,
    }
