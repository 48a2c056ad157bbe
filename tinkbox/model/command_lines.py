"""Commands of ours in texts for people, as the appliance writes them: here they come to be what this person has to type."""

import json
import re
from typing import Final

PROGRAM: Final = "tinkbox"
_COMMAND: Final = re.compile(r"(?<=`)tinkbox(?= [a-z])")
_STANDS_FOR: Final = re.compile(r"\b(WORKFLOW|MACHINE)\b")
_IN_BACKQUOTES: Final = re.compile(r"`[^`]*`")


def not_ours(text: str) -> str:
    """A text of somebody else, as an action, in which nothing stands as a command of ours does."""
    return text.replace("`", "'")


def about(text: str, *, workflow: str = "", machine: str = "") -> str:
    """A text whose commands name this workflow and this machine in place of the words that stand for them, WORKFLOW and MACHINE.

    What is not given stays the word that it is.
    """
    named = {"WORKFLOW": workflow, "MACHINE": machine}
    return _IN_BACKQUOTES.sub(lambda command: _STANDS_FOR.sub(lambda word: named[word[0]] or word[0], command[0]), text)


def typable(text: str, program: str) -> str:
    """A text whose commands begin with `program`, such as `tinkbox --data DIR`, so that they reach the same appliance."""
    return _COMMAND.sub(lambda _: program, text)


def typable_json(content: bytes, program: str) -> bytes:
    """The same of every text in a JSON document, which is not read for that: one may tell of thousands of machines."""
    spelled = json.dumps(program)[1:-1]
    return typable(content.decode("utf-8", "surrogateescape"), spelled).encode("utf-8", "surrogateescape")
