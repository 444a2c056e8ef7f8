PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO := build/demo

.PHONY: demo test test-papers test-rounding test-install lint docs bench clean

demo: $(VENV)/.flowsim ## the quickstart scenario, end to end
	mkdir -p $(DEMO)
	$(BIN)/flowsim run scenarios/quickstart.toml -o $(DEMO)/quickstart.nc --overwrite
	$(BIN)/python -c "import xarray; print(xarray.open_dataset('$(DEMO)/quickstart.nc'))"
	@echo "the results are in $(DEMO)/quickstart.nc; look again with: $(BIN)/flowsim show $(DEMO)/quickstart.nc"

test: $(VENV)/.dev ## all tests but the long ones
	$(BIN)/python -m pytest -n auto

test-papers: $(VENV)/.dev ## the long ones: the papers at full size, searches of every kind, processes that are killed
	$(BIN)/python -m pytest -n auto -m papers

test-rounding: $(VENV)/.dev ## all tests as other processors round; ROUNDING="--short nehalem" for a choice
	$(BIN)/python tests/rounding.py $(ROUNDING)

test-install: $(VENV)/.dev ## the wheel, in a clean environment of each Python that this machine has
	$(BIN)/python tests/install.py

lint: $(VENV)/.dev ## style, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs ## the site, in docs/_build
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build
	@echo docs/_build/index.html

bench: $(VENV)/.bench ## flowsim beside its peers, in one run
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/peers.py --scale 1e-12 --time 900
	$(BIN)/python benchmarks/ladder.py
	$(BIN)/python benchmarks/clarke.py
	$(BIN)/python benchmarks/ensembles.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/profile_evaluation.py

clean:
	rm -rf $(VENV) build docs/_build docs/api docs/generated docs/jupyter_execute

# One stamp for each set of dependencies; they are renewed when what they are made from changes.
$(VENV)/bin/python:
	$(PYTHON) -c "import sys; assert sys.version_info >= (3, 11), 'flowsim needs Python 3.11 or newer, this is ' + sys.version"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.flowsim: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP_INSTALL) -e .
	touch $@

$(VENV)/.dev $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: $(VENV)/.flowsim
	$(PIP_INSTALL) -e ".[$*]"
	touch $@
