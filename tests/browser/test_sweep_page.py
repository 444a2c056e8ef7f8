"""The page of a sweep in a real browser: opened once, seen in two widths and two colour schemes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.browsing import COLLISIONS, TWO_FRAMES, asked_of_a_network, check_words, tab_to, wait_until
from support.made_sweep import NOISE, WORD, made_sweep

from flowsim.evaluate.scaling import scaling
from flowsim.present.sweeps import write_report

pytestmark = pytest.mark.slow

#: The page as it was when it was opened.
AS_OPENED = """
for (const details of document.querySelectorAll("[data-key]")) {
  if (details.querySelector(".boxes input:not(:checked)")) details.querySelector("[data-all]").click();
}
for (const [id, value] of Object.entries(arguments[0])) document.getElementById(id).value = value;
document.getElementById("over").dispatchEvent(new Event("change"));
for (const box of document.querySelectorAll("#table input:checked")) box.click();
"""
CHOICES = {"over": "1", "by": "1", "law": "power", "clock": "time", "across": "2", "up": "3"}
CHOOSE = """
document.getElementById(arguments[0]).value = arguments[1];
document.getElementById(arguments[0]).dispatchEvent(new Event("change"));
"""
TICK = "document.querySelector(`[data-key='${arguments[0]}'] input[value='${arguments[1]}']`).click()"
#: The lines of a figure that have a name of their own in its legend.
LINES = """
return document.getElementById(arguments[0]).data
  .filter(({ mode, line, showlegend }) => mode === "lines" && line.width > 1.5 && showlegend !== false)
  .map(({ name, x, y }) => [name, Array.from(x), Array.from(y)]);
