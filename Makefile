# Every target sets up what it needs: Debian packages, .venv, scalarviz inside it. `make help` lists
# the targets. Paths are relative throughout, so that a space in the folder's name does no harm.

SCENE = rgb

# The Python for a new .venv, if not the first suitable one: make clean test PYTHON=python3.13
PYTHON =

# Debian packages that are needed while it runs: OpenMP, for kernels on all cores; OpenGL,
# and what a window takes, a font for its controls too.
LIBRARIES = libgomp1 libegl1 libgl1 libgl1-mesa-dri libfontconfig1 fonts-dejavu-core \
    libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libglib2.0-0 \
    libdbus-1-3
# And while it is tested: a screen that nobody sees, and compilers of exported shaders.
TEST_LIBRARIES = xvfb libgles2 glslang-tools
# All tests: browsers.
BROWSER = chromium firefox-esr
# And PyTorch, whose trainings are followed. The package on PyPI brings 3 GB for a GPU.
TORCH = torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu

# What speaks of the results of trainings.
TRAINED = tests/scenes tests/stage/test_first_sight.py tests/test_guides.py tests/test_lessons.py \
    tests/files/onnx/test_models.py notebooks

# Whatever environment the user's shell has active, what is made here is made in .venv. Without
# stored bytecode each of the processes that tests start would compile the whole package anew.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX PIP_USER PIP_TARGET PIP_PREFIX
unexport PYTHONDONTWRITEBYTECODE
.NOTPARALLEL:
.PHONY: help watch notebooks pictures docs lessons release test test-all proofs bench check lint lint-js format clean again

WEB = scalarviz/pages/web
NODE = build/node/node_modules
SCRIPTS = "**/*.js" "**/*.mjs" "**/*.ts"
PRETTIER = $(NODE)/.bin/prettier --config $(WEB)/.prettierrc --log-level warn
# Tests do without Node: lint calls it where it is there and lint-js has set up what it runs.
HAS_NODE := $(and $(shell command -v node),$(wildcard $(NODE)/ready))

help: ## list the targets (this text)
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 17

watch: .venv/ready-to-run ## train a scene and watch it: make watch SCENE=rgb
	@.venv/bin/scalarviz watch $(SCENE)

notebooks: .venv/ready-for-notebooks ## open the lessons in JupyterLab
	@.venv/bin/python -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) --notebook-dir=notebooks

# Kernels are compiled while one core checks types; an end before that ends both.
test: .venv/ready-to-test ## style, types and the quick tests: 7 minutes on two cores, then 4
	@echo "Style, types and tests take some 7 minutes on two cores, 4 when kernels are compiled already."
	@.venv/bin/python -m tests.warm & warming=$$!; \
	    trap 'exit 130' INT TERM; trap 'kill $$warming 2>/dev/null' EXIT; \
	    $(MAKE) --no-print-directory lint && wait $$warming
	@echo "pytest runs the quick tests, which takes some 4 minutes on two cores; make test-all runs all:"
	@began=$$(date +%s); .venv/bin/python -m pytest -n auto --maxprocesses=4 --dist loadfile \
	    --no-loadscope-reorder --durations=40 && .venv/bin/python -m tests.warm $$began

test-all: .venv/ready-to-test-all lint ## the same with the slow tests, and more random examples
	@.venv/bin/python -m pytest -m "" --hypothesis-profile=thorough
	@echo "Texts, lessons and scenes once more, with kernels for another processor, which round otherwise:"
	@NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= .venv/bin/python -m pytest -m "" $(TRAINED)

proofs: .venv/ready-to-test ## the long proofs alone; they write docs/RELIABILITY.md
	@.venv/bin/python -m pytest -m "" tests/proofs

docs: .venv/ready-for-docs ## build build/docs: the site with gallery, guide, lessons and reference
	@.venv/bin/python -m sphinx -qW --keep-going -t pages -c docs . build/docs
	@echo "Open build/docs/index.html"

lessons: .venv/ready-to-test ## build/lessons: the lessons as pages
	@.venv/bin/scalarviz lesson -o build/lessons

pictures: .venv/ready-to-test-all ## draw all pictures anew: README's, the guide's, those of lessons, the page
	@.venv/bin/python -W error -m docs.build_pictures
	@.venv/bin/python -m tests.lessons

release: docs ## dist/: what is released, tried in empty environments; build/docs: the site
	@.venv/bin/python -m docs.build_release

