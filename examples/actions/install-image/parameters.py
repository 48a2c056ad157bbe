"""What the action is asked to do; see README.md for its variables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from failure import Failure, required
from seed import KINDS
from variables import flag, number

_HEX = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """`seed` is None when the image decides; `patience` and `interval` are in seconds."""

    image: str
    disk: Path
    appliance: str
    metadata: str
    seed: str | None
    grow: bool
    boot_entry: bool
    sha256: str
    patience: float
    interval: float

    @property
    def is_url(self) -> bool:
        return self.image.lower().startswith(("http://", "https://"))


def parameters(environment: Mapping[str, str]) -> Parameters:
    """Read the action's environment; raises Failure."""
    known = dict(environment)
    (image,) = required(known, "IMAGE")
    disk = known.get("TINKBOX_DISK") or known.get("DEST_DISK")
    if not disk:
        raise Failure(
            "MissingParameter",
            "say which disk: write `disk: smallest` or the like beside the action's image, or set DEST_DISK",
        )
    metadata = known.get("TINKBOX_METADATA", "")
    seed = known.get("SEED", "").lower() or (None if metadata else "none")
    if seed is not None and seed not in KINDS:
        raise Failure("InvalidParameter", f"SEED is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {seed!r}")
    if seed not in {None, "none"} and not metadata:
        raise Failure(
            "MissingParameter", f"SEED={seed} needs TINKBOX_METADATA, which this machine's workflow does not have"
        )
    sha256 = known.get("IMG_SHA256", "").lower().removeprefix("sha256:")
    if sha256 and not _HEX.match(sha256):
        raise Failure("InvalidParameter", f"IMG_SHA256 is no sha256 digest of 64 hexadecimal digits: {sha256}")
    wanted = Parameters(
        image=image,
        disk=Path(disk),
        appliance=known.get("TINKBOX_SERVER", ""),
        metadata=metadata,
        seed=seed,
        grow=flag(known, "GROW") is not False,
        boot_entry=flag(known, "BOOT_ENTRY") is not False,
        sha256=sha256,
        patience=60.0 * number(known, "RETRY_DURATION_MINUTES", "10")
        if flag(known, "RETRY_ENABLED") is not False
        else 0.0,
        interval=float(number(known, "PROGRESS_INTERVAL_SECONDS", "3")),
    )
    if not wanted.is_url:
        if sha256:
            raise Failure(
                "InvalidParameter",
                f"IMG_SHA256 is for a URL; write {image.partition('@')[0]}@sha256:… to pin a system image",
            )
        required(known, "TINKBOX_SERVER")
    return wanted
