# The menu. Every target sets up what it needs; `make` alone lists them.

CARGO   ?= cargo
PROFILE ?= release
TARGET  := $(abspath target)
VENV    := $(TARGET)/venv
export DORMOUSE_DATA   ?= $(abspath ../shared/data)
export DORMOUSE_PYTHON ?= $(VENV)/bin/python

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what building and testing need (with apt where allowed)
	@tools/setup

.PHONY: build
build: web ## Build the dormouse command (target/release/dormouse)
	@tools/setup rust
	$(CARGO) build --release -p dormouse --features parquet

.PHONY: web
web: ## Build the page of the report (web/dist/page.html)
	@tools/setup web
	@tools/web

.PHONY: report-demo
report-demo: build ## Reports of every capture, with sizes and times measured in a browser
	@tools/setup web browser
	@tools/report-demo

.PHONY: pictures
pictures: build ## Make the pictures of docs/images again
	@tools/setup web browser
	target/release/dormouse report captures/laptop-6.12.tar.gz -o target/laptop-6.12.html
	cd web && node test.mjs pictures ../target/laptop-6.12.html ../docs/images

.PHONY: demo
demo: ## Record a board, explain, predict, tune, and let a real kernel confirm
	@tools/setup rust
	@tools/demo

.PHONY: test
test: ## Format, lint, every test, one kernel in the laboratory; times at the end
	@tools/setup
	@tools/test

.PHONY: prove
prove: guest ## What takes longer: every kernel and board, tables kept in docs/validation (SUBJECT=cases)
	@tools/setup static
	@tools/prove $(SUBJECT)

.PHONY: lint
lint: ## Formatting and clippy, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

.PHONY: bench
bench: ## Print speed, instructions per line, ratio to sleepgraph
	@tools/setup bench
	@tools/bench

.PHONY: accuracy
accuracy: guest ## Run boards on kernels and judge predictions of them (SEED=1 BOARDS=5 CYCLES=4)
	$(CARGO) build -q --release -p dormouse -p xtask
	@tools/accuracy

.PHONY: doctor
doctor: guest ## Hold the doctor against judged logs, and against guests that are wrong in one way (docs/validation)
	@tools/setup static
	@tools/prove doctor doctor-lab doctor-boards

.PHONY: truth
truth: guest ## Hold what is inferred of kernel logs against machines that are known in full
	$(CARGO) build -q --release -p dormouse -p xtask
	@tools/truth

.PHONY: schedulers
schedulers: guest ## The readiness scheduler beside the kernel's own walk, on real kernels
	@kept=0; tools/schedulers || kept=$$?; echo; tools/schedulers --variants || kept=$$?; exit $$kept

.PHONY: counts
counts: guest ## Workers, waits and wake-ups: the kernel's own count beside the predicted one
	$(CARGO) build -q --release -p dormouse -p xtask
	@tools/counts

.PHONY: decide
decide: guest ## Tune and plan boards, and judge that on real kernels (SEED=1 BOARDS=20 BOOTS=3)
	$(CARGO) build -q --release -p dormouse -p xtask
	@tools/decide

.PHONY: reality
reality: ## Simulate every recorded log as it was: docs/validation/reality.md
	@tools/setup rust
	@mkdir -p docs/validation
	$(CARGO) run -q --release -p xtask -- reality -o docs/validation/reality.md

.PHONY: tables
tables: ## Make docs/published-tables.md: published figures beside predictions
	@tools/setup rust
	$(CARGO) run -q --release -p xtask -- tables

.PHONY: idle-tables
idle-tables: ## Idle states of recorded machines: docs/validation/idle.md
	@tools/setup rust
	@mkdir -p docs/validation
	$(CARGO) build -q --release -p dormouse
	@tools/idle-tables >docs/validation/idle.md

.PHONY: storage-tables
storage-tables: ## All tables of storage, those of guests too (hours): docs/validation
	@tools/setup rust
	@tools/prove storage storage-loads storage-devices storage-tune published-storage fqos

.PHONY: checkpatch
checkpatch: ## The kernel's own checkpatch.pl over our modules for storage
	@tools/checkpatch

.PHONY: fuzz
fuzz: ## Fuzz every reader (MINUTES=1 per target)
	@tools/setup fuzz
	@fuzz/run.sh $(MINUTES)

.PHONY: static
static: web ## Static binaries for x86_64 and aarch64 (target/static/)
	@tools/setup static
	@tools/static

.PHONY: guest
guest: ## Build what runs inside the laboratory's guests
	@tools/setup lab
	$(CARGO) build --profile guest --target x86_64-unknown-linux-musl -p dormouse-lab --bin dormouse-guest

.PHONY: lab-cases
lab-cases: guest ## Boot 6.12: worked cases, repeatability, overhead, replays (make prove: every kernel)
	$(CARGO) test -q -p dormouse-lab --test all -- --ignored --nocapture --test-threads=1 --skip arm64 6_12 ten_thousand repeat::
	DORMOUSE_SERIES=6.12 $(CARGO) test -q -p dormouse --test all -- --ignored --nocapture replay::

.PHONY: lab-verify
lab-verify: guest ## Let a real kernel confirm what tune predicts
	$(CARGO) test -q -p dormouse --test all -- --ignored --nocapture --test-threads=1 decide:: handover::

.PHONY: guest-arm64
guest-arm64: ## Build what runs inside the laboratory's arm64 guests
	@tools/setup arm64
	@CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
		$(CARGO) build -q --profile guest --target aarch64-unknown-linux-musl -p dormouse-lab --bin dormouse-guest

.PHONY: lab-arm64
lab-arm64: guest-arm64 ## Check the worked cases on an arm64 guest
	$(CARGO) test -q -p dormouse-lab --test all -- --ignored --nocapture arm64

.PHONY: lab-repeat
lab-repeat: guest build ## Boot each kernel ten times and count recordings that differ
	@tools/lab-repeat $(BOOTS)

.PHONY: record-guest
record-guest: ## Kill the recorder at every step of a sleep in a guest, and restore
	@tools/setup static lab
	@tools/check-restore $(or $(KERNEL),6.12)

.PHONY: apply-guest
apply-guest: ## Let tune --apply loose on boards in a guest, and kill it (KERNEL=6.12)
	@tools/setup static lab
	@tools/check-apply $(or $(KERNEL),6.12)
