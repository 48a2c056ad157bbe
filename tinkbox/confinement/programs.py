"""How this program starts itself for work that is done in confinement."""

import sys
from collections.abc import Sequence
from pathlib import Path

import tinkbox


def program(*words: str) -> Sequence[str]:
    """The very program that runs, with the words that a confined process is started by."""
    return [sys.executable, *words] if _packed() else [sys.executable, "-m", "tinkbox", *words]


def folder() -> Path:
    """Where Python finds tinkbox; the packed executable has it in itself."""
    return Path("/") if _packed() else Path(tinkbox.__file__).parent.parent


def _packed() -> bool:
    return bool(getattr(sys, "frozen", False))
