"""What tests of pages ask of a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Whether all plots are drawn in the colours of the scheme.
IN_ITS_COLOURS = """
const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').trim();
return [...document.querySelectorAll('.plot')].every(plot => plot.layout.font.color === ink);
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
