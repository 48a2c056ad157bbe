"""System images on the operator door: what is known of one by its name."""

from pathlib import Path

import pytest

from tests.integration.api.door import Door, image_archive
from tests.system_images import system_image


@pytest.fixture
async def digest(door: Door, tmp_path: Path) -> str:
    digest = system_image(tmp_path / "image.tar")
    await door.done("POST", "/v1/images", (tmp_path / "image.tar").read_bytes())
    return digest


@pytest.mark.parametrize("name", ["debian-13", "debian-13:20261101", "debian-13@DIGEST"])
async def test_it_is_described_by_any_of_its_names(door: Door, digest: str, name: str) -> None:
    described = await door.done("GET", f"/v1/system-images/{name.replace('DIGEST', digest)}")
    assert (described["id"], described["digest"]) == ("debian-13", digest)
    assert described["reference"] == f"debian-13@{digest}"
    assert described["tags"] == ["20261101", "latest"]
    assert described["config"]["title"] == "Debian 13"


@pytest.mark.parametrize(
    ("name", "status"),
    [("debian-12", 404), ("debian-13:1", 404), ("example.com%2Fdebian-13", 404), ("hello-world:v1", 422), ("A B", 422)],
)
async def test_what_is_none_is_refused(door: Door, digest: str, name: str, status: int) -> None:
    await door.done("POST", "/v1/images", image_archive())
    assert (await door.ask("GET", f"/v1/system-images/{name}"))[0] == status
