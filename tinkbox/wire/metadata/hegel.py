"""`/metadata` as Hegel of 2020 and Tootles have it: one JSON object that both kinds of clients read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tinkbox.model.metadata import Instance
from tinkbox.wire.metadata.tree import JSON, File, text_file

# Of `metadata.instance`: what is no secret.
_PUBLIC: Final = (
    "id", "state", "hostname", "allow_pxe", "rescue", "operating_system", "always_pxe", "ips", "network", "network_ready", "tags",
    "ssh_keys", "plan", "facility", "iqn",
)  # fmt: skip


def hegel(instance: Instance, *, secrets: bool) -> File:
    """The instance itself, as Hegel answered, and the same once more below `metadata.instance`, where today's rootio looks for `storage`."""
    details = dict(instance.details)
    shown: dict[str, Any] = details if secrets else {name: value for name, value in details.items() if name in _PUBLIC}
    if "storage" in details and not secrets:
        shown["storage"] = _storage(details["storage"])
    shown = {**shown, "hostname": instance.hostname or shown.get("hostname", "")}
    return text_file(json.dumps({**shown, "metadata": {"instance": shown}}), JSON)


def _storage(value: Any) -> Any:
    """Without the contents of files, which may be secret."""
    if isinstance(value, Mapping):
        return {name: _storage(inner) for name, inner in value.items() if name != "files"}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_storage(each) for each in value]
    return value
