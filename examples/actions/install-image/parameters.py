"""What the action is asked to do, by either of its names; see the README of each for its variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from failure import Failure, required
from seed import KINDS
from server import TrustedDoor
from stream import WebImage
from variables import digest, flag, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """`web` is None for a system image of the appliance; `seed` is None when the image decides.

    `door` is where the appliance is asked by HTTPS, None: by the plain URL `appliance`.

    `exact` means that the disk gets the image's own bytes, and no other part of it is touched.  `patience` and
    `interval` are in seconds.
    """

    image: str
    web: WebImage | None
    disk: Path
    appliance: str
    door: TrustedDoor | None
    metadata: str
    seed: str | None
    grow: bool
    boot_entry: bool
    exact: bool
    patience: float
    interval: float


def of_install_image(environment: Mapping[str, str]) -> Parameters:
    """Read the environment of `install-image`; raises Failure."""
    known = dict(environment)
    image, web = _image(known)
    disk = _disk(known)
    if web is None:
        required(known, "TINKBOX_SERVER")
    metadata = known.get("TINKBOX_METADATA", "")
    seed = known.get("SEED", "").lower() or (None if metadata else "none")
    if seed is not None and seed not in KINDS:
        raise Failure("InvalidParameter", f"SEED is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {seed!r}")
    if seed not in {None, "none"} and not metadata:
        raise Failure(
            "MissingParameter", f"SEED={seed} needs TINKBOX_METADATA, which this machine's workflow does not have"
        )
    return Parameters(
        image=image,
        web=web,
        disk=disk,
        appliance=known.get("TINKBOX_SERVER", ""),
        door=_door(known),
        metadata=metadata,
        seed=seed,
        grow=flag(known, "GROW") is not False,
        boot_entry=flag(known, "BOOT_ENTRY") is not False,
        exact=False,
        patience=_patience(known, retries=True),
        interval=_interval(known),
    )


def of_image2disk(environment: Mapping[str, str]) -> Parameters:
    """Read the environment of `image2disk`; raises Failure."""
    known = dict(environment)
    (url,) = required(known, "IMG_URL")
    return Parameters(
        image=url,
        web=_web(known, "IMG_URL"),
        disk=_disk(known),
        appliance="",
        door=None,
        metadata="",
        seed="none",
        grow=False,
        boot_entry=False,
        exact=True,
        patience=_patience(known, retries=False),
        interval=_interval(known),
    )


def _image(known: dict[str, str]) -> tuple[str, WebImage | None]:
    name, url = known.get("IMAGE", ""), known.get("IMG_URL", "")
    if name and url:
        raise Failure("InvalidParameter", "IMAGE and IMG_URL are both set: keep the one with the image you want")
    if url:
        return url, _web(known, "IMG_URL")
    if name.lower().startswith(("http://", "https://")):
        return name, _web(known, "IMAGE")
    required(known, "IMAGE")
    for variable in ("IMG_SHA256", "IMG_SIZE", "COMPRESSED"):
        if known.get(variable):
            raise Failure(
                "InvalidParameter",
                f"{variable} is for a URL; write {name.partition('@')[0]}@sha256:… to pin a system image",
            )
    return name, None


def _web(known: dict[str, str], variable: str) -> WebImage:
    url = known[variable]
    if not url.lower().startswith(("http://", "https://")):
        raise Failure("InvalidParameter", f"{variable} is no http or https address: {url}")
    return WebImage(
        url=url,
        compressed=flag(known, "COMPRESSED"),
        sha256=digest(known, "IMG_SHA256"),
        size=number(known, "IMG_SIZE") if known.get("IMG_SIZE") else None,
    )


def _door(known: dict[str, str]) -> TrustedDoor | None:
    plain, https, authority = (known.get(name, "") for name in ("TINKBOX_SERVER", "TINKBOX_HTTPS_SERVER", "TINKBOX_CA"))
    if not (plain and https and authority):
        return None
    return TrustedDoor(plain.rstrip("/"), https.rstrip("/"), Path(authority))


def _disk(known: dict[str, str]) -> Path:
    disk = known.get("TINKBOX_DISK") or known.get("DEST_DISK")
    if not disk:
        raise Failure(
            "MissingParameter",
            "say which disk: write `disk: smallest` or the like beside the action's image, or set DEST_DISK",
        )
    return Path(disk)


def _patience(known: dict[str, str], *, retries: bool) -> float:
    wanted = flag(known, "RETRY_ENABLED")
    minutes = number(known, "RETRY_DURATION_MINUTES", "10")
    return 60.0 * minutes if (retries if wanted is None else wanted) else 0.0


def _interval(known: dict[str, str]) -> float:
    return float(number(known, "PROGRESS_INTERVAL_SECONDS", "3"))
