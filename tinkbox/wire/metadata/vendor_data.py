"""Vendor-data: what the appliance asks of an installed system, beside what its operator wrote for it.

cloud-init lays user-data over vendor-data key by key, and a list there is the user's alone.  So only keys stand here that
users rarely write.  What somebody else wrote stays as it is: both go as parts of one MIME message, theirs last.
"""

import base64
import hashlib
from typing import Any, Final

import yaml

from tinkbox.model.metadata import Instance
from tinkbox.wire.metadata.tree import gzip_of

PHONE_HOME: Final = "phone-home"
REPORT: Final = "report"
TRIES: Final = 10
# A system reports in each of its boots, wherever it is by then: at the end of a stage it waits for three failures at most.
_PATIENCE: Final = {"timeout": 3, "retries": 1}
_HEAD: Final = "#cloud-config\n"
# cloud-init runs vendors' scripts before the user's, those by name, and phones home after both.
_SYNC: Final = """\
#!/bin/sh
# Nothing that this first boot wrote may be lost once the system has phoned home: sync after the last of the user's scripts.
scripts=/var/lib/cloud/instance/scripts
mkdir -p "$scripts"
printf '#!/bin/sh\\nexec sync\\n' > "$scripts/zzzz-sync-before-phone-home"
chmod 755 "$scripts/zzzz-sync-before-phone-home"
"""
# How a part has to be told that is no cloud-config, by its beginning in lower case (cloud-init's `INCLUSION_TYPES_MAP`).
_TYPES: Final = (
    ("#cloud-config-archive", "text/cloud-config-archive"),
    ("#cloud-config-jsonp", "text/cloud-config-jsonp"),
    ("#cloud-config", "text/cloud-config"),
    ("#cloud-boothook", "text/cloud-boothook"),
    ("#include-once", "text/x-include-once-url"),
    ("#include", "text/x-include-url"),
    ("#part-handler", "text/part-handler"),
    ("## template: jinja", "text/jinja2"),
    ("#!", "text/x-shellscript"),
)


def vendor_data(instance: Instance) -> str:
    """All of it for one system."""
    texts = [_HEAD + dumped(_own(instance)), _SYNC if instance.url else "", instance.vendor_data]
    return _message([_part(text, number) for number, text in enumerate(filter(str.strip, texts), start=1)])


def dumped(value: Any) -> str:
    """YAML as people write it, in the order that is given."""
    return str(yaml.safe_dump(value, sort_keys=False, default_flow_style=False, allow_unicode=True, width=4096))


def _own(instance: Instance) -> dict[str, Any]:
    defaults, told = instance.defaults, dict[str, Any]()
    if instance.url:
        told["phone_home"] = {"url": f"{instance.url}/{PHONE_HOME}", "post": "all", "tries": TRIES}
        told["reporting"] = {"tinkbox": {"type": "webhook", "endpoint": f"{instance.url}/{REPORT}", **_PATIENCE}}
    # With a static address a system does not ask DHCP, which tells these otherwise.
    servers = dict.fromkeys(str(each) for card in instance.hardware.interfaces for each in card.time_servers)
    if servers:
        told["ntp"] = {"servers": list(servers)}
    if defaults.timezone:
        told["timezone"] = defaults.timezone
    if defaults.proxy:
        told["apt"] = {"http_proxy": defaults.proxy, "https_proxy": defaults.proxy}
    if defaults.ca:
        told["ca_certs"] = {"trusted": list(defaults.ca)}
    return told


def _type_of(text: str) -> str:
    begins = text.lstrip().lower()
    return next((kind for start, kind in _TYPES if begins.startswith(start)), "text/plain")


def _part(text: str, number: int) -> str:
    """One part with its headers; what is a message of its own has them, and is put in whole.  cloud-init unpacks gzip."""
    if text.lstrip().lower().startswith(("content-type:", "mime-version:")):
        return text.lstrip()
    kind, encoding = f'{_type_of(text)}; charset="utf-8"', "8bit"
    if packed := gzip_of(text):
        kind, encoding, text = "application/gzip", "base64", base64.encodebytes(packed).decode()
    return "\n".join(
        [
            f"Content-Type: {kind}",
            "MIME-Version: 1.0",
            f"Content-Transfer-Encoding: {encoding}",
            f'Content-Disposition: attachment; filename="part-{number}"',
            "",
            text,
        ]
    )


def _message(parts: list[str]) -> str:
    """A MIME message (RFC 2046 §5.1), the same for the same parts."""
    whole = "".join(parts)
    boundary = f"tinkbox-{hashlib.sha256(whole.encode(errors='replace')).hexdigest()[:32]}"
    head = f'Content-Type: multipart/mixed; boundary="{boundary}"\nMIME-Version: 1.0\n\n'
    return head + "".join(f"--{boundary}\n{part}\n" for part in parts) + f"--{boundary}--\n"
