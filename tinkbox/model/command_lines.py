"""Commands of ours in texts for people, as the appliance writes them: here they come to be what this person has to type."""

import json
import re
from typing import Final

PROGRAM: Final = "tinkbox"
# `tinkbox osie build`, and hints that name the workflow by a word that stands for it.
_COMMAND: Final = re.compile(r"(?<=`)tinkbox(?= [a-z])|\btinkbox(?= [a-z]+ [a-z]+ WORKFLOW\b)")


def not_ours(text: str) -> str:
    """A text of somebody else, as an action, in which nothing stands as a command of ours does."""
    return text.replace("`", "'")


def typable(text: str, program: str) -> str:
    """A text whose commands begin with `program`, such as `tinkbox --data DIR`, so that they reach the same appliance."""
    return _COMMAND.sub(lambda _: program, text)


def typable_json(content: bytes, program: str) -> bytes:
    """The same of every text in a JSON document, which is not read for that: one may tell of thousands of machines."""
    spelled = json.dumps(program)[1:-1]
    return typable(content.decode("utf-8", "surrogateescape"), spelled).encode("utf-8", "surrogateescape")
