"""What the installed system finds on its seed partition: its configuration from the appliance's metadata."""

import json
import re
from dataclasses import dataclass
from typing import Any

from download import shown
from failure import Failure
from server import Server

MOST = 3 << 20
KINDS = ("cidata", "config-2", "url", "none")
_INSTANCE = re.compile(rb"""^["']?instance-id["']?\s*:\s*["']?([^"'\s,}]+)""", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """`name` is that of the partition, `label` that of its file system."""

    name: str
    label: str
    files: dict[str, bytes]

    @property
    def identity(self) -> bytes:
        return b"\0".join(name.encode() + b"\0" + content for name, content in sorted(self.files.items()))


def fetch(kind: str, metadata: str, server: Server) -> Seed | None:
    """The seed of this kind, or None for `none`; raises Failure with MetadataNotFound and others."""
    if kind == "none":
        return None
    place = metadata.rstrip("/")
    if kind == "config-2":
        return Seed(name="config-2", label="config-2", files=_config_drive(f"{place}/openstack/latest", server))
    about = server.document(f"{place}/meta-data", most=MOST, missing="MetadataNotFound")
    if kind == "url":
        files = {"meta-data": _redirection(about, place), "user-data": b""}
    else:
        files = {"meta-data": about, "user-data": _optional(f"{place}/user-data", server) or b""}
        for name in ("vendor-data", "network-config"):
            if content := _optional(f"{place}/{name}", server):
                files[name] = content
    return Seed(name="cidata", label="CIDATA", files=files)


def _config_drive(place: str, server: Server) -> dict[str, bytes]:
    files = {"meta_data.json": server.document(f"{place}/meta_data.json", most=MOST, missing="MetadataNotFound")}
    for name in ("user_data", "vendor_data.json", "network_data.json"):
        if content := _optional(f"{place}/{name}", server):
            files[name] = content
    for name, content in files.items():
        if name.endswith(".json") and not isinstance(_parsed(content), dict):
            raise Failure("MetadataInvalid", f"{shown(place)}/{name} is no JSON object")
    return {f"openstack/latest/{name}": content for name, content in files.items()}


def _redirection(about: bytes, place: str) -> bytes:
    match = _INSTANCE.search(about)
    if match is None:
        raise Failure("MetadataInvalid", f"{shown(place)}/meta-data names no instance-id")
    identity = match[1].decode("utf-8", "replace")
    return f"instance-id: {json.dumps(identity)}\nseedfrom: {json.dumps(place + '/')}\n".encode()


def _optional(url: str, server: Server) -> bytes:
    try:
        return server.document(url, most=MOST, missing="MetadataNotFound")
    except Failure as failure:
        if failure.reason == "MetadataNotFound":
            return b""
        raise


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
