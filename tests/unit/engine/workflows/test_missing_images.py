"""What is said of images that nothing can have, and of those that others are asked for."""

from pathlib import Path

import pytest

from tinkbox.engine.workflows.missing_images import images_elsewhere, looked_up, missing_images, refuse_missing
from tinkbox.model.actions.released import RELEASED
from tinkbox.model.errors import Invalid
from tinkbox.model.images.standing import ImageStanding, Source, StandingOf, WantedImage

LOAD = "is not in the registry: push it there, or `tinkbox image load` it from a file"
DIGEST = f"sha256:{'1' * 64}"
HERE = ImageStanding(source=Source.APPLIANCE)
NOWHERE = ImageStanding(source=Source.NOBODY)


def online(image: WantedImage) -> ImageStanding:
    host = image.name.partition("/")[0]
    return ImageStanding(source=Source.HOST, host=host) if "." in host else NOWHERE


def offline(_: WantedImage) -> ImageStanding:
    return NOWHERE


def mirrored(image: WantedImage) -> ImageStanding:
    return ImageStanding(source=Source.MIRROR, host="docker.io")


def missing(name: str, standing_of: StandingOf, *, system: bool = False) -> str:
    return looked_up(WantedImage(name, system=system), standing_of).problem


@pytest.mark.parametrize(
    ("name", "standing_of", "told"),
    [
        ("alpine:3", online, f"image alpine:3 {LOAD}; if you mean Docker Hub's, write docker.io/library/alpine:3"),
        ("tools/wipe", online, f"image tools/wipe {LOAD}; if you mean Docker Hub's, write docker.io/tools/wipe"),
        ("alpine:3", offline, f"image alpine:3 {LOAD}"),
        ("quay.io/tools/wipe", offline, f"image quay.io/tools/wipe {LOAD}"),
        ("quay.io/tools/wipe", online, ""),
        ("alpine:3", mirrored, ""),
    ],
)
def test_what_is_told_of_a_missing_image_is_a_way_out_here(name: str, standing_of: StandingOf, told: str) -> None:
    assert missing(name, standing_of) == told


def test_docker_hubs_name_is_a_way_out_offline_where_its_image_is_kept() -> None:
    kept = {"docker.io/tools/wipe:v1": HERE}
    assert missing("tools/wipe:v1", lambda image: kept.get(image.name, NOWHERE)).endswith(
        "write docker.io/tools/wipe:v1"
    )


def test_an_image_of_the_release_is_loaded_from_the_release() -> None:
    told = missing("install-image:v1", online)
    assert "type `tinkbox image load install-image.tar` in the folder images/ of the release" in told
    assert "docker.io" not in told
    assert "docker.io/library/install-image:v2" in missing("install-image:v2", online)


def test_the_images_of_the_release_are_those_that_it_builds() -> None:
    actions = Path(__file__).parents[4] / "examples" / "actions"
    assert {f"{each.parent.name}:v1" for each in actions.glob("*/image.toml")} == RELEASED


def test_the_same_bytes_under_another_name_are_told_with_the_command_that_names_them() -> None:
    standing = ImageStanding(source=Source.NOBODY, same_as="tools/wipe:v1")
    assert missing(f"quay.io/other:v1@{DIGEST}", lambda _: standing) == (
        f"image quay.io/other:v1@{DIGEST} is not in the registry: it is here as tools/wipe:v1, `tinkbox image copy "
        "tools/wipe:v1 quay.io/other:v1` gives it this name as well"
    )


def test_a_damaged_image_is_told_in_the_words_of_the_list() -> None:
    damaged = ImageStanding(source=Source.APPLIANCE, damage="damaged, 1 of its blobs is gone: push or load it again")
    told = "image wipe:v1: damaged, 1 of its blobs is gone: push or load it again"
    assert missing("wipe:v1", lambda _: damaged) == told
    with pytest.raises(Invalid) as refusal:
        refuse_missing([WantedImage("wipe:v1")], lambda _: damaged)
    assert [each.text for each in refusal.value.problems] == [told]


def test_a_missing_system_image_is_no_container_image() -> None:
    told = missing("debian-13", online, system=True)
    assert told.startswith("system image debian-13 is not kept here: ")
    assert "docker.io" not in told
    assert "`tinkbox image fetch`" in told


def test_what_machines_ask_for_themselves_is_told_in_one_line() -> None:
    images = [WantedImage(each) for each in ("quay.io/a:v1", "ghcr.io/b", "quay.io/c", "quay.io/a:v1", "alpine")]
    assert images_elsewhere(images, online) == [
        "not kept here: quay.io/a:v1, ghcr.io/b, quay.io/c: machines ask quay.io, ghcr.io themselves"
    ]
    many = [WantedImage(f"quay.io/a:v{number}") for number in range(9)]
    (line,) = images_elsewhere(many, online)
    assert line.startswith(
        "not kept here: quay.io/a:v0, quay.io/a:v1, quay.io/a:v2, quay.io/a:v3, quay.io/a:v4 and 4 others: "
    )
    assert images_elsewhere(images, lambda _: HERE) == []


def test_what_a_mirror_is_asked_for_is_told_before_a_machine_pulls() -> None:
    found = [WantedImage("hello-wrold")]
    told = "not kept here: hello-wrold: the appliance asks the mirror of docker.io when a machine pulls"
    assert images_elsewhere(found, mirrored) == [told]
    assert missing_images(found, mirrored) == []
