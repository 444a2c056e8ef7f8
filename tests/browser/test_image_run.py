"""The report of a run on images in a real browser: a small network with convolutions on a few synthetic ones."""

from __future__ import annotations

from typing import Any

import pytest
from support.browsing import COLLISIONS, asked_of_a_network, check_words, tab_to, wait_until
from support.pictures import write_mnist

import flowsim

pytestmark = pytest.mark.slow

SCENARIO = {
    "title": "convolutions on noise",
    "data": {"kind": "idx", "supervision": "cluster", "samples": 40},
    "model": {"kind": "conv", "channels": [4]},
    "init": {"shape": "he"},
    "loss": {"kind": "cross_entropy"},
    "flow": {"method": "sgd", "step": 0.05, "batch": 20, "iterations": 3},
    "observe": {"times": 4, "snapshots": "all"},
    "evaluate": {"features": {"units": 3, "starts": 2, "steps": 20, "samples": 20}},
}


@pytest.fixture(scope="module")
def page(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    folder = tmp_path_factory.mktemp("images")
    write_mnist(folder / "mnist", size=(8, 8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOWSIM_DATA", str(folder))
        flowsim.write_report(flowsim.run(flowsim.Scenario(SCENARIO)), folder / "page.html")
    chromium.get_log("browser")
    chromium.get_log("performance")
    chromium.get((folder / "page.html").as_uri())
    wait_until(chromium, lambda it: it.execute_script("return document.body.dataset.ready"))
    return chromium


def test_the_page_shows_what_the_layers_have_learned_in_words_too(page):
    shown = "return [...document.querySelectorAll('#features img')].map((one) => [one.alt, one.naturalWidth])"
    pictures = page.execute_script(shown)
    assert len(pictures) >= 4
    assert all(len(words) > 10 and width > 100 for words, width in pictures)


@pytest.mark.parametrize("width", [1280, 390])
def test_words_stand_out_and_do_not_cover_each_other(page, seen_as, width):
    for scheme in ("dark", "light"):
        seen_as(width, scheme)
        check_words(page)
        assert page.execute_script(COLLISIONS) == [], scheme
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        beyond = "return [...document.images].filter((one) => one.getBoundingClientRect().right > arguments[0]).length"
        assert page.execute_script(beyond, width) == 0


def test_the_time_axis_and_the_scenario_are_reached_by_keys_alone(page, seen_as):
    from selenium.webdriver.common.keys import Keys

    seen_as(1280, "light")
    kind = "return document.getElementById('loss-0').layout.xaxis.type"
    before = page.execute_script(kind)
    tab_to(page, "#log").send_keys(Keys.SPACE)
    assert page.execute_script(kind) != before
    tab_to(page, "#scenario pre").send_keys(Keys.END)
    wait_until(page, lambda it: it.execute_script("return document.querySelector('#scenario pre').scrollTop") > 0)


def test_nothing_is_asked_of_any_network_and_nothing_fails(page):
    assert page.get_log("browser") == []
    assert asked_of_a_network(page) == []
