"""What workflows say of installed systems, and what these told of their first boot."""

from datetime import datetime
from typing import Any

from tinkbox.model.metadata import FirstBoot, HostKey, Metadata, ModuleFailure
from tinkbox.store.formats.json_text import read, write


def metadata_text(spec: Metadata) -> str:
    """The column `spec` of the table `metadata`."""
    return write(
        {
            "hostname": spec.hostname,
            "ssh_keys": spec.ssh_keys,
            "user_data": spec.user_data,
            "vendor_data": spec.vendor_data,
            "network": dict(spec.network),
        }
    )


def metadata_of(text: str) -> Metadata:
    """Reads `metadata_text`."""
    entry = read(text)
    return Metadata(
        hostname=entry["hostname"],
        ssh_keys=tuple(entry["ssh_keys"]),
        user_data=entry["user_data"],
        vendor_data=entry["vendor_data"],
        network=entry["network"],
    )


def first_boot_text(first_boot: FirstBoot) -> str:
    """The column `told` of the table `first_boot`."""
    return write(
        {
            "phoned_at": _text(first_boot.phoned_at),
            "address": first_boot.address,
            "hostname": first_boot.hostname,
            "host_keys": [[each.kind, each.fingerprint] for each in first_boot.host_keys],
            "reports": first_boot.reports,
            "finished_at": _text(first_boot.finished_at),
            "failures": [
                {"module": each.module, "result": each.result, "message": each.message, "at": each.at.isoformat()}
                for each in first_boot.failures
            ],
        }
    )


def first_boot_of(text: str | None) -> FirstBoot:
    """Reads `first_boot_text`; None: nothing was told."""
    if not text:
        return FirstBoot()
    entry: Any = read(text)
    return FirstBoot(
        phoned_at=_time(entry["phoned_at"]),
        address=entry["address"],
        hostname=entry["hostname"],
        host_keys=tuple(HostKey(kind=kind, fingerprint=fingerprint) for kind, fingerprint in entry["host_keys"]),
        reports=entry["reports"],
        finished_at=_time(entry["finished_at"]),
        failures=tuple(
            ModuleFailure(
                module=each["module"],
                result=each["result"],
                message=each["message"],
                at=datetime.fromisoformat(each["at"]),
            )
            for each in entry["failures"]
        ),
    )


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
