"""Parameters that are given to a template."""

from collections.abc import Collection
from typing import Final

from tinkbox.engine.templates.dialects import unmentioned, words
from tinkbox.model.spelling import nearest
from tinkbox.model.text import counted, shortened

MAX_TOLD: Final = 20
MAX_LIKENED: Final = 1000  # words of a template; of more no name is suggested, which takes long


def needless(template: str, text: str, parameters: Collection[str]) -> list[str]:
    """What to say of each parameter that a template, by its name and its text, does not mention: it is misspelt, perhaps.

    Of many the first are told.
    """
    known = {*parameters}
    others = [each for each in words(text) if each not in known]
    likely = others if len(others) <= MAX_LIKENED else []
    found = unmentioned(text, parameters)
    told = [
        f"template {template} does not use the parameter {shortened(each, 80)}"
        + (f": did you mean {near}?" if (near := nearest(each, likely)) else "")
        for each in found[:MAX_TOLD]
    ]
    more = len(found) - len(told)
    return [*told, f"template {template} does not use {counted(more, 'more parameter')}"] if more else told
