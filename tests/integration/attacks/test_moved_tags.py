"""A tag that moves while a workflow waits: on a running appliance, by its commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.demo.appliance import ApplianceFailed
from tests.integration.attacks.attacked import KNOWN, Attacked, attacked
from tests.integration.registry.serving import docker_archive, layer, tar
from tests.machine.lab import mac


def load(box: Attacked, text: str) -> str:
    """Load an image of other bytes under the same name; returns its digest."""
    archive = box.work / "image.tar"
    archive.write_bytes(tar(docker_archive(["shell:v1"], [layer({"a": text.encode()})]).items()))
    box.appliance.command("image", "load", archive)
    listed = json.loads(box.appliance.command("image", "list", "--format", "json"))
    return next(str(each["digest"]) for each in listed if each["tag"] == "v1")


def create(box: Attacked) -> str:
    made = box.appliance.command("workflow", "create", "-t", "one", "-r", json.dumps({"device_1": mac(KNOWN)}))
    return made.split()[-1]


def image(box: Attacked, workflow_id: str) -> tuple[Any, Any]:
    shown = json.loads(box.appliance.command("workflow", "get", workflow_id, "--format", "json"))
    (action,) = shown["actions"]
    return action["image"], action["digest"]


def test_a_tag_that_moves_changes_no_workflow_that_is_there(tmp_path: Path) -> None:
    with attacked(tmp_path) as box:
        first = load(box, "first")
        before = create(box)
        second = load(box, "second")
        after = create(box)
        assert first != second
        assert (image(box, before), image(box, after)) == (("shell:v1", first), ("shell:v1", second))
        # Created before there was an image.
        assert image(box, box.workflow) == ("shell:v1", "")

        with pytest.raises(ApplianceFailed, match="is not over and needs shell"):
            box.appliance.command("image", "delete", f"shell@{first}")
        box.appliance.command("workflow", "cancel", before)
        box.appliance.command("image", "delete", f"shell@{first}")
        # None is retried while another one waits for its machine.
        box.appliance.command("workflow", "cancel", after, box.workflow)
        box.appliance.command("workflow", "retry", before)
        assert image(box, before) == ("shell:v1", second)
        events = json.loads(box.appliance.command("workflow", "events", before, "--format", "json"))
        assert [each["images"] for each in events if "images" in each] == [{"shell:v1": first}, {"shell:v1": second}]
