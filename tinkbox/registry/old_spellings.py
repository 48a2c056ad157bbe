"""Repositories that an earlier release kept under another spelling of their name."""

import logging
from contextlib import suppress

from tinkbox.model.errors import Unavailable
from tinkbox.model.images.references import parse_reference
from tinkbox.registry.manifests.repositories import Repositories, is_repository

_log = logging.getLogger(__name__)


def join_spellings(repositories: Repositories) -> None:
    """Have each repository once, as `Reference.kept_as` has it: an earlier release kept every spelling that was pushed.

    A tag of both means what it meant to templates; the other image stays without it.
    """
    for name in repositories.names():
        kept = parse_reference(name).kept_as
        if kept == name or not is_repository(kept):
            continue
        with suppress(Unavailable):  # something is in the way; the next start tries again
            for link in repositories.links(name).values():
                repositories.link(kept, link)
            for tag, link in repositories.tags(name).items():
                if tag not in repositories.tags(kept):
                    repositories.tag(kept, tag, link)
            for tag in (*repositories.tags(name), *repositories.damaged_tags(name)):
                repositories.untag(name, tag)
            for digest in repositories.links(name):
                repositories.unlink(name, digest)
            _log.info("images moved: %s to %s", name, kept, extra={"action": "registry.moved"})
