"""What a command has changed by now, for one that ends because what it prints cannot be written."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from tinkbox.model.text import clean, counted

SHOWN: Final = 8  # names
WHOLE_ID: Final = 36  # letters
SHORT_ID: Final = 8
# What is changed, by the path below which the appliance has it.
_NOUNS: Final[Mapping[str, str]] = {
    "hardware": "machine",
    "discovered": "machine",
    "templates": "template",
    "workflows": "workflow",
    "rollouts": "rollout",
    "documents": "document",
    "images": "image",
}
# Parts of a path that name no single thing.
_OF_MANY: Final = frozenset({"add", "import"})
_SEVERAL: Final = ("created", "pushed", "loaded")  # what an answer has of several things


@dataclass(slots=True)
class DoneSoFar:
    """The changes that the appliance says it made: of each what was changed, in words.

    `far` is how far the command came in words of its own; empty: it has none.
    """

    changes: list[str] = field(default_factory=list)
    far: str = ""

    def __str__(self) -> str:
        """What is done of a command that cannot say it: `it was done: workflow 43a3b724`; empty when nothing is."""
        if self.far or not self.changes:
            return self.far
        named = list(dict.fromkeys(filter(None, self.changes)))
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        told = f": {', '.join(named[:SHOWN])}{more}" if named else ""
        which = "it was done" if len(self.changes) == 1 else f"{counted(len(self.changes), 'change')} were made"
        return clean(f"{which}{told}")


_DONE: Final = ContextVar("what this command line has changed", default=DoneSoFar())  # noqa: B039  main begins another


def begin() -> None:
    """Nothing is done yet."""
    _DONE.set(DoneSoFar())


def done_so_far() -> DoneSoFar:
    """What this command line has changed."""
    return _DONE.get()


def note_change(path: str, answer: Mapping[str, Any]) -> None:
    """The appliance changed what is at this path of its API, and answered so."""
    _, _, noun, *rest = map(unquote, path.partition("?")[0].split("/"))
    word = _NOUNS.get(noun, "")
    several = next((answer[each] for each in _SEVERAL if isinstance(answer.get(each), list)), ())
    called = [_name(word, each) if isinstance(each, Mapping) else str(each) for each in several]
    if not called:
        called = [_name(word, answer) or (rest[0] if rest and rest[0] not in _OF_MANY else "")]
    named = [each[:SHORT_ID] if len(each) == WHOLE_ID else each for each in called if each]
    told = f"{word}{'s' if len(named) > 1 else ''} {', '.join(named)}"
    done_so_far().changes.append(told if word and named else "")


def _name(word: str, document: Mapping[str, Any]) -> str:
    """What a thing is called that was changed: a machine has a name that people know."""
    keys = ("name", "mac", "id") if word == "machine" else ("workflow_id", "id")
    return next((str(document[key]) for key in keys if document.get(key)), "")
