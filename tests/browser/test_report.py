"""The report in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.browsing import IN_ITS_COLOURS, asked_of_a_network, contrast, luminance, wait_until
from support.made import made

pytestmark = pytest.mark.slow

HEAT = "return document.getElementById('heat-0').data[0].z.map(row => Array.from(row))"
PORTRAIT = "return document.getElementById('portrait-0').data[1].x"
NOW = "return document.getElementById('now').textContent"
MOVE = """
const slider = document.getElementById('time');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input'));
"""

Opened = Callable[..., Any]


def cosines(instant: int) -> np.ndarray:
    """(neuron, cluster): what the heat map has to show at an instant, neurons in any order."""
    return made()["cosine"].values[instant]


def rows(values: Any) -> np.ndarray:
    """Rows in an order of their own."""
    found = np.round(np.asarray(values, float), 3)
    return found[np.lexsort(found.T)]


@pytest.mark.parametrize("name", ["one", "two", "ensemble", "loss_clock", "tiny", "part"])
def test_a_page_is_drawn_without_an_error_and_asks_nothing_of_any_network(opened: Opened, seen_as, name):
    browser = opened(name, 390, "dark")
    # a change of the scheme draws all of the page anew, in the width it has, and that of the clock once more
    for width, scheme in ((390, "dark"), (390, "light"), (1280, "dark"), (1280, "light")):
        seen_as(width, scheme)
        wait_until(browser, lambda it: it.execute_script(IN_ITS_COLOURS))
        browser.execute_script("document.getElementById('log').click()")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        empty = "return [...document.querySelectorAll('.plot')].filter(plot => !plot.querySelector('.main-svg')).length"
        assert browser.execute_script(empty) == 0
    assert browser.get_log("browser") == []
    assert asked_of_a_network(browser) == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_slider_moves_the_heat_map_and_the_portrait(page):
    np.testing.assert_allclose(rows(page.execute_script(HEAT)), rows(cosines(-1)), atol=2e-3)
    last, words = page.execute_script(PORTRAIT), page.execute_script(NOW)
    page.execute_script(MOVE, 0)
    np.testing.assert_allclose(rows(page.execute_script(HEAT)), rows(cosines(0)), atol=2e-3)
    assert page.execute_script(PORTRAIT) != last
    assert page.execute_script(NOW) != words
    spoken = "return document.getElementById('time').getAttribute('aria-valuetext')"
    assert page.execute_script(spoken) == page.execute_script(NOW)


def test_what_the_heat_map_shows_is_drawn_anew(page):
    """Not only the numbers behind it: the pixels of the image."""
    image = "return document.querySelector('#heat-0 .heatmaplayer image').outerHTML"
    before = page.execute_script(image)
    page.execute_script(MOVE, 0)
    wait_until(page, lambda it: it.execute_script(image) != before)


def test_keys_move_the_slider_and_start_and_stop_the_player(page):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    slider, button = page.find_element(By.ID, "time"), page.find_element(By.ID, "play")
    slider.send_keys(Keys.HOME)
    np.testing.assert_allclose(rows(page.execute_script(HEAT)), rows(cosines(0)), atol=2e-3)
    slider.send_keys(Keys.ARROW_RIGHT)
    np.testing.assert_allclose(rows(page.execute_script(HEAT)), rows(cosines(1)), atol=2e-3)
    outline = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    # on a busy machine the player would be at its end, and stop by itself, before the second key arrives
    page.execute_script("const own = setInterval; window.setInterval = () => { window.setInterval = own; return 1; }")
    button.send_keys(Keys.SPACE)
    assert button.get_attribute("aria-pressed") == "true"
    button.send_keys(Keys.SPACE)
    assert button.get_attribute("aria-pressed") == "false"


def test_play_runs_from_the_start_to_the_end_and_stops(page):
    from selenium.webdriver.common.by import By

    button = page.find_element(By.ID, "play")
    place = "return Number(document.getElementById('time').value)"
    end = page.execute_script(place)
    button.click()
    assert page.execute_script(place) < end
    wait_until(page, lambda it: it.execute_script(place) == end)
    wait_until(page, lambda _: button.text == "Play")
    np.testing.assert_allclose(rows(page.execute_script(HEAT)), rows(cosines(-1)), atol=2e-3)


def test_two_runs_follow_one_slider(opened: Opened):
    browser = opened("two")
    second = HEAT.replace("heat-0", "heat-1")
    browser.execute_script(MOVE, 0)
    np.testing.assert_allclose(rows(browser.execute_script(HEAT)), rows(cosines(0)), atol=2e-3)
    other = made(seed=1, instants=7)["cosine"].values
    np.testing.assert_allclose(rows(browser.execute_script(second)), rows(other[0]), atol=2e-3)
    assert (
        browser.execute_script(NOW) == "flow time 0 · two0.nc: before the first phase · two1.nc: before the first phase"
    )


def test_runs_with_different_clocks_meet_at_the_same_time(opened: Opened):
    browser = opened("clocks")
    log_time = np.log10(made()["time"].values[1:])
    for place in (0, 5, 11):
        browser.execute_script(MOVE, place)
        for run in (0, 1):
            found = browser.execute_script(HEAT.replace("heat-0", f"heat-{run}"))
            np.testing.assert_allclose(rows(found), rows(cosines(place)), atol=2e-3)
        told = f"log10 of flow time {log_time[place - 1]:.4g}" if place else "the start"
        assert browser.execute_script(NOW).startswith(told)


def test_the_portrait_is_of_the_centres_that_one_chooses(page):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    Select(page.find_element(By.CSS_SELECTOR, "select[data-axis=across]")).select_by_value("2")
    title = "return document.getElementById('portrait-0').layout.xaxis.title.text"
    assert "centre 2" in page.execute_script(title)


def test_time_may_be_logarithmic(page):
    from selenium.webdriver.common.by import By

    kind = "return document.getElementById('loss-0').layout.xaxis.type"
    assert page.execute_script(kind) == "linear"
    page.find_element(By.ID, "log").click()
    assert page.execute_script(kind) == "log"


def test_a_page_follows_the_system_from_light_to_dark(page, seen_as):
    stroke = "return getComputedStyle(document.querySelector('#loss-0 path.js-line')).stroke"
    before = page.execute_script(stroke)
    seen_as(1280, "dark")
    wait_until(page, lambda it: it.execute_script(stroke) != before)


@pytest.mark.parametrize("width", [1280, 390])
def test_plots_have_room_beside_their_legends(opened: Opened, width):
    browser = opened("one", width)
    boxes = """return [...document.querySelectorAll('#over .plot')].map(plot => {
        const legend = plot.querySelector('.legend'), box = plot.querySelector('.nsewdrag').getBoundingClientRect();
        return [box.top, box.bottom, legend ? legend.getBoundingClientRect().top : null];
    })"""
    for top, bottom, legend in browser.execute_script(boxes):
        assert bottom - top > 120
        assert legend is None or legend > bottom


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_curves_stand_out_from_their_ground(page, seen_as, scheme):
    seen_as(1280, scheme)
    wait_until(page, lambda it: it.execute_script(IN_ITS_COLOURS))
    colour = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    ground = page.execute_script(colour, "body", "backgroundColor")
    assert (luminance(ground) < 0.5) == (scheme == "dark")

    for selector in ("body", "figcaption", ".when", "a", ".verdict strong"):
        assert contrast(ground, page.execute_script(colour, selector, "color")) >= 4.5, selector
    strokes = "return [...document.querySelectorAll('#over path.js-line')].map(line => getComputedStyle(line).stroke)"
    found = page.execute_script(strokes)
    assert found
    for stroke in found:
        assert contrast(ground, stroke) >= 3, stroke
