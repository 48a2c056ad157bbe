"""The values that flags of several verbs of `hardware` take."""

import argparse

from tinkbox.model.errors import Invalid


def disk(text: str) -> str:
    """An argument that is the path of a disk."""
    from tinkbox.model.disks.selection import parse_path

    try:
        return parse_path(text)
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def label_change(text: str) -> str:
    """An argument that sets a label, or removes it."""
    from tinkbox.model.labels import parse_change

    try:
        parse_change([text])
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
