"""The tables of verdicts in the pages are those of the runs, and the runs those of the scenarios as they stand."""

from __future__ import annotations

import json

import pytest
from support.scripts import DOCS, script

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="a source distribution comes without the docs")


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """The script over a folder of its own"""
    module = script("verdicts")
    page = tmp_path / "papers" / "min_vidal_2025.md"
    page.parent.mkdir()
    page.write_text(
        "before\n<!-- verdicts: fig4 -->\nformer\n<!-- /verdicts -->\nafter\n<!-- counts -->\n<!-- /counts -->\n"
    )
    monkeypatch.setattr(module, "DOCS", tmp_path)
    monkeypatch.setattr(module, "KEPT", tmp_path / "verdicts")
    return module, page


def found(verdict: str) -> dict[str, object]:
    row = {"verdict": verdict, "measured": 0.125, "prediction": "at most 1", "note": ""}
    return {"claims": {"min_vidal_2025.lemma_8": row}}


def test_what_a_run_says_stands_in_the_table(verdicts):
    module, page = verdicts
    module.keep("min_vidal_2025/fig4", found("holds"))
    text = module.written(page)
    assert "| `lemma_8` | at most 1 | holds 0.125 |\n" in text
    assert "former" not in text
    assert text.startswith("before\n<!-- verdicts: fig4 -->\n| claim |")
    assert "<!-- /verdicts -->\nafter\n" in text
    assert "| `min_vidal_2025` | " in text
    page.write_text(text)
    assert module.written(page) == text


def test_what_is_out_of_date_is_named(verdicts, monkeypatch):
    module, page = verdicts
    monkeypatch.setattr(module, "claimed", lambda: {"min_vidal_2025/fig4": module.find("min_vidal_2025/fig4")})
    assert [line.partition(":")[0] for line in module.stale()] == ["min_vidal_2025/fig4", "papers/min_vidal_2025.md"]
    module.keep("min_vidal_2025/fig4", found("holds"))
    page.write_text(module.written(page))
    assert list(module.stale()) == []
    module.keep("min_vidal_2025/fig4", found("fails"))
    assert [line.partition(":")[0] for line in module.stale()] == ["papers/min_vidal_2025.md"]
    file = module.KEPT / "min_vidal_2025.json"
    file.write_text(file.read_text().replace(json.loads(file.read_text())["fig4"]["sha256"], "another"))
    page.write_text(module.written(page))
    assert [line.partition(":")[0] for line in module.stale()] == ["min_vidal_2025/fig4"]


def test_the_tables_of_the_pages_are_those_of_the_runs():
    module = script("verdicts")
    assert [page.name for page in module.pages() if module.written(page) != page.read_text(encoding="utf-8")] == []
