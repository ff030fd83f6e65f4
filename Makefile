# The two commands of the README, and the longer runs behind them. Everything a target needs, it installs itself.

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
BENCH_VENV := bench/.venv
UV := 0.13.7
RAY := 2.60.0
ENGINES := duckdb==2.0.0 dask[dataframe]==2026.8.0 distributed==2026.8.0 pyspark==4.3.0 ray[data]==$(RAY)
PROPOSERS := pysindy==2.1.0 pyoperon==0.6.2
MCP := 2.3.0
CONFORMANCE := 0.1.16
# The suite needs a newer Node than most machines have.
NODE := 22.23.3
SCENARIOS := server-initialize ping tools-list resources-list completion-complete prompts-list dns-rebinding-protection \
	server-sse-multiple-streams server-sse-polling
OUT := out
# Two workers; a file's tests stay together, some build on each other. The order is that of tests/python/conftest.py.
PYTEST := $(VENV)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
# Numbers that our loops or PyTorch's compute.
LEVELS := bands classic_fits fit fx_generated fx_hand_coded fx_module fx_operations fx_programs fx_spec fx_special likelihood \
	many_inputs native_ulp numpy odeint odeint_stiff onnx root sklearn torch_agrees torch_module torch_operations
LEVEL_TESTS := $(LEVELS:%=tests/python/test_%.py)
# Without AVX-512 the other tests have run at the level below already, PyTorch's too.
AVX512 := $(shell grep -qw avx512f /proc/cpuinfo && echo yes)
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
TARGET = $$($(CARGO) metadata --locked --no-deps --format-version 1 | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
# Any Linux with glibc 2.34 (2021) or newer.
MANYLINUX := manylinux_2_34
CRATES := neural-compiler neural-compiler-fit neural-compiler-library neural-compiler-math neural-compiler-render

.PHONY: help demo test rust-test python-test test-load test-levels test-matrix test-ray test-engines test-proposers test-mcp \
	mcp-conformance deps lint docs wheel build-cost accuracy accuracy-quick fuzz soak valgrind bench-compile bench-env bench \
	bench-quick bench-linear bench-memory fits experiments experiments-check clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: ## build (without Parquet, two fifths of a first build), then compile, run, differentiate and draw a bundled model
	$(CARGO) build --release --locked -p neuralc --no-default-features
	./examples/demo.sh "$(TARGET)/release/neuralc" $(OUT)

test: rust-test python-test test-levels experiments-check ## every test, Rust and Python, and the paper's experiments in quick mode

rust-test: deps ## Rust: spec examples, generated programs, fuzzing, Guile and multiprecision oracles
	$(CARGO) test --locked --workspace --quiet
	$(CARGO) test --locked -p neuralc --no-default-features --quiet --test without_parquet

test-load: deps ## the tests of Python ten times beside processes that want every core (hours)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	$(VENV)/bin/python tools/under_load.py

python-test: deps ## the Python package: NumPy, PyTorch, notebooks, doctests
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	$(PYTEST)

test-levels: deps ## what touches the processor, as on one without AVX-512 and as on one with neither it nor AVX2
	$(if $(AVX512),NEURAL_COMPILER_LEVEL=avx2 $(CARGO) test --locked --workspace --quiet --test conformance --test lanes --test jit \
		--test special)
	NEURAL_COMPILER_LEVEL=baseline $(CARGO) test --locked --workspace --quiet --test conformance --test lanes --test special
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	$(if $(AVX512),NEURAL_COMPILER_LEVEL=avx2 ATEN_CPU_CAPABILITY=avx2 $(PYTEST) $(LEVEL_TESTS))
	NEURAL_COMPILER_LEVEL=baseline ATEN_CPU_CAPABILITY=default $(PYTEST) $(LEVEL_TESTS)

test-matrix: deps ## every way PyTorch runs a program times every derivative (ten minutes or so)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	NEURAL_COMPILER_FULL_MATRIX=1 $(VENV)/bin/python -m pytest -n 2 tests/python/test_torch_matrix.py

test-ray: deps ## actors of Ray, which is installed for them alone (about 200 MB)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	$(VENV)/bin/uv pip install --quiet --target $(OUT)/ray ray==$(RAY)
	PYTHONPATH=$(CURDIR)/$(OUT)/ray:$(CURDIR)/tests/ray $(VENV)/bin/python -m pytest tests/ray

test-engines: deps ## programs inside Dask, DuckDB, Ray and Spark, which are installed for this alone (about 1 GB; Spark needs Java 17)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	$(VENV)/bin/uv pip install --quiet --target $(OUT)/engines $(ENGINES)
	PYTHONPATH=$(CURDIR)/$(OUT)/engines:$(CURDIR)/tests/engines PYSPARK_PYTHON=$(CURDIR)/$(VENV)/bin/python \
		$(VENV)/bin/python -m pytest tests/engines

test-proposers: deps ## PySINDy and Operon as proposers of `refine`, which are installed for this alone (about 400 MB)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	$(VENV)/bin/uv pip install --quiet --target $(OUT)/proposers $(PROPOSERS)
	PYTHONPATH=$(CURDIR)/$(OUT)/proposers $(VENV)/bin/python -m pytest tests/proposers

test-mcp: deps ## sessions of the official client with `neuralc mcp`, in an environment of its own
	$(CARGO) build --locked --quiet -p neuralc
	$(VENV)/bin/uv venv --quiet --allow-existing $(OUT)/mcp
	$(VENV)/bin/uv pip install --quiet --python $(OUT)/mcp/bin/python mcp==$(MCP) pytest
	NEURALC="$(TARGET)/debug/neuralc" $(OUT)/mcp/bin/python -m pytest -c /dev/null --rootdir tests/mcp tests/mcp

mcp-conformance: ## the conformance suite of the Model Context Protocol, from npm: the scenarios that need no test tools of its own
	$(CARGO) build --locked --quiet -p neuralc
	npm install --silent --prefix $(OUT)/conformance @modelcontextprotocol/conformance@$(CONFORMANCE) node@$(NODE)
	$(PYTHON) tools/mcp_conformance.py "$(TARGET)/debug/neuralc" $(OUT)/conformance $(SCENARIOS)

deps: $(VENV)/.ready ## what the tests need: a real Scheme, and a virtual environment (uv keeps PyTorch's large wheel for the next one)
	@command -v guile >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq guile-3.0 >/dev/null; }

