# The project's entry points. `make demo` and `make test` need Python 3.11 or later and nothing else: each makes the
# environment it runs in. The stamps mean that packages are installed again only when pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
SITE := .venvs/site
SPARK := .venvs/spark
API := .venvs/api
EXAMPLES ?= 8
WORKERS ?= auto
comma := ,
BUNDLE := tools/bundle
ASSETS := src/privet/server/pages/assets

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-spark test-api bundle test-bundle lint docs notebooks outputs wheel bench corpus mutants house soak clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 16

demo: $(VENV)/.for-use ## ask a made-up hospital questions
	@$(RUN)/privet demo --picture demo-out/flu.png

test: $(VENV)/.for-work ## run every test
	@$(RUN)/python -m pytest -q -n $(WORKERS)

test-browser: $(VENV)/.for-work ## try the survey's page and the server's pages in Chromium (skipped where there is none)
	@! command -v npm >/dev/null || $(MAKE) --no-print-directory $(BUNDLE)/node_modules/.installed || echo "axe-core cannot be installed: its tests are skipped"
	@PRIVET_BROWSER=1 $(RUN)/python -m pytest -q -rs tests/browser

bundle: $(BUNDLE)/node_modules/.installed ## build the scripts of the server's pages into the package (needs Node)
	@cd $(BUNDLE) && node build.mjs ../../$(ASSETS)

test-bundle: $(BUNDLE)/node_modules/.installed ## check that the committed scripts are what their sources build, byte for byte
	@rm -rf build/bundle && mkdir -p build/bundle && cd $(BUNDLE) && node build.mjs ../../build/bundle
	@for one in privet.js LICENSES.txt; do cmp build/bundle/$$one $(ASSETS)/$$one || { echo "run: make bundle"; exit 1; }; done
	@! grep -q '"resolved"' $(BUNDLE)/package-lock.json || { echo "package-lock.json names addresses: remove its resolved fields"; exit 1; }

$(BUNDLE)/node_modules/.installed: $(BUNDLE)/package.json $(BUNDLE)/package-lock.json
	@cd $(BUNDLE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

test-spark: $(SPARK)/.installed ## compare the Spark engine with the others, in an environment of its own (needs Java 17)
	@PRIVET_SPARK=1 PYTHONPATH=src $(SPARK)/bin/python -m pytest -q tests/spark $(ONLY)

test-api: $(VENV)/.for-work $(API)/.installed ## send requests made from the API's description to a throw-away server (EXAMPLES=8)
	@$(RUN)/python tools/api_check.py $(abspath $(API))/bin/schemathesis $(EXAMPLES)

lint: $(VENV)/.for-work ## check style, format and types
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

docs: $(SITE)/.installed ## build the documentation as a site, with warnings as errors
	@$(SITE)/bin/python tools/site.py

notebooks: $(SITE)/.installed ## run the notebooks and keep their outputs
	@$(SITE)/bin/python tools/notebooks.py $(ONLY)

outputs: $(VENV)/.for-work ## write the outputs that pages show anew (ONLY="README.md docs/plots.md")
	@$(RUN)/python tests/docs/running_pages.py $(or $(ONLY),$(shell grep -rlE '^```(output|console)' README.md docs --include=*.md))
	@$(RUN)/python tools/recording.py

wheel: ## build a wheel and try it in empty environments, alone and with each extra
	@$(PYTHON) tools/wheel.py

bench: $(VENV)/.for-work ## measure Privet beside its peers (installs them under .venvs)
	@$(RUN)/python benchmarks/run.py $(BENCH)

corpus: $(VENV)/.for-work ## ask the questions of tests/corpus and compare with plain DuckDB (ONLY="3 tpch", VERBOSE=1)
	@$(RUN)/python tests/corpus/run.py $(ONLY) $(if $(VERBOSE),--verbose)

mutants: $(VENV)/.for-work ## break the code on purpose and see that some test fails (ONLY="ledger planner", CHANGED=1, LIMIT=minutes)
	@$(RUN)/python tests/mutants/run.py $(ONLY) $(if $(CHANGED),--changed) $(if $(LIMIT),--limit $(LIMIT)) $(if $(SEED),--seed $(SEED))

house: $(VENV)/.for-work ## print figures about the code base
	@$(RUN)/python tools/house.py

soak: $(VENV)/.for-work ## ask thousands of random questions; enumerate random events; ask the demo's 400 times; kill processes that share a ledger; flip every bit of one; try hostile values on every parameter
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q tests/laws/test_random_questions.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q tests/laws/test_engine_facts.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/laws/test_complete_values.py tests/laws/test_extreme_bounds.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/laws/test_exact_costs.py
	@PRIVET_SOAK=1000 $(MAKE) test-spark
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/statistical/test_demo_coverage.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/unit/local/test_heavy_hitters.py tests/unit/local/test_hostile_reports.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/statistical/test_local_coverage.py tests/golden/test_reference_local.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/unit/accounting/test_shuffled.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/adversarial/test_ledger_crashes.py tests/adversarial/test_ledger_tampering.py tests/adversarial/test_postgres_crashes.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/adversarial/test_server_kills.py tests/adversarial/test_server_load.py tests/adversarial/test_server_hostile_sql.py tests/adversarial/test_server_fuzz.py
	@PRIVET_SOAK=1000 $(RUN)/python -m pytest -q -s tests/conformance/test_hostile_parameters.py tests/conformance/test_hostile_options.py tests/conformance/test_hostile_keys.py

clean: ## remove environments and caches
	rm -rf $(VENV) .venvs .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.for-use: pyproject.toml | $(RUN)/python
	@$(call install,$(VENV),.[plot])
	@touch $@

$(VENV)/.for-work: pyproject.toml | $(RUN)/python
	@$(call install,$(VENV),.[dev])
	@touch $@

# Sphinx and Jupyter stay out of the environment that tests run in.
$(SITE)/.installed: pyproject.toml
	@test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	@$(call install,$(SITE),.[docs$(comma)notebook])
	@touch $@

# Spark is large, and has no place where everything else is tested.
$(SPARK)/.installed: pyproject.toml
	@test -x $(SPARK)/bin/python || $(PYTHON) -m venv $(SPARK)
	@$(call install,$(SPARK),.[spark-local])
	@$(SPARK)/bin/python -m pip install --quiet 'pytest>=8' 'hypothesis>=6.100' 'deltalake>=1.0' 'pyiceberg[pyarrow,sql-sqlite]>=0.9'
	@touch $@

# schemathesis brings much along that nothing else needs.
$(API)/.installed: Makefile
	@test -x $(API)/bin/python || $(PYTHON) -m venv $(API)
	@$(API)/bin/python -m pip install --quiet 'schemathesis>=4.30,<5'
	@touch $@

$(RUN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Privet needs Python 3.11 or later; set PYTHON=")'
	@$(PYTHON) -m venv $(VENV)

# uv reads the same pyproject.toml and is only faster.
define install
if command -v uv >/dev/null 2>&1; \
then uv pip install --quiet --python $(1)/bin/python --editable '$(2)'; \
else $(1)/bin/python -m pip install --quiet --editable '$(2)'; fi
endef
