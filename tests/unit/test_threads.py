"""BLAS runs on one thread while anybody is inside, and as before when all have left."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from flowsim.threads import one_blas_thread


def limits() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_threads():
    with one_blas_thread():  # all libraries are loaded now
        pass
    if not limits():
        pytest.skip("a BLAS whose threads nobody can count, such as Apple's")
    with threadpool_limits(3, user_api="blas"):
        assert limits() == {3}
        yield


def test_inside_there_is_one_thread_and_afterwards_as_many_as_before():
    with one_blas_thread():
        assert limits() == {1}
    assert limits() == {3}


def test_the_outermost_restores():
    with one_blas_thread(), one_blas_thread():
        with one_blas_thread():
            assert limits() == {1}
        assert limits() == {1}
    assert limits() == {3}


def test_an_error_restores_too():
    with pytest.raises(ZeroDivisionError), one_blas_thread(), one_blas_thread():
        raise ZeroDivisionError
    assert limits() == {3}


@pytest.mark.parametrize("first_out", [0, 1], ids=["first in, first out", "first in, last out"])
def test_the_last_that_leaves_restores_whoever_came_first(first_out):
    # both threads are alive until the end
    meet, seen = Barrier(3, timeout=10), []

    def stay(number: int) -> None:
        if number == 1:
            meet.wait()
        with one_blas_thread():
            if number == 0:
                meet.wait()
            meet.wait()
            if number != first_out:
                meet.wait()
                seen.append(limits())
        if number == first_out:
            meet.wait()
        meet.wait()
        meet.wait()

    threads = [Thread(target=stay, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        meet.wait()
    assert limits() == {1}
    for _ in range(2):
        meet.wait()
    seen.append(limits())
    meet.wait()
    for thread in threads:
        thread.join()
    assert seen == [{1}, {3}]


def test_many_threads_come_and_go():
    seen = []

    def often() -> None:
        for _ in range(50):
            with one_blas_thread():
                seen.append(limits())

    threads = [Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [{1}] * 200
    assert limits() == {3}


def test_afterwards_others_may_set_limits_from_any_thread():
    seen = []

    def limited() -> None:
        with threadpool_limits(2, user_api="blas"):
            seen.append(limits())

    with one_blas_thread():
        pass
    thread = Thread(target=limited)
    thread.start()
    thread.join()
    assert seen == [{2}]
    assert limits() == {3}
