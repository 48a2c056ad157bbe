"""What may not be deleted because something that is not over, a template or a setting names it, and what people are told of that.  Pure."""

from collections.abc import Sequence

from tinkbox.model.errors import Conflict, Invalid, Problem
from tinkbox.model.images.needs import ImageNeed, told
from tinkbox.model.images.references import as_typed, parse_reference


def refuse_needed(
    repository: str, selector: str, digest: str, needs: Sequence[ImageNeed], *, whole: bool, left: Sequence[str]
) -> None:
    """Raise Conflict where something needs what is to be deleted.

    `needs` are those of the digest that `selector`, a tag or the digest itself, picks.  The `whole` image goes, or the tag
    alone, after which the image has the tags that are `left`.
    """
    under_way = [each for each in needs if each.is_under_way]
    if not whole and left:
        # Its bytes stay.  A workflow that is retried asks for the tag again.
        under_way = [each for each in under_way if _names(each, repository, selector)]
    if under_way:
        first = under_way[0]
        cancel = (
            f"rollout cancel {first.rollout_id[:8]}" if first.rollout_id else f"workflow cancel {first.workflow_id[:8]}"
        )
        many = len({(each.workflow_id, each.rollout_id) for each in under_way}) > 1
        raise Conflict(
            f"{told(under_way)} {'are' if many else 'is'} not over and need{'' if many else 's'} {as_typed(repository)} ({digest}): delete the "
            f"image when {'they are' if many else 'it is'} over, or type `tinkbox {cancel}` first"
        )
    lasting = [each for each in needs if not each.is_under_way]
    if whole and lasting:
        way_out = "change that with `tinkbox template update`, or delete the template first"
        if lasting[0].setting:
            way_out = f"change {lasting[0].setting} and restart the appliance first"
        raise Conflict(
            f"{told(lasting)} need{'' if len({each.who for each in lasting}) > 1 else 's'} {as_typed(repository)} by its digest "
            f"({digest}): {way_out}"
        )


def refuse_part(repository: str, digest: str, part_of: str) -> None:
    """Raise Conflict where an image that is to go is a part of another, which is called `part_of`; empty: of none."""
    if part_of:
        raise Conflict(f"{as_typed(repository)}@{digest} is a part of {part_of}: delete that first")


def only_the_tag(
    repository: str,
    tag: str,
    digest: str,
    needs: Sequence[ImageNeed],
    left: Sequence[str],
    part_of: str,
    damaged: Sequence[str] = (),
) -> Sequence[Problem]:
    """What is told when a tag was deleted and its image stays, such as where one of the `damaged` tags may name it."""
    lasting, named = [each for each in needs if not each.is_under_way], as_typed(repository)
    if left:
        return [Problem(text=f"{named}:{tag} was deleted, and the image stays as {named}:{left[0]}")]
    if lasting:
        return [
            Problem(
                text=f"{named}:{tag} was deleted, and the image stays: {told(lasting)} names it by its digest, {digest}"
            )
        ]
    if part_of:
        return [Problem(text=f"{named}:{tag} was deleted, and the image stays: it is a part of {part_of}")]
    if damaged:
        way_out = f"delete {named}@{digest} too if it is not the image of that tag"
        return [
            Problem(
                text=f"{named}:{tag} was deleted, and the image stays, since the tag {damaged[0]} is damaged: {way_out}"
            )
        ]
    return []


def _names(need: ImageNeed, repository: str, tag: str) -> bool:
    if not need.image:  # the digest alone, which stays
        return False
    try:
        named = parse_reference(need.image)
    except Invalid:
        return True
    return repository in (named.repository, named.kept_as, named.as_docker_means.kept_as) and named.selector == tag
