"""What `tinkbox install` refuses before it begins, and what it asks the appliance for."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import MACHINE_ID, WORKFLOW_ID
from tests.unit.model.test_ssh_keys import key
from tinkbox.catalogue.entries import Entry
from tinkbox.cli.nouns import install
from tinkbox.cli.nouns.image import fetch as image_fetch

Tinkbox = Callable[..., Printed]
MAC = "08:00:27:00:00:01"
DIGEST = f"sha256:{'1' * 64}"
CONFIG = {"architecture": "x86_64", "firmware": ["uefi"], "data_source": "nocloud", "default_user": "debian"}
IMAGE = {"id": "debian-13", "reference": f"debian-13@{DIGEST}", "digest": DIGEST, "config": CONFIG}
LOADED = [{"name": name, "tag": "v1"} for name in ("install-image", "reboot")]
DOCUMENT: dict[str, Any] = {"kind": "Hardware", "metadata": {"name": "node7"}, "spec": {}}
MACHINE: dict[str, Any] = {
    "id": MACHINE_ID, "interfaces": [{"mac": MAC, "address": "172.30.0.11", "hostname": "node7"}], "document": DOCUMENT,
    "inventory": None,
}  # fmt: skip


@pytest.fixture
def ready(appliance: FakeAppliance) -> FakeAppliance:
    """Everything is there for `install debian-13 node7`."""
    appliance.answers = {
        "GET /v1/hardware/node7": MACHINE,
        f"GET /v1/hardware/{MACHINE_ID}/workflows": [],
        "GET /v1/system-images/debian-13": IMAGE,
        "GET /v1/template-catalogue": [{"name": "install", "stored": ""}],
        "GET /v1/images": LOADED,
        "GET /v1/osie": [{"architecture": "x86_64"}],
        "GET /v1/metadata/defaults": {"ssh_keys": []},
        "GET /v1/discovered": [{"mac": MAC, "standing": "waiting"}],
        "POST /v1/workflows": {"id": WORKFLOW_ID},
    }
    return appliance


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    path = tmp_path / "id.pub"
    path.write_text(f"{key()}\n")
    return ["install", "debian-13", "node7", "--ssh-key", str(path), "--no-wait"]


def created(appliance: FakeAppliance) -> list[dict[str, Any]]:
    return [json.loads(body) for request, body in appliance.asked if request == "POST /v1/workflows"]


def test_the_workflow_names_the_bytes_of_the_image_and_all_that_was_told(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "user-data").write_text("#cloud-config\n")
    more = ["--user-data", str(tmp_path / "user-data"), "--disk", "smallest", "--seed", "config-2", "--confirm-wipe"]
    printed = tinkbox(*words, *more)
    assert printed.out == (
        f"Created Workflow:  {WORKFLOW_ID}  debian-13@{DIGEST} on node7\n"
        f"watch it: tinkbox workflow watch {WORKFLOW_ID[:8]}\n"
    )
    assert created(ready) == [
        {
            "template": "install",
            "hardware": {
                "image": f"debian-13@{DIGEST}", "disk": "smallest", "hostname": "node7", "ssh_keys": key(),
                "user_data": "#cloud-config\n", "seed": "config-2",
            },
            "machine": MACHINE_ID,
            "confirm_wipe": True,
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"GET /v1/hardware/node7": {**MACHINE, "inventory": {"architecture": "aarch64", "firmware": "uefi"}}}, "node7 is aarch64"),
        ({"GET /v1/hardware/node7": {**MACHINE, "inventory": {"architecture": "", "firmware": "bios"}}}, "node7 has bios firmware"),
        ({f"GET /v1/hardware/{MACHINE_ID}/workflows": [{"id": WORKFLOW_ID}]}, f"tinkbox workflow cancel {WORKFLOW_ID[:8]}"),
        ({"GET /v1/osie": []}, "tinkbox osie build"),
        ({"GET /v1/images": [{"name": "reboot", "tag": "v1"}]}, "tinkbox image load install-image.tar"),
        ({"GET /v1/images": [{"name": name, "tag": "v1", "kind": "system"} for name in ("install-image", "reboot")]}, "tinkbox image delete install-image:v1 reboot:v1"),
        ({"GET /v1/images": [{"name": "install-image", "tag": "v1"}, {"name": "reboot", "tag": "v1", "digest": "", "problem": "damaged: push it again"}]}, "reboot:v1: damaged: push it again: type `tinkbox image load reboot.tar`"),
        ({"GET /v1/images": [*LOADED, {"name": "debian-13", "tag": "1", "digest": DIGEST, "problem": "damaged: load it again"}]}, "debian-13 cannot be written: damaged: load it again"),
        ({"GET /v1/hardware/node7": None}, "`tinkbox hardware add MAC --name NAME` adds it"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_is_refused_and_nothing_is_begun(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], answer: dict[str, object], said: str
) -> None:
    ready.answers |= answer
    refused = tinkbox(*words)
    assert (refused.status, said in refused.err) == (1, True), refused.err
    assert created(ready) == []


def test_a_machine_that_waits_is_to_be_accepted_and_an_image_of_nobody_imported(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str]
) -> None:
    refused = tinkbox("install", "own-1", MAC, *words[3:])
    assert "2 things stand in the way" in refused.err
    assert f"type `tinkbox hardware accept {MAC}` first" in refused.err
    assert "`tinkbox image import FILE --id own-1` makes one" in refused.err


@pytest.mark.parametrize(
    "answer",
    [
        {"GET /v1/metadata/defaults": {"ssh_keys": [key()]}},
        {"GET /v1/hardware/node7": {**MACHINE, "document": {**DOCUMENT, "spec": {"userData": "#cloud-config"}}}},
        {"GET /v1/hardware/node7": {**MACHINE, "document": {"metadata": {"instance": {"ssh_keys": [key()]}}}}},
        {"GET /v1/hardware/node7": {**MACHINE, "document": {"metadata": {"userdata": "#cloud-config"}}}},
        {
            "GET /v1/hardware/node7": {
                **MACHINE,
                "document": {"metadata": json.dumps({"instance": {"ssh_keys": [key()]}})},
            }
        },
        {"GET /v1/system-images/debian-13": {**IMAGE, "config": {**CONFIG, "data_source": "talos"}}},
    ],
)
def test_key_is_needed_only_where_you_could_not_log_in(
    tinkbox: Tinkbox, ready: FakeAppliance, answer: dict[str, object]
) -> None:
    refused = tinkbox("install", "debian-13", "node7", "--no-wait")
    assert (refused.status, "you could not log in to node7" in refused.err) == (1, True)
    ready.answers |= answer
    assert tinkbox("install", "debian-13", "node7", "--no-wait").status == 0


def test_a_stored_template_of_that_name_needs_no_images_of_ours(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str]
) -> None:
    ready.answers |= {"GET /v1/template-catalogue": [{"name": "install", "stored": "x"}], "GET /v1/images": []}
    assert tinkbox(*words).status == 0


def test_a_machine_that_is_named_twice_is_installed_once(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str]
) -> None:
    ready.answers[f"GET /v1/hardware/{MAC}"] = MACHINE
    assert tinkbox(*words[:3], MAC, *words[3:]).status == 0
    assert len(created(ready)) == 1


def test_an_image_that_is_not_kept_is_fetched_first(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del ready.answers["GET /v1/system-images/debian-13"]
    fetched: list[str] = []

    def bring(_: object, entries: Sequence[Entry]) -> None:
        fetched.extend(each.id for each in entries)
        ready.answers["GET /v1/system-images/debian-13"] = IMAGE

    monkeypatch.setattr(image_fetch, "bring", bring)
    refused = tinkbox(*words, "--no-fetch")
    assert (refused.status, fetched) == (1, [])
    assert "type `tinkbox image fetch debian-13` first" in refused.err
    nobody = tinkbox("install", "debian-13", "node7")
    assert (nobody.status, fetched) == (1, [])
    assert "you could not log in to node7" in nobody.err
    version = tinkbox("install", "debian-13:20250101", *words[2:])
    assert (version.status, fetched) == (1, [])
    assert "no system image 'debian-13:20250101' is kept here: `tinkbox image list`" in version.err
    assert tinkbox(*words).status == 0
    assert (fetched, len(created(ready))) == (["debian-13"], 1)


def test_nothing_is_fetched_while_something_else_stands_in_the_way(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_fetch, "bring", None)
    del ready.answers["GET /v1/system-images/debian-13"]
    ready.answers["GET /v1/osie"] = []
    refused = tinkbox(*words)
    assert (refused.status, "no OSIE" in refused.err, "image fetch" in refused.err) == (1, True, False)


def test_a_disk_that_means_nothing_is_refused_before_anything_is_asked(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str]
) -> None:
    refused = tinkbox(*words, "--disk", "bogus")
    assert (refused.status, "--disk: 'bogus': expected the disk's path below /dev" in refused.err) == (2, True)
    assert ready.asked == []
    assert tinkbox(*words, "--disk", "LARGEST").status == 0


def test_user_data_that_lets_nobody_in_is_told_and_another_user_is_the_one_to_log_in_as(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "user-data"
    words = [*words, "--user-data", str(file)]
    file.write_text("#cloud-config\nusers: [{name: bob}]\n")
    printed = tinkbox(*words)
    assert (printed.status, "node7: `users` of the user-data leaves out `default`" in printed.err) == (0, True), (
        printed.err
    )
    file.write_text(f"#cloud-config\nusers: [{{name: ann, ssh_authorized_keys: ['{key()}']}}]\n")
    words.remove("--no-wait")
    succeeded = {
        "id": WORKFLOW_ID,
        "state": "SUCCESS",
        "actions": [{"outcome": {"message": "server001 is up at 172.30.0.9, host key SHA256:x"}}],
    }
    ready.answers[f"GET /v1/workflows/{WORKFLOW_ID}"] = succeeded
    assert tinkbox(*words).out.endswith("ssh ann@172.30.0.9\n")


def test_user_data_of_the_hardware_document_counts_as_well(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str]
) -> None:
    document = {**DOCUMENT, "spec": {"userData": "#cloud-config\nusers: [{name: bob}]\n"}}
    ready.answers["GET /v1/hardware/node7"] = {**MACHINE, "document": document}
    assert "node7: `users` of the user-data leaves out `default`" in tinkbox(*words).err
    assert "no user gets a key or a password" in tinkbox("install", "debian-13", "node7", "--no-wait").err


def test_a_machine_that_was_deleted_meanwhile_has_a_workflow_that_is_over(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str]
) -> None:
    words.remove("--no-wait")
    over = {"id": WORKFLOW_ID, "state": "CANCELED", "actions": []}
    state = {"state": "CANCELED", "current_task": "", "current_action": "", "reason": "", "message": "", "hint": ""}
    ready.answers |= {f"GET /v1/workflows/{WORKFLOW_ID}": over, f"GET /v1/workflows/{WORKFLOW_ID}/state": state}
    ended = tinkbox(*words)
    assert (ended.status, "node7: the workflow: canceled" in ended.out, ended.err) == (1, True, "")
    del ready.answers[f"GET /v1/workflows/{WORKFLOW_ID}"], ready.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"]
    ended = tinkbox(*words)
    assert (ended.status, ended.err) == (1, "")
    assert ended.out.endswith("node7: its workflow is over, and was deleted\n")


def test_that_the_appliance_is_away_and_that_it_is_back_is_told_once(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words.remove("--no-wait")
    monkeypatch.setattr(install, "INTERVAL", 0.0)
    over = {"id": WORKFLOW_ID, "state": "CANCELED", "actions": []}
    state = {"state": "CANCELED", "current_task": "", "current_action": "", "reason": "", "message": "", "hint": ""}
    steps = iter([{"status": 503, "detail": "no appliance answers"}] * 5)
    ready.answers |= {
        f"GET /v1/workflows/{WORKFLOW_ID}": lambda: next(steps, over),
        f"GET /v1/workflows/{WORKFLOW_ID}/state": state,
    }
    told = "tinkbox: no appliance answers; trying again\ntinkbox: the appliance answers again\n"
    assert tinkbox(*words).err == told


FIRST = ": the first line must be `#cloud-config`, or `#!/bin/sh` for a script"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#cloud-confg\na: 1\n", ", line 1: cloud-init ignores all of it, for it knows nothing that begins with '#cloud-confg'" + FIRST),
        ("\nhello\n", ", line 2: cloud-init ignores all of it, for it knows nothing that begins with 'hello'" + FIRST),
        ("a: [1, 2", ", line 1: cloud-init ignores all of it, for it knows nothing that begins with 'a: [1, 2'" + FIRST),
        (" \n\n", ": cloud-init finds nothing in it, for it is empty: give a file with content, or leave --user-data out"),
        ("", ": cloud-init finds nothing in it, for it is empty: give a file with content, or leave --user-data out"),
    ],
)  # fmt: skip
def test_user_data_that_cloud_init_would_ignore_is_refused(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "user-data"
    file.write_text(text)
    without_key = [*words[:3], "--no-wait"]
    for line in (words, without_key):
        refused = tinkbox(*line, "--user-data", str(file))
        assert (refused.status, refused.err) == (1, f"tinkbox: {file}{why}\n")
    assert created(ready) == []
    for source in ("ignition", "talos", "none"):
        ready.answers["GET /v1/system-images/debian-13"] = {**IMAGE, "config": {**CONFIG, "data_source": source}}
        assert (tinkbox(*words, "--user-data", str(file)).status, tinkbox(*without_key).err) == (0, "")


def test_user_data_of_a_document_that_cloud_init_ignores_is_no_way_to_log_in(
    tinkbox: Tinkbox, ready: FakeAppliance
) -> None:
    ready.answers["GET /v1/hardware/node7"] = {**MACHINE, "document": {**DOCUMENT, "spec": {"userData": "hello\n"}}}
    refused = tinkbox("install", "debian-13", "node7", "--no-wait")
    assert (refused.status, created(ready)) == (1, [])
    assert "no key and no user-data that cloud-init reads: you could not log in to node7" in refused.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"#cloud-config\n", mtime=0), "{0} is gzip: give it in base64, as `base64 {0} >FILE` writes it"),
        (b"#cloud-config\na: \xff\n", "{0} is not UTF-8 text: byte 0xff in line 2"),
    ],
)
def test_binary_user_data_is_refused_with_what_to_do(
    tinkbox: Tinkbox, ready: FakeAppliance, words: list[str], tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "ok.gz"
    file.write_bytes(content)
    refused = tinkbox(*words, "--user-data", str(file))
    assert (refused.status, refused.err) == (1, f"tinkbox: {said.format(file)}\n")
    assert ready.asked == []
