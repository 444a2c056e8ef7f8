"""Configuration of the Sphinx site; the reference tables are written by _generate.py at the start of a build."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import _generate

import flowsim

project = "flowsim"
release = version = flowsim.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
exclude_patterns = ["benchmarks", "_build", "generated"]  # what is generated is included by a page, not a page itself
html_theme = "furo"
html_title = "flowsim"
smartquotes = False  # TOML strings are quoted straight
default_role = "code"

myst_enable_extensions = ["deflist", "dollarmath", "substitution"]
myst_heading_anchors = 4
myst_substitutions = _generate.constants()

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Floats", "Integers")}


def setup(app):
    app.connect("builder-inited", lambda app: _generate.write(Path(app.srcdir) / "generated"))
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("autodoc-process-signature", _hide_constructors)


def _escape_bars(app, what, name, obj, options, lines):
    """In a docstring |w| is a norm; reStructuredText would take it for a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def _hide_constructors(app, what, name, obj, options, signature, returns):
    """Nobody makes a Scenario, a Problem or an error by hand."""
    return ("", "") if signature and what in ("class", "exception") else None
