"""What tests of pages ask of a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

#: Whether all plots that are shown are drawn in the colours of the scheme.
IN_ITS_COLOURS = """
const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').trim();
const shown = [...document.querySelectorAll('.plot')].filter(plot => plot.checkVisibility());
return shown.every(plot => plot.layout.font.color === ink);
"""
#: Pairs of texts of a plot that cover each other, and texts that reach beyond their plot. A line of text has some room
#: above and below its letters: two may share 3 pixels of that.
COLLISIONS = """
const found = [];
for (const plot of document.querySelectorAll(".plot")) {
  const texts = [...plot.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.width && box.height && text.textContent.trim() && getComputedStyle(text).visibility !== "hidden";
  });
  const boxes = texts.map((text) => text.getBoundingClientRect()), frame = plot.getBoundingClientRect();
  boxes.forEach((a, i) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1) found.push([plot.id, texts[i].textContent]);
    boxes.slice(i + 1).forEach((b, k) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) found.push([plot.id, texts[i].textContent, texts[i + 1 + k].textContent]);
    });
  });
}
return found;
"""


def wait_until(browser: Any, condition: Callable[[Any], bool]) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 30, poll_frequency=0.05).until(condition)


def luminance(colour: str) -> float:
    """Of `rgb(r, g, b)`, as WCAG has it."""
    parts = np.array([float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]) / 255
    return float(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG has it."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


#: Texts whose colour does not stand out from their ground by the factor 4.5, as WCAG has it. What is hidden does not count;
#: the ground is the nearest one behind that is painted.
FAINT = """
const parsed = (colour) => {
  const parts = colour.match(/[\\d.]+/g).map(Number);
  return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
};
const light = (rgb) => rgb.map((part) => part / 255)
  .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  .reduce((sum, part, k) => sum + part * [0.2126, 0.7152, 0.0722][k], 0);
const over = (top, bottom) => top.rgb.map((part, k) => top.alpha * part + (1 - top.alpha) * bottom[k]);
const ground = (element) => {
  if (!element) return [255, 255, 255];
  const own = parsed(getComputedStyle(element).backgroundColor);
  return own.alpha === 1 ? own.rgb : over(own, ground(element.parentElement));
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const words = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
  if (!words || element.closest("script, style, noscript, option") || !element.checkVisibility()) continue;
  const style = getComputedStyle(element), behind = ground(element);
  const ink = over(parsed(element.closest("svg") ? style.fill : style.color), behind);
  const [low, high] = [light(ink), light(behind)].sort((a, b) => a - b);
  if ((high + 0.05) / (low + 0.05) < 4.5) found.push([words.slice(0, 40), (high + 0.05) / (low + 0.05)]);
}
return found;
"""
#: Pairs of texts of the whole page that cover each other, each where it can be seen: within all that cut it off. A line of
#: text has some room above and below its letters: two may share 3 pixels of that.
COVERED = """
const cut = (box, element) => {
  for (let at = element; at; at = at.parentElement) {
    if (getComputedStyle(at).overflowX === "visible") continue;
    const frame = at.getBoundingClientRect();
    box = { left: Math.max(box.left, frame.left), right: Math.min(box.right, frame.right),
            top: Math.max(box.top, frame.top), bottom: Math.min(box.bottom, frame.bottom) };
  }
  return box;
};
for (const element of document.querySelectorAll("*")) if (element.scrollTop || element.scrollLeft) element.scrollTo(0, 0);
const seen = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, element = node.parentElement;
  if (!node.textContent.trim() || !element.checkVisibility()) continue;
  if (element.closest("script, style, noscript, option, .panel")) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const whole of range.getClientRects()) {
    const box = cut(whole, element);
    const { left, right, top, bottom } = box;
    if (right - left > 1 && bottom - top > 3) seen.push({ left, right, top, bottom, words: node.textContent.trim() });
  }
}
seen.sort((a, b) => a.top - b.top);
const found = [];
seen.forEach((a, i) => {
  for (let k = i + 1; k < seen.length && seen[k].top < a.bottom - 3; k++) {
    const b = seen[k];
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - b.top > 3) {
      found.push([a.words.slice(0, 40), b.words.slice(0, 40)]);
    }
  }
});
return found;
"""
#: The next picture is painted by then.
TWO_FRAMES = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"


def check_words(browser: Any) -> None:
    """That once all is drawn in the colours of the scheme, words stand out, and nothing covers them."""
    wait_until(browser, lambda it: it.execute_script(IN_ITS_COLOURS))
    browser.execute_async_script(TWO_FRAMES)
    assert browser.execute_script(FAINT) == []
    assert browser.execute_script(COVERED) == []


def asked_of_a_network(browser: Any) -> list[str]:
    """The addresses that the browser has asked for since its log was last read, files and what pages bring along left out;
    there has to be some address."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked
    return [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]


def tab_to(browser: Any, wanted: str, most: int = 60) -> Any:
    """Press Tab until the focus is on the element of that selector, which then has an outline. Returns the element."""
    from selenium.webdriver.common.keys import Keys

    browser.execute_script("document.activeElement.blur(); window.getSelection().removeAllRanges(); scrollTo(0, 0)")
    for _ in range(most):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.execute_script("return document.activeElement.matches(arguments[0])", wanted):
            assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
            return browser.switch_to.active_element
    raise AssertionError(f"Tab does not lead to {wanted}")
