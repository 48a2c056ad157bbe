"""cloud-init of Debian 12 and 13 against an appliance: what it asks, what it makes of the answers, what it tells."""

import base64
import gzip
import re
from email import message_from_string
from pathlib import Path

import pytest

from tests.integration.metadata.cloud_init_root import boot, schema_problems
from tests.integration.metadata.first_boot_lab import KEY, SERVER, FirstBootLab, first_boot
from tests.unit.wire.metadata.instances import hardware, instance
from tinkbox.model.metadata import Defaults
from tinkbox.wire.metadata.network_config import network_config
from tinkbox.wire.metadata.vendor_data import dumped, vendor_data

pytestmark = pytest.mark.campaign
SUITES = ("bookworm", "trixie")
VERSIONS = {"bookworm": "cloud-init 22.4.2", "trixie": "cloud-init 25.1.4"}
OPENSTACK = {"meta_data.json", "user_data", "vendor_data.json", "vendor_data2.json", "network_data.json"}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"
CARD = {
    "mac": "08:00:27:00:00:01",
    "domain_name": "lab.example",
    "name_servers": ["172.30.0.53"],
    "ip": {"address": "172.30.0.5", "netmask": "255.255.255.0", "gateway": "172.30.0.1"},
    "classless_static_routes": [{"destination_descriptor": "10.0.0.0/8", "router": "172.30.0.2"}],
}
OTHER = {"mac": "08:00:27:00:00:02"}


def asked(lab: FirstBootLab, client: str = "cloud-init ") -> set[str]:
    """What one client asked for, as the timeline has it."""
    before = "asked for its metadata: "
    lines = [each.removeprefix(before) for each in lab.timeline() if each.startswith(before)]
    return {each.rpartition(", ")[0] for each in lines if each.rpartition(", ")[2].startswith(client)}


@pytest.mark.parametrize("suite", SUITES)
def test_nocloud_gives_a_system_its_name_its_keys_and_its_files_and_it_phones_home(suite: str, tmp_path: Path) -> None:
    with first_boot(tmp_path) as lab:
        source = "nocloud-net" if suite == "bookworm" else "nocloud"
        booted = boot(suite, lab.host, tmp_path, f"ro ds={source};s={lab.url}/", "datasource_list: [NoCloud]\n")
        assert (booted.errors, booted.complaints, booted.hostname) == ([], {}, "node7")
        assert booted.text("etc/from-user-data") == "hello"
        assert KEY in booted.text("home/debian/.ssh/authorized_keys")
        assert booted.text("etc/timezone").strip() == "Europe/Berlin"
        state, _, message = lab.ended()
        assert state == "SUCCESS"
        assert "is up at 172.30.0.21, host key SHA256:" in message
        told = {"meta-data", "user-data", "vendor-data", *(["network-config"] if suite == "trixie" else [])}
        assert asked(lab, VERSIONS[suite]) == told
        stages = [each for each in lab.timeline() if each.startswith("told what its cloud-init does")]
        assert [each.rpartition(": ")[2] for each in stages] == [
            "init-network done",
            "modules-config done",
            "modules-final done",
        ]
    if suite == "trixie":
        netplan = booted.text("etc/netplan/50-cloud-init.yaml")
        assert '"172.30.0.21/24"' in netplan


@pytest.mark.parametrize("suite", SUITES)
def test_all_that_a_first_boot_wrote_is_synced_before_it_phones_home(suite: str, tmp_path: Path) -> None:
    with first_boot(tmp_path, "runcmd: [touch /etc/from-runcmd]") as lab:
        source = "nocloud-net" if suite == "bookworm" else "nocloud"
        booted = boot(suite, lab.host, tmp_path, f"ro ds={source};s={lab.url}/", "datasource_list: [NoCloud]\n")
        assert (booted.errors, booted.complaints, lab.ended()[0]) == ([], {}, "SUCCESS")
    begun = re.findall(
        r"Running command \['[^']*/scripts/([\w-]+)'|start: modules-final/config-(phone-home|phone_home)", booted.log
    )
    assert [script or module.replace("_", "-") for script, module in begun] == [
        "runcmd",
        "zzzz-sync-before-phone-home",
        "phone-home",
    ]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("where", ["token", "address"])
