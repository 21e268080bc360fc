# Every task of this repository. `make` alone lists them.

SHELL := /bin/bash
JOBS ?= $(shell nproc)
# The benchmark cases to run (all when empty), as in: make bench CASES="train_ncf_b2048".
CASES ?=
# Parts of the names of ONNX cases or models to run (all when empty), as in: make onnx-suite ONNX_CASES="resize pad".
ONNX_CASES ?=
# How long each fuzzer runs.
FUZZ_SECONDS ?= 600
# The Spark that the jar is for, and the Scala of that Spark, as in: make jar SPARK=3.5.7 SCALA=2.12.
SPARK ?= 4.2.0
SCALA ?= 2.13
SPARK_OPTIONS := -DTHALWEG_SPARK_VERSION=$(SPARK) -DTHALWEG_SCALA_VERSION=$(SCALA)
# Arguments of the demo program.
DEMO_ARGS ?=
export THALWEG_DEPS ?= $(HOME)/.cache/thalweg
# What one build folder has compiled serves the others, such as that of the wheel.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

# Runs tests and says at the end what failed.
RUNNER := PYTHONDONTWRITEBYTECODE=1 python3 -m tests.runner

.DEFAULT_GOAL := help
.PHONY: help setup build test check soak-tests test-asan test-tsan test-long test-torch lint op-table tidy format bench bench-wide demo onnx-suite onnx-models fuzz wheel jar jar-wheel test-spark install clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## install what the build needs (Debian 12)
	@scripts/setup

build: build-release ## build everything into build/release

build-%: setup
	@cmake --preset $* $(SPARK_OPTIONS) $(if $(CI),,--log-level=WARNING)
	@cmake --build --preset $* --parallel $(JOBS)

test: ## check and test everything quick enough for every change
	@scripts/setup
	@scripts/setup-data
	@scripts/setup-hdfs
	@scripts/setup-spark
	@scripts/lint
	@$(MAKE) --no-print-directory build-release
	@cmake --build --preset release --target thalweg_jar
	@$(RUNNER) --build build/release --first quick --jobs $(JOBS)

check: ## after a change: lint, build, and the tests that it asks for; AGAINST=branch (main)
	@scripts/setup
	@scripts/lint
	@$(MAKE) --no-print-directory build-release
	@$(RUNNER) --build build/release --changed $(or $(AGAINST),main) --jobs $(JOBS)

soak-tests: ## the tests with threads and processes N=20 times, JOBS at once, beside busy loops; TESTS=regex narrows it
	@$(MAKE) --no-print-directory build-release
	@cmake --build --preset release --target thalweg_jar
	@$(RUNNER) --build build/release --label '^soak$$' $(if $(TESTS),--name '$(TESTS)') --soak $(or $(N),20) --jobs $(JOBS)

test-asan: build-asan ## the tests under the address and undefined-behaviour sanitizers; TESTS=regex narrows it
	@scripts/setup-data
	@$(RUNNER) --build build/asan $(if $(TESTS),--name '$(TESTS)') --jobs $(JOBS)

test-tsan: build-tsan ## the tests under the thread sanitizer; TESTS=regex narrows it
	@scripts/setup-data
	@$(RUNNER) --build build/tsan $(if $(TESTS),--name '$(TESTS)') --jobs $(JOBS)

test-long: build-release ## the tests that take many minutes; TESTS=regex narrows it
	@scripts/setup-data
	@scripts/setup-s3
	@scripts/setup-yarn
	@scripts/setup-wheel
	@$(RUNNER) --build build/release --label '^long$$' --without '' $(if $(TESTS),--name '$(TESTS)') --jobs 1

lint: ## format, include directions, paths in documents, file hygiene, repetitions, names of ops
	@scripts/lint

op-table: setup ## write docs/ops.md from what the ops say of themselves
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target ops_test
	@THALWEG_WRITE_DOCS=1 build/release/bin/ops_test --gtest_filter='OpTable.*' --gtest_brief=1

tidy: setup ## clang-tidy over src (slow); FILTER=regex narrows it
	@cmake --preset release --log-level=WARNING
	@scripts/tidy $(FILTER)

format: ## format the C++ sources
	@scripts/format

