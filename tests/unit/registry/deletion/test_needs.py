"""What may not be deleted because something names it."""

import pytest

from tinkbox.model.errors import Conflict
from tinkbox.model.images.needs import ImageNeed
from tinkbox.registry.deletion.needs import refuse_needed

DIGEST = f"sha256:{'1' * 64}"


def refuse(repository: str, image: str) -> None:
    """For a tag v1 of an image that has another tag."""
    need = ImageNeed(digest=DIGEST, image=image, template="t", workflow_id="f00f00f0", workflow="w")
    refuse_needed(repository, "v1", DIGEST, [need], whole=False, left=["v2"])


@pytest.mark.parametrize(
    ("repository", "image"),
    [
        ("alpine", "alpine:v1"),
        ("quay.io/tools/wipe", "quay.io/tools/wipe:v1"),
        ("docker.io/library/alpine", "docker.io/alpine:v1"),
        ("lab.example_5000/wipe", "lab.example:5000/wipe:v1"),
        ("lab.example_5000/wipe", "lab.example_5000/wipe:v1"),
        ("docker.io/library/alpine", "alpine:v1"),
    ],
)
def test_a_tag_that_a_workflow_names_stays(repository: str, image: str) -> None:
    with pytest.raises(Conflict, match="is not over and needs"):
        refuse(repository, image)


def test_another_tag_of_the_same_image_goes() -> None:
    refuse("docker.io/library/alpine", "alpine:v2")
    refuse("docker.io/library/debian", "alpine:v1")


def test_a_digest_alone_holds_no_tag_but_the_last() -> None:
    refuse("alpine", "")
    need = ImageNeed(digest=DIGEST, image="", template="t", rollout_id="f00f00f0ff")
    with pytest.raises(
        Conflict, match=r"rollout f00f00f0 of template t is not over .* `tinkbox rollout cancel f00f00f0`"
    ):
        refuse_needed("alpine", "v1", DIGEST, [need], whole=False, left=[])


def test_a_setting_that_names_a_digest_is_told() -> None:
    need = ImageNeed(digest=DIGEST, image=f"x@{DIGEST}", setting="images.instead")
    with pytest.raises(
        Conflict, match=r"images\.instead in tinkbox\.yaml needs x by its digest .* change images\.instead"
    ):
        refuse_needed("x", DIGEST, DIGEST, [need], whole=True, left=[])
