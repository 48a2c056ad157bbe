"""What images that are named by their digests are needed for."""

import pytest

from tinkbox.model.images.needs import ImageNeed, digests_in, images_in, stood_in
from tinkbox.model.images.references import StandIns

DIGEST = f"sha256:{'1' * 64}"
OTHER = f"sha256:{'2' * 64}"


def test_what_runs_instead_is_needed_as_well() -> None:
    needs = [ImageNeed(digest=DIGEST, image=each, template="t") for each in ("a:v1", "b", "quay.io/c", "same", "}/x")]
    found = list(stood_in(needs, StandIns(images={"a": "lab/a", "b": "lab/b:v2", "quay.io/c": f"c@{OTHER}"}).meant))
    assert [(each.image, each.digest) for each in found] == [
        (f"lab/a:v1@{DIGEST}", DIGEST),
        ("lab/b:v2", ""),
        (f"c@{OTHER}", OTHER),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"image: quay.io/x/y:v1@{DIGEST}", ["quay.io/x/y:v1"]),
        (f'{{% set dig = "{DIGEST}" %}}', [""]),
        (f'image: "{{{{ $host }}}}/x@{DIGEST}"', ["}/x"]),
        (f'image: "{{{{ $name }}}}@{DIGEST}"', [""]),
        (f"{DIGEST}0 {DIGEST[:-1]}", []),
        (f"[x@{DIGEST},y@{DIGEST},{DIGEST}]", ["x", "y", ""]),
        (f"image: x@sha512:{'a' * 128}", ["x"]),
    ],
)
def test_a_digest_is_found_wherever_it_stands(text: str, names: list[str]) -> None:
    assert [name for name, _ in digests_in(text)] == names


def test_images_of_a_template_are_found_with_its_parameters() -> None:
    text = """
        - image: 'h/ro@{{.dig}}'
        - {image: "tools/{{ tool }}:v1", environment: {IMAGE: debian-13}}
        - image: tools/{{ unknown }}:v1
        - image: alpine
        # {{ long }}
    """
    found = list(images_in(text, {"dig": DIGEST, "tool": "wipe", "long": OTHER + "x" * 400, "number": 1}))
    assert set(found) == {
        ("h/ro", DIGEST),
        ("", DIGEST),
        ("", OTHER),
        ("tools/wipe:v1", ""),
        ("debian-13", ""),
        ("alpine", ""),
        ("wipe", ""),
        (DIGEST, ""),
    }
