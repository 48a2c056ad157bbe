# What a person types.  On a fresh Debian 12 or 13 as root every target installs what it needs:
# Debian packages by apt-get, Python packages into .venv.

PYTHON   ?= /usr/bin/python3
FIRMWARE ?= bios
SYSTEM   ?= debian-13
VENV     := .venv
BIN      := $(VENV)/bin
BUILD    := build
SOURCES  := $(shell find tinkbox -name '*.py' -o -name '*.sql') $(wildcard tinkbox/osie/files/* tinkbox/engine/templates/catalogue/* systemd/*) \
            tinkbox/catalogue/entries.yaml tinkbox/catalogue/catalogue.keys
LOADERS  := tinkbox/boot/loaders/undionly.kpxe tinkbox/boot/loaders/grubx64.efi
KEYS     := tinkbox/catalogue/keys/LICENCE.ubuntu-keyring
TOOLS    := tinkbox/worker/tools/entrypoint
HELPER   := $(wildcard packaging/helper/*.[ch])
ONEFILE  := packaging/tinkbox.spec $(wildcard packaging/onefile/*)

PACKAGES_BUILD := python3 python3-venv libpython3-dev zlib1g-dev libexpat1-dev gcc libc6-dev binutils
PACKAGES_ARM64 := gcc-aarch64-linux-gnu libc6-dev-arm64-cross
PACKAGES_HELPER := gcc libc6-dev busybox-static
PACKAGES_LAB   := qemu-system-x86 qemu-utils ovmf seabios ipxe-qemu iproute2 busybox-static e2fsprogs mtools dosfstools fdisk \
                  syslinux syslinux-common zstd xz-utils cpio swtpm
# What Debian's cloud images are built with, and what logs in to them.
PACKAGES_SYSTEMS := mmdebstrap debian-archive-keyring openssh-client
PACKAGES_TEST  := iptables docker.io skopeo curl tcpdump tftp-hpa atftp udhcpc busybox-static dnsmasq-base procps nginx-light \
                  isc-dhcp-client dhcpcd-base kea-admin qemu-system-arm qemu-efi-aarch64 systemd libseccomp2 \
                  tpm2-tools libtss2-tcti-swtpm0 mmdebstrap zsh fish groff-base nftables jq
# Clients of registries that the campaign tries; others are built of their Go modules, where there is a Go that can.
PACKAGES_CLIENTS := podman buildah
# What the campaign compares templates and YAML with; a Go that is there already does as well (tests/online/real_go.py).
PACKAGES_GO := golang-go
PACKAGES_BENCH := wrk gcc libc6-dev
# Debian starts some of these as soon as they are installed; the tests want the programs only, so they are unpacked.
# A library that Debian 13 calls …t64, for its times of 64 bits, has its old name here.
PEERS          := isc-dhcp-relay isc-dhcp-server kea-dhcp4-server openipmi libopenipmi0 libpopt0

CFLAGS_HELPER := -std=gnu11 -Os -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror -static -s

.DEFAULT_GOAL := help
.PHONY: help demo test check bench campaign binary reproducible images man reference osie worker-aarch64 osie-aarch64 loaders keys helper clean \
        packages-build packages-helper packages-arm64 packages-lab packages-systems packages-test packages-clients packages-go packages-bench

help:
	@echo "make demo      install Debian on a virtual machine with an empty disk, and log in to it (FIRMWARE=bios|uefi)"
	@echo "make test      all tests, virtual machines included"
	@echo "make check     format, lint, types, import contracts and the fast tests"
	@echo "make campaign  the same tests, for hours"
	@echo "make bench     benchmarks, each beside a peer"
	@echo "make binary    dist/tinkbox, the single executable"
	@echo "make images    the images of the actions in examples/actions, for tinkbox image load"
	@echo "make man       build/man, the man pages; make reference: docs/commands.md and docs/api.md, from the program"
	@echo "make reproducible  builds the commit twice, and says what differs"
	@echo "make osie      the in-memory operating system's kernel and ramdisk; make osie-aarch64: those for arm64"

# apt lets in one at a time; what a package starts when it is installed does not keep the others out.
ALONE := flock --close "$(CURDIR)/Makefile"
# Only what is missing is asked for, so that a prepared machine needs no package mirror.
GET := $(ALONE) sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$$@"' get
define install
	@missing=""; for name in $(1); do \
	    dpkg-query -W -f '$${db:Status-Status}' $$name 2>/dev/null | grep -qx installed || missing="$$missing $$name"; done; \
	if [ -n "$$missing" ]; then echo "installing$$missing"; $(GET) $$missing >/dev/null; fi
endef

packages-build:
	$(call install,$(PACKAGES_BUILD))
packages-helper:
	$(call install,$(PACKAGES_HELPER))
packages-arm64:
	$(call install,$(PACKAGES_ARM64))
packages-lab:
	$(call install,$(PACKAGES_LAB))
packages-systems: packages-lab
	$(call install,$(PACKAGES_SYSTEMS))
# Debian starts a web server as soon as it is installed; here it is wanted as a program only.
packages-test:
	@command -v nginx >/dev/null || { mkdir -p $(BUILD) && touch $(BUILD)/.nginx-is-new; }
	$(call install,$(PACKAGES_TEST))
	@command -v docker >/dev/null || { $(GET) docker-cli >/dev/null; }  # in Debian 12 a part of docker.io
	@if [ -e $(BUILD)/.nginx-is-new ]; then rm $(BUILD)/.nginx-is-new; \
	    { systemctl disable --now nginx || service nginx stop; } >/dev/null 2>&1 || true; fi
packages-clients:
	$(call install,$(PACKAGES_CLIENTS))
packages-go:
	@command -v go >/dev/null || [ -x /usr/local/go/bin/go ] || { $(GET) $(PACKAGES_GO) >/dev/null; }
packages-bench:
	$(call install,$(PACKAGES_BENCH))

$(BIN)/.ready: packaging/requirements.txt pyproject.toml | packages-build
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r packaging/requirements.txt
	touch $@

loaders: $(LOADERS)
# iPXE for every firmware.
tinkbox/boot/loaders/undionly.kpxe: packaging/ipxe.py packaging/pinned.py | packages-build
	$(PYTHON) packaging/ipxe.py --output $(@D) --cache $(BUILD)/debs
# What is signed for Secure Boot: shim, and the GRUB that it starts.
tinkbox/boot/loaders/grubx64.efi: packaging/loaders.py | packages-build
	$(PYTHON) packaging/loaders.py --output $(@D) --cache $(BUILD)/debs

# What distributions sign their images with.  The licence of the last package is what is laid there last.
keys: $(KEYS)
$(KEYS): packaging/keys.py packaging/pinned.py $(BIN)/.ready
	$(BIN)/python packaging/keys.py --output $(@D) --cache $(BUILD)/debs

# What the worker puts into containers: the helper, and tools for those who look into a held one.
# With musl the helper has a tenth of the size, but is no worse without.
helper: $(TOOLS)
$(TOOLS): $(HELPER) tinkbox/__init__.py | packages-helper
	-@command -v musl-gcc >/dev/null || { $(GET) musl-tools >/dev/null; }
	mkdir -p $(@D)
	install -m 0755 /bin/busybox $(@D)/busybox
	$(@D)/busybox --list >$(@D)/applets
	install -m 0644 /usr/share/doc/busybox-static/copyright $(@D)/LICENCE.busybox
	version=$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' tinkbox/__init__.py); \
	if command -v musl-gcc >/dev/null; then compiler=musl-gcc library=musl-dev; else compiler=gcc library=libc6-dev; fi; \
	install -m 0644 /usr/share/doc/$$library/copyright $(@D)/LICENCE.libc && \
	$$compiler $(CFLAGS_HELPER) -DVERSION="\"$$version\"" -o $@ $(filter %.c,$^)

# The time of what is built is that of the commit, where that is known.
EPOCH := $${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null)}

# The bill of materials, dist/tinkbox.cdx.json, comes with it.
binary: dist/tinkbox
dist/tinkbox: $(SOURCES) $(LOADERS) $(KEYS) $(TOOLS) $(ONEFILE) $(BIN)/.ready
	epoch=$(EPOCH); env $${epoch:+SOURCE_DATE_EPOCH=$$epoch} \
	$(BIN)/pyinstaller --log-level ERROR --noconfirm --distpath dist --workpath $(BUILD)/pyinstaller packaging/tinkbox.spec
	dist/tinkbox version

reproducible: $(BIN)/.ready
	$(BIN)/python packaging/reproducible.py --output $(BUILD)/reproducible --cache $(BUILD)/debs

# Both are printed from what the command line declares; `tinkbox init` places the same pages.
man: $(BIN)/.ready
	PYTHONPATH=. $(BIN)/python packaging/reference.py --man $(BUILD)/man
reference: $(BIN)/.ready
	PYTHONPATH=. $(BIN)/python packaging/reference.py --commands docs/commands.md --api docs/api.md

osie: $(BUILD)/osie/x86_64/initramfs
$(BUILD)/osie/x86_64/initramfs: dist/tinkbox
	dist/tinkbox osie build --output $(BUILD)/osie --cache $(BUILD)/debs

# PyInstaller does not cross-build: the worker for arm64 is a tree with Debian's Python.
worker-aarch64: dist/tinkbox-aarch64/usr/bin/tinkbox
dist/tinkbox-aarch64/usr/bin/tinkbox: $(SOURCES) $(TOOLS) packaging/worker.py packaging/bytecode.py $(HELPER) $(BIN)/.ready | packages-arm64
	epoch=$(EPOCH); env $${epoch:+SOURCE_DATE_EPOCH=$$epoch} \
	CFLAGS_HELPER="$(CFLAGS_HELPER)" $(BIN)/python packaging/worker.py --architecture aarch64 --output dist/tinkbox-aarch64 --cache $(BUILD)/debs

osie-aarch64: $(BUILD)/osie/aarch64/initramfs
$(BUILD)/osie/aarch64/initramfs: dist/tinkbox-aarch64/usr/bin/tinkbox
	$(BIN)/python -m tinkbox osie build --architecture aarch64 --executable dist/tinkbox-aarch64 --output $(BUILD)/osie --cache $(BUILD)/debs

ACTIONS := install-image image2disk writefile reboot kexec
images: $(BUILD)/images/.ready
$(BUILD)/images/.ready: $(wildcard examples/actions/* examples/actions/*/*) packaging/images.py packaging/bytecode.py $(BIN)/.ready
	PYTHONPATH=. $(BIN)/python packaging/images.py $(ACTIONS) --output $(BUILD)/images --cache $(BUILD)/debs
	touch $@

