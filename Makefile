# The menu. Every target sets up what it needs; `make` alone lists them.

CARGO   ?= cargo
TARGET  := $(abspath target)
export DORMOUSE_DATA   ?= $(abspath ../shared/data)
export DORMOUSE_PYTHON ?= $(TARGET)/venv/bin/python

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Record a board, explain, predict, tune, and let a real kernel confirm
	@tools/setup rust
	@tools/demo

.PHONY: build
build: web ## Build the dormouse command (target/release/dormouse)
	@tools/setup rust
	$(CARGO) build --release -p dormouse --features parquet,mcp

.PHONY: test
test: ## Format, lint, every quick test, one kernel in the laboratory; times at the end
	@tools/setup test
	@tools/test

.PHONY: prove
prove: ## Everything that takes longer, or SUBJECT="cases apply"; tables in docs/validation
	@tools/prove $(SUBJECT)

.PHONY: lint
lint: ## Formatting and clippy, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

.PHONY: bench
bench: ## Print speed, instructions per line, ratio to sleepgraph
	@tools/setup bench
	@tools/bench

.PHONY: fuzz
fuzz: ## Fuzz every reader (MINUTES=1 per target)
	@tools/setup fuzz
	@fuzz/run.sh $(MINUTES)

.PHONY: tables
tables: ## Make docs/published-tables.md: published figures beside predictions
	@tools/setup rust
	$(CARGO) run -q --release -p xtask -- tables

.PHONY: static
static: web guest ## Static binaries for x86_64 and aarch64 (target/static/)
	@tools/setup static
	@tools/static

.PHONY: release
release: static page ## Archives, .deb, .rpm, PKGBUILD, wheels, page, bill of materials, checksums (target/release-VERSION/)
	@tools/setup release
	@tools/release

.PHONY: wheel
wheel: web ## The package for Python (target/wheels/)
	@tools/setup rust
	@tools/wheel

.PHONY: web
web: ## Build the page of the report (web/dist)
	@tools/setup web
	@tools/web

.PHONY: page
page: ## Build the page that reads logs in a browser (target/page/dormouse.html)
	@tools/setup page
	@tools/page

.PHONY: guest
guest: ## Build what runs inside the laboratory's guests
	@tools/setup lab
	@tools/guest

.PHONY: setup
setup: ## Install what building and testing need (with apt where allowed)
	@tools/setup
