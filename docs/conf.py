"""Configuration of the Sphinx site; the reference tables are written by _generate.py at the start of a build."""

import inspect
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "packaging"))

import _generate
from addresses import addresses
from sphinx.util.inspect import signature as sphinx_signature
from sphinx.util.inspect import stringify_signature

import flowsim

project = "flowsim"
release = version = flowsim.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "sphinx_design"]
# what is generated is included by a page, not a page itself; jupyter_execute has the notebooks as they ran, to download
exclude_patterns = ["benchmarks", "_build", "generated", "jupyter_execute"]
templates_path = ["templates"]
html_theme = "furo"
html_title = "flowsim"
html_baseurl = addresses(Path(__file__).parents[1]).get("documentation", "")
smartquotes = False  # TOML strings are quoted straight
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 4
myst_substitutions = _generate.constants()

# The tutorials are notebooks, run at each build; a cell that raises ends it.
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
# Kernels are those of docs/jupyter, which say nothing but errors.
os.environ["JUPYTER_PATH"] = str(Path(__file__).parent / "jupyter")
logging.getLogger("traitlets").setLevel(logging.WARNING)
nb_output_stderr = "remove"  # bars and notes of compiling
nb_merge_streams = True

# A page for each name in api.md, from docs/templates/autosummary.
autosummary_context = {"shown": _generate.MEMBERS, "packages": _generate.PACKAGES}
autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Floats", "Integers")}


def setup(app):
    app.connect("builder-inited", lambda app: _generate.write(Path(app.srcdir) / "generated"))
    app.connect("autodoc-process-docstring", _words_of_function)
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("autodoc-process-signature", _arguments)


def _words_of_function(app, what, name, obj, options, lines):
    """A package that is its own function has the contract of the function."""
    if name in _generate.PACKAGES:
        lines[:] = [*inspect.getdoc(type(obj).__call__).splitlines(), ""]


def _escape_bars(app, what, name, obj, options, lines):
    """In a docstring |w| is a norm; reStructuredText would take it for a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def _arguments(app, what, name, obj, options, signature, returns):
    """Of what is called otherwise than it seems: a package that is its own function, and classes that nobody makes by hand.

    Of a Scenario, pydantic's signature lists all sections with all their kinds.
    """
    if name in _generate.PACKAGES and signature:
        return stringify_signature(sphinx_signature(type(obj).__call__)), ""
    by_hand = name.removeprefix("flowsim.") in _generate.CONSTRUCTED
    if not signature or by_hand or what not in ("class", "exception"):
        return None
    return "(values)" if obj is flowsim.Scenario else "", ""
