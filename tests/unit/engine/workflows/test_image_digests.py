"""What is said of images that the appliance lacks."""

import pytest

from tinkbox.engine.workflows.image_digests import DigestOf, missing_image

LOAD = "is not in the registry: push it there, or `tinkbox image load` it from a file"


def online(name: str) -> str | None:
    return None if "." in name.partition("/")[0] else ""


def offline(name: str) -> str:
    return ""


@pytest.mark.parametrize(
    ("name", "digest_of", "told"),
    [
        ("alpine:3", online, f"image alpine:3 {LOAD}; if you mean Docker Hub's, write docker.io/library/alpine:3"),
        ("tools/wipe", online, f"image tools/wipe {LOAD}; if you mean Docker Hub's, write docker.io/tools/wipe"),
        ("alpine:3", offline, f"image alpine:3 {LOAD}"),
        ("quay.io/tools/wipe", offline, f"image quay.io/tools/wipe {LOAD}"),
        ("quay.io/tools/wipe", online, ""),
    ],
)
def test_what_is_told_of_a_missing_image_is_a_way_out_here(name: str, digest_of: DigestOf, told: str) -> None:
    assert missing_image(name, digest_of) == told


def test_docker_hubs_name_is_a_way_out_offline_where_its_image_is_kept() -> None:
    kept = {"docker.io/tools/wipe:v1": "sha256:1"}
    told = missing_image("tools/wipe:v1", lambda name: kept.get(name, ""))
    assert told.endswith("write docker.io/tools/wipe:v1")
