"""What signals do to a process."""

from __future__ import annotations

import signal

import pytest

from flowsim.signals import SIGNALS, endings


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_the_first_signal_is_noted_and_the_second_acts_as_usual(number):
    acted = []
    before = signal.signal(number, lambda *_: acted.append(number))
    try:
        with endings() as ending:
            assert not ending.asked
            signal.raise_signal(number)
            assert (ending.asked, acted) == (True, [])
            signal.raise_signal(number)
            assert acted == [number]
    finally:
        signal.signal(number, before)


def test_one_within_another_is_the_same_and_the_usual_handlers_come_back():
    before = [signal.getsignal(number) for number in SIGNALS]
    with endings() as outer:
        with endings() as inner:
            assert inner is outer
        signal.raise_signal(signal.SIGINT)
        assert outer.asked
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_what_may_be_interrupted_is_at_once_even_by_a_signal_that_came_before():
    with endings() as ending:
        with pytest.raises(KeyboardInterrupt), ending.at_once():
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), ending.at_once():
            pytest.fail("is begun")


def test_a_terminal_that_goes_away_ends_nothing_under_nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with endings() as ending:
            signal.raise_signal(signal.SIGHUP)
            assert not ending.asked
    finally:
        signal.signal(signal.SIGHUP, before)
