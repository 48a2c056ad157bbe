"""What images that are named by their digests are needed for."""

from tinkbox.model.images.needs import ImageNeed, stood_in
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