$(VENV)/.ready: oracles/requirements.txt python/requirements-test.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet uv==$(UV)
	$(VENV)/bin/uv pip install --quiet --compile-bytecode --python $(VENV)/bin/python --requirement python/requirements-test.txt
	touch $@

lint: deps ## formatting, clippy, ruff, mypy; long lines, links in Markdown, dependencies in two versions or with two sets of features
	$(CARGO) fmt --all --check
	$(VENV)/bin/ruff format --quiet --check
	$(VENV)/bin/ruff check --quiet
	$(VENV)/bin/mypy --no-error-summary
	$(PYTHON) tools/check_text.py
	$(PYTHON) tools/check_features.py
	! $(CARGO) tree --locked --workspace -d -e normal --depth 0 --prefix none \
		| grep -vE '^(cpufeatures|equator|equator-macro|getrandom|syn) |^$$'
	$(CARGO) clippy --locked --workspace --all-targets --quiet -- -D warnings
	$(CARGO) clippy --locked -p neuralc --no-default-features --quiet -- -D warnings

docs: deps ## the documentation as a site: out/site/index.html
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --quiet --no-deps --lib $(CRATES:%=-p %)
	rm -rf $(OUT)/site
	$(VENV)/bin/sphinx-build -q -W --keep-going -j 2 -c docs/site -d $(OUT)/site-cache . $(OUT)/site
	cp -r "$(TARGET)/doc" $(OUT)/site/rust
	$(PYTHON) tools/check_site.py $(OUT)/site

