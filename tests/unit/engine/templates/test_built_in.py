"""The templates that are in the program."""

import pytest

from tests.unit.model.test_ssh_keys import key
from tinkbox.cli.nouns.install.checks import ACTIONS
from tinkbox.engine.templates.built_in import catalogue
from tinkbox.engine.templates.rendering import check, render, rendering_data
from tinkbox.model.errors import Invalid
from tinkbox.model.metadata import Metadata
from tinkbox.model.template import Definition

MAC = "08:00:27:00:00:01"
# What ends a text, a line, a placeholder or an entry in YAML, Go or JSON.
NASTY = "a\"b'c: {{ .x }} # \\ \n\t- é 😀 \u2028 <&> %}\n  key: [x"


async def installed(**devices: str) -> Definition:
    data = rendering_data({"device_1": MAC, "image": "debian-13", **devices}, None)
    return (await render(catalogue()["install"].data, data)).definition


@pytest.mark.parametrize("name", catalogue())
async def test_each_is_valid_and_says_what_it_does(name: str) -> None:
    await check(catalogue()[name].data)
    assert catalogue()[name].about.endswith(".")


async def test_install_writes_the_image_and_waits_for_the_first_boot() -> None:
    definition = await installed()
    (task,) = definition.tasks
    assert (definition.name, task.worker) == ("install", MAC)
    image, boot = task.actions
    assert (image.image, image.environment, image.timeout) == ("install-image:v1", {"IMAGE": "debian-13"}, 3600)
    assert (image.disk, image.wipes) == ("only", ("only",))
    assert (image.image, boot.image) == ACTIONS  # which `tinkbox install` looks for
    assert (boot.image, boot.reboot, boot.until, boot.timeout) == ("reboot:v1", True, "phone-home", 1200)


async def test_parameters_of_install_are_taken_as_they_are() -> None:
    image = f"debian-13@sha256:{'1' * 64}"
    (task,) = (
        await installed(image=image, seed="config-2", disk="serial=S3Z1 size>=200G", timeout="60", boot_timeout="90")
    ).tasks
    assert [each.timeout for each in task.actions] == [60, 90]
    assert task.actions[0].environment == {"IMAGE": image, "SEED": "config-2"}
    assert task.actions[0].wipes == (task.actions[0].disk,)
    assert "S3Z1" in task.actions[0].disk
    (task,) = (await installed(image=NASTY)).tasks
    assert task.actions[0].environment["IMAGE"] == NASTY


async def test_install_says_who_may_log_in_and_what_the_system_is_told() -> None:
    keys = [key(number=1), f"{key(number=2)} ben@laptop"]
    script = f"#!/bin/sh\necho '{NASTY}'\n"
    metadata = (await installed(hostname="web1", ssh_keys="\n".join(keys) + "\n", user_data=script)).metadata
    assert metadata == Metadata(hostname="web1", ssh_keys=tuple(keys), user_data=script)
    assert (await installed()).metadata == Metadata()


async def test_user_data_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        await installed(user_data="#cloud-config\npackages: [x")
    assert refused.value.problems[0].key.startswith("metadata.user_data")


async def test_install_needs_an_image() -> None:
    with pytest.raises(Invalid) as refused:
        await render(catalogue()["install"].data, rendering_data({"device_1": MAC}, None))
    assert "image" in refused.value.problems[0].text
