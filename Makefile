# make          lint and test
# make demo     install what a sweep needs, run the quickstart sweep, draw its figures
# make env      install what the tests need as well
# make ci        what CI runs: lint and test
# make test-long long fuzzing, chaos, benchmarks' quick runs, the full matrix of real starts
# make bench    the benchmarks
# make try-image the image's steps in a clean Debian tree, and the compose file's services with a sweep on them; as root
# make try-cluster a Ray cluster of three hosts on this machine, and a shell on the first of them; as root
# make cuda     the GPU kernels' own checks, on a machine with a GPU
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SWEEP := experiments/quickstart/sweep.yaml
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
WORKERS ?= 3
DESCRIPTION := pyproject.toml setup.py constraints.txt
# Installing builds the operators; this does it again where their sources or torch have changed since.
OPERATORS := $(BIN)/python -m cuda_ext.build --if-needed

.PHONY: default env demo lint test test-long ci try-image try-cluster cuda bench clean
.DELETE_ON_ERROR:
default: lint test

$(BIN)/python:
	scripts/make_venv.sh $(PYTHON) $(VENV)

# The stamps say for which description of the project the environment was made.
$(VENV)/installed: $(DESCRIPTION) | $(BIN)/python
	@echo 'installing into $(VENV); the first time this takes a minute or a few'
	$(INSTALL) torch setuptools ninja
	$(INSTALL) --no-build-isolation --editable '.[mpich]'
	@touch $@

$(VENV)/installed-test: $(DESCRIPTION) | $(BIN)/python
	@echo 'installing into $(VENV); the first time this takes a minute or a few'
	$(INSTALL) torch setuptools ninja
	$(INSTALL) --no-build-isolation --editable '.[mpich,test]'
	@touch $@ $(VENV)/installed

env: $(VENV)/installed-test
	@$(OPERATORS)

demo: $(VENV)/installed
	@$(OPERATORS)
	$(BIN)/sweeper run $(SWEEP) --again
	@echo
	@echo figures:
	@$(BIN)/sweeper plot heatmap quickstart -o figures/quickstart-heatmap.png
	@$(BIN)/sweeper plot histogram quickstart -o figures/quickstart-histogram.png
	@$(BIN)/sweeper plot curves quickstart -o figures/quickstart-curves.png
	@echo
	@echo "to use the commands: . $(VENV)/bin/activate"

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Several at a time, since many wait for processes; tests of one file stay together and share what they have started.
test: env
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

test-long: env
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder -m long

ci: lint test

# Without a container engine. TRY takes further options, for example TRY='--build-arg TORCH_INDEX='.
try-image: env
	$(BIN)/python -m docker.try_image build/try-image $(TRY)

# After `make env`, which root should not do. CLUSTER takes options, for example CLUSTER='--hosts 5 --mbit 100'.
try-cluster:
	$(BIN)/python -m tests.cluster $(CLUSTER)

# On a machine with a GPU and nvcc: the kernels' tests, and compute-sanitizer over each.
cuda: env
	scripts/check_cuda.sh $(BIN)/python

# Each area also runs alone: python -m benchmarks.store --quick --json FILE
# Rivals are measured beside them where they are installed: pip install --constraint constraints.txt '.[bench]'
bench: env
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.gangs
	$(BIN)/python -m benchmarks.live
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.pruning
	$(BIN)/python -m benchmarks.busy
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.exchange
	$(BIN)/python -m benchmarks.channel_parallel
	$(BIN)/python -m benchmarks.cuda_ext

clean:
	rm -rf $(VENV) build *.egg-info cuda_ext/_operators.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
