"""Values that go into the index and come out of it."""

from indexer.search import MAX_LISTED, RegistrationReport, RejectedTool, merge_reports


def rejected(number: int) -> RejectedTool:
    return RejectedTool(place=f"line {number}", tool="", field="line", reason="is no tool")


def test_a_merged_report_names_the_first_thousand_of_each_kind_and_counts_all() -> None:
    parts = [
        RegistrationReport(
            added=1,
            quarantined=tuple(rejected(number) for number in range(start, start + 400)),
            refused=(rejected(start),),
            catalog_revision=start,
        )
        for start in range(0, 2000, 400)
    ]
    at_once = merge_reports(parts)
    one_by_one = RegistrationReport()
    for part in parts:
        one_by_one = merge_reports([one_by_one, part])
    assert at_once == one_by_one
    assert at_once.quarantined == tuple(rejected(number) for number in range(MAX_LISTED))
    assert (at_once.quarantined_count, at_once.unlisted_quarantined) == (2000, 1000)
    assert (at_once.refused_count, at_once.unlisted_refused) == (5, 0)
    assert (at_once.total, at_once.catalog_revision) == (2010, 1600)
