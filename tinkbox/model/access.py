"""Who speaks to the operator door, and what they may do there."""

from dataclasses import dataclass
from enum import StrEnum

from tinkbox.model.errors import Forbidden

OPERATOR = "operator"
NOT_SHOWN = "the template cannot be used for it; to see why you need the right to look"
"""Instead of a reason that may have what a template made of a machine's document."""


class Right(StrEnum):
    """One thing that somebody may do; none includes another.

    LOOK reads what there is, OPERATE changes it and gives verdicts, ATTACH is a shell in a held container and the
    recordings of such shells: whoever has one can do there what the action can.
    """

    LOOK = "look"
    OPERATE = "operate"
    ATTACH = "attach"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose request it is: a name for the records, and their rights, all of them for OPERATOR."""

    name: str
    rights: frozenset[Right]

    def describe(self) -> str:
        """Name and rights for a message."""
        rights = [each for each in Right if each in self.rights]
        return f"{self.name} ({', '.join(rights) if rights else 'no rights'})"

    def require(self, right: Right, *, instead: str = "") -> None:
        """Raises Forbidden where they lack the right; `instead` names another one that would do."""
        if right not in self.rights:
            raise Forbidden(
                f"{self.describe()} lacks the right to {right}{instead}: "
                "whoever runs the appliance gives it, under operator.people in tinkbox.yaml"
            )


def operator(name: str = OPERATOR) -> Caller:
    """Somebody who may do everything."""
    return Caller(name=name, rights=frozenset(Right))
