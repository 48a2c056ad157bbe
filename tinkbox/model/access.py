"""Who speaks to the operator door, and what they may do there."""

from dataclasses import dataclass
from enum import StrEnum
from shlex import quote

from tinkbox.model.errors import Forbidden
from tinkbox.model.labels import Selector

OPERATOR = "operator"
NOT_SHOWN = "the template cannot be used for it; to see why you need the right to look"
"""Instead of a reason that may have what a template made of a machine's document."""


class Right(StrEnum):
    """One thing that somebody may do; none includes another.

    LOOK reads what there is, OPERATE changes it and gives verdicts, ATTACH is a shell in a held container and the
    recordings of such shells: whoever has one can do there what the action can.  PUSH stores and deletes images, SECRETS
    sets and deletes secrets and reads what the field calls secret, AUDIT reads who did what, ADMIN makes and revokes tokens.
    """

    LOOK = "look"
    OPERATE = "operate"
    ATTACH = "attach"
    PUSH = "push"
    SECRETS = "secrets"
    AUDIT = "audit"
    ADMIN = "admin"


BEYOND_SCOPES = frozenset({Right.PUSH, Right.AUDIT, Right.ADMIN})
"""Rights that nobody can use who has a scope: what they allow is about all machines."""


class Means(StrEnum):
    """How somebody showed who they are.

    SOCKET: the kernel named the user at the other end of the unix socket.  TOKEN: by a token of this appliance.  ISSUER: by
    such a token, which was made for somebody whom an OIDC issuer vouched for.
    """

    SOCKET = "socket"
    TOKEN = "token"  # noqa: S105  a name
    ISSUER = "issuer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose request it is: a name for the records, and their rights, all of them for OPERATOR.

    What they do and see is about the machines with the labels of `scope` alone; None: about everything.  `token` is the id
    of the token that they showed, empty over the unix socket.
    """

    name: str
    rights: frozenset[Right]
    means: Means = Means.TOKEN
    scope: Selector | None = None
    token: str = ""

    def describe(self) -> str:
        """Name and rights for a message."""
        rights = [each for each in Right if each in self.rights]
        return f"{self.name} ({', '.join(rights) if rights else 'no rights'})"

    def require(self, right: Right, *, instead: str = "", within_scope: bool = True) -> None:
        """Raises Forbidden where they lack the right; `instead` names another one that would do.

        What they want it for is not done `within_scope` where who has a scope is refused whatever their rights are.
        """
        if right in self.rights:
            return
        rights = ",".join(each for each in Right if each in self.rights | {right})
        scoped = self.scope is not None and within_scope and right not in BEYOND_SCOPES
        scope = f" -l {quote(str(self.scope))}" if scoped else ""
        without = " without a scope" if self.scope is not None and not scoped else ""
        raise Forbidden(
            f"{self.describe()} lacks the right to {right}{instead}: who may {Right.ADMIN} makes a token{without} that has it "
            f"as well, `tinkbox token create NAME --right {rights}{scope}`"
        )


def operator(name: str = OPERATOR, means: Means = Means.TOKEN) -> Caller:
    """Somebody who may do everything."""
    return Caller(name=name, rights=frozenset(Right), means=means)
