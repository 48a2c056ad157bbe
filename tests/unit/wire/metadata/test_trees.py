"""Which path answers what: NoCloud, EC2, OpenStack, the installers, Hegel and Tootles."""

import base64
import gzip
import json
from email import message_from_string

import pytest
import yaml

from tests.unit.wire.metadata.instances import ID, KEYS, URL, hardware, instance, machine
from tinkbox.model.metadata import Defaults
from tinkbox.wire.metadata.hegel import hegel
from tinkbox.wire.metadata.tree import File, data_file, found, text_file, without_secrets
from tinkbox.wire.metadata.vendor_data import vendor_data
from tinkbox.wire.metadata.whole import by_address, called, whole


def at(path: str, **more: object) -> str:
    file = found(whole(instance(**more)), path)
    assert file is not None, path
    return file.body.decode()


def parts_of(message: str) -> dict[str, str]:
    """The texts of a MIME message by their kind."""
    return {each.get_content_type(): str(each.get_payload()) for each in message_from_string(message).walk()}


@pytest.mark.parametrize("version", ["2009-04-04", "2016-09-02", "2018-09-24", "2021-03-23", "latest"])
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("", "meta-data/\nuser-data"),
        ("user-data", "#cloud-config\n{}\n"),
        (
            "meta-data",
            "facility\nhostname\ninstance-id\niqn\nlocal-hostname\nlocal-ipv4\noperating-system/\nplan\npublic-ipv4\npublic-ipv6\npublic-keys/\ntags",
        ),
        ("meta-data/instance-id", f"{ID}-w"),
        ("meta-data/hostname", "node7"),
        ("meta-data/local-hostname", "node7"),
        ("meta-data/plan", "c3"),
        ("meta-data/facility", "onprem"),
        ("meta-data/tags", "rack-1\nblue"),
        ("meta-data/public-ipv4", "203.0.113.5"),
        ("meta-data/public-ipv6", "2001:db8::5"),
        ("meta-data/local-ipv4", "10.0.0.5"),
        ("meta-data/iqn", ""),
        ("meta-data/operating-system", "distro\nimage_tag\nlicense_activation/\nslug\nversion"),
        ("meta-data/operating-system/slug", "debian_13"),
        ("meta-data/operating-system/license_activation/state", ""),
        ("meta-data/public-keys", "0=key-0\n1=key-1"),
        ("meta-data/public-keys/1", "openssh-key"),
        ("meta-data/public-keys/0/openssh-key", KEYS[0]),
    ],
)
def test_ec2_has_what_cloud_init_and_tootles_ask_for(version: str, path: str, answer: str) -> None:
    told = answer.replace("local-ipv4\n", "local-ipv4\nnetwork/\n") if version != "2009-04-04" else answer
    assert at(f"{version}/{path}") == told
    assert at(f"/{version}/{path}/") == told


def test_ec2_tells_cloud_init_of_the_cards_with_an_address() -> None:
    cards = "2021-03-23/meta-data/network/interfaces/macs/52:54:00:12:34:56"
    assert at(cards) == "device-number\ninterface-id\nlocal-hostname\nlocal-ipv4s\nmac"
    assert at(f"{cards}/local-ipv4s") == "172.30.0.5"


def test_nocloud_has_its_four_files() -> None:
    assert yaml.safe_load(at("meta-data")) == {
        "instance-id": f"{ID}-w",
        "local-hostname": "node7",
        "public-keys": list(KEYS),
    }
    assert at("user-data") == "#cloud-config\n{}\n"
    assert at("user-data", user_data="") == ""
    assert yaml.safe_load(at("network-config"))["version"] == 2
    assert at("network-config", network={"version": 1, "config": []}) == "version: 1\nconfig: []\n"
    told = yaml.safe_load(parts_of(at("vendor-data"))["text/cloud-config"])
    assert told["phone_home"] == {"url": f"{URL}/phone-home", "post": "all", "tries": 10}
    assert told["reporting"]["tinkbox"] == {
        "type": "webhook",
        "endpoint": f"{URL}/report",
        "timeout": 3,
        "retries": 1,
    }


@pytest.mark.parametrize("version", ["2012-08-10", "2018-08-27", "latest"])
def test_openstack_has_its_five_files(version: str) -> None:
    listed = "meta_data.json\nnetwork_data.json\nuser_data\nvendor_data.json\nvendor_data2.json"
    assert at(f"openstack/{version}") == listed
    meta = json.loads(at(f"openstack/{version}/meta_data.json"))
    assert (meta["hostname"], meta["public_keys"]["key-1"]) == ("node7", KEYS[1])
    assert at(f"openstack/{version}/user_data") == "#cloud-config\n{}\n"
    vendor = json.loads(at(f"openstack/{version}/vendor_data.json"))["cloud-init"]
    assert parts_of(vendor)["text/cloud-config"].startswith("#cloud-config")
    assert json.loads(at(f"openstack/{version}/vendor_data2.json")) == {}
    (network,) = json.loads(at(f"openstack/{version}/network_data.json"))["networks"]
    assert (network["type"], network["ip_address"]) == ("ipv4", "172.30.0.5")
    assert f"{version}/" in at("openstack").split("\n")


