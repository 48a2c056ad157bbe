"""EC2's tree, with what Hegel and Tootles have in it beside that: `meta-data/…` and `user-data` below each version."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tinkbox.model.hardware import Interface, primary
from tinkbox.model.metadata import Instance
from tinkbox.wire.metadata.tree import File, Tree, data_file, text_file

# Those that cloud-init and cloudbase-init ask for, and the one that all of Tinkerbell's have.
VERSIONS: Final = ("2009-04-04", "2016-09-02", "2018-09-24", "2021-03-23", "latest")
_OS: Final = ("slug", "distro", "version", "image_tag")


def ec2(instance: Instance, version: str = VERSIONS[0]) -> Tree:
    """What stands below a version; the first has what Tinkerbell's have, and no cards."""
    cards = {} if version == VERSIONS[0] else dict(_cards(instance))
    return {
        **{f"meta-data/{path}": file for path, file in _meta_data(instance)},
        **{f"meta-data/network/interfaces/macs/{path}": file for path, file in cards.items()},
        **({"user-data": data_file(instance.user_data)} if instance.user_data else {}),
    }


def _meta_data(instance: Instance) -> Iterator[tuple[str, File]]:
    details = instance.details
    told = {
        "instance-id": instance.id,
        "hostname": instance.hostname,
        "local-hostname": instance.hostname,
        "plan": _text(instance.facility.get("plan_slug")) or _text(details.get("plan")),
        "facility": _text(instance.facility.get("facility_code")) or _text(details.get("facility")),
        "iqn": _text(details.get("iqn")),
        "tags": "\n".join(each for each in _list(details.get("tags")) if isinstance(each, str)),
        **_addresses(instance),
    }
    # What Tootles has it has always, and empty: actions read these by name.
    for name, text in told.items():
        yield name, text_file(text)
    system = details.get("operating_system")
    system = system if isinstance(system, Mapping) else {}
    for name in _OS:
        yield f"operating-system/{name}", text_file(_text(system.get(name)))
    yield "operating-system/license_activation/state", text_file(_licence(system))
    for number, key in enumerate(instance.ssh_keys):
        yield f"public-keys/{number}/openssh-key", text_file(key, listed=f"{number}=key-{number}")


def _cards(instance: Instance) -> Iterator[tuple[str, File]]:
    """The cards that ask by DHCP, as cloud-init makes of it: those with a reserved address, else the one that netboots."""
    shown = primary(instance.hardware)
    reserved: list[Interface] = [each for each in instance.hardware.interfaces if each.address]
    reserved = reserved or ([shown] if shown else [])
    for number, each in enumerate(reserved):
        told = {
            "device-number": str(number),
            "interface-id": f"eni-{number}",
            "local-hostname": instance.hostname,
            "local-ipv4s": str(each.address or ""),
            "mac": str(each.mac),
        }
        for name, text in told.items():
            if text:
                yield f"{each.mac}/{name}", text_file(text)


def _addresses(instance: Instance) -> dict[str, str]:
    """The first address of each kind in `ips`, or in `network.addresses` as documents of 2020 have them; else the reserved one."""
    network = instance.details.get("network")
    listed = _list(instance.details.get("ips")) or _list(
        network.get("addresses") if isinstance(network, Mapping) else None
    )
    entries = [each for each in listed if isinstance(each, Mapping)]

    def first(family: int, *, public: bool) -> str:
        fit = (each for each in entries if _family(each) == family and bool(each.get("public")) is public)
        return next((_text(each.get("address")) for each in fit), "")

    reserved = next((str(each.address) for each in instance.hardware.interfaces if each.address), "")
    return {
        "public-ipv4": first(4, public=True),
        "public-ipv6": first(6, public=True),
        "local-ipv4": first(4, public=False) or reserved,
    }


def _family(entry: Mapping[str, Any]) -> int:
    """As it is told, `family` or `address_family`; else as the address looks."""
    told = entry.get("family") or entry.get("address_family")
    return told if told in (4, 6) else (6 if ":" in _text(entry.get("address")) else 4)


def _licence(system: Mapping[str, Any]) -> str:
    activation = system.get("license_activation")
    return _text(activation.get("state")) if isinstance(activation, Mapping) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
