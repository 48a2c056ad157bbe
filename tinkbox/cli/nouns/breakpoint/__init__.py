"""`tinkbox breakpoint`: what is armed, what is held, and what becomes of it."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import (
    Verbs,
    add_filters,
    add_keys,
    add_listing,
    add_times,
    add_verb,
    add_verbs,
    add_watch,
    add_yes,
    assignment,
    duration,
)
from tinkbox.cli.meant_keys import hold_id, hold_of, look_up
from tinkbox.cli.nouns.breakpoint import replay, shell
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Column, Document, id_columns
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, clean, now
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.selection import confirm_keys, in_words
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.cli.wording.holds import HELD as HELD_WHERE
from tinkbox.cli.wording.holds import armed_for, ended, failed, full_name, places, until
from tinkbox.cli.wording.workflows import workflow_name
from tinkbox.model.duration import show_age
from tinkbox.model.errors import Conflict, Forbidden, Invalid, NotFound
from tinkbox.model.key_kinds import KeyKind, ToChange
from tinkbox.wire.messages.named_machines import machines_of

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

STORY = """\
Hold a workflow's action where it fails, or before or after it, and decide how it goes on.

What is held stays on its machine as its process left it, and no clock of its workflow runs. A hold ends by itself
30 minutes after the last activity, unless told otherwise; then the action fails as it would have without it.
"""
BY_HEART = """\
from a failure to its repair:
  tinkbox breakpoint arm WORKFLOW      hold what fails from now on; workflow create --breakpoint on-failure does it too
  tinkbox workflow watch WORKFLOW      says when something is held
  tinkbox workflow state WORKFLOW      says what, how it ended, and until when it is held
  tinkbox breakpoint shell WORKFLOW    a terminal in the held container, to look and to repair
  tinkbox breakpoint retry WORKFLOW    run its command again in the repaired container
