"""The tables of verdicts in the pages are those of the runs, and the runs those of the scenarios as they stand."""

from __future__ import annotations

import json

import pytest
from support.scripts import DOCS, script

from flowsim.evaluate.claim import CLAIMS, selected

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="a source distribution comes without the docs")


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """The script over a folder of its own"""
    module = script("verdicts")
    page = tmp_path / "papers" / "min_vidal_2025.md"
    page.parent.mkdir()
    page.write_text(
        "before\n<!-- verdicts: fig4 -->\nformer\n<!-- /verdicts -->\nafter\n<!-- counts -->\n<!-- /counts -->\n"
        "<!-- scenarios -->\n<!-- /scenarios -->\n"
    )
    monkeypatch.setattr(module, "DOCS", tmp_path)
    monkeypatch.setattr(module, "KEPT", tmp_path / "verdicts")
    return module, page


def found(verdict: str) -> dict[str, object]:
    row = {"verdict": verdict, "measured": 0.125, "prediction": "at most 1", "note": ""}
    others = [name for name in selected(CLAIMS, ["min_vidal_2025"]) if name != "min_vidal_2025.lemma_8"]
    return {"claims": {"min_vidal_2025.lemma_8": row}, "silent": others}


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


def test_some_claims_can_be_asked_again_beside_what_is_kept_of_the_others(verdicts):
    module, _ = verdicts
    again = {"claims": {"min_vidal_2025.lemma_9": found("fails")["claims"]["min_vidal_2025.lemma_8"]}, "silent": []}
    with pytest.raises(SystemExit, match="all together"):
        module.keep("min_vidal_2025/fig4", again, some=True)
    module.keep("min_vidal_2025/fig4", found("holds"))
    module.keep("min_vidal_2025/fig4", again, some=True)
    kept = module.kept("min_vidal_2025")["fig4"]
    told = {name: row["verdict"] for name, row in kept["claims"].items()}
    assert told == {"min_vidal_2025.lemma_8": "holds", "min_vidal_2025.lemma_9": "fails"}
    assert "min_vidal_2025.lemma_9" not in kept["silent"]
    assert len(kept["silent"]) == len(found("holds")["silent"]) - 1


def test_all_scenarios_of_a_paper_are_listed_with_what_fails_there(verdicts):
    module, page = verdicts
    module.keep("min_vidal_2025/fig4", found("fails"))
    text = module.written(page)
    assert "| `fig4` | 0 | 1 | 0 | 0 | 0 | `lemma_8` |\n" in text
    assert "| `theorem1` | — | — | — | — | — | has not run |\n" in text
    assert "li_2025" not in text.partition("<!-- scenarios -->")[2]


def test_what_is_out_of_date_is_named(verdicts, monkeypatch):
    module, page = verdicts
    monkeypatch.setattr(module, "claimed", lambda: {"min_vidal_2025/fig4": module.find("min_vidal_2025/fig4")})
    assert [line.partition(":")[0] for line in module.stale()] == ["min_vidal_2025/fig4", "papers/min_vidal_2025.md"]
    module.keep("min_vidal_2025/fig4", found("holds"))
    page.write_text(module.written(page))
    assert list(module.stale()) == []
    module.keep("min_vidal_2025/fig4", found("fails"))
    assert [line.partition(":")[0] for line in module.stale()] == ["papers/min_vidal_2025.md"]
    page.write_text(module.written(page))
    more = {**CLAIMS, "min_vidal_2025.lemma_99": CLAIMS["min_vidal_2025.lemma_8"]}
    with monkeypatch.context() as patch:
        patch.setattr(module, "CLAIMS", more)
        assert "came or went (min_vidal_2025.lemma_99)" in next(module.stale())
    file = module.KEPT / "min_vidal_2025.json"
    file.write_text(file.read_text().replace(json.loads(file.read_text())["fig4"]["sha256"], "another"))
    page.write_text(module.written(page))
    assert [line.partition(":")[0] for line in module.stale()] == ["min_vidal_2025/fig4"]


def test_the_tables_of_the_pages_are_those_of_the_runs():
    module = script("verdicts")
    assert [page.name for page in module.pages() if module.written(page) != page.read_text(encoding="utf-8")] == []
