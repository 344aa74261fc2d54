# Two commands start from nothing (each installs what is missing, see tools/setup):
#   make demo    make test
# `make help` lists the rest.
BUILD ?= build
JOBS ?= $(shell nproc)
# Where ccache is used, a second clone finds what the first one compiled.
export CCACHE_BASEDIR = $(CURDIR)
export CCACHE_NOHASHDIR = 1

.PHONY: build setup demo test test-long hub-test gallery newcomer install uninstall wheel deb deb-test tarball lint clang fuzz torture torture-serve bench gpu-test gpu-sanitize wasm site test-arm64 test-amd64 format docs-api clean help

build: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

ifdef CMAKE_FLAGS  # they may be new
.PHONY: $(BUILD)/build.ninja
endif
$(BUILD)/build.ninja:
	@cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)

setup:
	@tools/setup

demo:
	@tools/setup demo
	@$(MAKE) --no-print-directory build/build.ninja
	@cmake --build build -j $(JOBS) --target attend
	@build/attend demo
	@build/attend demo --task detect
	@build/attend demo --task describe

# make test CUDA=1 compiles CUDA also where none of it changed.
test: setup
	@JOBS=$(JOBS) CUDA=$(CUDA) tools/test

# What `make test` has no time for, too: nightly, before a release, on request.
test-long: setup
	@JOBS=$(JOBS) tools/test long
	@$(MAKE) --no-print-directory clang

# For other programs: the program, the libraries and headers, the shipped models, manual pages, completions. Of the objects
# of `make`; CMAKE_FLAGS=-DATTEND_CUDA=PLUGIN also makes libattend_cuda.so, which both open where there is a GPU.
PREFIX ?= /usr/local
install:
	@tools/setup demo
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target installable
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX) --strip
	@tools/uninstall --remember $(BUILD) "$(DESTDIR)" $(PREFIX)

# Folders as the Hugging Face hub has them, at full size: minutes, and up to 1 GB of disk.
hub-test: build
	@PROGRAM=$(BUILD)/attend tools/hub-test

# What that has put there, and nothing else.
uninstall:
	@tools/uninstall "$(DESTDIR)" $(PREFIX)

# What goes to other machines: a build without CUDA, for /usr.
.PHONY: build-install
build-install:
	@tools/setup python
	@cmake -S . -B build-install -G Ninja -DCMAKE_INSTALL_PREFIX=/usr -DATTEND_TESTS=OFF -DATTEND_CUDA=OFF $(CMAKE_FLAGS)
	@cmake --build build-install -j $(JOBS) --target installable

# The Python module as a wheel, with the library inside of it.
wheel: build-install
	@tools/make-wheel build-install

# Packages of Debian, and a tree to unpack anywhere.
deb: build-install
	@tools/make-deb build-install

deb-test: deb
	@tools/test-deb build-install

tarball: build-install
	@tools/make-tarball build-install

# Another compiler, each file alone.
clang:
	@cmake -S . -B build-clang -G Ninja -DCMAKE_CXX_COMPILER=$(shell command -v clang++-19 || echo clang++) \
	  -DATTEND_WERROR=ON -DATTEND_UNITY=OFF -DATTEND_CUDA=OFF $(CMAKE_FLAGS)
	@cmake --build build-clang -j $(JOBS) --target attend

lint:
	@JOBS=$(JOBS) tools/check-tidy --all

# For longer than the few seconds per door that `make test` has: make fuzz SECONDS=3600 DOORS="config tokenizer"
fuzz:
	@JOBS=$(JOBS) tools/fuzz $(SECONDS) $(DOORS)

# Tries to make training lose work: make torture MINUTES=10
MINUTES ?= 10
torture: build
	@tools/torture --minutes $(MINUTES) --program $(BUILD)/attend
# Attacks a server while honest clients use it: make torture-serve MINUTES=30
torture-serve: build
	@tools/torture-serve --minutes $(MINUTES) --program $(BUILD)/attend

bench: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target bench
	@tools/bench $(BUILD)

# For a machine with a GPU; installs nothing, so it also works where no package can be had.
gpu-test:
	@cmake -S . -B build-gpu -G Ninja -DATTEND_CUDA=ON $(CMAKE_FLAGS)
	@cmake --build build-gpu -j $(JOBS)
	@build-gpu/attend devices
	@ctest --test-dir build-gpu --output-on-failure

