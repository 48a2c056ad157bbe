"""An action that wipes a real disk: what somebody else put there stays until a person lets it go, what a workflow put there goes."""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.lab.machine import empty_disk
from tests.machine.lab import Lab, shell
from tests.machine.waiting import ONE, SECOND_DISK, SECOND_DISK_BYTES, laboratory_with
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
SWAP = f"dd if=/dev/zero of={SECOND_DISK} bs=1M count=4 2>/dev/null && mkswap -L ours {SECOND_DISK} && sync"
CHOSEN = f'test "$TINKBOX_DISK $DEST_DISK" = "{SECOND_DISK} {SECOND_DISK}" && {SWAP}'
BY_HAND = f"mke2fs -L homework {SECOND_DISK} && sync"


@dataclass(frozen=True)
class Story:
    """What became of each workflow, and of the disk meanwhile (as the SHA-256 of all of it)."""

    lab: Lab
    refused: dict[str, Any]
    untouched: bool
    confirmed: State
    found_ours: State
    refused_again: dict[str, Any]
    missing: dict[str, Any]
    chosen: State
    ambiguous: dict[str, Any]
    by_hint: State


def digest(disk: Path) -> str:
    with disk.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def outcome(lab: Lab, workflow: str) -> dict[str, Any]:
    """How the only attempt at a workflow's only action ended."""
    lab.ended(workflow)
    return dict(lab.json("workflow", "get", workflow)["attempts"][-1]["outcome"])


@pytest.fixture(scope="module")
def story(waiting: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    disk = empty_disk(tmp_path_factory.mktemp("disk") / "disk.raw", SECOND_DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-L", "photos", disk], check=True, timeout=60)
    before = digest(disk)
    with laboratory_with(waiting, [ONE], second=disk) as lab:
        volumes = ["/dev:/dev"]
        wipe = shell("wipe", SWAP, volumes=volumes, wipes=[SECOND_DISK])

        first = lab.workflow(ONE, wipe)
        refused, untouched = outcome(lab, first), digest(disk) == before
        lab.appliance.command("workflow", "retry", first, "--confirm-wipe")
        confirmed = lab.ended(first).state
        found_ours = lab.ended(lab.workflow(ONE, wipe)).state
        by_size = shell("wipe", CHOSEN, volumes=volumes, disk="largest", wipes=["largest"])
        chosen = lab.ended(lab.workflow(ONE, by_size)).state
        ambiguous = outcome(lab, lab.workflow(ONE, shell("none", "true", disk="transport=virtio")))
        (hint,) = re.findall(r"name it, as by (\S+): ", ambiguous["message"])
        by_hint = lab.ended(lab.workflow(ONE, shell("hinted", 'test "$TINKBOX_DISK" = /dev/vda', disk=hint))).state
        lab.ended(lab.workflow(ONE, shell("by-hand", BY_HAND, volumes=volumes)))
        refused_again = outcome(lab, lab.workflow(ONE, wipe))
        missing = outcome(lab, lab.workflow(ONE, shell("wipe", SWAP, volumes=volumes, wipes=["/dev/sdq"])))
        yield Story(lab, refused, untouched, confirmed, found_ours, refused_again, missing, chosen, ambiguous, by_hint)


def test_foreign_file_system_is_not_wiped(story: Story) -> None:
    assert story.refused["reason"] == "DiskNotEmpty"
    assert 'ext4 "photos"' in story.refused["message"]
    assert "--confirm-wipe" in story.refused["message"]
    assert story.untouched


def test_confirmed_wipe_runs(story: Story) -> None:
    assert story.confirmed is State.SUCCESS


def test_disk_that_a_workflow_wrote_is_wiped_without_confirmation(story: Story) -> None:
    assert story.found_ours is State.SUCCESS


def test_file_system_made_since_needs_confirmation_again(story: Story) -> None:
    assert story.refused_again["reason"] == "DiskNotEmpty"
    assert 'ext2 "homework"' in story.refused_again["message"]


def test_missing_disk_is_reported_with_the_disks_present(story: Story) -> None:
    assert story.missing["reason"] == "NoSuchDisk"
    assert "it has /dev/vda" in story.missing["message"]
    assert SECOND_DISK in story.missing["message"]


def test_disk_that_is_chosen_by_its_size_is_the_one_that_its_path_was(story: Story) -> None:
    """What a workflow left there is known by the disk, whatever the template calls it."""
    assert story.chosen is State.SUCCESS


def test_choice_that_means_two_disks_is_refused_with_both(story: Story) -> None:
    assert story.ambiguous["reason"] == "DiskAmbiguous"
    assert "'transport=virtio' means 2 disks of this machine" in story.ambiguous["message"]
    assert f"{SECOND_DISK} size=67.1M" in story.ambiguous["message"]


def test_name_that_the_refusal_proposes_means_one_disk(story: Story) -> None:
    """These disks have no serial, so it is where one is plugged in, which the OSIE knows without udev."""
    assert story.by_hint is State.SUCCESS
