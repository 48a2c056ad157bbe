"""An action that wipes a real disk: what somebody else put there stays until a person lets it go, what a workflow put there goes."""

import hashlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.lab.machine import empty_disk
from tests.machine.lab import Lab, laboratory, shell
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
ONE = 1
DISK_SIZE = 64 << 20
SWAP = "dd if=/dev/zero of=/dev/vda bs=1M count=4 2>/dev/null && mkswap -L ours /dev/vda && sync"
BY_HAND = "mke2fs -L homework /dev/vda && sync"


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


def digest(disk: Path) -> str:
    with disk.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def outcome(lab: Lab, workflow: str) -> dict[str, Any]:
    """How the only attempt at a workflow's only action ended."""
    lab.ended(workflow)
    return dict(lab.json("workflow", "get", workflow)[0]["attempts"][-1]["outcome"])


@pytest.fixture(scope="module")
def story(shell_archive: Path) -> Iterator[Story]:
    with laboratory() as lab:
        lab.route()
        lab.push(ONE)
        lab.load(shell_archive)
        disk = empty_disk(lab.work / "disk.raw", DISK_SIZE)
        subprocess.run(["mkfs.ext4", "-q", "-L", "photos", disk], check=True, timeout=60)
        before = digest(disk)
        volumes = ["/dev:/dev"]
        wipe = shell("wipe", SWAP, volumes=volumes, wipes=["/dev/vda"])

        first = lab.workflow(ONE, wipe)
        lab.machine(ONE, memory=1024, disk=disk).power_on()
        refused, untouched = outcome(lab, first), digest(disk) == before
        lab.appliance.command("workflow", "retry", first, "--confirm-wipe")
        confirmed = lab.ended(first).state
        found_ours = lab.ended(lab.workflow(ONE, wipe)).state
        lab.ended(lab.workflow(ONE, shell("by-hand", BY_HAND, volumes=volumes)))
        refused_again = outcome(lab, lab.workflow(ONE, wipe))
        missing = outcome(lab, lab.workflow(ONE, shell("wipe", SWAP, volumes=volumes, wipes=["/dev/sdq"])))
        yield Story(lab, refused, untouched, confirmed, found_ours, refused_again, missing)


def test_a_file_system_that_no_workflow_made_is_not_touched(story: Story) -> None:
    assert story.refused["reason"] == "DiskNotEmpty"
    assert 'ext4 "photos"' in story.refused["message"]
    assert "--confirm-wipe" in story.refused["message"]
    assert story.untouched


def test_a_persons_word_lets_it_go(story: Story) -> None:
    assert story.confirmed is State.SUCCESS


def test_what_a_workflow_left_needs_no_word(story: Story) -> None:
    assert story.found_ours is State.SUCCESS


def test_what_was_made_in_between_does(story: Story) -> None:
    assert story.refused_again["reason"] == "DiskNotEmpty"
    assert 'ext2 "homework"' in story.refused_again["message"]


def test_a_disk_that_is_not_there_is_told_with_those_that_are(story: Story) -> None:
    assert story.missing["reason"] == "NoSuchDisk"
    assert "it has /dev/vda" in story.missing["message"]
