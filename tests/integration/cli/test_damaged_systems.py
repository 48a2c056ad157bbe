"""System images of which a part is lost: `image show` and `image list` say the same of them, with the way out."""

import json
import re
from pathlib import Path

import pytest

from tests.integration.cli.carried_images import Tinkbox, names
from tests.integration.cli.serving import Configuration
from tests.system_images import system_image


@pytest.mark.parametrize("part", ["manifest", "configuration", "disk"])
def test_a_damaged_system_image_is_shown_as_one(
    appliance: Configuration, here: Tinkbox, tmp_path: Path, part: str
) -> None:
    archive = tmp_path / "lab.tar"
    digest = system_image(archive, "lab", "2")
    assert here("image", "load", archive).status == 0
    blobs = appliance.data / "registry" / "blobs" / "sha256"
    document = json.loads((blobs / digest[7:]).read_text())
    lost = {"manifest": digest, "configuration": document["config"]["digest"], "disk": document["layers"][0]["digest"]}
    (blobs / lost[part][7:]).unlink()
    problem = "its manifest is damaged" if part == "manifest" else "damaged, 1 of its blobs is gone"
    problem += ": push or load it again"

    rows = json.loads(here("image", "list", "-o", "json").out)
    assert {(each["kind"], each["problem"]) for each in rows} == {("system", problem)}
    for name in ("lab", "lab:2"):
        shown, as_json = here("image", "show", name), here("image", "show", name, "-o", "json")
        if part == "disk":
            assert (shown.status, as_json.status) == (0, 0)
            assert problem in shown.out
            assert json.loads(as_json.out)["problem"] == problem
        else:
            assert (shown.status, as_json.status) == (1, 1), shown
            found = (
                "its manifest is damaged"
                if part == "manifest"
                else "damaged since .* UTC, 1 of its blobs is gone, changed or .*"
            )
            told = rf"tinkbox: the system image {name} cannot be read: {found}: push or load it again\n"
            assert shown.err == as_json.err
            assert re.fullmatch(told, shown.err), shown.err

    assert here("image", "load", archive).status == 0
    assert "Problem" not in here("image", "show", "lab").out
    assert names(here) == {"lab:2": digest, "lab:latest": digest}


def test_a_system_image_is_shown_by_its_digest(here: Tinkbox, tmp_path: Path) -> None:
    digest = system_image(tmp_path / "lab.tar", "lab", "2")
    assert here("image", "load", tmp_path / "lab.tar").status == 0
    assert json.loads(here("image", "show", f"lab@{digest}", "-o", "json").out)["tags"] == ["2", "latest"]
