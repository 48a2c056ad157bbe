"""The templates that are in the program: there without `template create`, unless a stored one has the name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

FOLDER: Final = resources.files("tinkbox.engine.templates") / "catalogue"
_COMMENT: Final = re.compile(r"\{\{-? */\*\s*(?P<about>[^\n]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A template of the program; its name is its id as well.  `about` is the first line of its comment."""

    name: str
    data: str
    about: str

    @property
    def id(self) -> str:
        return self.name


@cache
def catalogue() -> Mapping[str, BuiltIn]:
    """All of them by their names, in the order of these."""
    files = sorted((each for each in FOLDER.iterdir() if each.name.endswith(".yaml")), key=lambda each: each.name)
    return {each.name.removesuffix(".yaml"): _read(each.name.removesuffix(".yaml"), each.read_text()) for each in files}


def _read(name: str, text: str) -> BuiltIn:
    comment = _COMMENT.match(text)
    return BuiltIn(name=name, data=text, about=comment["about"].strip() if comment else "")
