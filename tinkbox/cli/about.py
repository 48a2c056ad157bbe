"""The program about itself; touches neither disk nor network."""

import argparse

from tinkbox import __version__


def show_version(_: argparse.Namespace) -> None:
    print(f"tinkbox {__version__}")


def show_help(chosen: argparse.Namespace) -> None:
    print(chosen.help_text, end="")
