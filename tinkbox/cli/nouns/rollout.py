"""`tinkbox rollout`: one template for many machines, so many of them at a time; `workflow create` makes one."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from tinkbox.cli.called_as import called_as
from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import add_filters, add_keys, add_listing, add_verb, add_verbs, add_watch, add_yes
from tinkbox.cli.interruptions.readers import check_reader
from tinkbox.cli.output.changes import change_each, show_each, tell_deleted
from tinkbox.cli.output.formats import (
    Column,
    Document,
    fields,
    for_people,
    id_columns,
    is_terminal,
    names_one,
    short,
    show,
)
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, clean
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.selection import confirm_keys
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.cli.typed_words import key_for_scripts
from tinkbox.cli.wording.rollouts import (
    canceled_or_left,
    detail,
    done,
    failed,
    goes_on,
    held,
    last_words,
    left,
    left_out,
    left_out_now,
    pace,
    pending,
    rollout_fields,
    running,
    stands,
    successful,
    under_way,
    waiting,
    watched_lines,
)
from tinkbox.model.key_kinds import KeyKind, ToChange
from tinkbox.model.labels import show_labels
from tinkbox.model.rollout import RolloutState

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

WHOLE_ID: Final = 36  # letters
SECONDS: Final = 1.0  # between two looks
SORTS: Final = ("created_at", "updated_at", "template", "state")
COLUMNS: Sequence[Column] = (
    *id_columns(),
    Column("Template", "template", fit=Fit(least=8, rank=1)),
    Column("State", "state"),
    Column("Done", done, in_csv=(Column("Done", successful), Column("Total", "total"))),
    Column("Failed", failed),
    Column("Canceled", canceled_or_left, fit=Fit(rank=4)),
    Column("Active", under_way, fit=Fit(rank=3)),
    Column("Held", held, fit=Fit(rank=3)),
    Column("Not begun", waiting, fit=Fit(rank=2)),
    Column("Age", "created_at", age),
    Column("Pending", pending, wide=True),
    Column("Running", running, wide=True),
    Column("Left", left, wide=True),
    Column("Pace", pace, wide=True),
    Column("By", "created_by", wide=True),
    Column("Labels", "labels", show_labels, wide=True),
)
LISTED = List(columns=COLUMNS, sort="-created_at")
MACHINES: Sequence[Column] = (
    Column("Machine", "name", fit=Fit(least=8)),
    Column("State", stands),
    Column("Workflow", "workflow", short, fit=Fit(rank=1)),
    Column("Workflow", "workflow", wide=True),
    Column("Detail", detail, fit=Fit(least=8)),
)
# Before them, where they are those of several rollouts.
ROLLOUT: Sequence[Column] = (Column("Rollout", "rollout", short), Column("Rollout", "rollout", wide=True))


def _states() -> type[RolloutState]:
    return RolloutState


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(
        noun,
        "One template for many machines, so many of them at a time. `tinkbox workflow create -t TEMPLATE MACHINE MACHINE…` "
        "makes a rollout.",
    )
    verb = add_listing(add_verb(verbs, "list", show_list, "rollouts"))
    add_filters(verb, "template", "label", sorts=SORTS, age="created_at", states=_states)
    add_watch(verb)
    verb = add_listing(
        add_verb(verbs, "get", get, "where a rollout stands, and which machines failed"), keys="+", kind=KeyKind.ROLLOUT
    )
    verb.add_argument("--machines", action="store_true", help="every machine, in the order in which they begin")
    verb = add_verb(verbs, "watch", watch, "follow a rollout; exit status 0 only when every machine succeeds")
    verb.add_argument("key", metavar=KeyKind.ROLLOUT)
    for name, run, about, to_change in (
        ("pause", pause, "let no further machine begin; those under way go on", ToChange.UNFINISHED),
        ("resume", resume, "go on with the machines that wait", ToChange.UNFINISHED),
        ("retry", retry, "resume the machines that did not succeed, and go on", ToChange.ANY),
    ):
        verb = add_keys(add_verb(verbs, name, run, about), KeyKind.ROLLOUT, to_change=to_change)
        if run is not pause:
            verb.add_argument(
                "--skip-refused", action="store_true", help="go on without the machines that cannot begin"
            )
    for name, run, about, to_change in (
        ("cancel", cancel, "let no further machine begin, and cancel the workflows under way", ToChange.UNFINISHED),
        ("delete", delete, "forget rollouts that are over; their workflows stay", ToChange.DELETE),
    ):
        verb = add_verb(verbs, name, run, about, "At a terminal it asks first.")
        add_yes(add_keys(verb, KeyKind.ROLLOUT, to_change=to_change))


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.rollouts, LISTED)


def get(chosen: argparse.Namespace) -> int:
    if not chosen.machines:
        return show_each(
            chosen, lambda operator, key: operator.rollouts.get(key), lambda found: _show_rollouts(chosen, found)
        )

    async def members(operator: "Operator", key: str) -> tuple[str, Sequence[Document]]:
        rollout_id = key if names_one(chosen) else (await operator.rollouts.get(key))["id"]
        return rollout_id, await operator.rollouts.machines(rollout_id)

    return show_each(chosen, members, lambda found: _show_machines(chosen, found))


def _show_machines(chosen: argparse.Namespace, found: Sequence[tuple[str, Sequence[Document]]]) -> None:
    """The machines of each rollout, of several with its id."""
    if names_one(chosen):
        ((_, members),) = found
        show(chosen, members, MACHINES, key="machine", name=_machine_key)
        return
    listed = [{"rollout": rollout_id, **one} for rollout_id, members in found for one in members]
    show(chosen, listed, [*ROLLOUT, *MACHINES], key="machine", name=_machine_key)


def _machine_key(member: Document) -> str:
    """What commands take for a machine and for no other, for its name may be another one's by now."""
    return key_for_scripts(member.get("key", ""), member["machine"])  # earlier releases tell no key


