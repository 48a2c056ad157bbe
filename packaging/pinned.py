"""Packages of Debian that are pinned by their digest, so that it does not matter who serves them."""

import hashlib
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path

SECONDS = 60


def fetched(path: Path, sha256: str, mirrors: Sequence[str], place: str) -> Path:
    """The file, downloaded from its place on a mirror unless it is there; raises LookupError when no mirror has just it."""
    if path.is_file() and _digest(path.read_bytes()) == sha256:
        return path
    failures = []
    for mirror in mirrors:
        try:
            with urllib.request.urlopen(f"{mirror}/{place}", timeout=SECONDS) as answer:
                content = answer.read()
        except (OSError, HTTPException) as error:
            failures.append(f"{mirror}: {error}")
            continue
        if _digest(content) == sha256:
            path.write_bytes(content)
            return path
        failures.append(f"{mirror}: another file of that name")
    raise LookupError("; ".join(failures))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