bench: build-release jar ## compare with PyTorch and others; CASES="a b" runs some
	@scripts/setup-bench
	@THALWEG_BENCH_BIN=$(CURDIR)/build/release/bin/thalweg_bench THALWEG_SPARK_JAR=$(CURDIR)/build/release/jvm/thalweg-spark.jar PYTHONPATH=$(CURDIR)/build/release/python \
	  "$(THALWEG_DEPS)/bench-venv/bin/python" bench/run.py $(CASES)

bench-wide: build-release ## networks that nobody named, with ONNX Runtime and OpenVINO; WIDE="--only ocr --rounds 5"
	@scripts/setup-wide
	@PYTHONPATH=$(CURDIR)/build/release/python "$(THALWEG_DEPS)/bench-venv/bin/python" bench/wide.py $(WIDE)

onnx-suite: build-release ## the ONNX backend suite: passed, refused, wrong, crashed; ONNX_CASES="a b" runs some
	@scripts/setup-onnx
	@"$(THALWEG_DEPS)/onnx-venv/bin/python" tests/onnx_suite/run.py \
	  $(CURDIR)/build/release/lib/libthalweg.so $(ONNX_CASES)

onnx-models: build-release ## whole models from PyTorch, and to ONNX Runtime; ONNX_CASES="a b" checks some
	@scripts/setup-bench
	@"$(THALWEG_DEPS)/bench-venv/bin/python" tests/onnx_models/run.py \
	  --library $(CURDIR)/build/release/lib/libthalweg.so --writer $(CURDIR)/build/release/bin/write_models $(ONNX_CASES)

test-torch: build-release jar ## modules of PyTorch as models: answers, weights, errors; TORCH_TESTS="-k lstm" runs some
	@scripts/setup-bench
	@PYTHONPATH=$(CURDIR)/build/release/python PYTHONDONTWRITEBYTECODE=1 \
	  "$(THALWEG_DEPS)/bench-venv/bin/python" -m pytest -p no:cacheprovider tests/torch tests/python/test_documents.py \
	  tests/spark/test_torch.py $(TORCH_TESTS)

fuzz: ## fuzz the readers of files and messages, FUZZ_SECONDS each
	@scripts/setup
	@scripts/setup-fuzz
	@cmake --preset fuzz $(if $(CI),,--log-level=WARNING)
	@cmake --build --preset fuzz --parallel $(JOBS)
	@tests/fuzz/run build/fuzz $(FUZZ_SECONDS)

wheel: setup ## the Python package as a wheel in build/wheel_check, checked in a fresh environment
	@scripts/setup-wheel
	@scripts/check-wheel build/wheel_check

jar: setup ## the jar for Spark: build/release/jvm/thalweg-spark.jar
	@scripts/setup-spark $(SPARK) $(SCALA)
	@cmake --preset release $(SPARK_OPTIONS) $(if $(CI),,--log-level=WARNING)
	@cmake --build --preset release --parallel $(JOBS) --target thalweg_jar

jar-wheel: jar ## the jar as a Python package, for pip: build/release/jvm/thalweg_spark_jar-*.whl
	@cmake --build --preset release --target thalweg_jar_wheel

test-spark: build-release jar ## the jar on Spark clusters of this machine; SPARK_TESTS="-k vector" runs some
	@PYTHONPATH=$(CURDIR)/build/release/python PYTHONDONTWRITEBYTECODE=1 \
	  "$(THALWEG_DEPS)/spark-venv/bin/python" -m pytest -q -p no:cacheprovider tests/spark $(SPARK_TESTS)

demo: jar ## learn handwritten digits on a Spark cluster of two executors, with live progress; writes model.onnx
	@scripts/setup-data
	@cmake --build --preset release --parallel $(JOBS) --target python_package
	@PYTHONPATH=$(CURDIR)/build/release/python PYTHONDONTWRITEBYTECODE=1 \
	  "$(THALWEG_DEPS)/spark-venv/bin/python" examples/spark_digits.py $(DEMO_ARGS)

install: build-release ## install into PREFIX (default /usr/local)
	@cmake --install build/release --prefix "$(or $(PREFIX),/usr/local)"

clean: ## remove build/
	@rm -rf build
