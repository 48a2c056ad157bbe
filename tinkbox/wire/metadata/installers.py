"""What systems ask for that do without cloud-init: Ignition, Talos, kickstart, autoinstall.  All but the first get user-data as it is."""

import json
import re
from typing import Any, Final
from urllib.parse import quote

from tinkbox.model.metadata import Instance
from tinkbox.wire.metadata.nocloud import nocloud
from tinkbox.wire.metadata.tree import JSON, Tree, data_file, text_file
from tinkbox.wire.metadata.vendor_data import PHONE_HOME, TRIES

_VERSION: Final = "3.3.0"  # Fedora CoreOS and Flatcar both read it
_HOSTNAME: Final = re.compile(r"[A-Za-z0-9.-]{1,253}")
_UNIT: Final = """\
[Unit]
Description=Tell the appliance that this system is up
Wants=network-online.target
After=network-online.target sshd.service sshd-keygen.target
ConditionPathExists=!/var/lib/tinkbox-phoned-home

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=/usr/bin/sync
ExecStart=/usr/bin/curl -sSf --retry {tries} --retry-delay 5 --retry-all-errors --data-urlencode hostname={hostname} \
--data-urlencode pub_key_ed25519@/etc/ssh/ssh_host_ed25519_key.pub {url}
ExecStartPost=/usr/bin/touch /var/lib/tinkbox-phoned-home

[Install]
WantedBy=multi-user.target
"""


def installers(instance: Instance) -> Tree:
    """What stands beside the trees of cloud-init."""
    tree = {"ignition": text_file(ignition(instance), JSON, secret=True)}
    if instance.user_data:
        given = data_file(instance.user_data)
        tree |= {"talos": given, "kickstart": given}
    seed = nocloud(instance)
    return tree | {f"autoinstall/{name}": seed[name] for name in ("meta-data", "user-data", "vendor-data")}


def ignition(instance: Instance) -> str:
    """The user-data, where that is Ignition; else a configuration with ssh keys, host name, and a unit that phones home."""
    if is_ignition(instance.user_data):
        return instance.user_data
    made: dict[str, Any] = {"ignition": {"version": _VERSION}}
    if instance.ssh_keys:
        made["passwd"] = {"users": [{"name": "core", "sshAuthorizedKeys": list(instance.ssh_keys)}]}
    if instance.hostname:
        source = f"data:,{quote(instance.hostname)}"
        file = {"path": "/etc/hostname", "mode": 0o644, "overwrite": True, "contents": {"source": source}}
        made["storage"] = {"files": [file]}
    if instance.url:
        # A document's host name is any text, and systemd reads the line.
        hostname = instance.hostname if _HOSTNAME.fullmatch(instance.hostname) else "''"
        unit = _UNIT.format(tries=TRIES, hostname=hostname, url=f"{instance.url}/{PHONE_HOME}")
        made["systemd"] = {"units": [{"name": "tinkbox-phone-home.service", "enabled": True, "contents": unit}]}
    return json.dumps(made, indent=1)


def is_ignition(text: str) -> bool:
    """Whether a text is a configuration of Ignition."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and isinstance(document.get("ignition"), dict)
