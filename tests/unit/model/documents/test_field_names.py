"""Fields of an interface are told to people as their own document spells them."""

from typing import Any

import pytest

from tinkbox.model.documents.field_names import forbids_pxe, permitting_pxe, spelled
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.hardware import Interface

MAC = "08:00:27:00:00:07"


def of_2020(netboot: dict[str, Any]) -> Interface:
    interface = {"dhcp": {"mac": MAC}, "netboot": netboot}
    found = hardware_from_document(
        {"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "network": {"interfaces": [interface]}}
    )
    return found.interfaces[0]


def of_v1alpha1(netboot: dict[str, Any]) -> Interface:
    interface = {"dhcp": {"mac": MAC}, "netboot": netboot}
    document = {"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "metadata": {"name": "a"}}
    return hardware_from_document({**document, "spec": {"interfaces": [interface]}}).interfaces[0]


def of_v1alpha2(netboot: dict[str, Any]) -> Interface:
    document = {"apiVersion": "tinkerbell.org/v1alpha2", "kind": "Hardware", "metadata": {"name": "a"}}
    spec = {"networkInterfaces": {MAC: {"netboot": netboot}}}
    return hardware_from_document({**document, "spec": spec}).interfaces[0]


@pytest.mark.parametrize(
    ("interface", "says", "remedy"),
    [
        (of_2020({"allow_pxe": False}), "says netboot.allow_pxe: false", "Set netboot.allow_pxe to true"),
        (of_v1alpha1({"allowPXE": False}), "says netboot.allowPXE: false", "Set netboot.allowPXE to true"),
        (of_v1alpha1({}), "does not permit network boot: it has no netboot.allowPXE", "Set netboot.allowPXE to true"),
        (of_v1alpha2({"disabled": True}), "says netboot.disabled: true", "Set netboot.disabled to false"),
    ],
    ids=["2020", "v1alpha1", "v1alpha1, which says nothing", "v1alpha2"],
)  # fmt: skip
def test_why_an_interface_may_not_boot_names_the_key_of_its_own_document(
    interface: Interface, says: str, remedy: str
) -> None:
    assert not interface.allow_pxe
    assert (forbids_pxe(interface), permitting_pxe(interface)) == (says, f"{remedy} in its hardware document")


def test_other_fields_are_spelled_as_their_document_has_them() -> None:
    fields = ("dhcp.vlan_id", "dhcp.arch", "dhcp.ip.address", "netboot.osie.kernelParams", "disableDhcp")
    ours = ["vlan_id", "arch", "ip.address", "netboot.osie.kernelParams", "disableDhcp"]
    assert [spelled(of_v1alpha1({}), each) for each in fields] == ours
    assert [spelled(None, each) for each in fields] == ours
    assert [spelled(of_v1alpha2({}), each) for each in fields] == [
        "dhcp.ipv4.vlanID",
        "spec.arch",
        "ipam.ipv4.address",
        "spec.instance.osie.kernelParams",
        "dhcp.ipv4.disabled",
    ]
