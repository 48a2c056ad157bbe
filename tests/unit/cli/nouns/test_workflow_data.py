"""`tinkbox workflow data`."""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, MACHINE_ID, WORKFLOW_ID

Tinkbox = Callable[..., Printed]
DATA: dict[str, Any] = {
    "version": 3,
    "at": AT,
    "worker": MACHINE_ID,
    "task": "os",
    "action": "disk-image",
    "size": 4096,
    "sha256": "abc",
    "files": [
        {"path": "data", "mode": 420, "size": 8, "content": base64.b64encode(b'{"a": 1}').decode()},
        {"path": "disk\x1b.img", "mode": 420, "size": 3, "content": "AAAA"},
        {"path": "folder", "mode": 493},
        {"path": "latest", "link": "disk\x1b.img"},
    ],
}
VERSION = {"at": AT, "worker": MACHINE_ID, "size": 4096, "sha256": "abc"}
VERSIONS = [
    {**VERSION, "version": 1, "kept": False, "files": []},
    {**VERSION, "version": 2, "kept": True, "files": []},
    {**VERSION, "version": 3, "kept": True, "files": DATA["files"]},
]


def data_answer(appliance: FakeAppliance, answer: object, version: int = 0) -> None:
    appliance.answers[f"GET /v1/workflows/{WORKFLOW_ID}/data?version={version}"] = answer


