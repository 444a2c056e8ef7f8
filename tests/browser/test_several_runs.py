"""The report of several runs in a real browser: one page, seen in two widths and two colour schemes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.browsing import (
    COLLISIONS,
    COVERED,
    FAINT,
    IN_ITS_COLOURS,
    TWO_FRAMES,
    asked_of_a_network,
    contrast,
    luminance,
    tab_to,
    wait_until,
)
from support.made import made

pytestmark = pytest.mark.slow

CHOOSE = """
const clock = document.getElementById("clock");
clock.value = arguments[0];
clock.dispatchEvent(new Event("change"));
"""
CLOCKS = ("time", "log_time", "log_loss", "progress")


@pytest.fixture(scope="module")
def browser(chromium: Any, pages: Any) -> Iterator[Any]:
    """The page, opened once."""
    chromium.get_log("browser")
    chromium.get_log("performance")
    chromium.get(pages["several"].as_uri())
    wait_until(chromium, lambda it: it.execute_script("return document.body.dataset.ready"))
    yield chromium
    chromium.get("about:blank")


def test_each_quantity_has_a_curve_for_each_run_on_the_clock_that_is_chosen(browser, seen_as):
    seen_as(1280, "light")
    curves = (
        "return document.getElementById('overlaid-best_cosine').data.map(({x, y}) => [Array.from(x), Array.from(y)])"
    )
    runs = [made(), made(seed=1, neurons=4, clusters=2, instants=7), made(seed=2, neurons=9, instants=30)]
    for clock, of in (("time", "time"), ("log_loss", "log10_loss")):
        browser.execute_script(CHOOSE, clock)
        found = browser.execute_script(curves)
        assert len(found) == len(runs)
        for (x, y), run in zip(found, runs, strict=True):
            kept = run.sizes["time"]
            np.testing.assert_allclose(x[:kept], run[of], rtol=1e-5)
            np.testing.assert_allclose(y[:kept], run["cosine"].max("cluster").median("neuron"), rtol=1e-5)
    browser.execute_script(CHOOSE, "progress")
    axis = browser.execute_script("return document.getElementById('overlaid-best_cosine').layout.xaxis")
    assert axis["ticktext"] == ["burn-in", "alignment", "growth", "convergence", "late"]


@pytest.mark.parametrize("width", [1280, 390])
def test_no_words_of_a_plot_cover_each_other(browser, seen_as, width):
    seen_as(width, "light")
    for scheme in ("dark", "light"):
        seen_as(width, scheme)
        wait_until(browser, lambda it: it.execute_script(IN_ITS_COLOURS))
        for clock in CLOCKS:
            browser.execute_script(CHOOSE, clock)
            browser.execute_async_script(TWO_FRAMES)
            assert browser.execute_script(COLLISIONS) == [], (scheme, clock)
        assert browser.execute_script(COVERED) == [], scheme
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_clock_is_chosen_by_keys_alone(browser, seen_as):
    from selenium.webdriver.common.keys import Keys

    seen_as(1280, "light")
    browser.execute_script(CHOOSE, "time")
    tab_to(browser, "#clock").send_keys(Keys.ARROW_DOWN)
    title = "return document.getElementById('overlaid-best_cosine').layout.xaxis.title.text"
    wait_until(browser, lambda it: "log10 of flow time" in it.execute_script(title))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_curves_stand_out_from_their_ground(browser, seen_as, scheme):
    seen_as(1280, scheme)
    wait_until(browser, lambda it: it.execute_script(IN_ITS_COLOURS))
    colour = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    ground = browser.execute_script(colour, "body", "backgroundColor")
    assert browser.execute_script(FAINT) == []
    strokes = (
        "return [...document.querySelectorAll('#overlaid path.js-line')].map((line) => getComputedStyle(line).stroke)"
    )
    assert min(contrast(ground, stroke) for stroke in set(browser.execute_script(strokes))) >= 3
    # the heat map is as dark as the page: its middle is where most cosines are
    scale = "return document.getElementById('heat-0').data[0].colorscale.map(([, colour]) => colour)"
    middle = browser.execute_script(scale)[5]
    red, green, blue = (int(middle[place : place + 2], 16) for place in (1, 3, 5))
    assert (luminance(f"rgb({red}, {green}, {blue})") < 0.5) == (scheme == "dark")


def test_nothing_is_asked_of_any_network_and_nothing_fails(browser):
    assert browser.get_log("browser") == []
    assert asked_of_a_network(browser) == []
