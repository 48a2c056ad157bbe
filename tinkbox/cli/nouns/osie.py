"""`tinkbox osie`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import add_listing, add_verb, add_verbs, folder
from tinkbox.cli.output.formats import Column, show
from tinkbox.model.errors import Invalid
from tinkbox.model.sizes import show_size


def _size(size: int | None) -> str:
    return "" if size is None else show_size(size)


COLUMNS: Sequence[Column] = (
    Column("Architecture", "architecture"),
    Column("Version", "version"),
    Column("Kernel", "kernel"),
    Column("Ramdisk", lambda osie: osie["files"]["initramfs"]["size"], show_size),
    Column("Firmware", lambda osie: osie["files"].get("firmware", {}).get("size"), _size),
)


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    verb = add_verb(verbs, "build", build, "make kernel and ramdisk from Debian packages")
    verb.add_argument("--output", type=folder, metavar="DIR", help="default: osie/ in the data directory")
    verb.add_argument("--cache", type=folder, metavar="DIR", help="where downloaded packages are kept")
    verb.add_argument("--executable", type=Path, metavar="FILE", help="the worker inside; default: this program")
    verb.add_argument(
        "--without-firmware", action="store_true", help="no firmware of cards from Debian's non-free-firmware"
    )
    verb.add_argument("--architecture", default="x86_64", metavar="NAME", help="x86_64 (default) or aarch64")
    add_listing(add_verb(verbs, "list", show_list, "what was built"))


def build(chosen: argparse.Namespace) -> None:
    from tinkbox.osie.architectures import architecture
    from tinkbox.osie.build import build as build_osie
    from tinkbox.settings import load

    data = load(data=chosen.data).data
    output, cache = chosen.output or data / "osie", chosen.cache or data / "cache"
    made_for = architecture(chosen.architecture)
    os.umask(0o022)  # the user that the appliance runs as reads what root makes here, and every machine gets it
    build_osie(
        output,
        _executable(chosen.executable),
        cache,
        lambda step: print(step, flush=True),
        made_for,
        with_firmware=not chosen.without_firmware,
    )


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.osie.all()), COLUMNS, key="architecture")


def _executable(named: Path | None) -> Path:
    if named is not None:
        return named
    if getattr(sys, "frozen", False):
        return Path(sys.executable)
    raise Invalid("which executable goes into the OSIE? this is a checkout: name one with --executable (`make binary`)")
