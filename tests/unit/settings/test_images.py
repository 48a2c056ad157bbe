"""The section `images`."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.settings.images import MAX_STAND_INS, RESERVE


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


GIB, MIB = 1 << 30, 1 << 20


@pytest.mark.parametrize(
    ("disk", "keep_free", "reserve"),
    [
        (100 * GIB, 512 * MIB, RESERVE),
        (100 * GIB, 10 * GIB, 10 * GIB + RESERVE // 2),
        (2 * GIB, 512 * MIB, 512 * MIB + 2 * GIB // 20),
        (128 * MIB, 32 * MIB, 64 * MIB),
        (64 * MIB, 32 * MIB, 32 * MIB),
        (40 * MIB, 32 * MIB, 32 * MIB),
    ],
)
def test_what_images_leave_to_others_is_fitted_to_the_disk(
    tmp_path: Path, disk: int, keep_free: int, reserve: int
) -> None:
    assert loaded(tmp_path, "").images.reserve_on(disk, keep_free) == reserve
    assert reserve >= keep_free
    chosen = loaded(tmp_path, "images: {reserve: 40MiB}").images
    assert chosen.reserve_on(disk, keep_free) == 40 * MIB


def test_what_images_may_take_is_read(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").images.most is None
    assert loaded(tmp_path, "images: {most: 20GiB}").images.most == 20 * GIB
    for text, problem in (("{most: 0}", "expected a size"), ("{reserve: 1MiB}", "expected at least 32MiB, not 1MiB")):
        (found,) = problems_of(tmp_path, f"images: {text}")
        assert problem in found
