"""A machine's document as templates see it, in Go's names and in JSON's."""

from typing import Any

import pytest

from tinkbox.gotemplate.types.structs import NilSlice, Struct
from tinkbox.model.documents.machine_views import go_name, go_views, object_view, struct_view

OF_2020: dict[str, Any] = {
    "id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94",
    "metadata": {
        "state": "provisioning",
        "instance": {
            "userdata": "#cloud-config",
            "ssh_keys": ["ssh-ed25519 AAAA"],
            "operating_system_version": {"os_slug": "ubuntu_20_04"},
            "storage": {"disks": [{"device": "/dev/sda", "wipe_table": True}, {"device": "/dev/sdb"}]},
        },
    },
    "network": {
        "interfaces": [
            {
                "dhcp": {"mac": "08:00:27:00:00:01", "hostname": "server001", "ip": {"address": "192.168.1.5"}},
                "netboot": {"allow_pxe": True, "allow_workflow": True, "osie": {"base_url": "http://osie"}},
            },
            {"dhcp": {"mac": "08:00:27:00:00:02"}},
        ]
    },
}
OF_TODAY: dict[str, Any] = {
    "apiVersion": "tinkerbell.org/v1alpha1",
    "kind": "Hardware",
    "metadata": {"name": "machine1", "labels": {"rack": "7"}},
    "spec": {
        "disks": [{"device": "/dev/nvme0n1"}],
        "interfaces": [{"disableDhcp": True, "dhcp": {"mac": "08:00:27:00:00:01", "vlan_id": "7"}}],
        "metadata": {"facility": {"facility_code": "lab"}, "bonding_mode": 4},
        "userData": "#cloud-config",
        "vendorData": "more",
    },
    "status": {"attributes": {"outOfBand": {"product": {"productName": "R640"}}}},
}


def test_a_document_of_2020_is_seen_as_todays_object() -> None:
    seen = object_view(OF_2020)
    assert seen["metadata"] == {"name": "server001"}
    assert seen["spec"]["disks"] == [{"device": "/dev/sda"}, {"device": "/dev/sdb"}]
    assert seen["spec"]["userData"] == "#cloud-config"
    assert seen["spec"]["interfaces"][0]["netboot"] == {
        "allowPXE": True,
        "allowWorkflow": True,
        "osie": {"baseURL": "http://osie"},
    }
    assert seen["spec"]["metadata"] == OF_2020["metadata"]


def test_todays_object_is_seen_as_it_is() -> None:
    assert object_view(OF_TODAY) == OF_TODAY
    assert object_view({}) == {}


def test_the_struct_has_gos_names() -> None:
    seen = struct_view(OF_2020)
    first, second = seen["Interfaces"]
    assert seen["Disks"] == ["/dev/sda", "/dev/sdb"]
    assert seen["UserData"] == "#cloud-config"
    assert (first["DHCP"]["MAC"], first["DHCP"]["Hostname"]) == ("08:00:27:00:00:01", "server001")
    assert first["DHCP"]["IP"] == {"Address": "192.168.1.5", "Netmask": "", "Gateway": "", "Family": 0}
    assert (first["Netboot"]["AllowPXE"], first["Netboot"]["OSIE"]["BaseURL"]) == (True, "http://osie")
    assert second["Netboot"] is None
    instance = seen["Metadata"]["Instance"]
    assert instance["SSHKeys"] == ["ssh-ed25519 AAAA"]
    assert instance["OperatingSystemVersion"] == {"os_slug": "ubuntu_20_04"}
    assert instance["Storage"]["Disks"][0]["WipeTable"] is True
    assert instance["Storage"]["Disks"][1]["WipeTable"] is False


def test_the_struct_of_todays_object_has_every_field_with_gos_zero_value() -> None:
    seen = struct_view(OF_TODAY)
    (interface,) = seen["Interfaces"]
    assert (seen["Disks"], seen["VendorData"]) == (["/dev/nvme0n1"], "more")
    assert (interface["DisableDHCP"], interface["DHCP"]["VLANID"], interface["DHCP"]["Arch"]) == (True, "7", "")
    assert (interface["DHCP"]["LeaseTime"], interface["DHCP"]["UEFI"], interface["DHCP"]["NameServers"]) == (
        0,
        False,
        [],
    )
    assert seen["Metadata"]["Facility"]["FacilityCode"] == "lab"
    assert (seen["Metadata"]["BondingMode"], seen["Metadata"]["Instance"]) == (4, None)


def test_without_a_document_there_are_empty_lists() -> None:
    seen = struct_view({})
    assert (seen["Disks"], seen["Interfaces"], seen["UserData"]) == ([], [], "")
    assert seen["Metadata"]["State"] == ""


@pytest.mark.parametrize(
    ("name", "field"),
    [("mac", "MAC"), ("hostname", "Hostname"), ("lease_time", "LeaseTime"), ("vlan_id", "VLANID"), ("allowPXE", "AllowPXE"),
     ("ipxe_script_url", "IpxeScriptURL"), ("ssh_keys", "SSHKeys"), ("type_guid", "TypeGUID"), ("uid", "UID"),
     ("tftp_server_name", "TFTPServerName"), ("baseURL", "BaseURL"), ("os_slug", "OsSlug"), ("allow_pxe", "AllowPxe"),
     ("sourceISO", "SourceISO"), ("id", "ID"), ("url", "URL")],
)  # fmt: skip
def test_a_json_name_has_its_field_in_go(name: str, field: str) -> None:
    assert go_name(name) == field