bench: .venv/ready-to-test ## measure beside micrograd, and PyTorch and JAX if they are there
	@.venv/bin/python -m benchmarks

check: lint ## style, types, and the tests nearest to what you changed: a minute
	@.venv/bin/python -m tests.nearest

lint: .venv/ready-to-test $(if $(HAS_NODE),lint-js) ## style and types only, and how the size of each room changed
	@.venv/bin/python -m ruff check
	@.venv/bin/python -m ruff format --check
	@echo "mypy checks types, which takes a minute the first time, a dot every 5 seconds:"
	@sh -uc "$$DOTS && with_dots .venv/bin/python -m mypy"
	@.venv/bin/python -m tests.weight changes

lint-js: $(NODE)/ready ## style and types of JavaScript, by Node; after it, lint does so too
	@$(firstword $(wildcard .venv/bin/python) python3) -m scalarviz.pages.translator $(WEB)
	@$(NODE)/.bin/eslint . --config $(WEB)/eslint.config.mjs --cache --cache-location $(NODE)/.cache/eslint/
	@$(PRETTIER) --check --cache --cache-location $(NODE)/.cache/prettier $(SCRIPTS)
	@$(NODE)/.bin/tsc --project $(WEB)

format: .venv/ready-to-test ## repair style where a program can
	@.venv/bin/python -m ruff check --fix-only --quiet
	@.venv/bin/python -m ruff format
	@$(if $(HAS_NODE),$(PRETTIER) --write $(SCRIPTS))

clean: ## remove all that make has made, .venv too
	rm -rf .venv $(WEB)/node_modules build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the set-up ---------------------------------------------------------------------------------

# The stamps know nothing of a folder that was moved or a system Python that was replaced.
WORKS := $(shell { .venv/bin/python -c "" && grep -qxF "$$(pwd -P)" .venv/folder; } 2>&1 || echo no)

.venv/ready-to-run: setup.cfg setup.py pyproject.toml Makefile $(if $(WORKS),again)
	@sh -euc "$$SETUP" setup ".[desktop,video,serve]" "scalarviz (200 MB to download, 0.7 GB on disk, some minutes)"

.venv/ready-for-notebooks: setup.cfg setup.py pyproject.toml Makefile $(if $(WORKS),again)
	@sh -euc "$$SETUP" setup ".[lessons]" "scalarviz and JupyterLab (200 MB to download, 0.8 GB on disk, some minutes)"

.venv/ready-for-docs: setup.cfg setup.py pyproject.toml Makefile $(if $(WORKS),again)
	@sh -euc "$$SETUP" setup ".[docs]" "scalarviz and what builds its pages (200 MB to download, some minutes)"

.venv/ready-to-test: setup.cfg setup.py pyproject.toml Makefile $(if $(WORKS),again)
	@sh -euc "$$SETUP" setup ".[dev]" "scalarviz and what its tests need (500 MB to download, 2 GB on disk, some minutes)" "$(TEST_LIBRARIES)"

.venv/ready-to-test-all: setup.cfg setup.py pyproject.toml Makefile $(if $(WORKS),again)
	@sh -euc "$$SETUP" setup ".[dev,browser]" "scalarviz and what all its tests need (800 MB to download, 3 GB on disk, some minutes)" "$(TEST_LIBRARIES) $(BROWSER)"
	@.venv/bin/python -c "import torch" 2>/dev/null || .venv/bin/python -m pip -qq --no-input install \
	    --no-user --no-compile $(TORCH) || echo "pip could not install PyTorch: tests with it are left out" >&2

$(NODE)/ready: $(WEB)/package-lock.json
	@command -v npm >/dev/null || { echo "Please install Node with npm: JavaScript is checked by it." >&2; exit 1; }
	@mkdir -p build/node && cp $(WEB)/package*.json build/node/
	@npm ci --prefix build/node --silent --no-audit --no-fund
	@ln -sfn ../../../$(NODE) $(WEB)/node_modules
	@touch $@

# Succeeds if the Python that runs it is within the bounds of setup.cfg.
define SUITS
import configparser, re, sys
settings = configparser.ConfigParser()
settings.read("setup.cfg")
low, high = re.findall(r"3\.(\d+)", settings["options"]["python_requires"])
sys.exit(not (3, int(low)) <= sys.version_info[:2] < (3, int(high)))
endef

