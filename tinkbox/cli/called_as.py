"""How this program was called, for lines that a person is to type."""

import argparse
import shlex


def called_as(chosen: argparse.Namespace) -> str:
    """The program with the `--data` that it was given, so that what is typed reaches the same appliance."""
    return f"tinkbox --data {shlex.quote(str(chosen.data))}" if chosen.data else "tinkbox"
