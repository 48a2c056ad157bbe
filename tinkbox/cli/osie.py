"""`tinkbox osie`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tinkbox.cli.appliance import ask
from tinkbox.cli.output import Column, show
from tinkbox.model.errors import Invalid
from tinkbox.settings import load

COLUMNS: Sequence[Column] = (
    ("Architecture", lambda osie: osie["architecture"]),
    ("Version", lambda osie: osie["version"]),
    ("Kernel", lambda osie: osie["kernel"]),
    ("Ramdisk Size", lambda osie: osie["files"]["initramfs"]["size"]),
)


def build(chosen: argparse.Namespace) -> None:
    from tinkbox.osie.architectures import architecture
    from tinkbox.osie.build import build as build_osie

    data = load(data=chosen.data).data
    output, cache = chosen.output or data / "osie", chosen.cache or data / "cache"
    made_for = architecture(chosen.architecture)
    build_osie(output, _executable(chosen.executable), cache, lambda step: print(step, flush=True), made_for)


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.osie.all()), COLUMNS, key="architecture")


def _executable(named: Path | None) -> Path:
    if named is not None:
        return named
    if getattr(sys, "frozen", False):
        return Path(sys.executable)
    raise Invalid("which executable goes into the OSIE? this is a checkout: name one with --executable (`make binary`)")
