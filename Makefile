# make run   starts the dashboard, make class for phones in the same network; make test   checks everything. Each makes the virtual environment it needs.
PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 8501
BIN     = $(VENV)/bin
# Streamlit, BLAS and the test workers would otherwise fight for the same cores.
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Where this is set, every server and every command that a test starts compiles all sources again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: lock sbom release run class test lint types unit browser soak format clean screenshots versions docs

run: $(VENV)/.run-ready
	$(BIN)/streamlit run app.py --server.port $(PORT)

# Nobody can spend anything: no tables, no Release, no Ledger.
class: $(VENV)/.run-ready
	DPCI_PUBLIC_DEMO=1 DPCI_HOSTS='*' $(BIN)/streamlit run app.py --server.port $(PORT) --server.address 0.0.0.0

# Types are checked beside the unit tests, which do not fill both cores all the time.
test: lint
	$(MAKE) --jobs 2 types unit
	$(MAKE) browser

lint: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev-ready
	$(BIN)/mypy

unit: $(VENV)/.dev-ready
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m "not soak and not browser"

# Back and forward race with whatever else the machine does, so they come alone and first.
browser: $(VENV)/.dev-ready
	$(ONE_THREAD) $(BIN)/pytest -m "browser and not soak" tests/browser/test_back.py
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m "browser and not soak" tests/browser --ignore tests/browser/test_back.py

soak: $(VENV)/.dev-ready
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m soak --soak-log docs/soak.json

docs: $(VENV)/.dev-ready
	$(BIN)/python -m docs.site

# Needs the package index, so it is not part of the tests.
versions: $(VENV)/.dev-ready
	$(ONE_THREAD) $(BIN)/python -m tests.versions --write

# What the container installs: what the tests ran with, with hashes. These two need the package index.
lock: $(VENV)/.dev-ready
	$(BIN)/pip install --quiet --disable-pip-version-check "uv>=0.9,<1"
	$(BIN)/pip freeze --quiet --exclude-editable --exclude uv > $(VENV)/tested.txt
	printf -- '-r requirements.txt\nstreamlit[auth]\npip-licenses>=5,<6\n' | $(BIN)/uv pip compile - --quiet --upgrade --universal \
	  --constraint $(VENV)/tested.txt --python-version 3.11 --generate-hashes --no-annotate \
	  --custom-compile-command "make lock" -o requirements.lock

sbom: requirements.lock | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check "cyclonedx-bom>=7,<8"
	$(BIN)/cyclonedx-py requirements requirements.lock --output-reproducible --of JSON -o sbom.cdx.json

# Wheel and source distribution in build/dist, installed and used as a stranger would. Needs the package index.
release: $(VENV)/.dev-ready
	$(BIN)/python -m tests.distribution

screenshots: $(VENV)/.dev-ready
	$(BIN)/python -m tests.browser.screenshots

format: $(VENV)/.dev-ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-ready: requirements.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.dev-ready: requirements.txt requirements-dev.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@ $(VENV)/.run-ready

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache
