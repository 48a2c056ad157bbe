"""`tinkbox breakpoint`: what is armed, what is held, and what becomes of it."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import (
    KEY,
    Verbs,
    add_filters,
    add_listing,
    add_times,
    add_verb,
    add_verbs,
    add_watch,
    assignment,
    duration,
)
from tinkbox.cli.nouns.breakpoint import replay, shell
from tinkbox.cli.output.formats import Column, Document, id_columns
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, clean, now
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.cli.wording.holds import armed_for, ended, failed, full_name, places, until
from tinkbox.model.duration import show_age
from tinkbox.model.errors import Invalid

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
RETRY = "tinkbox breakpoint retry [-h] [-m TEXT] [--fresh] [--env NAME=VALUE] WORKFLOW [-- COMMAND ...]"
COLUMNS: Sequence[Column] = (
    *id_columns(),
    Column("Workflow", "name", fit=Fit(least=8, rank=2)),
    Column("Held", lambda standing: full_name(held) if (held := standing["held"]) else "", fit=Fit(least=10)),
    Column("Where", lambda standing: held["kind"] if (held := standing["held"]) else "", fit=Fit(rank=3)),
    Column("Ended", lambda standing: ended(held["outcome"]) if (held := standing["held"]) else "", fit=Fit(least=8)),
    Column("Age", lambda standing: held["since"] if (held := standing["held"]) else None, age, called="since"),
    Column("Then", lambda standing: _then(held) if (held := standing["held"]) else "", fit=Fit(least=8)),
    Column("Armed", "armed", places, Fit(least=8, rank=1)),
    Column("Deadline", lambda standing: until(held) if (held := standing["held"]) else "", wide=True),
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
    add_filters(verb, sorts=("name", "state"))
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
        "A hold ends by itself so much later than it would have. Activity in a shell moves its deadline as well.",
    )
    verb.add_argument("key", metavar="WORKFLOW", help=KEY)
    verb.add_argument("seconds", nargs="?", type=duration, default=1800, metavar="DURATION", help="30m when left out")
    verb.add_argument("-m", "--why", default="", metavar="TEXT", help="for the records")
    add_times(verb)


def _arming(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = _places(
        add_verb(
            verbs,
            "arm",
            arm,
            "hold what fails from now on, or what is named",
            "Without a flag that says where, on failure. What is armed already stays, and an action that runs heeds "
            "it too. Of a failure that the template follows by another attempt only the last one is held.",
        )
    )
    verb.add_argument(
        "--timeout",
        type=duration,
        metavar="DURATION",
        help="how long after the last activity a hold ends by itself: 90s, 30m, 1h30m (30m)",
    )
    verb.add_argument(
        "--on-expiry", choices=("fail", "continue", "abort"), help="the verdict when a hold ends by itself (fail)"
    )
    _places(
        add_verb(
            verbs,
            "clear",
            clear,
            "hold no more, or no more what is named",
            "Without a flag, nothing stays armed. What is held already stays held and wants its verdict.",
        )
    )


def _places(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("key", metavar="WORKFLOW", help=KEY)
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
    _verdict(verbs, "abort", "cancel the whole workflow", "The action and the workflow end as canceled.")


def _verdict(
    verbs: "Verbs[argparse.ArgumentParser]", verb: str, about: str, story: str, why: str = "for the records"
) -> argparse.ArgumentParser:
    parser = add_verb(verbs, verb, decide, about, story)
    parser.add_argument("key", metavar="WORKFLOW", help=KEY)
    parser.add_argument("-m", "--why", default="", metavar="TEXT", help=why)
    parser.set_defaults(verb=verb)
    return parser


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.breakpoints, LISTED)


def _then(held: Document) -> str:
    """What becomes of a hold: `fail in 29m`, or what was decided."""
    if held["verdict"]:
        return str(held["verdict"]["verb"])
    left = (datetime.fromisoformat(held["deadline"]) - now()).total_seconds()
    return f"{held['on_expiry']} in {show_age(left)}"


def arm(chosen: argparse.Namespace) -> None:
    change = change_of(chosen)
    if not change:
        change = {"on_failure": True}
    if chosen.timeout is not None:
        change["timeout"] = chosen.timeout
    if chosen.on_expiry is not None:
        change["on_expiry"] = chosen.on_expiry
    _say_armed("Armed", ask(chosen, lambda operator: operator.breakpoints.arm(chosen.key, change)))


def clear(chosen: argparse.Namespace) -> None:
    standing = ask(chosen, lambda operator: operator.breakpoints.clear(chosen.key, change_of(chosen)))
    _say_armed("Cleared", standing)


def decide(chosen: argparse.Namespace) -> None:
    """Give the verdict that the verb names; the first one counts, and a second one is refused with who won."""
    verdict: dict[str, object] = {"verb": chosen.verb, "why": chosen.why or _asked_why(chosen)}
    if chosen.verb == "retry":
        verdict["fresh"] = chosen.fresh
        verdict["environment"] = dict(chosen.environment)
        if chosen.command:
            verdict["command"] = list(chosen.command)
    hold = ask(chosen, lambda operator: operator.breakpoints.decide(chosen.key, verdict))
    print(clean(f"{DECIDED[chosen.verb]} {full_name(hold)}: {follows(hold)}"))


def extend(chosen: argparse.Namespace) -> None:
    hold = ask(chosen, lambda operator: operator.breakpoints.extend(chosen.key, chosen.seconds, chosen.why))
    print(clean(f"Extended {full_name(hold)}: held until {until(hold)}"))


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
            return "the workflow is canceled"


def _say_armed(done: str, standing: Document) -> None:
    print(clean(f"{done} {standing['name']} ({standing['id'][:8]}): {armed_for(standing['armed'])}"))


def _asked_why(chosen: argparse.Namespace) -> str:
    """Why a failure counts as success, from whoever sits at the terminal; nothing for what needs no reason."""
    if chosen.verb != "continue":
        return ""
    held = ask(chosen, lambda operator: operator.breakpoints.get(chosen.key))["held"]
    if held is None or held["verdict"] or not failed(held):
        return ""  # nothing to excuse, or the appliance says what is wrong
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid(UNEXPLAINED)
    question = f"{full_name(held)} failed ({ended(held['outcome'])}). Why does it count as success? "
    print(clean(question), end="", file=sys.stderr, flush=True)
    why = sys.stdin.readline().strip()
    if not why:
        raise Invalid(UNEXPLAINED)
    return why