@pytest.mark.parametrize(
    "document", [{"network": 5}, {"network": {"interfaces": 7}, "metadata": []}, {"kind": "Hardware", "spec": []}]
)
def test_a_document_of_another_form_is_seen_as_empty(document: dict[str, Any]) -> None:
    assert struct_view(document)["Interfaces"] == []


# What is given and empty, for Tinkerbell's types to leave out or to keep.
WITH_EMPTY_FIELDS: dict[str, Any] = {
    "kind": "Hardware",
    "metadata": {"name": "machine1", "annotations": {}},
    "spec": {
        "agentID": "",
        "bmcRef": {"kind": "Machine", "name": "bmc"},
        "disks": [{"device": "/dev/sda"}, {}],
        "tinkVersion": 0,
        "userData": "",
        "vendorData": None,
        "resources": {"cpu": 4, "memory": "4Gi"},
        "references": {"lvm": {"name": "x", "namespace": ""}},
        "metadata": {"bonding_mode": 5, "state": "", "manufacturer": {}, "instance": {"ips": [{"public": False}]}},
        "interfaces": [
            {
                "disableDhcp": False,
                "dhcp": {"mac": "08:00:27:00:00:01", "lease_time": 86400, "uefi": False, "time_servers": [], "ip": {},
                         "classless_static_routes": [{"destination_descriptor": "10.0.0.0/8"}], "arch": None},
                "netboot": {"allowPXE": False, "ipxe": {}, "rpi": {"firmwarePath": "p"}, "osie": None},
            },
            {},
        ],
    },
}  # fmt: skip


def test_the_object_for_go_is_the_json_of_tinkerbells_types() -> None:
    # As api/v1alpha1/tinkerbell/hardware.go of August 2026 gives it.
    assert go_views(object_view(WITH_EMPTY_FIELDS))["hardware"] == {
        "kind": "Hardware",
        "metadata": {"name": "machine1"},
        "spec": {
            "auto": {},
            "bmcRef": {"apiGroup": None, "kind": "Machine", "name": "bmc"},
            "disks": [{"device": "/dev/sda"}, {}],
            "userData": "",
            "resources": {"cpu": "4", "memory": "4Gi"},
            "references": {"lvm": {"name": "x"}},
            "metadata": {"bonding_mode": 5.0, "manufacturer": {}, "instance": {"ips": [{}]}},
            "interfaces": [
                {
                    "dhcp": {
                        "mac": "08:00:27:00:00:01",
                        "lease_time": 86400.0,
                        "ip": {},
                        "classless_static_routes": [{"destination_descriptor": "10.0.0.0/8", "router": ""}],
                    },
                    "netboot": {"allowPXE": False, "ipxe": {}, "rpi": {"firmwarePath": "p", "serialNum": ""}},
                },
                {},
            ],
        },
        "status": {},
    }


def test_numbers_of_the_object_for_go_are_floats_and_the_documents_own_elsewhere() -> None:
    lease_time = go_views(object_view(WITH_EMPTY_FIELDS))["hardware"]["spec"]["interfaces"][0]["dhcp"]["lease_time"]
    assert type(lease_time) is float
    assert type(object_view(WITH_EMPTY_FIELDS)["spec"]["interfaces"][0]["dhcp"]["lease_time"]) is int


def test_go_sees_an_object_without_a_machine() -> None:
    assert go_views({})["hardware"] == {"metadata": {}, "spec": {"auto": {}}, "status": {}}


def test_the_struct_for_go_has_the_fields_of_the_other_and_their_tags() -> None:
    for document in (OF_2020, OF_TODAY, WITH_EMPTY_FIELDS, {}):
        seen, other = go_views(object_view(document))["Hardware"], struct_view(document)
        assert list(seen) == ["Disks", "Interfaces", "UserData", "Metadata", "VendorData"]
        assert [list(each) for each in seen["Interfaces"]] == [list(each) for each in other["Interfaces"]]
        assert seen["Metadata"]["State"] == other["Metadata"]["State"]
    interface = go_views(object_view(WITH_EMPTY_FIELDS))["Hardware"]["Interfaces"][0]
    assert isinstance(interface, Struct)
    assert list(interface.tagged) == ["netboot", "dhcp"]
    assert list(interface["DHCP"].tagged) == ["mac", "lease_time", "ip", "classless_static_routes"]
    assert (interface.type_name, interface["DHCP"].type_name) == ("tinkerbell.Interface", "*tinkerbell.DHCP")


def test_a_list_that_is_absent_was_never_made() -> None:
    first = go_views(object_view(WITH_EMPTY_FIELDS))["Hardware"]["Interfaces"][0]["DHCP"]
    assert (isinstance(first["NameServers"], NilSlice), isinstance(first["TimeServers"], NilSlice)) == (True, False)
    assert isinstance(go_views({})["Hardware"]["Disks"], NilSlice)


def test_nothing_in_a_list_of_texts_is_the_empty_text() -> None:
    spec = {"disks": [{"device": None}], "interfaces": [{"dhcp": {"name_servers": ["1.1.1.1", None]}}]}
    seen = go_views({"kind": "Hardware", "spec": spec})["Hardware"]
    assert (seen["Disks"], seen["Interfaces"][0]["DHCP"]["NameServers"]) == ([""], ["1.1.1.1", ""])


def test_what_tinkerbells_types_do_not_know_is_kept() -> None:
    metadata = go_views(object_view(OF_2020))["hardware"]["spec"]["metadata"]
    assert metadata["instance"]["operating_system_version"] == {"os_slug": "ubuntu_20_04"}