def _show_rollouts(chosen: argparse.Namespace, found: Sequence[Document]) -> None:
    if not for_people(chosen):
        show(chosen, found, COLUMNS, one=names_one(chosen))
        return
    for number, rollout in enumerate(found):
        print(
            "\n" if number else "", fields(chosen, rollout_fields(rollout, age(rollout["created_at"]))), sep="", end=""
        )
        listed = [*rollout["failures"], *rollout["under_way"]]
        if listed:
            print()
            show(chosen, listed, MACHINES, key="machine")


def watch(chosen: argparse.Namespace) -> int:
    return succeeded(follow(chosen, chosen.key))


def succeeded(rollout: Document) -> int:
    """The exit status: 0 only when every machine succeeded, none of which was left out."""
    return 0 if rollout["state"] == RolloutState.SUCCESS and not left(rollout) else 1


def follow(chosen: argparse.Namespace, key: str, out: TextIO | None = None) -> Document:
    """Show how far a rollout is until it is over, on `out`, None: standard output; returns it as it is then.

    It does not depend on this.
    """
    watched = key if len(key) == WHOLE_ID else ""  # a name can mean a newer rollout by the time this is interrupted

    async def followed(operator: "Operator") -> Document:
        nonlocal watched
        rollout = await operator.rollouts.get(key)
        watched = rollout["id"]
        return await _followed(chosen, operator, rollout, out)

    try:
        return stay_connected(chosen, followed)
    except KeyboardInterrupt:
        if watched:
            print("\nNot watched any more: the rollout goes on.", file=sys.stderr)
            for verb in ("watch", "pause", "cancel"):
                print(f"  {verb}:".ljust(12), f"{called_as(chosen)} rollout {verb} {short(watched)}", file=sys.stderr)
        raise


async def _followed(
    chosen: argparse.Namespace, operator: "Operator", rollout: Document, out: TextIO | None
) -> Document:
    import asyncio

    from tinkbox.cli.output.live_lines import LiveLines
    from tinkbox.model.errors import Unavailable

    rollout_id = rollout["id"]
    with LiveLines(out) as live:
        live.show(watched_lines(rollout, called_as(chosen), *live.screen))
        while goes_on(rollout):
            await asyncio.sleep(SECONDS)
            check_reader()
            try:
                rollout = await operator.rollouts.get(rollout_id)
            except Unavailable as error:
                live.tell_unanswered(error)
            else:
                live.show(watched_lines(rollout, called_as(chosen), *live.screen))
    for text in last_words(rollout, called_as(chosen)):
        print(clean(text), file=out, flush=True)
    return rollout


def pause(chosen: argparse.Namespace) -> int:
    return _change(chosen, lambda operator, key: operator.rollouts.pause(key), "Paused")


def resume(chosen: argparse.Namespace) -> int:
    def told(resumed: Document) -> None:
        print("Resumed Rollout: ", resumed["id"], flush=True)
        _tell_refused(resumed)

    return change_each(
        chosen, lambda operator, key: operator.rollouts.resume(key, skip_refused=chosen.skip_refused), told
    )


def cancel(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Cancel", KeyKind.ROLLOUT)
    return _change(chosen, lambda operator, key: operator.rollouts.cancel(key), "Canceling")


def retry(chosen: argparse.Namespace) -> int:
    def told(retried: Document) -> None:
        print("Retried Rollout: ", retried["id"], flush=True)
        _tell_refused(retried)
        if gone := left_out(retried):
            print(clean(gone), flush=True)
        if retried["state"] == RolloutState.PAUSED:
            print(f"It is paused still: {called_as(chosen)} rollout resume {short(retried['id'])}", flush=True)

    return change_each(
        chosen, lambda operator, key: operator.rollouts.retry(key, skip_refused=chosen.skip_refused), told
    )


def _tell_refused(changed: Document) -> None:
    for line in left_out_now(changed, whole=not is_terminal()):
        print(clean(line), flush=True)


def delete(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Forget", KeyKind.ROLLOUT)
    return change_each(
        chosen,
        lambda operator, key: operator.rollouts.delete(key),
        lambda deleted: tell_deleted(chosen, "Rollout", deleted["id"]),
    )


def _change(chosen: argparse.Namespace, change: "Callable[[Operator, str], Awaitable[Document]]", done_so: str) -> int:
    return change_each(chosen, change, lambda changed: print(f"{done_so} Rollout: ", changed["id"], flush=True))