gpu-sanitize: gpu-test
	@JOBS=$(JOBS) tools/gpu-sanitize build-gpu

# The page's models for browsers: build-wasm/attend.wasm and attend.js. Debian's emscripten calls a JavaScript parser of
# Debian's, which a node of another origin does not find by itself.
wasm:
	@tools/setup wasm
	@NODE_PATH=/usr/share/nodejs cmake -S . -B build-wasm -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/wasm.cmake $(CMAKE_FLAGS)
	@NODE_PATH=/usr/share/nodejs cmake --build build-wasm -j $(JOBS) --target attend

# A static site with the page, the models and the documentation: build-site (docs/web.md).
site: wasm
	@tools/site build-wasm build-site

# The other architecture, cross-built and run by an emulator: what depends on kernels. TESTS=.. is a pattern of ctest's names.
TESTS ?= .
test-arm64:
	@JOBS=$(JOBS) tools/test-cross arm64 '$(TESTS)'

test-amd64:
	@JOBS=$(JOBS) tools/test-cross amd64 '$(TESTS)'

format:
	@tools/check-format --fix

clean:
	@rm -rf build build-address build-thread build-coverage build-clang build-gpu build-arm64 build-amd64 build-wasm build-site build-install

# docs/gallery.md and its figures.
gallery: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target attend
	@tools/gallery $(BUILD)/attend

# The first commands of README.md and docs/README.md as printed, timed.
newcomer: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target attend
	@tools/newcomer $(BUILD)/attend

# API reference of the public headers, as HTML.
docs-api:
	@command -v doxygen > /dev/null || { echo "make docs-api: install doxygen first (apt-get install doxygen)"; exit 1; }
	@doxygen -q && echo "build/api/index.html"

help:
	@echo "make             build build/attend and the tests"
	@echo "make demo        install missing packages, build, then translate, detect and describe with bundled models"
	@echo "make test        all checks and tests, also under sanitizers; CUDA=1 also compiles the CUDA kernels"
	@echo "make test-long   the same and everything that takes longer: each fault, long runs under ASan, CUDA, clang-tidy, fuzzing"
	@echo "make hub-test    compare full-size models in the layouts of the Hugging Face hub with transformers (minutes)"
	@echo "make install     install program, libraries, headers, models and manual pages to PREFIX (/usr/local) under DESTDIR"
	@echo "make uninstall   remove what make install put there, with the same PREFIX and DESTDIR"
	@echo "make wheel       build the Python module: build-install/attend-*.whl"
	@echo "make deb         build Debian packages in build-install/deb; make deb-test installs them on a clean Debian 12 (root)"
	@echo "make tarball     build an archive to unpack anywhere: build-install/attend-*.tar.gz"
	@echo "make gallery     make the figures of docs/gallery.md again"
	@echo "make newcomer    run the first commands of README.md and docs/README.md in a fresh clone and time them"
	@echo "make docs-api    build the API reference with Doxygen: build/api/index.html"
	@echo "make clang       build with clang, each file alone, warnings as errors"
	@echo "make lint        run clang-tidy on every file"
	@echo "make fuzz        fuzz everything that reads untrusted input, SECONDS per target"
	@echo "make torture     kill training runs and fail their disks for MINUTES; nothing may be lost"
	@echo "make torture-serve  attack attend serve for MINUTES; it must not crash, hang or grow"
	@echo "make bench       build and run the benchmarks"
	@echo "make gpu-test    build with CUDA and run all tests; needs a GPU"
	@echo "make gpu-sanitize  the same, then the op tests under compute-sanitizer"
	@echo "make wasm        build the page's models for browsers: build-wasm/attend.wasm"
	@echo "make site        build a static site with it, the models, the documentation and the API references: build-site"
	@echo "make test-arm64  on x86-64: cross-build for arm64 and run the kernel tests under qemu; TESTS=ops selects some"
	@echo "make test-amd64  on arm64: the same for x86-64"
	@echo "make format      format the sources in place"
	@echo "make clean       remove the build folders"
	@echo "CMAKE_FLAGS=-DATTEND_CUDA=OFF and the like go to cmake; JOBS=N limits the build."