# Defines with_dots, which runs a command with a dot every 5 seconds, and then prints what it said.
# The dots end with the shell, also with one that is killed.
define DOTS
with_dots() {
    while sleep 5 >/dev/null 2>&1 && kill -0 $$$$ 2>/dev/null; do printf .; done &
    dots=$$! result=0
    said=$$("$$@" 2>&1) || result=$$?
    kill $$dots 2>/dev/null || true
    wait $$dots 2>/dev/null || true
    printf "\n%s" "$$said$${said:+
}"
    return $$result
}
endef

define SETUP
$(DOTS)
step=0
say() { step=$$((step + 1)); echo "$$step. $$*"; }
fail() { echo "Set-up stopped: $$*" >&2; exit 1; }
suits() { "$$1" -c "$$SUITS" 2>/dev/null; }

install() {
    command="apt-get install $$*"
    command -v apt-get >/dev/null || fail "please install $$* (a Debian name) and run make again."
    as_root=; [ "$$(id -u)" = 0 ] || as_root="sudo -n"
    if ! $$as_root true 2>/dev/null; then
        command -v sudo >/dev/null && command="sudo $$command" || command="su -c '$$command'"
        fail "$$* must be installed first, and that takes your password. Run
    $$command
and then make again."
    fi
    say "apt installs $$*"
    apt="$$as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -qq --no-install-recommends"
    # The lists of packages are fetched only if apt needs them; on a new machine it does.
    patiently install $$* || { patiently update && patiently install $$*; } ||
        fail "apt could not install $$*. It said:
$$reason"
}

# Runs apt. While another one is at work, such as the one that updates Debian by itself, it waits.
waits=180
patiently() {
    until reason=$$($$apt "$$@" 2>&1); do
        case $$reason in *"Could not get lock"*) ;; *) return 1;; esac
        [ $$waits != 180 ] || say "waits for another apt, up to half an hour:" \
            "$$(echo "$$reason" | sed -n 's/.*held by //p' | head -1)"
        waits=$$((waits - 1))
        [ $$waits -gt 0 ] || return 1
        sleep 10
    done
}

make_venv() {
    for python in $(PYTHON) python3 python3.15 python3.14 python3.13 python3.12 python3.11 none; do
        suits $$python && break
    done
    [ $$python != none ] || fail "no Python found here is among those that scalarviz runs on:" \
        "$$(grep '^python_requires' setup.cfg). Install one and run make again."
    version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    # On Debian, the part of Python that puts pip into a new .venv is a package of its own.
    $$python -c "import ensurepip" 2>/dev/null || install python$$version-venv
    say "making .venv with Python $$version"
    mkdir .venv
    touch .venv/unfinished
    $$python -m venv .venv || fail "Python $$version could not make .venv; the reason stands above."
}

missing=
! command -v dpkg-query >/dev/null || for library in $(LIBRARIES) $${3-}; do
    # It also answers for packages that others only suggest.
    dpkg-query --show --showformat '$${db:Status-Status}' "$$library" 2>/dev/null |
        grep -qx installed || missing="$$missing $$library"
done
[ -z "$$missing" ] || install $$missing

damage=
[ ! -e .venv/folder ] || grep -qxF "$$(pwd -P)" .venv/folder || damage="was made in another folder"
{ suits .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; } ||
    damage="does not work"
[ ! -e .venv/unfinished ] || damage="was left unfinished"
[ -z "$$damage" ] || [ ! -e .venv ] || { say "removing .venv, which $$damage"; rm -rf .venv; }
[ -e .venv ] || make_venv

# Bytecode is stored by the first import instead, of what is imported.
say "pip installs $$2 into .venv, a dot every 5 seconds:"
touch .venv/unfinished
if ! with_dots .venv/bin/python -m pip -qq --no-input install --no-user --no-compile -e "$$1"; then
    rm .venv/unfinished
    fail "pip could not finish; the reason stands above. Running make again tries again."
fi
pwd -P > .venv/folder
case "$$1" in *desktop*|*dev*) touch .venv/ready-to-run;; esac
case "$$1" in *lessons*) touch .venv/ready-for-notebooks;; esac
case "$$1" in *docs*) touch .venv/ready-for-docs;; esac
case "$$1" in *dev*) touch .venv/ready-to-test;; esac
case "$$1" in *browser*) touch .venv/ready-to-test-all;; esac
rm .venv/unfinished
say "ready; . .venv/bin/activate gives this shell the command scalarviz"
endef
export SUITS DOTS SETUP
