"""The ramdisk with the identity of a machine's worker."""

import subprocess

from tinkbox.boot.http.credential_ramdisk import WITH_CREDENTIAL, credential_ramdisk
from tinkbox.model.boot import Boot
from tinkbox.wire.messages.worker import Credential, decode_credential


def test_it_holds_the_identity_for_its_owner_alone() -> None:
    worker = Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="h", token="secret")
    command = ["cpio", "--quiet", "-i", "--to-stdout", "etc/tinkbox/worker.json"]
    text = subprocess.run(command, input=credential_ramdisk(worker), capture_output=True, check=True).stdout
    assert decode_credential(text) == worker


def test_whatever_may_become_the_osie_has_one() -> None:
    assert set(Boot) - WITH_CREDENTIAL == {Boot.NOTHING, Boot.LOCAL_DISK}
