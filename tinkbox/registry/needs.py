"""What may not be deleted because a workflow or a template names it, and what people are told of that.  Pure."""

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
    workflows = [each for each in needs if each.workflow_id]
    if not whole and left:
        # Its bytes stay.  A workflow that is retried asks for the tag again.
        workflows = [each for each in workflows if _names(each, repository, selector)]
    if workflows:
        first = workflows[0].workflow_id[:8]
        many = len({each.workflow_id for each in workflows}) > 1
        raise Conflict(
            f"{told(workflows)} {'are' if many else 'is'} not over and need{'' if many else 's'} {as_typed(repository)} ({digest}): delete the "
            f"image when {'they are' if many else 'it is'} over, or type `tinkbox workflow cancel {first}` first"
        )
    templates = [each for each in needs if not each.workflow_id]
    if whole and templates:
        raise Conflict(
            f"{told(templates)} need{'' if len({each.template for each in templates}) > 1 else 's'} {as_typed(repository)} by its digest "
            f"({digest}): change that with `tinkbox template update`, or delete the template first"
        )


def only_the_tag(
    repository: str, tag: str, digest: str, needs: Sequence[ImageNeed], left: Sequence[str]
) -> Sequence[Problem]:
    """What is told when a tag was deleted and its image stays."""
    templates, named = [each for each in needs if not each.workflow_id], as_typed(repository)
    if left:
        return [Problem(text=f"{named}:{tag} was deleted, and the image stays as {named}:{left[0]}")]
    if templates:
        return [
            Problem(
                text=f"{named}:{tag} was deleted, and the image stays: {told(templates)} names it by its digest, {digest}"
            )
        ]
    return []


def _names(need: ImageNeed, repository: str, tag: str) -> bool:
    try:
        named = parse_reference(need.image)
    except Invalid:
        return True
    return repository in (named.repository, named.kept_as, named.as_docker_means.kept_as) and named.selector == tag