$(BUILD)/peers/%/.ready:
	mkdir -p $(BUILD)/peers
	cd $(BUILD)/peers && rm -f $*_*.deb $*t64_*.deb && \
	    get() { $(ALONE) apt-get download -qq $* 2>/dev/null || $(ALONE) apt-get download -qq $*t64 2>/dev/null; } && \
	    { get || { $(ALONE) apt-get update -qq && get; }; }
	cd $(BUILD)/peers && dpkg-deb --extract $$(ls -d $*_*.deb $*t64_*.deb 2>/dev/null) $* && touch $*/.ready

# The boot files are those of the OSIE.
$(BUILD)/images/.services: $(wildcard examples/services/*/*) packaging/images.py packaging/bytecode.py $(BUILD)/osie/x86_64/initramfs
	PYTHONPATH=. $(BIN)/python packaging/images.py osie-boot-files-server password-receiver --output $(BUILD)/images --cache $(BUILD)/debs
	touch $@

$(BUILD)/demo/disk.img.zst: examples/demo/disk.py $(wildcard examples/demo/files/*) $(BIN)/.ready | packages-lab
	$(BIN)/python -m examples.demo.disk --output $@ --cache $(BUILD)/debs

# Debian as its cloud images have it, from its packages.
SUITE_debian-12 := bookworm
SUITE_debian-13 := trixie
CLOUD := packaging/cloud_image.py packaging/cloud_root.py tinkbox/wire/disk/bootable_disk.py tinkbox/wire/disk/partition_table.py tinkbox/wire/disk/fat32.py
$(BUILD)/system-images/%.qcow2: $(CLOUD) | packages-systems
	$(PYTHON) packaging/cloud_image.py $(SUITE_$*) --output $@ --cache $(BUILD)/debs
# The same as a tar, which knows of no disk.
$(BUILD)/system-images/%.tar.zst: $(CLOUD) | packages-systems
	$(PYTHON) packaging/cloud_image.py $(SUITE_$*) --output $@ --cache $(BUILD)/debs

LAB := packages-lab dist/tinkbox $(BUILD)/osie/x86_64/initramfs $(BUILD)/images/.ready $(BUILD)/demo/disk.img.zst

demo: packages-systems dist/tinkbox $(BUILD)/osie/x86_64/initramfs $(BUILD)/images/.ready $(BUILD)/system-images/$(SYSTEM).qcow2
	@$(BIN)/python -m examples.demo --system $(SYSTEM) --firmware $(FIRMWARE) --tinkbox dist/tinkbox --build $(BUILD)

# What the tests use, as far as it can be made side by side: what unpacks packages that apt brings comes behind the others.
TESTED := dist/tinkbox $(BUILD)/osie/x86_64/initramfs $(BUILD)/images/.ready $(BUILD)/images/.services $(BUILD)/demo/disk.img.zst \
          $(BUILD)/system-images/debian-13.qcow2
BEFORE_TESTED := packages-build packages-helper packages-lab packages-systems packages-test loaders keys helper $(PEERS:%=$(BUILD)/peers/%/.ready) $(BIN)/.ready
SIDE_BY_SIDE := $(MAKE) --no-print-directory -j $$(nproc)
.PHONY: tested lint unit
tested: $(TESTED)

# Every process of `make test` reads all tests before its first one.  Compiled beforehand, each file is compiled once, not by all
# of them at the same time.  What is wrong with a file, the tests say themselves.
COMPILED := $(addprefix compiled-,unit integration machine)
.PHONY: $(COMPILED)
$(COMPILED): compiled-%: $(BIN)/.ready
	@$(BIN)/python -m pytest -qq --collect-only tests/$* >/dev/null 2>&1 || true

# In several processes at once; tests/processes.py says how many, and which takes what.
TOGETHER := -n auto --dist loadfile

# Many processes start from the same modules, the tests' own and those of the program: they are compiled once, whatever the shell says.
test unit campaign: export PYTHONDONTWRITEBYTECODE :=

# What only some of the cells need that are this run's turn (tests/rotation.py), tests.machine.matrix names.
test: packages-build packages-helper loaders keys helper
	+$(SIDE_BY_SIDE) dist/tinkbox $(BEFORE_TESTED)
	+@needed=$$($(BIN)/python -m tests.machine.matrix) && { [ -z "$$needed" ] || $(MAKE) --no-print-directory packages-arm64; } && \
	$(SIDE_BY_SIDE) tested $(COMPILED) $$needed
	$(BIN)/python -m pytest $(TOGETHER) tests --ignore=tests/bench -m "not campaign"

check: packages-build packages-lab loaders keys helper $(BIN)/.ready
	+$(SIDE_BY_SIDE) lint unit

lint: $(BIN)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

unit: $(BIN)/.ready
	$(BIN)/python -m pytest -q $(TOGETHER) -n $$(nproc) tests/unit tests/test_*.py -m "not campaign"

# The tests wider: a thousand times the examples of property tests, but of those that are bounded for their cost; every cell of
# the fault matrix; every firmware in every mode of DHCP.  PART is what to run of it, such as tests/machine/test_firmware.py.
PART := tests
TARS := $(BUILD)/system-images/debian-12.tar.zst $(BUILD)/system-images/debian-13.tar.zst
campaign: $(BEFORE_TESTED) packages-arm64 packages-clients packages-go
	+$(SIDE_BY_SIDE) tested osie-aarch64 $(BUILD)/system-images/debian-12.qcow2 $(TARS)
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest $(PART) --ignore=tests/bench --timeout 7200

bench: packages-test packages-bench packages-systems $(BUILD)/peers/docker-registry/.ready $(LAB) $(BUILD)/system-images/debian-13.qcow2
	@$(BIN)/python -m tests.bench

clean:
	rm -rf $(BUILD) dist .venv tinkbox/boot/loaders tinkbox/catalogue/keys tinkbox/worker/tools
