"""Commands of ours in texts for people, as the appliance writes them: here they come to be what this person has to type."""

import re
from typing import Final

# `tinkbox osie build`, and hints that name the workflow by a word that stands for it.
_COMMAND: Final = re.compile(r"(?<=`)tinkbox(?= [a-z])|\btinkbox(?= [a-z]+ [a-z]+ WORKFLOW\b)")


def typable(text: str, program: str) -> str:
    """A text whose commands begin with `program`, such as `tinkbox --data DIR`, so that they reach the same appliance."""
    return _COMMAND.sub(lambda _: program, text)
