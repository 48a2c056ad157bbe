"""Who an installed system is, put together from all who say something about it."""

import base64
import gzip
import json
from typing import Any

import pytest

from tinkbox.engine.metadata.instances import check_texts, instance_of, lets_in
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.errors import Invalid, Remarks
from tinkbox.model.hardware import Hardware
from tinkbox.model.metadata import MAX_USER_DATA, Defaults, Instance, Metadata

ID = "0eba0bf8-3772-4b4a-ab9f-000000000001"
DHCP = {"mac": "08:00:27:00:00:01", "hostname": "by-dhcp"}


def of_2020(metadata: Any) -> Hardware:
    return hardware_from_document({"id": ID, "network": {"interfaces": [{"dhcp": DHCP}]}, "metadata": metadata})


def of_today(**spec: Any) -> Hardware:
    document = {
        "kind": "Hardware",
        "metadata": {"name": "m"},
        "spec": {"interfaces": [{"dhcp": {"mac": DHCP["mac"]}}], **spec},
    }
    return hardware_from_document(document)


def told(hardware: Hardware, spec: Metadata | None = None, defaults: Defaults | None = None, **more: Any) -> Instance:
    return instance_of(hardware, spec or Metadata(), defaults or Defaults(), workflow_id="w", **more)


DOCUMENT = {
    "bonding_mode": 4,
    "facility": {"plan_slug": "c3"},
    "instance": {
        "id": "i-1",
        "hostname": "by-document",
        "ssh_keys": ["k1", {"key": "k2"}, 7, ""],
        "userdata": "#!/bin/a",
    },
}


@pytest.mark.parametrize("metadata", [DOCUMENT, json.dumps(DOCUMENT)], ids=["object", "text, as in 2020"])
def test_a_document_of_2020_tells_all_of_it(metadata: Any) -> None:
    found = told(of_2020(metadata))
    assert (found.hostname, found.ssh_keys, found.user_data) == ("by-document", ("k1", "k2"), "#!/bin/a")
    assert (found.bonding_mode, found.facility, found.details["id"]) == (4, {"plan_slug": "c3"}, "i-1")
    assert found.id == f"{ID}-w"


def test_a_document_of_today_tells_the_same_and_has_places_of_its_own() -> None:
    found = told(of_today(userData="#!/bin/b", vendorData="#!/bin/v", metadata=DOCUMENT))
    assert (found.user_data, found.vendor_data, found.hostname) == ("#!/bin/b", "#!/bin/v", "by-document")


def test_the_workflow_beats_the_document_and_keys_count_together() -> None:
    spec = Metadata(hostname="h", ssh_keys=("k0", "k1"), user_data="u", vendor_data="v", network={"version": 2})
    found = told(of_2020(DOCUMENT), spec, Defaults(ssh_keys=("k3", "k1")))
    assert (found.hostname, found.user_data, found.vendor_data) == ("h", "u", "v")
    assert found.ssh_keys == ("k0", "k1", "k2", "k3")
    assert found.network == {"version": 2}


@pytest.mark.parametrize("metadata", [None, "", "[", [], "x", {"instance": []}, {"instance": {"ssh_keys": "k", "userdata": 7}}, {"bonding_mode": "4"}])  # fmt: skip
def test_a_document_that_tells_nothing_or_nonsense_is_a_plain_system(metadata: Any) -> None:
    found = told(of_2020(metadata))
    assert (found.hostname, found.ssh_keys, found.user_data, found.bonding_mode) == ("by-dhcp", (), "", 0)


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (of_2020({"userdata": "#cloud-config"}), True),
        (of_2020({"instance": {"userdata": "#cloud-config"}}), True),
        (of_2020(json.dumps({"instance": {"ssh_keys": [{"key": "k"}]}})), True),
        (of_today(userData="#cloud-config"), True),
        (of_today(metadata={"instance": {"ssh_keys": ["k"]}}), True),
        (of_2020({"instance": {"ssh_keys": [7, ""], "userdata": ""}}), False),
        (of_today(userData="x" * (MAX_USER_DATA + 1)), False),
        (of_today(vendorData="#cloud-config"), False),
    ],
)
def test_document_lets_people_in_exactly_when_its_system_is_told_keys_or_user_data(
    machine: Hardware, said: bool
) -> None:
    found = told(machine)
    assert (lets_in(machine.document), bool(found.ssh_keys or found.user_data)) == (said, said)


def test_a_machine_without_a_name_has_no_host_name_and_not_its_id() -> None:
    bare = hardware_from_document({"id": ID, "network": {"interfaces": [{"dhcp": {"mac": DHCP["mac"]}}]}})
    assert told(bare).hostname == ""
    assert told(of_today()).hostname == "m"


def test_by_address_the_documents_id_counts_and_without_a_workflow_the_machines() -> None:
    assert told(of_2020(DOCUMENT), by_address=True).id == "i-1"
    assert told(of_2020(None), by_address=True).id == f"{ID}-w"
    assert instance_of(of_2020(None), Metadata(), Defaults()).id == ID
    assert told(of_2020({"instance": {"hostname": "", "id": 7}})).id == f"{ID}-w"


