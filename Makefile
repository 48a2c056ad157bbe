# What a person types.  On a fresh Debian or Ubuntu as root every target installs what it needs:
# Debian packages by apt-get, Python packages into .venv.

PYTHON   ?= /usr/bin/python3
FIRMWARE ?= bios
VENV     := .venv
BIN      := $(VENV)/bin
BUILD    := build
SOURCES  := $(shell find tinkbox -name '*.py' -o -name '*.sql') $(wildcard tinkbox/osie/files/*)
LOADERS  := tinkbox/boot/loaders/undionly.kpxe
TOOLS    := tinkbox/worker/tools/entrypoint
HELPER   := $(wildcard packaging/helper/*.[ch])

PACKAGES_BUILD := python3 python3-venv libpython3.11 binutils ipxe
PACKAGES_HELPER := gcc libc6-dev busybox-static
PACKAGES_LAB   := qemu-system-x86 qemu-utils ovmf seabios ipxe-qemu iproute2 busybox-static e2fsprogs mtools dosfstools \
                  syslinux syslinux-common zstd xz-utils cpio
PACKAGES_TEST  := docker.io skopeo curl tcpdump tftp-hpa atftp udhcpc busybox-static dnsmasq-base procps nginx-light
PACKAGES_BENCH := kea-admin wrk

CFLAGS_HELPER := -std=gnu11 -Os -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror -static -s

.DEFAULT_GOAL := help
.PHONY: help demo test check bench campaign binary osie loaders helper clean packages-build packages-helper packages-lab packages-test \
        packages-bench

help:
	@echo "make demo      provision a virtual machine with an empty disk, and watch (FIRMWARE=bios|uefi)"
	@echo "make test      all tests, virtual machines included"
	@echo "make check     format, lint, types, import contracts and the fast tests"
	@echo "make campaign  the same tests, for hours"
	@echo "make bench     benchmarks, each beside a peer"
	@echo "make binary    dist/tinkbox, the single executable"
	@echo "make osie      the in-memory operating system's kernel and ramdisk"

# Only what is missing is asked for, so that a prepared machine needs no package mirror.
define install
	@missing=""; for name in $(1); do \
	    dpkg-query -W -f '$${db:Status-Status}' $$name 2>/dev/null | grep -qx installed || missing="$$missing $$name"; done; \
	if [ -n "$$missing" ]; then \
	    echo "installing$$missing"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi
endef

packages-build:
	$(call install,$(PACKAGES_BUILD))
packages-helper:
	$(call install,$(PACKAGES_HELPER))
packages-lab:
	$(call install,$(PACKAGES_LAB))
# Debian starts a web server as soon as it is installed; here it is wanted as a program only.
packages-test:
	@command -v nginx >/dev/null || { mkdir -p $(BUILD) && touch $(BUILD)/.nginx-is-new; }
	$(call install,$(PACKAGES_TEST))
	@if [ -e $(BUILD)/.nginx-is-new ]; then rm $(BUILD)/.nginx-is-new; \
	    { systemctl disable --now nginx || service nginx stop; } >/dev/null 2>&1 || true; fi
packages-bench:
	$(call install,$(PACKAGES_BENCH))

$(BIN)/.ready: packaging/requirements.txt pyproject.toml | packages-build
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r packaging/requirements.txt
	touch $@

loaders: $(LOADERS)
$(LOADERS): | packages-build
	mkdir -p $(@D)
	install -m 0644 /usr/lib/ipxe/snponly.efi /usr/lib/ipxe/ipxe.efi $(@D)/
	install -m 0644 /usr/share/doc/ipxe/copyright $(@D)/LICENCE.ipxe
	install -m 0644 /usr/lib/ipxe/undionly.kpxe $@

# What the worker puts into containers: the helper, and tools for those who look into a held one.
# With musl the helper has a tenth of the size, but is no worse without.
helper: $(TOOLS)
$(TOOLS): $(HELPER) tinkbox/__init__.py | packages-helper
	-@command -v musl-gcc >/dev/null || { apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends musl-tools >/dev/null; }
	mkdir -p $(@D)
	install -m 0755 /bin/busybox $(@D)/busybox
	$(@D)/busybox --list >$(@D)/applets
	install -m 0644 /usr/share/doc/busybox-static/copyright $(@D)/LICENCE.busybox
	version=$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' tinkbox/__init__.py); \
	if command -v musl-gcc >/dev/null; then compiler=musl-gcc library=musl-dev; else compiler=gcc library=libc6-dev; fi; \
	install -m 0644 /usr/share/doc/$$library/copyright $(@D)/LICENCE.libc && \
	$$compiler $(CFLAGS_HELPER) -DVERSION="\"$$version\"" -o $@ $(filter %.c,$^)

binary: dist/tinkbox
dist/tinkbox: $(SOURCES) $(LOADERS) $(TOOLS) packaging/tinkbox.spec $(BIN)/.ready
	$(BIN)/pyinstaller --log-level ERROR --noconfirm --distpath dist --workpath $(BUILD)/pyinstaller packaging/tinkbox.spec
	dist/tinkbox version

osie: $(BUILD)/osie/x86_64/initramfs
$(BUILD)/osie/x86_64/initramfs: dist/tinkbox
	dist/tinkbox osie build --output $(BUILD)/osie --cache $(BUILD)/debs

$(BUILD)/images/.ready: $(wildcard examples/actions/* examples/actions/*/*) packaging/images.py $(BIN)/.ready
	PYTHONPATH=. $(BIN)/python packaging/images.py image2disk writefile reboot kexec --output $(BUILD)/images --cache $(BUILD)/debs
	touch $@

# The boot files are those of the OSIE.
$(BUILD)/images/.services: $(wildcard examples/services/*/*) packaging/images.py $(BUILD)/osie/x86_64/initramfs
	PYTHONPATH=. $(BIN)/python packaging/images.py osie-boot-files-server password-receiver --output $(BUILD)/images --cache $(BUILD)/debs
	touch $@

$(BUILD)/demo/disk.img.zst: examples/demo/disk.py $(wildcard examples/demo/files/*) $(BIN)/.ready | packages-lab
	$(BIN)/python -m examples.demo.disk --output $@ --cache $(BUILD)/debs

LAB := packages-lab dist/tinkbox $(BUILD)/osie/x86_64/initramfs $(BUILD)/images/.ready $(BUILD)/demo/disk.img.zst

demo: $(LAB)
	@$(BIN)/python -m examples.demo --firmware $(FIRMWARE) --tinkbox dist/tinkbox --build $(BUILD)

test: packages-test $(LAB) $(BUILD)/images/.services
	$(BIN)/python -m pytest tests --ignore=tests/bench -m "not campaign"

check: $(BIN)/.ready loaders helper packages-lab
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/unit tests/test_house_rules.py

# The tests wider: a thousand times the examples of property tests, but of those that are bounded for their cost; every cell of
# the fault matrix; both firmwares.
campaign: packages-test $(LAB) $(BUILD)/images/.services
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest tests --ignore=tests/bench --timeout 7200

bench: packages-test packages-bench $(LAB)
	@$(BIN)/python -m tests.bench

clean:
	rm -rf $(BUILD) dist .venv tinkbox/boot/loaders tinkbox/worker/tools