"""


@pytest.fixture(scope="module")
def opened(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("sweep") / "page.html"
    write_report(made_sweep(), file)
    chromium.get_log("browser")
    chromium.get_log("performance")
    chromium.get(file.as_uri())
    wait_until(chromium, lambda it: it.execute_script("return document.body.dataset.ready"))
    return chromium


@pytest.fixture
def page(opened: Any, seen_as: Any) -> Iterator[Any]:
    seen_as(1280, "light")
    opened.execute_script(AS_OPENED, CHOICES)
    return opened


def curves(page: Any, figure: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {name: (np.array(x, float), np.array(y, float)) for name, x, y in page.execute_script(LINES, figure)}


def test_numbers_are_medians_over_the_chosen_points(page):
    sweep = made_sweep()["final_loss"]
    found = curves(page, "number-0")
    assert [*found] == ["relu", "prelu"]
    for name, (x, y) in found.items():
        np.testing.assert_allclose(x, sweep[NOISE])
        np.testing.assert_allclose(y, sweep.sel({WORD: name}).median("seed"), rtol=1e-5)
    page.execute_script(TICK, 2, 0)
    page.execute_script(TICK, 0, 1)
    ((x, y),) = curves(page, "number-0").values()
    np.testing.assert_allclose(y, sweep.sel({WORD: "relu", "seed": [1, 2, 3]}).median("seed"), rtol=1e-5)
    assert page.execute_script("return document.getElementById('chosen').textContent").startswith("15 of 40")
    page.execute_script(CHOOSE, "over", "2")
    page.execute_script(CHOOSE, "by", "0")
    ((x, y),) = curves(page, "number-0").values()
    np.testing.assert_allclose(x, [1, 2, 3])
    np.testing.assert_allclose(y, sweep.sel({WORD: "relu", "seed": [1, 2, 3]}).median(NOISE), rtol=1e-5)


@pytest.mark.parametrize("law", ["power", "log"])
def test_slopes_and_their_intervals_are_those_of_scaling(page, law):
    page.execute_script(CHOOSE, "law", law)
    cells = "[...row.cells].map((one) => one.innerText)"
    rows = f"return [...document.querySelectorAll('#slopes tbody tr')].map((row) => {cells})"
    found = {(number, of): told for number, of, *told in page.execute_script(rows)}
    assert found
    for word in ("relu", "prelu"):
        for number in ("final_loss", "alignment"):
            fit = scaling(made_sweep().sel({WORD: word}), number, NOISE, law)
            *numbers, count, left = found[number, word]
            np.testing.assert_allclose(np.array(numbers, float), [fit.slope, *fit.interval], rtol=2e-3, atol=1e-4)
            assert (int(count), left) == (len(fit.x), f"{fit.left_out} left out" if fit.left_out else "")


def test_a_slope_that_cannot_be_fitted_says_why(page):
    page.execute_script(CHOOSE, "over", "0")
    told = page.execute_script("return document.getElementById('slopes').innerText")
    assert f"{WORD} has no numbers" in told


def test_phases_stand_against_phases(page):
    marks = "return document.getElementById('pair').data.filter(({mode}) => mode === 'markers').map(({x, y}) => [x, y])"
    instants = made_sweep()["phase_instant"]
    for (x, y), word in zip(page.execute_script(marks), ("relu", "prelu"), strict=True):
        own = instants.sel({WORD: word})
        np.testing.assert_allclose(x, own.sel(phase="alignment").values.ravel(), rtol=1e-5)
        np.testing.assert_allclose(y, own.sel(phase="growth").values.ravel(), rtol=1e-5)


def test_trajectories_are_of_the_chosen_points_or_of_those_that_are_ticked(page):
    loss = made_sweep()["loss"].sel({WORD: "relu"})
    # 40 points: medians; what is drawn of the cosine is the median over the neurons of the largest
    x, y = curves(page, "curve-0")["relu"]
    np.testing.assert_allclose(x, loss["time"])
    np.testing.assert_allclose(y, loss.median([NOISE, "seed"]), rtol=1e-5)
    best = made_sweep()["cosine"].max("cluster").median("neuron").sel({WORD: "relu"})
    np.testing.assert_allclose(curves(page, "curve-1")["relu"][1], best.median([NOISE, "seed"]), rtol=1e-5)
    for row in (0, 5):
        page.execute_script(f"document.querySelectorAll('#table input')[{row}].click()")
    lines = "return document.getElementById('curve-0').data.map(({ x, y }) => [x, y])"
    first, second = page.execute_script(lines)
    np.testing.assert_allclose(first[1], loss[0, 0], rtol=1e-5)
    np.testing.assert_allclose(second[1], loss[1, 1], rtol=1e-5)
    page.execute_script(CHOOSE, "clock", "log_loss")
    np.testing.assert_allclose(page.execute_script(lines)[1][0], np.log10(loss[1, 1]), rtol=1e-4)


def test_on_the_clock_of_parts_medians_are_at_equal_shares_and_lines_of_their_own_end_with_their_runs(page):
    # made_sweep: burn-in is not among its phases; alignment ends at a, and what follows, growth, with the run at 8
    sweep = made_sweep()
    page.execute_script(CHOOSE, "clock", "progress")
    ends, time = sweep["phase_instant"].sel(phase="alignment"), sweep["time"].values
    assert float(ends.max()) < 8
    x, y = curves(page, "curve-0")["relu"]
    np.testing.assert_allclose(x, np.linspace(0, 1, 101))
    own = sweep["loss"].sel({WORD: "relu"}).stack(point=(NOISE, "seed")).transpose("point", "time")
    at = [np.interp(x, [0, 0.4, 0.6], [0, float(end), 8]) for end in ends.sel({WORD: "relu"}).values.ravel()]
    median = np.median([np.interp(one, time, loss) for one, loss in zip(at, own.values, strict=True)], axis=0)
    np.testing.assert_allclose(y[x <= 0.6], median[x <= 0.6], rtol=1e-4)
    assert np.isnan(y[x > 0.6]).all()
    page.execute_script("document.querySelectorAll('#table input')[5].click()")
    ((_, x, _),) = page.execute_script(LINES, "curve-0")
    np.testing.assert_allclose(x, np.interp(time, [0, float(ends[0, 1, 1]), 8], [0, 0.4, 0.6]), rtol=1e-4)


@pytest.mark.parametrize("width", [1280, 390])
def test_names_of_parts_do_not_cover_each_other(page, seen_as, width):
    page.execute_script(CHOOSE, "clock", "progress")
    for scheme in ("dark", "light"):
        seen_as(width, scheme)
        check_words(page)
        assert page.execute_script(COLLISIONS) == [], scheme


def test_a_heading_sorts_the_points(page):
    column = "return [...document.querySelectorAll('#table tbody tr')].map((row) => row.cells[5].innerText)"
    button = (
        "return [...document.querySelectorAll('#table thead button')].find((one) => one.innerText === 'final_loss')"
    )
    values = np.sort(made_sweep()["final_loss"].values.ravel())
    for order in (values[:-2], values[:-2][::-1]):  # those that have failed come last
        page.execute_script(button).click()
        found = page.execute_script(column)
        np.testing.assert_allclose(np.array(found[:-2], float), order, rtol=1e-3)
        assert found[-2:] == ["–", "–"]


def test_points_are_chosen_by_keys_alone(page):
    from selenium.webdriver.common.keys import Keys

    tab_to(page, "[data-key='2'] summary").send_keys(Keys.ENTER)
    for _ in range(3):  # over the two buttons to the first value
        page.switch_to.active_element.send_keys(Keys.TAB)
    page.switch_to.active_element.send_keys(Keys.SPACE)
    assert page.execute_script("return document.getElementById('chosen').textContent").startswith("30 of 40")
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert page.switch_to.active_element.tag_name == "summary"
    assert not page.execute_script("return document.querySelector('[data-key=\"2\"]').open")
    tab_to(page, "#law").send_keys("n")
    assert page.execute_script("return document.getElementById('slopes').innerText") == ""
    tab_to(page, "#table thead button").send_keys(Keys.ENTER)
    assert page.execute_script(
        "return document.querySelector('#table th[aria-sort]') === document.activeElement.parentElement"
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_words_stand_out_and_do_not_cover_each_other(page, seen_as, width):
    for scheme in ("dark", "light"):
        seen_as(width, scheme)
        check_words(page)
        for over in ("0", "1", "2"):
            page.execute_script(CHOOSE, "over", over)
            page.execute_async_script(TWO_FRAMES)
            assert page.execute_script(COLLISIONS) == [], (scheme, over)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_nothing_is_asked_of_any_network_and_nothing_fails(opened):
    assert opened.get_log("browser") == []
    assert asked_of_a_network(opened) == []
