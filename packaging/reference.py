"""Writes what is printed from the command line's own declarations: man pages, and docs/commands.md.

Used by `make man` and `make reference`.
"""

import argparse
from pathlib import Path

from tinkbox.cli.command_line import command_line
from tinkbox.cli.nouns import NOUNS
from tinkbox.cli.reference import declarations, man, markdown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--man", type=Path, help="the folder that man pages go to")
    parser.add_argument("--commands", type=Path, help="the page of commands")
    chosen = parser.parse_args()
    program = declarations.declared(command_line(list(NOUNS)))
    if chosen.man is not None:
        for name, text in man.pages(program).items():
            path = chosen.man / f"man{name[-1]}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if chosen.commands is not None:
        chosen.commands.write_text(markdown.page(program))


if __name__ == "__main__":
    main()
