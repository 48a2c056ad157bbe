"""`tinkbox token`: tokens of people and programs."""

import argparse
import shlex
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.flags import (
    Joined,
    Words,
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
from tinkbox.cli.wording.refused_workers import named, of_work, tell_after, tell_before
from tinkbox.model.access import OPERATOR, Right
from tinkbox.model.tokens import DEFAULT_DAYS, NEVER

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

STORY: Final = """\
Give people and programs tokens, with the rights that they need and for as long
as they need them. A token that is revoked or expires ends at once, with all
that is under way with it."""


EXPIRES: Final = f"a duration such as 90d, 12h or 1h30m, or {NEVER} (default: {DEFAULT_DAYS}d)"
FORMATS: Final = ("table", "json", "yaml")
FORMATS_HELP: Final = "table: the token alone (default); json, yaml: all of it"


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
        type=Words(lambda: Right, _rights),
        action=Joined,
        required=True,
        metavar="RIGHT",
        help=f"one of {rights}, or several with commas between; may be repeated",
    )
    add_selector(
        verb, "for the machines with these labels only, such as rack=r1 (default: all)", "--label", "--selector"
    )
    verb.add_argument(
        "--expires",
        default="",
        metavar="DURATION",
        help=EXPIRES,
    )
    add_format(verb, FORMATS, FORMATS_HELP)
    verb = add_verb(
        verbs,
        "rotate",
        rotate,
        "give a token another text, which is printed this once",
        "Name, rights and scope stay. The former text counts for another hour, so that programs go on until they have the new one. "
        "A text that leaked is ended at once by `--overlap 0`.",
    )
    verb.add_argument("name", metavar="NAME", type=filled, help="as `tinkbox token list` shows it")
    verb.add_argument("--expires", default="", metavar="DURATION", help=EXPIRES)
    verb.add_argument(
        "--overlap", default="", metavar="DURATION", help="how long the former text counts, or 0 (default: 1h)"
    )
    add_format(verb, FORMATS, FORMATS_HELP)
    verb = add_listing(add_verb(verbs, "list", show_list, "the tokens but the operator's own"), quiet="names only")
    add_filters(verb, sorts=("name", "created_at", "expires_at", "used_at"), age="created_at")
    add_watch(verb)
    verb = add_verb(
        verbs,
        "revoke",
        revoke,
        "end tokens, and what is under way with them",
        "At a terminal it asks first. It tells which machines' credentials were read by the name and count still: with one, a worker runs as "
        "that machine. The name `operator` has a new token written into DATA/operator.token.",
    )
    verb.add_argument("keys", nargs="+", metavar="NAME", help="names, as `tinkbox token list` shows them")
    verb.add_argument(
        "--rotate",
        action="store_true",
        help="void these credentials as well, and end the sessions of their machines (needs the right to operate; without it the "
        "tokens end all the same)",
    )
    add_yes(verb)


def _rights(text: str, known: Sequence[str]) -> str:
    """Rights with commas between."""
    from tinkbox.model.spelling import meant

    named = [each.strip() for each in text.split(",") if each.strip()]
    for each in named:
        if each not in known:
            raise argparse.ArgumentTypeError(f"{each[:40]!r} is no right: {meant(each, known)}")
    if not named:
        raise argparse.ArgumentTypeError(f"it is empty: name one of {', '.join(known)}")
    return ",".join(named)


def create(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.connection import ask

    wanted = {
        "name": chosen.name,
        "rights": list(dict.fromkeys(chosen.rights.split(","))),
        "scope": chosen.label or "",
        "expires": chosen.expires,
    }
    return _show_made(chosen, ask(chosen, lambda operator: operator.tokens.create(wanted)), "")


def rotate(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.connection import ask

    wanted = {"expires": chosen.expires, "overlap": chosen.overlap}
    made = ask(chosen, lambda operator: operator.tokens.rotate(chosen.name, wanted))
    return _show_made(chosen, made, " has another text now, its former one ends all the same")


def _show_made(chosen: argparse.Namespace, made: Document, done: str) -> int:
    """Print its text; where that cannot be written, say so and what is `done` beside."""
    from tinkbox.cli.done_so_far import done_so_far
    from tinkbox.cli.output.formats import json_of, yaml_of

    expires = f" --expires {shlex.quote(chosen.expires)}" if chosen.expires else ""
    done_so_far().far = (
        f"it was done: token {made['name']}{done}, and its text could not be printed: "
        f"`tinkbox token rotate {shlex.quote(made['name'])}{expires}` prints another"
    )
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
    from tinkbox.cli.terminal.questions import confirm, will_ask
    from tinkbox.model.tokens import refuse_text

    for each in chosen.keys:
        refuse_text(each)
    given = _told_before(chosen) if chosen.rotate and will_ask(chosen) else []
    confirm(chosen, f"Revoke {', '.join(chosen.keys)}")

    partly, known = list[Document](), {of_work(each) for each in given}

    async def end(operator: "Operator", key: str) -> Document:
        return await operator.tokens.revoke(key, rotate=chosen.rotate)

    def tell(ended: Document) -> None:
        _tell_revoked(ended, known)
        if ended.get("not_rotated"):
            partly.append(ended)

    return change_each(chosen, end, tell) or int(bool(partly))


def _told_before(chosen: argparse.Namespace) -> list[Document]:
    """Say what is voided and what becomes of the actions there; returns the machines that are at work."""
    from tinkbox.cli.connection import ask

    async def read(operator: "Operator") -> list[Document]:
        return [found for each in chosen.keys for found in await operator.tokens.machines(each)]

    given = ask(chosen, read)
    if given:
        print(
            clean(f"Credentials to be voided, by who may operate:  {', '.join(map(named, given))}"),
            file=sys.stderr,
            flush=True,
        )
    for each in given:
        tell_before(named(each), each["at_work"])
    return [each for each in given if each["at_work"]]


def _tell_revoked(ended: Document, known: Collection[str]) -> None:
    """`known` are the workflows of which was told before what becomes of their actions."""
    name, given = ended["name"], ended.get("credentials", ())  # earlier releases tell none
    if ended["revoked"]:
        print(clean(f"Revoked token:  {name}"), flush=True)
    if name == OPERATOR:
        print("The new one is in operator.token, in the data folder of the appliance.", flush=True)
    if rotated := [each for each in given if each["rotated"]]:
        print(clean(f"Rotated credentials:  {', '.join(map(named, rotated))}"), flush=True)
        for each in rotated:
            if work := each.get("at_work"):  # earlier releases tell none
                tell_after(named(each), each["key"], work, is_known=of_work(each) in known)
    if ended.get("not_rotated"):
        print(clean(f"{ended['not_rotated']}: have somebody with that right type the lines below."), file=sys.stderr)
    if left := [each for each in given if not each["rotated"]]:
        print(
            clean(
                f"{name} has credentials that count still, and can run workers as these machines, which get their secrets."
            ),
            file=sys.stderr,
        )
        for each in left:
            ends = f"  # ends its action of workflow {work['workflow_id'][:8]}" if (work := each.get("at_work")) else ""
            print(clean(f"  tinkbox hardware credential {shlex.quote(each['key'])} --rotate{ends}"), file=sys.stderr)
        if not ended.get("not_rotated"):  # who may operate alone, and types these lines, may not revoke
            print(
                clean(f"All at once: `tinkbox token revoke {shlex.quote(name)} --rotate`"), file=sys.stderr, flush=True
            )