def test_documents_are_checked_when_they_are_pushed() -> None:
    for machine in (of_2020(DOCUMENT), of_today(), of_2020(None)):
        assert check_texts(machine) == Remarks()
    (odd,) = check_texts(of_today(userData="#cloud-config\npackage: [curl]\n")).ignored
    assert str(odd).startswith(
        "spec.userData: line 2 in it, package: cloud-init has no such key; did you mean packages"
    )
    (twice,) = check_texts(of_today(userData="#cloud-config\nlocale: a\nlocale: b\n")).notes
    assert str(twice).startswith("spec.userData: line 3 in it, locale: key locale is given twice")


@pytest.mark.parametrize("text", ["hello world", "aGVsbG8=", "[a]\nb = 1\n", "5", "true"])
def test_what_cloud_init_ignores_whole_is_ignored_of_the_document(text: str) -> None:
    v1alpha2 = {
        "apiVersion": "tinkerbell.org/v1alpha2",
        "kind": "Hardware",
        "metadata": {"name": "a"},
        "spec": {"instance": {"userdata": text}},
    }
    for machine, key in (
        (of_today(userData=text), "spec.userData"),
        (hardware_from_document(v1alpha2), "spec.instance.userdata"),
    ):
        (told,) = check_texts(machine).ignored
        assert (told.key, "cloud-init ignores all of it" in told.text) == (key, True)


@pytest.mark.parametrize(
    ("machine", "problem"),
    [
        (of_today(userData="#cloud-config\nruncmd: x\n"), "spec.userData: line 2 in it, runcmd: expected a list"),
        (of_today(vendorData="#cloud-config\nruncmd: x\n"), "spec.vendorData: line 2 in it, runcmd: expected a list"),
        (of_today(metadata={"instance": {"userdata": "packages: []"}}), "spec.metadata.instance.userdata: line 1 in it: the"),
        (of_2020({"instance": {"userdata": "packages: []"}}), "metadata.instance.userdata: line 1 in it: the first line"),
        (of_2020({"userdata": "packages: []"}), "metadata.userdata: line 1 in it: the first line must be #cloud-config"),
    ],
)  # fmt: skip
def test_user_data_of_a_wrong_shape_is_told_by_the_key_that_has_it(machine: Hardware, problem: str) -> None:
    (told,) = check_texts(machine).ignored
    assert str(told).startswith(problem)


def test_user_data_that_is_too_large_to_be_served_is_refused() -> None:
    with pytest.raises(Invalid, match="user-data that cannot be served") as refusal:
        check_texts(of_today(userData=f"#cloud-config {'x' * MAX_USER_DATA}", vendorData="packages: []"))
    (told,) = refusal.value.problems
    assert (told.key, "KiB are served" in told.text) == ("spec.userData", True)


def test_of_v1alpha2_the_keys_are_those_of_v1alpha2() -> None:
    def check(**instance: str) -> str:
        document = {
            "kind": "Hardware",
            "apiVersion": "tinkerbell.org/v1alpha2",
            "metadata": {"name": "m"},
            "spec": {"instance": instance},
        }
        machine = hardware_from_document(document)
        try:
            return check_texts(machine).ignored[0].key
        except Invalid as refusal:
            return refusal.problems[0].key

    assert check(userdata="packages: []") == "spec.instance.userdata"
    assert check(vendordata="packages: []") == "spec.instance.vendordata"
    assert check(lookupID="a\nb") == "spec.instance.lookupID"


def test_vendor_data_of_damaged_gzip_is_told_when_it_is_pushed() -> None:
    whole = base64.b64encode(gzip.compress(b"#cloud-config\n")).decode()
    assert check_texts(of_today(vendorData=whole)) == Remarks()
    (told,) = check_texts(of_today(vendorData=whole[:16])).ignored
    assert str(told).startswith("spec.vendorData: its gzip is damaged: its end is missing; pack it again with `gzip")


@pytest.mark.parametrize("field", ["hostname", "id"])
@pytest.mark.parametrize("text", ["a\nb", "a\r", "\x1b[31m", "a\u2028b", "\ud800"])
def test_a_host_name_or_id_of_several_lines_is_refused(field: str, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_texts(of_today(metadata={"instance": {field: text}}))
    assert [each.key for each in refused.value.problems] == [f"spec.metadata.instance.{field}"]
    assert check_texts(of_today(metadata={"instance": {field: "Any name, ü"}})) == Remarks()


def test_a_bonding_mode_that_linux_does_not_have_is_refused() -> None:
    for mode in (0, 6, None, "77", True):
        assert check_texts(of_today(metadata={"bonding_mode": mode})) == Remarks()
    for mode in (77, -1):
        with pytest.raises(Invalid, match="metadata that cannot be served"):
            check_texts(of_today(metadata={"bonding_mode": mode}))


@pytest.mark.parametrize("read", [dict, json.dumps], ids=["object", "text, as in 2020"])
def test_misspelt_keys_of_metadata_are_ignored_in_either_form(read: Any) -> None:
    metadata = read({"instance": {"hostnme": "a", "ssh_key": ["x"]}, "bonding_mod": 1})
    keys = ["instance.hostnme", "instance.ssh_key", "bonding_mod"]
    assert [each.key for each in check_texts(of_2020(metadata)).ignored] == [f"metadata.{each}" for each in keys]
    found = check_texts(of_today(metadata=metadata)).ignored
    assert [each.key for each in found] == [f"spec.metadata.{each}" for each in keys]
