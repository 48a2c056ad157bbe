import json
from dataclasses import asdict

import pytest

from tinkbox.model.disks.disks import Content, Disk, Refused
from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.disks import (
    MAX_CONTENTS,
    MAX_TEXT,
    Looked,
    decode_answer,
    decode_looked,
    disks_from_document,
    encode,
    encode_answer,
)

LOOKED = Looked(
    workflow_id="w1",
    boot_id="boot-1",
    disks=(
        Disk(path="/dev/sda", name="WD-1", size=1 << 40, contents=(Content(kind="GPT", id="a", label="b", offset=7),)),
        Disk(path="/dev/sdb", reason="NoSuchDisk", problem="there is none"),
    ),
)


def test_what_was_looked_at_arrives_as_it_was_sent() -> None:
    assert decode_looked(encode(LOOKED)) == LOOKED


def test_both_answers_arrive() -> None:
    refused = Refused(reason="DiskNotEmpty", message="ext4")
    assert decode_answer(encode_answer(refused)) == refused
    assert decode_answer(encode_answer(None)) is None


def test_text_of_a_disk_is_hostile() -> None:
    document = asdict(LOOKED.disks[0])
    document["contents"][0]["label"] = "\x1b[2J" + "x" * 1000
    (disk,) = disks_from_document([json.loads(json.dumps(document))])
    assert disk.contents[0].label == ("[2J" + "x" * 1000)[:MAX_TEXT]


@pytest.mark.parametrize(
    "disks", [None, {}, [1], [{"path": 1}], [{"path": "/dev/a", "contents": 1}], [{"path": "/dev/a", "contents": [1]}],
              [{"path": "/dev/a", "size": "x"}], [{}] * 65, [{"path": "/dev/a", "contents": [{"kind": "x"}] * (MAX_CONTENTS + 1)}],
              [{"path": "/dev/a", "contents": [{"kind": "x", "offset": "y"}]}], [{"path": "/dev/a", "size": -1}],
              [{"path": "/dev/a", "size": 2**63}], [{"path": "/dev/a", "contents": [{"kind": "x", "offset": -1}]}]],
)  # fmt: skip
def test_what_is_no_list_of_disks_is_refused(disks) -> None:
    with pytest.raises(Invalid):
        decode_looked(json.dumps({"workflow_id": "w", "boot_id": "b", "disks": disks}))


@pytest.mark.parametrize("answer", ['{"refused": 1}', '{"refused": {}}', "[]", "x"])
def test_what_is_no_answer_is_refused(answer) -> None:
    with pytest.raises(Invalid):
        decode_answer(answer)
