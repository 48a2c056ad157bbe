"""What documents call a workflow, a machine or a namespace: whatever can be shown, typed and told apart.

Every name in Kubernetes is one (RFC 1123), and so are names with spaces within and with letters of any language.
"""

from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.text import can_be_shown, spelled

MAX_NAME: Final = 253  # bytes, as in Kubernetes
# As Kubernetes generates names (k8s.io/apiserver, storage/names, and apimachinery's rand.String): no vowels, and nothing that
# looks like another letter.
GENERATED: Final = 63  # letters of a generated name
CHANCE: Final = 5  # letters of these that chance gives
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def check_name(name: str, what: str) -> None:
    """Raise Invalid for what is no name of a `what`."""
    if why := _why_none(name):
        raise Invalid(f"{spelled(name)} is no name of a {what}: {why}")


def generated_name(prefix: str, chance: int) -> str:
    """A name that begins so; `chance` is a large number that nobody foresees."""
    drawn = ""
    for _ in range(CHANCE):
        chance, place = divmod(chance, len(_ALPHABET))
        drawn += _ALPHABET[place]
    return prefix[: GENERATED - CHANCE] + drawn


def check_namespace(name: str) -> None:
    """Raise Invalid for what is no namespace: with a slash in it, it and a name would not be told from others."""
    if "/" in name:
        raise Invalid(f"{spelled(name)} is no name of a namespace: it may have no slash")
    check_name(name, "namespace")


def _why_none(name: str) -> str:
    """What is wrong with a name; empty: nothing."""
    if not can_be_shown(name):
        return "it may only have letters that can be shown"
    if name != name.strip() or not name:
        return "it may not be empty, and have no space at its ends"
    if name.startswith("-"):
        return "it may not begin with a dash"
    if "`" in name:
        return "it may have no backquote: what stands between those is a command to type"
    if name in (".", ".."):
        return "it is a folder to every program"
    if len(name.encode()) > MAX_NAME:
        return f"it has more than {MAX_NAME} bytes"
    return ""
