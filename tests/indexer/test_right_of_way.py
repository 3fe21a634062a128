"""Who writes gives way to searches, and is never stopped by them."""

import threading

from indexer.right_of_way import RightOfWay

LONG = 10.0
"""Seconds: a test in which somebody waits for so long in vain is seen to fail."""


def test_a_writer_goes_on_when_the_last_search_is_answered() -> None:
    right_of_way = RightOfWay(wait_seconds=LONG)
    happened: list[str] = []

    def write() -> None:
        right_of_way.give_way()
        happened.append("written")

    writer = threading.Thread(target=write)
    with right_of_way.searching():
        writer.start()
        with right_of_way.searching():
            happened.append("answered")
        happened.append("answered")
    writer.join(LONG / 2)
    assert happened == ["answered", "answered", "written"]


def test_a_writer_does_not_wait_where_no_search_is_on() -> None:
    right_of_way = RightOfWay(wait_seconds=LONG)
    with right_of_way.searching():
        pass
    started = threading.Event()
    threading.Thread(target=lambda: (right_of_way.give_way(), started.set()), daemon=True).start()
    assert started.wait(LONG / 2)


def test_searches_without_an_end_hold_a_writer_up_for_a_while_only() -> None:
    right_of_way = RightOfWay(wait_seconds=0.001)
    writer = threading.Thread(target=right_of_way.give_way)
    with right_of_way.searching():
        writer.start()
        writer.join(LONG)
    assert not writer.is_alive()


def test_a_writer_that_has_just_waited_works_before_it_waits_again() -> None:
    now = 0.0
    right_of_way = RightOfWay(wait_seconds=LONG, monotonic=lambda: now)
    started = threading.Event()
    with right_of_way.searching():
        now = 0.0005
        threading.Thread(target=lambda: (right_of_way.give_way(), started.set()), daemon=True).start()
        assert started.wait(LONG / 2)


def test_it_is_asked_for_while_a_search_is_on_and_for_a_quarter_of_a_second_after_one_began() -> None:
    now = 100.0
    right_of_way = RightOfWay(monotonic=lambda: now)
    assert not right_of_way.is_asked_for
    with right_of_way.searching():
        now = 200.0
        assert right_of_way.is_asked_for
    assert not right_of_way.is_asked_for
    with right_of_way.searching():
        pass
    now = 200.2
    assert right_of_way.is_asked_for
    now = 200.3
    assert not right_of_way.is_asked_for


def test_a_writer_in_the_thread_of_the_searches_does_not_wait_for_itself() -> None:
    right_of_way = RightOfWay(wait_seconds=10 * LONG)
    with right_of_way.searching():
        right_of_way.give_way()
