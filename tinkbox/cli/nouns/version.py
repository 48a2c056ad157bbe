"""`tinkbox version`; touches neither disk nor network."""

import argparse

from tinkbox import __version__
from tinkbox.cli.flags import carry_out


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, show_version)


def show_version(_: argparse.Namespace) -> None:
    print(f"tinkbox {__version__}")
