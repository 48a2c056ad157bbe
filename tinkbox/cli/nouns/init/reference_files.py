"""The part of `tinkbox init` that has every user's shell complete the command line, and `man` know it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tinkbox.cli.reference import bash, fish, man, zsh
from tinkbox.cli.reference.declarations import Command
from tinkbox.setup.placing import put

SHARE: Final = Path("/usr/local/share")


def reference_files(program: Command) -> Mapping[str, str]:
    """What each file holds, by its path below `SHARE`."""
    scripts = {
        "bash-completion/completions/tinkbox": bash.script(program),
        "zsh/site-functions/_tinkbox": zsh.script(program),
        "fish/vendor_completions.d/tinkbox.fish": fish.script(program),
    }
    return scripts | {f"man/man{name[-1]}/{name}": text for name, text in man.pages(program).items()}


def place_reference(program: Command, changed: list[str], share: Path = SHARE) -> None:
    """Have completions and man pages below `share`.  Raises Unavailable."""
    new = [path for path, text in reference_files(program).items() if put(share / path, text.encode())]
    if new:
        changed.append(f"completions and man pages below {share}")
    print(f"completions     bash, zsh and fish, and man pages{'' if new else ': already there'} (`man tinkbox`)")