def test_ec2_gives_the_same_by_token_and_by_address(suite: str, where: str, tmp_path: Path) -> None:
    with first_boot(tmp_path) as lab:
        base = lab.url if where == "token" else f"{SERVER}:50061"
        sources = f"datasource_list: [Ec2]\ndatasource: {{Ec2: {{strict_id: false, metadata_urls: ['{base}']}}}}\n"
        booted = boot(suite, lab.host, tmp_path, configuration=sources)
        assert (booted.errors, booted.complaints, booted.hostname) == ([], {}, "node7")
        assert booted.text("etc/from-user-data") == "hello"
        assert KEY in booted.text("home/debian/.ssh/authorized_keys")
        by = ", by its address" if where == "address" else ""
        assert f"meta-data (EC2){by}" in asked(lab)


def test_openstack_gives_the_same(tmp_path: Path) -> None:
    with first_boot(tmp_path) as lab:
        sources = f"datasource_list: [OpenStack]\ndatasource: {{OpenStack: {{metadata_urls: ['{lab.url}']}}}}\n"
        booted = boot("trixie", lab.host, tmp_path, configuration=sources)
        assert (booted.errors, booted.hostname) == ([], "node7")
        assert booted.text("etc/from-user-data") == "hello"
        assert KEY in booted.text("home/debian/.ssh/authorized_keys")
        assert {f"{each} (OpenStack)" for each in OPENSTACK} <= asked(lab)
        assert lab.ended()[0] == "SUCCESS"


def test_a_module_that_fails_fails_the_action_and_is_named_everywhere(tmp_path: Path) -> None:
    with first_boot(tmp_path, "runcmd: [['false']]") as lab:
        boot("trixie", lab.host, tmp_path, f"ro ds=nocloud;s={lab.url}/", "datasource_list: [NoCloud]\n")
        state, reason, message = lab.ended()
        assert (state, reason) == ("FAILED", "CloudInitFailed")
        assert "scripts" in message
        assert "is up at 172.30.0.21" in message
        assert "CloudInitFailed" in [each["rule"] for each in lab.appliance.doctor("08:00:27:00:00:01")]


def test_a_system_with_a_phone_home_of_its_own_is_up_when_its_cloud_init_says_so(tmp_path: Path) -> None:
    with first_boot(tmp_path, "phone_home: {url: 'http://172.30.0.99/nobody', tries: 1}") as lab:
        boot("trixie", lab.host, tmp_path, f"ro ds=nocloud;s={lab.url}/", "datasource_list: [NoCloud]\n")
        state, _, message = lab.ended()
        assert (state, message) == ("SUCCESS", "server001 is up at 172.30.0.21; it told no host key")
        assert "phoned home" not in " ".join(lab.timeline())


@pytest.mark.parametrize("mode", [0, 1, 4, 6])
@pytest.mark.parametrize("vlan", ["", "100"])
def test_our_network_config_is_valid_by_cloud_inits_schema(mode: int, vlan: str, tmp_path: Path) -> None:
    made = network_config(hardware({**CARD, "vlan_id": vlan}, OTHER), mode)
    assert schema_problems("trixie", tmp_path, "network-config", dumped(made)) == ""


@pytest.mark.parametrize("suite", SUITES)
def test_our_vendor_data_is_valid_by_cloud_inits_schema(suite: str, tmp_path: Path) -> None:
    defaults = Defaults(timezone="Europe/Berlin", proxy="http://p:3128", ca=(CERTIFICATE,))
    (own,) = (
        str(each.get_payload())
        for each in message_from_string(vendor_data(instance(defaults=defaults))).walk()
        if each.get_content_type() == "text/cloud-config"
    )
    assert schema_problems(suite, tmp_path, "cloud-config", own) == ""


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("packed", [False, True], ids=["text", "packed"])
def test_vendor_data_of_ours_and_of_a_document_both_count(suite: str, packed: bool, tmp_path: Path) -> None:
    theirs = "#cloud-config\nruncmd: [touch /etc/from-vendor]\nntp: {enabled: false}\n"
    given = base64.b64encode(gzip.compress(theirs.encode())).decode() if packed else theirs
    with first_boot(tmp_path, vendor_data=given) as lab:
        source = "nocloud-net" if suite == "bookworm" else "nocloud"
        booted = boot(suite, lab.host, tmp_path, f"ro ds={source};s={lab.url}/", "datasource_list: [NoCloud]\n")
        assert (booted.errors, booted.complaints) == ([], {})
        assert booted.text("etc/from-user-data") == "hello"
        assert booted.text("etc/from-vendor") == ""
        assert booted.text("etc/timezone").strip() == "Europe/Berlin"
        assert lab.ended()[0] == "SUCCESS"
