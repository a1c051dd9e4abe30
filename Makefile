# make demo   builds the lab and runs site.yml on it
# make test   lint, unit tests, the lab, the end-to-end tests; prints what ran
# make clean  removes what the two made
LAB ?= lab
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
SITE := $(BIN)/ansible-playbook site.yml -i inventories/lab
export LAB
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo lab test test-full lint unit clean

demo: lab
	$(SITE)

lab: $(VENV)/.ready
	$(BIN)/ansible-playbook lab/create.yml

test: $(VENV)/.ready-dev
	$(BIN)/python tests/run.py

test-full: $(VENV)/.ready-dev
	$(BIN)/python tests/run.py --full

lint: $(VENV)/.ready-dev
	$(BIN)/python tests/run.py --only lint

unit: $(VENV)/.ready-dev
	$(BIN)/python tests/run.py --only unit

clean: $(VENV)/.ready
	$(BIN)/ansible-playbook lab/destroy.yml
	rm -rf $(VENV) .ansible .pytest_cache .ruff_cache tests/output

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: requirements.txt lab/requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r lab/requirements.txt
	touch $@

$(VENV)/.ready-dev: requirements-dev.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@
