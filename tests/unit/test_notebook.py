"""What notebooks show."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from support.made import ensemble, made

import flowsim
from flowsim.markup import facts, folded, table


class Cells(HTMLParser):
    """Rows of cells, and that every element is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data


def rows(text: str) -> list[list[str]]:
    cells = Cells()
    cells.feed(text)
    cells.close()
    assert cells.open == []
    return cells.rows


def test_a_scenario_shows_its_title_its_keys_and_its_text():
    scenario = flowsim.loads('title = "a < b"\n[model]\nwidth = 7 # <wide>\n')
    shown = scenario._repr_html_()
    assert ["model.width", "7"] in rows(shown)
    assert ["loss.kind", '"square"'] in rows(shown)
    assert "<strong>a &lt; b</strong>" in shown
    assert escape(scenario.to_toml()) in shown


def test_an_ensemble_s_seeds_are_shown():
    assert ["seed", "[3, 5]"] in rows(flowsim.loads("seed = [3, 5]")._repr_html_())


def test_flow_shows_the_phases():
    trajectory = made().to_dataset()
    shown = rows(trajectory.flow._repr_html_())
    assert [row[0] for row in shown[1:]] == trajectory.flow.phases["phase"].values.tolist()
    instants = trajectory.flow.phases["instant"].values
    assert [row[1] == "not reached" for row in shown[1:]] == np.isnan(instants).tolist()


def test_flow_of_an_ensemble_shows_how_many_reached_a_phase():
    shown = rows(ensemble().to_dataset().flow._repr_html_())
    assert any(row[1].endswith("2 of 3 members") for row in shown[1:])


def test_flow_of_nothing_shows_a_table_without_rows():
    assert rows(made().to_dataset()[["void_mass"]].flow._repr_html_()) == [["phase", "instant", "definition"]]


@pytest.mark.parametrize("word", ["<b>", "a & b", '"', "</pre>"])
def test_words_are_never_markup(word):
    assert rows(table((word, word), [(word, word)])) == [[word, word], [word, word]]
    assert facts([(word, word)]) == f"<dl><div><dt>{escape(word)}</dt><dd>{escape(word)}</dd></div></dl>"
    assert folded(word, word).count(escape(word)) == 2
