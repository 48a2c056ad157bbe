"""`tinkbox token`: tokens of people and programs."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.flags import (
    add_filters,
    add_format,
    add_listing,
    add_selector,
    add_verb,
    add_verbs,
    add_watch,
    add_yes,
    filled,
)
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Column, Document
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, clean
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.access import Right
from tinkbox.model.tokens import DEFAULT_DAYS, NEVER

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

STORY: Final = """\
Give people and programs tokens, with the rights that they need and for as long
as they need them. A token that is revoked or expires ends at once, with all
that is under way with it."""


def _until(document: Document) -> str:
    """In how long it expires."""
    if document["expires_at"] is None:
        return NEVER
    return "expired" if document["expired"] else f"in {_ahead(document['expires_at'])}"


def _ahead(at: str) -> str:
    from datetime import datetime

    from tinkbox.cli.output.printable import now
    from tinkbox.model.duration import show_age

    return show_age((datetime.fromisoformat(at) - now()).total_seconds())


def _together(rights: Sequence[str]) -> str:
    return ",".join(rights)


COLUMNS: Sequence[Column] = (
    Column("ID", "id", wide=True),
    Column("Name", "name", fit=Fit(least=12)),
    Column("Rights", "rights", _together, fit=Fit(least=12, rank=1)),
    Column("Scope", "scope", fit=Fit(least=8, rank=1)),
    Column("Expires", _until, in_csv=(Column("Expires", "expires_at"),)),
    Column("Last used", "used_at", age),
    Column("By", "by", fit=Fit(least=8, rank=2)),
    Column("Age", "created_at", age),
    Column("Means", "means", wide=True),
)

LISTED = List(columns=COLUMNS, key="name", sort="name")


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun, STORY)
    verb = add_verb(
        verbs,
        "create",
        create,
        "make a token, which is printed this once",
        "Standard output has the token alone. Nobody can give rights that they lack.",
    )
    verb.add_argument("name", metavar="NAME", type=filled, help="whose it is, or what for; it stands in the records")
    rights = ", ".join(Right)
    verb.add_argument(
        "--right",
        dest="rights",
        action="append",
        required=True,
        choices=list(Right),
        metavar="RIGHT",
        help=f"one of {rights}; may be given several times",
    )
    add_selector(
        verb, "for the machines with these labels only, such as rack=r1 (default: all)", "--label", "--selector"
    )
    verb.add_argument(
        "--expires",
        default="",
        metavar="DURATION",
        help=f"such as 12h or 30d, or {NEVER} (default: {DEFAULT_DAYS}d)",
    )
    add_format(verb, ("table", "json", "yaml"), "table: the token alone (default); json, yaml: all of it")
    verb = add_listing(add_verb(verbs, "list", show_list, "the tokens but the operator's own"), quiet="names only")
    add_filters(verb, sorts=("name", "created_at", "expires_at", "used_at"), age="created_at")
    add_watch(verb)
    verb = add_verb(
        verbs, "revoke", revoke, "end tokens, and what is under way with them", "At a terminal it asks first."
    )
    verb.add_argument("keys", nargs="+", metavar="NAME", help="names, as `tinkbox token list` shows them")
    add_yes(verb)


def create(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.connection import ask
    from tinkbox.cli.output.formats import json_of, yaml_of

    wanted = {
        "name": chosen.name,
        "rights": list(dict.fromkeys(chosen.rights)),
        "scope": chosen.label or "",
        "expires": chosen.expires,
    }
    made = ask(chosen, lambda operator: operator.tokens.create(wanted))
    if chosen.format in ("json", "yaml"):
        print((json_of if chosen.format == "json" else yaml_of)(made), end="")
        return 0
    print(made["token"], flush=True)
    if sys.stdout.isatty():
        print(clean(f"Give it to {made['name']} now: it is shown this once. TINKBOX_TOKEN takes it."), file=sys.stderr)
    return 0


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.tokens, LISTED)


def revoke(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.terminal.questions import confirm
    from tinkbox.model.tokens import refuse_text

    for each in chosen.keys:
        refuse_text(each)
    confirm(chosen, f"Revoke {', '.join(chosen.keys)}")

    async def end(operator: "Operator", key: str) -> Document:
        return await operator.tokens.revoke(key)

    return change_each(chosen, end, lambda ended: print(clean(f"Revoked token:  {ended['name']}"), flush=True))