def test_openstack_tells_a_bond_and_its_vlan() -> None:
    cards = [
        {"mac": "08:00:27:00:00:02"},
        {"mac": "08:00:27:00:00:01", "vlan_id": "7", "ip": {"address": "172.30.0.5", "netmask": "255.255.255.0"}},
    ]
    told = json.loads(at("openstack/latest/network_data.json", hardware=hardware(*cards), bonding_mode=4))
    *physical, bond, vlan = told["links"]
    assert [each["id"] for each in physical] == bond["bond_links"]
    assert (bond["type"], bond["bond_mode"], bond["bond_miimon"]) == ("bond", "802.3ad", 100)
    assert (bond["bond_lacp_rate"], bond["bond_xmit_hash_policy"]) == ("fast", "layer3+4")
    assert bond["ethernet_mac_address"] == "08:00:27:00:00:01"
    assert (vlan["vlan_link"], vlan["vlan_id"]) == (bond["id"], 7)
    (network,) = told["networks"]
    assert (network["link"], network["ip_address"]) == (vlan["id"], "172.30.0.5")


def test_the_uuid_of_openstack_is_one_and_changes_with_the_installation() -> None:
    first, second = (json.loads(at("openstack/latest/meta_data.json", id=each))["uuid"] for each in ("a", "b"))
    assert first != second
    assert len(first) == 36


@pytest.mark.parametrize("name", ["", "a b", "a\nExecStart=/bin/true", "%i"])
def test_a_host_name_that_is_none_does_not_get_into_the_unit(name: str) -> None:
    unit = json.loads(at("ignition", hostname=name))["systemd"]["units"][0]["contents"]
    assert "--data-urlencode hostname='' " in unit


def test_ignition_is_the_users_or_is_made_of_keys_and_name() -> None:
    own = '{"ignition": {"version": "3.4.0"}}'
    assert at("ignition", user_data=own) == own
    made = json.loads(at("ignition"))
    assert made["passwd"]["users"] == [{"name": "core", "sshAuthorizedKeys": list(KEYS)}]
    assert made["storage"]["files"][0]["contents"]["source"] == "data:,node7"
    assert f"{URL}/phone-home" in made["systemd"]["units"][0]["contents"]


@pytest.mark.parametrize("path", ["talos", "kickstart"])
def test_other_installers_get_user_data_as_it_is(path: str) -> None:
    assert at(path, user_data="lang en\n") == "lang en\n"
    assert found(whole(instance(user_data="")), path) is None


def test_autoinstall_is_a_seed_of_its_own() -> None:
    assert at("autoinstall/") == "meta-data\nuser-data\nvendor-data"


@pytest.mark.parametrize("path", ["nothing", "2009-04-04/meta-data/nothing", "1999-01-01/meta-data", "user-data/x", "../user-data", "openstack/latest/x"])  # fmt: skip
def test_what_is_not_there_is_nowhere(path: str) -> None:
    assert found(whole(instance()), path) is None


def test_user_data_that_is_packed_is_served_packed() -> None:
    for before in ("", "\n"):
        packed = data_file(f"{before}H4sIAAAAAAAAA0vOyS9N0U3OzyvOz0kFAN1BfRUNAAAA")
        assert packed.body.startswith(b"\x1f\x8b")
    for text in ("H4sI not base64", "H4sI für Ann"):
        assert data_file(text).body == text.encode()


def test_by_address_there_are_no_secrets_unless_asked_for() -> None:
    tree = without_secrets(by_address(instance()))
    assert found(tree, "latest/user-data") is None
    assert found(tree, "latest/meta-data/hostname") is not None
    shown = json.loads(hegel(instance(), secrets=False).body)
    assert "secret" not in json.dumps(shown)
    assert shown["metadata"]["instance"]["storage"]["disks"] == [{"device": "/dev/sda"}]
    assert shown["tags"] == ["rack-1", "blue"]
    assert "crypted_root_password" in json.loads(hegel(instance(), secrets=True).body)


def test_what_a_first_boot_wrote_is_on_the_disk_before_it_phones_home() -> None:
    told = parts_of(vendor_data(instance()))
    assert yaml.safe_load(told["text/cloud-config"])["phone_home"]["url"] == f"{URL}/phone-home"
    assert "sync" in told["text/x-shellscript"]
    assert list(parts_of(vendor_data(instance(url="")))) == ["multipart/mixed", "text/cloud-config"]


