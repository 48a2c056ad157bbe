"""Writes what is printed from the program's own declarations: man pages, docs/commands.md, and docs/api.md.

Used by `make man` and `make reference`.
"""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from tinkbox.api.reference import page
from tinkbox.api.routes.operator_door import OperatorDoor
from tinkbox.cli.command_line import command_line
from tinkbox.cli.nouns import NOUNS
from tinkbox.cli.reference import declarations, man, markdown


class Anything:
    """Stands for what the routes ask, which none of them does before a request comes."""

    def __getattr__(self, _: str) -> Any:
        return self


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--man", type=Path, help="the folder that man pages go to")
    parser.add_argument("--commands", type=Path, help="the page of commands")
    parser.add_argument("--api", type=Path, help="the page of the operator's API")
    chosen = parser.parse_args()
    program = declarations.declared(command_line(list(NOUNS)))
    if chosen.man is not None:
        for name, text in man.pages(program).items():
            path = chosen.man / f"man{name[-1]}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if chosen.commands is not None:
        chosen.commands.write_text(markdown.page(program))
    if chosen.api is not None:
        door = OperatorDoor(**{each.name: Anything() for each in fields(OperatorDoor)})
        chosen.api.write_text(page(door.routes()))


if __name__ == "__main__":
    main()
