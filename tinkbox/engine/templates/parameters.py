"""Parameters that are given to a template."""

from collections.abc import Sequence

from tinkbox.engine.templates.dialects import unmentioned, words
from tinkbox.model.spelling import nearest
from tinkbox.model.text import shortened


def needless(template: str, text: str, parameters: Sequence[str]) -> list[str]:
    """What to say of each parameter that a template, by its name and its text, does not mention: it is misspelt, perhaps."""
    others = [each for each in words(text) if each not in parameters]
    return [
        f"template {template} does not use the parameter {shortened(each, 80)}"
        + (f": did you mean {near}?" if (near := nearest(each, others)) else "")
        for each in unmentioned(text, parameters)
    ]
