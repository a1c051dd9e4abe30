# make demo   builds the lab and runs site.yml on it
# make test   lint, unit tests, the lab, the end-to-end tests; prints what ran
# make test-api  the modules against a GPUStack server from PyPI; GPUSTACK=2.3.0,2.1.2 chooses the versions
# make device-check  the probe on this machine's real NVIDIA cards: Python's standard library alone, no network; what it
#             saw is stored in recorded/
# make clean  removes what these made
LAB ?= lab
GPUSTACK ?= 2.3.0
# ansible 12 needs Python 3.11 or newer.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
SITE := $(BIN)/ansible-playbook site.yml -i inventories/lab
export LAB GPUSTACK
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Before anything is installed: is there room for a lab?
OWNER := $(PYTHON) lab/owner.py $(LAB) $(CURDIR)

.PHONY: demo owner lab test test-api test-full lint unit device-check clean

demo: owner lab
	$(SITE)

owner:
	@$(OWNER)

lab: owner $(VENV)/.ready
	$(BIN)/ansible-playbook lab/create.yml

test: owner $(VENV)/.ready-dev
	$(BIN)/python tests/run.py

test-api: $(VENV)/.ready-dev
	$(BIN)/python tests/run.py --only api

test-full: owner $(VENV)/.ready-dev
	$(BIN)/python tests/run.py --full

lint: $(VENV)/.ready-dev
	$(BIN)/python tests/run.py --only lint

unit: $(VENV)/.ready-dev
	$(BIN)/python tests/run.py --only unit

device-check:
	$(PYTHON) tools/device_check.py recorded

clean: owner $(VENV)/.ready
	$(BIN)/ansible-playbook lab/destroy.yml
	rm -rf $(VENV) .venv-gpustack .ansible .pytest_cache .ruff_cache tests/output

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: requirements.txt lab/requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r lab/requirements.txt
	touch $@

$(VENV)/.ready-dev: requirements-dev.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@
