"""The section `images`."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.settings.images import MAX_STAND_INS


def test_images_that_stand_in_are_read(tmp_path: Path) -> None:
    text = "images: {instead: {quay.io/tinkerbell/actions/kexec: 'kexec:v1', 'writefile:v1.0.0': 'writefile:v1'}}"
    found = loaded(tmp_path, text).images.stand_ins
    assert found.meant("quay.io/tinkerbell/actions/kexec:latest") == "kexec:v1"
    assert found.meant("writefile:v1.0.0") == "writefile:v1"
    assert loaded(tmp_path, "").images.stand_ins.meant("kexec:v1") == "kexec:v1"


@pytest.mark.parametrize(
    ("instead", "problem"),
    [
        ("[a]", "images.instead: expected names with texts"),
        ("{A: b}", "images.instead.A: invalid image name 'A'"),
        ("{a: B}", "images.instead.a: invalid image name 'B'"),
        ("{'a:v1': b}", "images.instead.a:v1: a:v1 is one image: name one with a tag instead, such as b:v1"),
        (f"{{'a@sha256:{'0' * 64}': b}}", "a digest means these bytes and no others"),
        (str({f"a{number}": "b" for number in range(MAX_STAND_INS + 1)}), "at most 256 names, not 257"),
    ],
)
def test_what_cannot_stand_in_is_refused(tmp_path: Path, instead: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, f"images: {{instead: {instead}}}")
    assert problem in found
