"""What a template may do with the mark of a secret: hand it on, and put it beside other text.

Whatever else a function makes of a mark is made of the mark and not of the value, and nobody would notice: `trunc 8` of any
secret is the same eight letters.  So every function that is called is asked about here, and those that are not known to keep a
mark whole get none.
"""

import re
from collections import Counter
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, Final

from tinkbox.gotemplate import GoError
from tinkbox.model.errors import Problem
from tinkbox.model.secret import PREFIX, marks_in


def _words(several: str) -> frozenset[str]:
    return frozenset(several.split())


# What comes out holds every mark that goes in.
_KEEPS: Final = _words(
    "print println printf format cat join quote squote indent nindent string safe toString toStrings toJson toPrettyJson toRawJson "
    "mustToJson mustToPrettyJson mustToRawJson tojson toYaml list tuple dict namespace set append mustAppend prepend mustPrepend "
    "push mustPush concat"
)
# They give one of the values that they are given, or tell what there is of them without looking into it.
_HANDS_ON: Final = _words(
    "default d coalesce ternary empty not all any kindOf kindIs typeOf typeIs typeIsLike b64enc b64dec defined undefined none "
    "boolean number integer float mapping sequence iterable callable"
)
# They look into lists and maps, and hand on what is in them; they would take a text apart.
_PICKS: Final = _words(
    "index slice len length count get dig first mustFirst last mustLast rest mustRest initial mustInitial reverse mustReverse "
    "compact mustCompact chunk mustChunk pluck pick omit unset keys values hasKey merge mergeOverwrite mustMerge "
    "mustMergeOverwrite deepCopy mustDeepCopy items map select reject selectattr rejectattr batch"
)
# A directive of a format, and those that can stand for a mark without changing it.
_DIRECTIVE: Final = re.compile(r"%(?P<flags>[-+# 0]*)(?P<how>[^A-Za-z%]*)(?P<verb>[A-Za-z%]?)")
_FORMATTING: Final = frozenset(["printf", "format", "%"])
_WHOLE: Final = "svq"
_MAC: Final = re.compile(r"[0-9a-f]{12,}")
_PIECE: Final = 12  # of a MAC: what is as long and in a text by chance is in one of 2**48
_LIKE_A_MARK: Final = re.compile(r"tbsecret-v1\.[A-Za-z0-9][A-Za-z0-9._-]{0,252}?\.(?:raw|b64)\.[0-9a-f]{32}")
_WORD: Final = PREFIX.partition("-")[0]
MAY: Final = (
    "its value is not known when the template is filled. It can stand beside other text, and alone in b64enc and b64dec"
)


def texts_in(values: Iterable[object]) -> Iterator[str]:
    """Every text within these values, as often as it is there; a list or map that is there twice counts once."""
    waiting, seen = [*values], set[int]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping | list | tuple | set | frozenset | KeysView | ValuesView | ItemsView):
            if id(value) in seen and not isinstance(value, tuple):
                continue
            seen.add(id(value))
            waiting += [each for pair in value.items() for each in pair] if isinstance(value, Mapping) else value


class WholeMarks:
    """The marks that one rendering has made, and what happens to them."""

    def __init__(self) -> None:
        self._made: set[str] = set()

    def begin(self) -> None:
        """Begin another rendering."""
        self._made = set()

    def note(self, mark: str) -> str:
        """That it was made; returns it."""
        self._made.add(mark)
        return mark

    @property
    def any(self) -> bool:
        """Whether there are any yet: without one everything may be done to everything."""
        return bool(self._made)

    def called(self, name: str, function: Callable[..., Any], arguments: Sequence[object]) -> Any:
        """What a function gives for its arguments; raises GoError where it would change a mark, and as the function does."""
        held = self.held(arguments)
        if not held:
            return function(*arguments)
        self.refuse_beforehand(name, arguments)
        result = function(*arguments)
        self.refuse_afterwards(name, held, result)
        return result

    def held(self, values: Iterable[object]) -> Counter[str]:
        """The marks within these values, with how often each is there."""
        if not self._made:
            return Counter()
        return Counter(each.text for each in marks_in(texts_in(values)) if each.text in self._made)

    def refuse_beforehand(self, name: str, arguments: Sequence[object]) -> None:
        """Raise GoError where a function of this name is not to have these arguments, which hold a mark."""
        if name in _PICKS:
            self.refuse_text(name, arguments)
        elif name in _FORMATTING:
            _refuse_format(name, arguments)
        elif name not in _KEEPS and name not in _HANDS_ON:
            raise _changes(name)

    def refuse_afterwards(self, name: str, held: Counter[str], result: object) -> None:
        """Raise GoError where the result of a function that keeps marks lacks one that was `held` before."""
        if name in _KEEPS or name in _FORMATTING:
            found = self.held([result])
            if any(found[each] < often for each, often in held.items()):
                raise _changes(name)

    def refuse_text(self, name: str, values: Iterable[object]) -> None:
        """Raise GoError where one of these values is itself a text with a mark, not a list or map that has one."""
        if self.held([each for each in values if isinstance(each, str)]):
            raise _changes(name)

    def piece_in(self, rendered: str) -> Problem | None:
        """What is wrong with a rendered text that has a piece of a mark which is no whole one, however it came there."""
        if not self._made:
            return None
        rest = _LIKE_A_MARK.sub(lambda found: " " * len(found[0]), rendered).lower()
        at = rest.find(_WORD)
        if at < 0:
            pieces = {mac[begin : begin + _PIECE] for mac in self._macs() for begin in range(len(mac) - _PIECE + 1)}
            at = next((place for place, piece in _hexadecimal(rest) if piece in pieces), -1)
        if at < 0:
            return None
        return Problem(
            line=rendered.count("\n", 0, at) + 1,
            text=f"a piece of what stands for a secret is here, and no secret: {MAY}",
        )

    def _macs(self) -> Iterator[str]:
        return (each.rpartition(".")[2] for each in self._made)


def _hexadecimal(text: str) -> Iterator[tuple[int, str]]:
    for run in _MAC.finditer(text):
        for begin in range(run.start(), run.end() - _PIECE + 1):
            yield begin, text[begin : begin + _PIECE]


def _refuse_format(name: str, arguments: Sequence[object]) -> None:
    """Raise GoError for a format that may cut what it is given, or shows it as something else than it is."""
    form = arguments[0] if arguments and isinstance(arguments[0], str) else ""
    for each in _DIRECTIVE.finditer(form):
        verb, how = each["verb"], each["how"]
        cuts = (verb in _WHOLE and "." in how) or "*" in how
        # One value may stand in several places there.
        picks = "(" in how or ("[" in how and verb not in _WHOLE)
        if cuts or picks:
            raise GoError(f"{each[0]} of {name} would change a secret: {MAY}")


def _changes(name: str) -> GoError:
    return GoError(f"{name} takes no secret: {MAY}")
