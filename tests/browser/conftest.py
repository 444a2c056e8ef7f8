"""A real browser, headless and offline."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browsing import TWO_FRAMES
from support.made import ensemble, made, on_loss_clock, tiny, without

from flowsim.present.page import write_report

SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
#: Seconds within which a page is drawn.
PATIENCE = 60
#: Leads a page back to its end and to the clock of time.
AS_OPENED = """
const [slider, log] = [document.getElementById('time'), document.getElementById('log')];
slider.value = slider.max;
slider.dispatchEvent(new Event('input'));
if (log.checked) log.click();
"""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    pytest.importorskip("plotly", reason="Plotly is not installed")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


@pytest.fixture(scope="module", autouse=True)
def nothing_plays_on(chromium: Any) -> Iterator[None]:
    """An animation that a test has left takes its time from the tests that follow."""
    yield
    chromium.get("about:blank")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages about results that no solver made."""
    pytest.importorskip("plotly", reason="Plotly is not installed")
    folder = tmp_path_factory.mktemp("pages")
    results = {
        "one": [made()],
        "two": [made(), made(seed=1, instants=7)],
        "ensemble": [ensemble()],
        "loss_clock": [on_loss_clock()],
        "clocks": [made(), on_loss_clock()],
        "several": [made(), made(seed=1, neurons=4, clusters=2, instants=7), made(seed=2, neurons=9, instants=30)],
        "tiny": [tiny()],
        "part": [without(made(), "cosine", "margin")],
    }
    found = {}
    for name, trees in results.items():
        files = [folder / f"{name}{index}.nc" for index in range(len(trees))]
        for file, tree in zip(files, trees, strict=True):
            tree.to_netcdf(file)
        found[name] = folder / f"{name}.html"
        write_report(files, found[name])
    return found


@pytest.fixture
def seen_as(chromium: Any) -> Callable[[int, str], None]:
    """Give the window this width, and the system this colour scheme: of the page that is open, and of those to come."""

    def emulate(width: int, scheme: str) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    return emulate


@pytest.fixture
def opened(chromium: Any, pages: dict[str, Path], seen_as: Callable[[int, str], None]) -> Callable[..., Any]:
    """Open a page of that name, and wait until it is drawn."""

    def open_page(name: str, width: int = 1280, scheme: str = "light") -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        seen_as(width, scheme)
        chromium.get("about:blank")
        chromium.get_log("browser")
        chromium.get_log("performance")
        chromium.get(pages[name].as_uri())
        WebDriverWait(chromium, PATIENCE).until(lambda it: it.execute_script("return document.body.dataset.ready"))
        return chromium

    return open_page


@pytest.fixture
def page(chromium: Any, pages: dict[str, Path], opened: Callable[..., Any], seen_as: Callable[[int, str], None]) -> Any:
    """The page about one run at its end, on the clock of time, wide and light; opened where it is not yet."""
    if chromium.current_url != pages["one"].as_uri():
        opened("one")
    seen_as(1280, "light")
    chromium.execute_script(AS_OPENED)
    chromium.execute_async_script(TWO_FRAMES)
    return chromium
