"""What may stand for a value on the command line: its name in the help decides.

`MACHINE` is a machine that the appliance knows, `FILE` a file here, `FILE|TEMPLATE` either.
"""

from dataclasses import dataclass
from typing import Final

from tinkbox.cli.reference.declarations import Argument, Flag
from tinkbox.model.key_kinds import KeyKind

FILE: Final = "FILE"
FOLDER: Final = "DIR"
CATALOGUED: Final = "ID"  # an entry of the catalogue of system images, which the program itself has
EXPORTED_VALUE: Final = "KIND[/NAME]"
EXPORTED: Final = "KIND"  # what can be exported: `hardware`, `hardware/node7`
BUILT_IN: Final = "BUILT-IN"  # a template of the program
KINDS: Final = frozenset({*map(str, KeyKind), CATALOGUED, BUILT_IN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Words that are known, kinds of names that are asked for, and whether files or folders fit.

    Of the words several may stand with commas between, where they are `listed`.
    """

    words: tuple[str, ...] = ()
    listed: bool = False
    kinds: tuple[str, ...] = ()
    files: bool = False
    folders: bool = False

    def __bool__(self) -> bool:
        return bool(self.words or self.kinds or self.files or self.folders)


def of_value(declared: Flag | Argument) -> Suggestion:
    """What to suggest for the value of a flag, or for an argument."""
    name = declared.takes if isinstance(declared, Flag) else declared.name
    parts = () if declared.choices else name.split("|")
    return Suggestion(
        words=declared.choices,
        listed=isinstance(declared, Flag) and declared.repeated and bool(declared.choices),
        kinds=(EXPORTED,) if name == EXPORTED_VALUE else tuple(each for each in parts if each in KINDS),
        files=FILE in parts,
        folders=FOLDER in parts and FILE not in parts,  # files are suggested with the folders on the way to them
    )
