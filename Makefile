# `make demo` and `make test` work on a bare machine that has git, make and python3.

.DEFAULT_GOAL := help
.PHONY: help demo install test test-more test-long bench docs lint format clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: ## install what is missing, build, and measure perl, gcc and sed
	@setup/bootstrap demo
	@setup/install
	.venv/bin/reap workloads demo

install: ## the same without the measuring: afterwards the command is .venv/bin/reap
	@setup/bootstrap demo
	@setup/install

test: ## install what is missing, build, and test, sanitizers included
	@setup/bootstrap test
	@python3 setup/stages test

test-more: ## clang and coverage, clang-tidy, memcheck, fuzzing, every sweep under sanitizers
	@setup/bootstrap more
	@python3 setup/stages more

test-long: ## what is run before a release: tests that take minutes each
	@setup/bootstrap more
	@python3 setup/stages long

bench: ## reproduce the figures that the documents quote
	@setup/bootstrap bench
	@setup/install
	@for bench in lab/bench/*.py library/bench/run.py library/bench/malloc.py; do echo "$$bench"; .venv/bin/python "$$bench" || exit 1; done

docs: ## build the documentation site, build/docs/html; it is read through a server, see CONTRIBUTING.md
	@setup/bootstrap docs
	@setup/install
	@setup/site/build

lint: ## formatting, types and imports alone
	@setup/bootstrap test
	@setup/install
	@python3 setup/stages test lint

format: ## rewrite the sources as clang-format and ruff want them
	@setup/bootstrap test
	.venv/bin/ruff check --fix --exit-zero .
	.venv/bin/ruff format .
	.venv/bin/biome format --write lab/reap/draw/page
	git ls-files '*.h' '*.hpp' '*.cpp' '*.c' | xargs --no-run-if-empty .venv/bin/clang-format -i

clean: ## remove what was built; `rm -r .venv` as well, to begin from nothing
	rm -rf build dist .venv/.reap.stamp .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