"""
RETRY = (
    "tinkbox breakpoint retry [-h] [-l SELECTOR] [-m TEXT] [--fresh] [--env NAME=VALUE] [WORKFLOW ...] [-- COMMAND ...]"
)
EXTEND = "tinkbox breakpoint extend [-h] [-l SELECTOR] [-m TEXT] [--utc] [WORKFLOW ...] [DURATION]"
LONGER: Final = 1800  # seconds, when not said
BEGINNING: Final = "PENDING,RUNNING"  # of the workflows that labels select, what can be armed
HELD: Final = "HELD"
COLUMNS: Sequence[Column] = (
    *id_columns(),
    Column("Workflow", "name", fit=Fit(least=8, rank=2)),
    Column("Machine", machines_of, fit=Fit(least=8)),
    Column("Held", lambda standing: full_name(held) if (held := standing["held"]) else "", fit=Fit(least=10)),
    Column("Where", lambda standing: held["kind"] if (held := standing["held"]) else "", fit=Fit(rank=3)),
    Column("Ended", lambda standing: ended(held["outcome"]) if (held := standing["held"]) else "", fit=Fit(least=8)),
    Column("Age", lambda standing: held["since"] if (held := standing["held"]) else None, age, called="since"),
    Column(
        "Then",
        lambda standing: _then(held) if (held := standing["held"]) else "",
        fit=Fit(least=8),
        in_csv=(Column("Then", lambda standing: _follows_then(held) if (held := standing["held"]) else ""),),
    ),
    Column("Armed", "armed", places, Fit(least=8, rank=1)),
    Column(
        "Deadline",
        lambda standing: until(held) if (held := standing["held"]) else "",
        wide=True,
        in_csv=(Column("Deadline", lambda standing: held["deadline"] if (held := standing["held"]) else ""),),
    ),
)
LISTED = List(columns=COLUMNS)
DECIDED: Mapping[str, str] = {
    "continue": "Continued",
    "skip": "Skipped",
    "fail": "Failed",
    "retry": "Retried",
    "abort": "Aborted",
}
UNEXPLAINED = "a failure counts as success only with a reason: give it with --why TEXT"


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun, STORY, BY_HEART)
    verb = add_listing(add_verb(verbs, "list", show_list, "what is held now, and where something is armed"))
    add_filters(verb, "machine", "label", sorts=("name", "state"), states=_states)
    add_watch(verb)
    _arming(verbs)
    shell.declare(verbs)
    replay.declare(verbs)
    _verdicts(verbs)
    verb = add_verb(
        verbs,
        "extend",
        extend,
        "hold it longer",
        "A hold ends by itself so much later than it would have, 30m when DURATION is left out. Behind several workflows it "
        "must be there. Activity in a shell moves its deadline as well.",
    )
    _held_keys(verb, _is_duration).usage = EXTEND
    verb.add_argument("-m", "--why", default="", metavar="TEXT", help="for the records")
    add_times(verb)


def _arming(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "arm",
        arm,
        "hold what fails from now on, or what is named",
        "Without a flag that says where, on failure. What is armed already stays, and an action that runs heeds "
        "it too. Of a failure that the template follows by another attempt only the last one is held. -l selects those that "
        "are not over.",
    )
    _places(add_keys(verb, KeyKind.WORKFLOW, state=BEGINNING))
    verb.add_argument(
        "--timeout",
        type=duration,
        metavar="DURATION",
        help="how long after the last activity a hold ends by itself: 90s, 30m, 1h30m (30m)",
    )
    verb.add_argument(
        "--on-expiry", choices=("fail", "continue", "abort"), help="the verdict when a hold ends by itself (fail)"
    )
    verb = add_verb(
        verbs,
        "clear",
        clear,
        "hold no more, or no more what is named",
        "Without a flag, nothing stays armed. What is held already stays held and wants its verdict.",
    )
    _places(add_keys(verb, KeyKind.WORKFLOW, listed_by="breakpoint"))


def _states() -> Sequence[str]:
    """Those that the workflows of the list are in; one that is held, and waits for its verdict, is RUNNING as well."""
    return (HELD, "PENDING", "RUNNING", "STOPPING")


def _held_keys(
    verb: argparse.ArgumentParser, is_other: Callable[[str], bool] = lambda _: False
) -> argparse.ArgumentParser:
    """Workflows that are named, and of what waits for its verdict those that -l selects."""
    return add_keys(
        verb,
        KeyKind.WORKFLOW,
        state=HELD,
        listed_by="breakpoint",
        is_other=is_other,
        to_change=ToChange.HELD,
    )


def _places(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("--on-failure", action="store_true", help="what fails, also by timeout or out of memory")
    for word, where in (("before", "before it starts"), ("after", "after it ended, however it did")):
        about = f"{where}: ACTION or TASK/ACTION; may be repeated"
        verb.add_argument(f"--{word}", action="append", metavar="ACTION", default=[], help=about)
    return verb


def _verdicts(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    _verdict(
        verbs,
        "continue",
        "go on as if it had succeeded",
        "A failed action counts as succeeded; its exit code, reason and message are kept, and who decided and why. "
        "An action that is held before its start begins; behind one that succeeded the next begins.",
        why="why a failure counts as success; asked for when a terminal is there",
    )
    _verdict(verbs, "skip", "leave out an action that is held before its start", "It counts as done; the next begins.")
    _verdict(
        verbs,
        "fail",
        "let it fail, and the workflow with it",
        "The action fails as its process did: its on-failure command runs, and no later action does.",
    )
    retry = _verdict(
        verbs,
        "retry",
        "run it again",
        "Its command runs again in the container as it is, with everything that was repaired there, or with --fresh in "
        "a new container from its image. It has its whole timeout again. A COMMAND replaces the whole command line.",
    )
    retry.usage = RETRY
    retry.add_argument("--fresh", action="store_true", help="in a new container: repairs in the old one are lost")
    about = "set a variable, over those of the action; may be repeated"
    retry.add_argument(
        "--env", dest="environment", action="append", type=assignment, metavar="NAME=VALUE", default=[], help=about
    )
    retry.set_defaults(command=())
    story = "The action and the workflow end as canceled. At a terminal it asks first."
    add_yes(_verdict(verbs, "abort", "cancel the whole workflow", story))


def _verdict(
    verbs: "Verbs[argparse.ArgumentParser]", verb: str, about: str, story: str, why: str = "for the records"
) -> argparse.ArgumentParser:
    parser = add_verb(verbs, verb, decide, about, story)
    _held_keys(parser)
    parser.add_argument("-m", "--why", default="", metavar="TEXT", help=why)
    parser.set_defaults(verb=verb)
    return parser


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.breakpoints, LISTED)


def _follows_then(held: Document) -> str:
    """What becomes of a hold: what was decided, else what happens at its deadline."""
    return str(held["verdict"]["verb"] if held["verdict"] else held["on_expiry"])


def _then(held: Document) -> str:
    """The same, and how soon: `fail in 29m`."""
    if held["verdict"]:
        return _follows_then(held)
    left = (datetime.fromisoformat(held["deadline"]) - now()).total_seconds()
    return f"{_follows_then(held)} in {show_age(left)}"


def arm(chosen: argparse.Namespace) -> int:
    change = change_of(chosen)
    if not change:
        change = {"on_failure": True}
    if chosen.timeout is not None:
        change["timeout"] = chosen.timeout
    if chosen.on_expiry is not None:
        change["on_expiry"] = chosen.on_expiry
    return change_each(
        chosen,
        lambda operator, key: operator.breakpoints.arm(key, change),
        lambda standing: _say_armed("Armed", standing),
    )


def clear(chosen: argparse.Namespace) -> int:
    change = change_of(chosen)
    return change_each(
        chosen,
        lambda operator, key: operator.breakpoints.clear(key, change),
        lambda standing: _say_armed("Cleared", standing),
    )


def decide(chosen: argparse.Namespace) -> int:
    """Give the verdict that the verb names; the first one counts, and a second one is refused with who won."""
    if chosen.verb == "abort":
        confirm_keys(chosen, "Cancel", KeyKind.WORKFLOW)
    look_up(chosen)
    holds = {key: hold_of(chosen, key) for key in chosen.keys}
    verdict: dict[str, object] = {"verb": chosen.verb, "why": chosen.why or _asked_why(chosen, holds)}
    if chosen.verb == "retry":
        verdict["fresh"] = chosen.fresh
        verdict["environment"] = dict(chosen.environment)
        if chosen.command:
            verdict["command"] = list(chosen.command)

    async def given(operator: "Operator", key: str) -> tuple[str, Document]:
        try:
            return key, await operator.breakpoints.decide(
                key, {**verdict, **({"hold": hold} if (hold := holds[key]) else {})}
            )
        except Conflict as refusal:
            raise Conflict(f"{_of(chosen, key, '{}: ')}{refusal}") from None

    def told(key: str, hold: Document) -> None:
        print(clean(f"{DECIDED[chosen.verb]} {full_name(hold)}{_of(chosen, key)}: {follows(hold)}"), flush=True)

    return change_each(chosen, given, lambda done: told(*done))


def extend(chosen: argparse.Namespace) -> int:
    seconds = _longer(chosen)

    async def longer(operator: "Operator", key: str) -> tuple[str, Document]:
        try:
            return key, await operator.breakpoints.extend(key, seconds, chosen.why)
        except Conflict as refusal:
            raise Conflict(f"{_of(chosen, key, '{}: ')}{refusal}") from None

    def told(key: str, hold: Document) -> None:
        print(clean(f"Extended {full_name(hold)}{_of(chosen, key)}: held until {until(hold)}"), flush=True)

    return change_each(chosen, longer, lambda done: told(*done), "name the others to extend these")


def _longer(chosen: argparse.Namespace) -> int:
    """How many seconds `extend` adds; the word that says so is taken from the keys.

    It is the last of several, and the only one beside -l.
    """
    named = [each for each in chosen.keys if each not in chosen.names]
    if len(named) < (2 if chosen.label is None else 1):
        return LONGER
    try:
        seconds = duration(named[-1])
    except argparse.ArgumentTypeError as error:
        chosen.usage_error(f"{error}; behind the workflows say how much longer they are held, such as 30m")
    chosen.keys.remove(named[-1])
    return seconds


def _is_duration(word: str) -> bool:
    with suppress(argparse.ArgumentTypeError):
        duration(word)
        return True
    return False


def _of(chosen: argparse.Namespace, key: str, words: str = " of {}") -> str:
    """Whose it is, where several were named, or labels chose it."""
    several = len(chosen.keys) > 1 or chosen.label is not None
    return words.format(chosen.names.get(key, key)) if several else ""


def change_of(chosen: argparse.Namespace) -> dict[str, object]:
    """What the flags of `arm` and `clear` name, empty when they name nothing."""
    change: dict[str, object] = {"on_failure": True} if chosen.on_failure else {}
    return change | {word: names for word in ("before", "after") if (names := getattr(chosen, word))}


def follows(hold: Document) -> str:
    """What a verdict has as its consequence."""
    verdict = hold["verdict"]
    match verdict["verb"]:
        case "continue" if hold["kind"] == "before":
            return "it starts now"
        case "continue":
            return f"{'it counts as success, and ' if failed(hold) else ''}the workflow goes on"
        case "skip":
            return "it is left out, and the workflow goes on"
        case "fail" if hold["kind"] == "before":
            return "it fails without having started, and the workflow with it"
        case "fail":
            return f"it fails {'as it ended' if failed(hold) else 'though it succeeded'}, and the workflow with it"
        case "retry":
            return f"it runs again in {'a new container' if verdict['fresh'] else 'the same container'}"
        case _:
            return "the workflow is being canceled"


def _say_armed(done: str, standing: Document) -> None:
    print(clean(f"{done} {standing['name']} ({standing['id'][:8]}): {armed_for(standing['armed'])}"), flush=True)


def _asked_why(chosen: argparse.Namespace, holds: dict[str, str]) -> str:
    """Why a failure counts as success, from whoever sits at the terminal; nothing for what needs no reason.

    `holds` gets the ids of those that the question is about.
    """
    if chosen.verb != "continue":
        return ""

    async def standings(operator: "Operator") -> list[Document]:
        found: list[Document] = []
        for key in chosen.keys:
            with suppress(NotFound, Conflict, Forbidden):  # it is told when the key's turn comes
                found.append(stands := await operator.breakpoints.get(key, ToChange.HELD))
                holds[key] = hold_id(stands)
        return found

    found = ask(chosen, standings)
    failures = sum(_is_excused(each["held"]) for each in found)
    if not failures:
        return ""  # nothing to excuse, or the appliance says what is wrong
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid(UNEXPLAINED)
    alike: dict[str, list[str]] = {}
    for each in found:
        alike.setdefault(_what_of(each["held"]), []).append(workflow_name(each))
    told = [f"{in_words(names, KeyKind.WORKFLOW)}: {what}" for what, names in alike.items()]
    question = f"Continue {'; '.join(told)}. Why {'does it' if failures == 1 else 'do they'} count as success? "
    print(clean(question), end="", file=sys.stderr, flush=True)
    why = sys.stdin.readline().strip()
    if not why:
        raise Invalid(UNEXPLAINED)
    return why


def _is_excused(held: Document | None) -> bool:
    """Whether a failure counts as success when this goes on."""
    return held is not None and not held["verdict"] and failed(held)


def _what_of(held: Document | None) -> str:
    """What there is to continue of a workflow."""
    if held is None:
        return "nothing is held"
    if held["verdict"]:
        return f"{full_name(held)} is {until(held)}"
    if failed(held):
        return f"{full_name(held)} failed ({ended(held['outcome'])})"
    return f"{full_name(held)} is held {HELD_WHERE[held['kind']]}"
