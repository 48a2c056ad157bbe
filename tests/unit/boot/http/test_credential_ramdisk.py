"""The ramdisk with the identity of a machine's worker."""

import subprocess
from dataclasses import replace

from tinkbox.boot.http.credential_ramdisk import credential_ramdisk, has_credential
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.messages.worker import Credential, decode_credential


def test_it_holds_the_identity_for_its_owner_alone() -> None:
    worker = Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="h", token="secret")
    command = ["cpio", "--quiet", "-i", "--to-stdout", "etc/tinkbox/worker.json"]
    text = subprocess.run(command, input=credential_ramdisk(worker), capture_output=True, check=True).stdout
    assert decode_credential(text) == worker


def test_the_container_engine_finds_the_authority_for_this_registry_alone() -> None:
    worker = Credential(
        server="https://172.30.0.1:8443", registry="172.30.0.1:8443", worker="h", token="secret", authority="PEM\n"
    )
    ramdisk = credential_ramdisk(worker)
    names = subprocess.run(["cpio", "--quiet", "-t"], input=ramdisk, capture_output=True, check=True).stdout.split()
    path = "etc/docker/certs.d/172.30.0.1:8443/ca.crt"
    assert [each.decode() for each in names if b"." in each and not each.endswith(b".d")] == [
        path.rpartition("/")[0], path, "etc/tinkbox/worker.json",
    ]  # fmt: skip
    command = ["cpio", "--quiet", "-i", "--to-stdout", path]
    assert subprocess.run(command, input=ramdisk, capture_output=True, check=True).stdout == b"PEM\n"


def test_whatever_may_become_the_osie_has_one() -> None:
    interface = Interface(mac=MacAddress("08:00:27:00:00:01"))
    having = {
        each for each in Boot if has_credential(Plan(boot=each, hardware_id="1", interface=interface, ticket=True))
    }
    assert set(Boot) - having == {Boot.NOTHING, Boot.LOCAL_DISK, Boot.ELSEWHERE}


def test_what_boots_of_a_document_without_a_ticket_gets_none() -> None:
    plan = Plan(boot=Boot.OWN_SCRIPT, hardware_id="1", interface=Interface(mac=MacAddress("08:00:27:00:00:01")))
    assert not has_credential(plan)
    assert has_credential(replace(plan, ticket=True))