def test_vendor_data_of_others_stays_as_it_is_beside_ours() -> None:
    theirs = "#cloud-config\nruncmd: [reboot]\n"
    told = vendor_data(instance(vendor_data=theirs))
    assert told.startswith("Content-Type: multipart/mixed")
    assert theirs in told
    assert f"{URL}/phone-home" in told


def test_vendor_data_that_is_a_message_is_a_part_of_ours() -> None:
    theirs = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--x--\n"
    parts = list(message_from_string(vendor_data(instance(vendor_data=theirs))).walk())
    kinds = [each.get_content_type() for each in parts]
    assert kinds == [
        "multipart/mixed",
        "text/cloud-config",
        "text/x-shellscript",
        "multipart/mixed",
        "text/x-shellscript",
    ]
    assert parts[-1].get_payload() == "#!/bin/sh"


@pytest.mark.parametrize("before", ["", "\n"])
def test_packed_vendor_data_is_a_part_of_ours_that_cloud_init_unpacks(before: str) -> None:
    theirs = b"#cloud-config\nruncmd: [reboot]\n"
    text = before + base64.b64encode(gzip.compress(theirs)).decode()
    openstack = json.loads(at("openstack/latest/vendor_data.json", vendor_data=text))["cloud-init"]
    for message in (at("vendor-data", vendor_data=text), openstack):
        *_, own, _, packed = message_from_string(message).walk()
        assert f"{URL}/phone-home" in str(own.get_payload())
        assert (packed.get_content_type(), gzip.decompress(bytes(packed.get_payload(decode=True)))) == (
            "application/gzip",
            theirs,
        )


def test_the_appliances_defaults_are_vendor_data() -> None:
    defaults = Defaults(timezone="Europe/Berlin", proxy="http://p:3128", ca=("-----BEGIN CERTIFICATE-----\n",))
    told = yaml.safe_load(parts_of(vendor_data(instance(defaults=defaults)))["text/cloud-config"])
    assert (told["timezone"], told["apt"]["http_proxy"]) == ("Europe/Berlin", "http://p:3128")
    assert told["ca_certs"]["trusted"] == ["-----BEGIN CERTIFICATE-----\n"]


def test_what_is_asked_for_has_a_name_for_people() -> None:
    assert called("user-data") == "user-data"
    assert called("2009-04-04/meta-data/tags") == "meta-data (EC2)"
    assert called("openstack/latest/user_data") == "user_data (OpenStack)"
    assert called("") == "the list"


def test_a_folder_lists_each_child_once() -> None:
    tree: dict[str, File] = {"a/x": text_file("1"), "a/y": text_file("2"), "b": text_file("3")}
    assert found(tree, "") == text_file("a/\nb")


def test_time_servers_are_vendor_data_by_name_or_by_address() -> None:
    card = {"mac": "52:54:00:12:34:56", "time_servers": ["ntp.lab.example", "172.30.0.1", "2001:db8::1"]}
    told = yaml.safe_load(parts_of(vendor_data(instance(hardware=hardware(card))))["text/cloud-config"])
    assert told["ntp"] == {"servers": ["ntp.lab.example", "172.30.0.1", "2001:db8::1"]}
    assert "ntp" not in yaml.safe_load(parts_of(vendor_data(instance()))["text/cloud-config"])


def test_openstack_tells_an_address_of_ipv6() -> None:
    ip = {"address": "2001:db8::5", "netmask": "64", "gateway": "2001:db8::1"}
    card = {"mac": "52:54:00:12:34:56", "ip": ip, "name_servers": ["2001:db8::53"]}
    told = json.loads(at("openstack/latest/network_data.json", hardware=hardware(card)))
    lease, static = told["networks"]
    assert (lease["type"], static["type"], static["ip_address"]) == ("ipv4_dhcp", "ipv6", "2001:db8::5")
    assert static["netmask"] == "ffff:ffff:ffff:ffff::"
    assert static["routes"] == [{"network": "::", "netmask": "::", "gateway": "2001:db8::1"}]
    assert told["services"] == [{"type": "dns", "address": "2001:db8::53"}]


def test_of_a_machine_without_a_card_nothing_is_told_of_its_network() -> None:
    tree = whole(instance(hardware=machine()))
    assert not {"network-config", "openstack/latest/network_data.json"} & set(tree)
    assert {"meta-data", "user-data", "vendor-data", "openstack/latest/meta_data.json"} <= set(tree)
    assert not [path for path in tree if "/macs/" in path]