def test_data_prints_the_document_and_tells_of_the_other_files(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    data_answer(appliance, DATA, version=3)
    printed = tinkbox("workflow", "data", WORKFLOW_ID, "--version", "3")
    assert (printed.status, printed.out) == (0, '{"a": 1}\n')
    assert printed.err == "tinkbox: there is also disk .img, 3 bytes (--save DIR saves it)\n"


def test_data_that_was_never_written_is_an_empty_document(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    data_answer(appliance, {"version": 0, "files": []})
    assert tinkbox("workflow", "data", WORKFLOW_ID).out == "{}\n"
    assert tinkbox("workflow", "data", WORKFLOW_ID, "-l").out == "Latest workflow data version: 0\n"
    assert tinkbox("workflow", "data", WORKFLOW_ID, "-m").out == "{}\n"


def test_metadata_has_the_words_of_2020_and_leaves_the_content_out(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    data_answer(appliance, DATA)
    printed = json.loads(tinkbox("workflow", "data", WORKFLOW_ID, "-m").out)
    assert list(printed.items())[:5] == [
        ("worker-id", MACHINE_ID), ("action-name", "disk-image"), ("task-name", "os"), ("updated-at", AT),
        ("sha256", "abc"),
    ]  # fmt: skip
    assert (printed["version"], printed["size"]) == (3, 4096)
    assert printed["files"][0] == {"path": "data", "mode": 420, "size": 8}


def test_the_digest_is_that_of_the_file_data(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    digest = hashlib.sha256(b'{"a": 1}').hexdigest()
    data_answer(appliance, {**DATA, "files": [{**DATA["files"][0], "sha256": digest}]})
    printed = json.loads(tinkbox("workflow", "data", WORKFLOW_ID, "-m").out)
    assert (printed["sha256"], printed["files"][0]["sha256"]) == (digest, digest)
    assert tinkbox("workflow", "data", WORKFLOW_ID, "--save", str(tmp_path / "saved")).status == 0
    assert hashlib.sha256((tmp_path / "saved" / "data").read_bytes()).hexdigest() == printed["sha256"]


def test_the_list_names_every_file_of_every_version(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/workflows/{WORKFLOW_ID}/data/versions"] = VERSIONS
    assert tinkbox("workflow", "data", WORKFLOW_ID, "--list").out.splitlines()[3:5] == [
        "3        data              8     file               2020-07-08 15:17:02 UTC",
        "3        disk .img         3     file               2020-07-08 15:17:02 UTC",
    ]
    lines = tinkbox("workflow", "data", WORKFLOW_ID, "--list", "-o", "tink").out.splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:5]] for line in lines if line.startswith("|")] == [
        ["VERSION", "NAME", "SIZE", "KIND"],
        ["1", "(no longer kept)", "", ""],
        ["2", "(no files)", "", ""],
        ["3", "data", "8", "file"],
        ["3", "disk .img", "3", "file"],
        ["3", "folder", "", "folder"],
        ["3", "latest", "", "link to disk .img"],
    ]
    listed = tinkbox("workflow", "data", WORKFLOW_ID, "--list", "-v", "2", "--format", "json").out
    assert json.loads(listed) == [VERSIONS[1]]
    assert tinkbox("workflow", "data", WORKFLOW_ID, "--list", "-q").out == "1\n2\n3\n"


def test_saving_writes_every_file(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    data_answer(appliance, DATA)
    saved = tinkbox("workflow", "data", WORKFLOW_ID, "--save", str(tmp_path / "new"))
    assert (saved.status, saved.err) == (0, "")
    assert saved.out == f"Saved 4 files of version 3 to {tmp_path / 'new'}\n"
    assert (tmp_path / "new" / "data").read_bytes() == b'{"a": 1}'
    assert (tmp_path / "new" / "latest").read_bytes() == b"\x00\x00\x00"
    assert (tmp_path / "new" / "folder").is_dir()


def test_a_link_that_leads_out_is_told_and_is_1(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    data_answer(appliance, {**DATA, "files": [*DATA["files"], {"path": "out", "link": "/etc/\x1bpasswd"}]})
    saved = tinkbox("workflow", "data", WORKFLOW_ID, "--save", str(tmp_path / "new"))
    assert saved.status == 1
    assert saved.err == "tinkbox: not saved: out: it links to /etc/ passwd, which leads out of the folder\n"
    assert not (tmp_path / "new" / "out").is_symlink()
    assert (tmp_path / "new" / "data").exists()


def test_data_that_cannot_be_read_is_not_saved(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    data_answer(appliance, {**DATA, "files": [{"path": "", "error": "not an archive"}]})
    saved = tinkbox("workflow", "data", WORKFLOW_ID, "--save", str(tmp_path / "new"))
    assert (saved.status, saved.out) == (1, "")
    assert "not an archive" in saved.err
    assert not (tmp_path / "new").exists()


def test_one_workflow_at_a_time_is_saved(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    assert tinkbox("workflow", "data", "a", "b", "--save", str(tmp_path / "new")).status == 1
    assert appliance.asked == []


def test_the_data_of_several_is_a_list(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    data_answer(appliance, DATA)
    none = {"version": 0, "files": []}
    text = {"version": 1, "files": [{"path": "data", "content": base64.b64encode(b"[" * 9).decode()}]}
    appliance.answers["GET /v1/workflows/a/data?version=0"] = none
    appliance.answers["GET /v1/workflows/b/data?version=0"] = text
    keys = (WORKFLOW_ID, "a", "b")
    assert json.loads(tinkbox("workflow", "data", *keys, "-o", "json").out) == [{"a": 1}, {}, "[" * 9]
    assert len(json.loads(tinkbox("workflow", "data", *keys[:2], "-m", "-o", "json").out)) == 2
    assert tinkbox("workflow", "data", *keys[:2], "-o", "table").out == '{"a": 1}\n{}\n'
    ids = ("1" * 36, "2" * 36)
    for key, workflow_id in zip(keys[:2], ids, strict=True):
        appliance.answers[f"GET /v1/workflows/{key}"] = {"id": workflow_id}
        appliance.answers[f"GET /v1/workflows/{workflow_id}/data/versions"] = VERSIONS
    assert json.loads(tinkbox("workflow", "data", *keys[:2], "--list", "-o", "json").out) == [
        {"workflow": each_id, **each} for each_id in ids for each in VERSIONS
    ]
    assert {line.split()[0] for line in tinkbox("workflow", "data", *keys[:2], "--list").out.splitlines()[1:]} == {
        each[:8] for each in ids
    }
    listed = tinkbox("workflow", "data", *keys[:2], "--list", "-o", "csv").out.splitlines()
    assert [line.split(",")[0] for line in listed[:1]] == ["workflow"]
    assert {line.split(",")[0] for line in listed[1:]} == set(ids)
    assert tinkbox("workflow", "data", *keys[:2], "--list", "-q").out.split() == [
        f"{each_id}/{each['version']}" for each_id in ids for each in VERSIONS
    ]