wheel: deps ## library and command for pip: out/wheel, contents and size checked
	rm -rf $(OUT)/wheel
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation \
		-C compatibility=$(MANYLINUX) --wheel-dir $(OUT)/wheel .
	$(VENV)/bin/python tools/check_wheel.py $(OUT)/wheel/*.whl

build-cost: ## processor time of a first build of `make demo` by crate (some minutes), and the size of neuralc
	$(PYTHON) tools/build_cost.py

accuracy: ## measure every elementary function (about 20 minutes) and rewrite docs/accuracy.md
	@command -v m4 >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq m4 >/dev/null; }
	$(CARGO) run --release --locked --manifest-path tools/accuracy/Cargo.toml

accuracy-quick: ## the same on fewer points
	@command -v m4 >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq m4 >/dev/null; }
	$(CARGO) run --release --locked --manifest-path tools/accuracy/Cargo.toml -- --quick

fuzz: ## a million fuzzed inputs
	$(CARGO) run --release --locked -p neural-compiler-fuzz -- --count 1000000

soak: deps ## calls under change, forks, ever new lengths: about half an hour
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked --release
	$(VENV)/bin/python -X dev tools/soak.py

valgrind: deps ## the extension's tests of odd arrays under valgrind
	@command -v valgrind >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq valgrind >/dev/null; }
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	PYTHONMALLOC=malloc NEURAL_COMPILER_JIT=0 valgrind --quiet --error-exitcode=3 --undef-value-errors=no --suppressions=tools/valgrind.supp \
		$(VENV)/bin/python -m pytest -p no:cacheprovider tests/python/test_odd_arrays.py

bench-compile: ## source text to ready program
	$(CARGO) bench --locked -p neural-compiler --bench compile

bench-env: $(BENCH_VENV)/.ready ## what the benchmark compares with, in an environment of its own (6 GB, most of it PyTorch)
	CARGO_TARGET_DIR=bench/target $(CARGO) --config bench/native/.cargo/config.toml build --release --locked --quiet \
		--manifest-path bench/native/Cargo.toml
	CARGO_TARGET_DIR=bench/target $(CARGO) build --release --locked --quiet --manifest-path bench/engine/Cargo.toml
	$(BENCH_VENV)/bin/uv pip install --quiet --python $(BENCH_VENV)/bin/python --no-deps --reinstall .

$(BENCH_VENV)/.ready: bench/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet uv==$(UV)
	$(BENCH_VENV)/bin/uv pip install --quiet --python $(BENCH_VENV)/bin/python --requirement bench/requirements.txt
	touch $@

bench: bench-env ## our engine beside its alternatives (about an hour), then docs/benchmarks.md
	$(BENCH_VENV)/bin/python bench/run.py --out $(OUT)/bench --dtypes float32,float64 --threads 1
	$(BENCH_VENV)/bin/python bench/run.py --out $(OUT)/bench/threads --threads all
	$(BENCH_VENV)/bin/python bench/run.py --out $(OUT)/bench --suite scaling --threads 1
	$(BENCH_VENV)/bin/python bench/run.py --out $(OUT)/bench --suite module --threads 1
	$(BENCH_VENV)/bin/python bench/run.py --out $(OUT)/bench --suite hybrid --threads 1
	$(BENCH_VENV)/bin/python bench/run.py --out $(OUT)/bench --suite fit --threads 1
	$(MAKE) bench-memory
	$(BENCH_VENV)/bin/python bench/report.py $(OUT)/bench

bench-quick: bench-env ## the same on one thread with fewer rounds and without the largest batch
	$(BENCH_VENV)/bin/python bench/run.py --out $(OUT)/bench-quick --quick --threads 1 --batches 1,10000

bench-linear: deps ## linear algebra beside PyTorch (about ten minutes), then docs/linear-algebra.md
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked --release
	$(VENV)/bin/python bench/run.py --out $(OUT)/linear --suite linear --threads 1 --dtypes float32,float64
	$(VENV)/bin/python bench/report.py $(OUT)/linear

bench-memory: ## peak memory of `neuralc eval` for files of 10^5 to 5*10^6 rows
	$(CARGO) build --release --locked --quiet -p neuralc
	$(PYTHON) bench/eval_memory.py "$(TARGET)/release/neuralc" --json $(OUT)/bench/memory.json

fits: deps ## classic fits beside SciPy (about five minutes), then docs/fits.md
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked --release
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m bench.classics

experiments: deps ## the paper's experiments in full (under three hours on two cores), held to expected.json, then docs/results.md
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked --release
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m experiments --check --silent --out $(OUT)/experiments
	$(VENV)/bin/python -m experiments.results --out $(OUT)/experiments

experiments-check: deps ## the same in minutes: every row runs, what must be exact is, what must be recovered is
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --quiet --locked
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m experiments --quick --check --silent --no-figures --out $(OUT)/experiments-quick

clean: ## remove what the other targets made
	$(CARGO) clean
	rm -rf $(VENV) $(OUT) $(BENCH_VENV) bench/target
