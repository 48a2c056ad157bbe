"""`tinkbox breakpoint`: what is armed, what is held, and what becomes of it."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence

from tinkbox.cli.appliance import ask
from tinkbox.cli.output import Column, Document, clean, moment, show
from tinkbox.model.duration import show_duration
from tinkbox.model.errors import Invalid

COLUMNS: Sequence[Column] = (
    ("Workflow", lambda standing: f"{standing['name']} ({standing['id'][:8]})"),
    ("Task/Action", lambda standing: full_name(standing["held"]) if standing["held"] else ""),
    ("Kind", lambda standing: standing["held"]["kind"] if standing["held"] else ""),
    ("How It Ended", lambda standing: ended(standing["held"]["outcome"]) if standing["held"] else ""),
    ("Since", lambda standing: moment(standing["held"]["since"]) if standing["held"] else ""),
    ("Deadline", lambda standing: until(standing["held"]) if standing["held"] else ""),
    ("Armed", lambda standing: places(standing["armed"])),
)
DECIDED: Mapping[str, str] = {
    "continue": "Continued",
    "skip": "Skipped",
    "fail": "Failed",
    "retry": "Retried",
    "abort": "Aborted",
}
HELD: Mapping[str, str] = {"before": "before it starts", "failure": "because it failed", "after": "after its end"}
UNEXPLAINED = "a failure counts as success only with a reason: give it with --why TEXT"


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.breakpoints.all()), COLUMNS)


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


def breakpoints_of(wanted: Sequence[tuple[str, str]]) -> dict[str, object]:
    """What the `--breakpoint` flags of `workflow create` name, empty when there are none."""
    change: dict[str, object] = {"on_failure": True} if ("on-failure", "") in wanted else {}
    named = {word: [name for where, name in wanted if where == word] for word in ("before", "after")}
    return change | {word: names for word, names in named.items() if names}


def full_name(hold: Document) -> str:
    return f"{hold['task']}/{hold['action']}"


def ended(outcome: Document | None) -> str:
    """How a process ended, in few words: `exit 3, DiskTooSmall`."""
    if outcome is None:
        return "not started yet"
    if outcome["signal"]:
        how = outcome["signal"]
    elif outcome["exit_code"] is not None:
        how = f"exit {outcome['exit_code']}"
    else:
        how = ""
    return ", ".join(part for part in (how, outcome["reason"]) if part) or outcome["state"]


def until(hold: Document) -> str:
    """When a hold ends by itself and how, or what was decided already."""
    if hold["verdict"]:
        return f"decided: {hold['verdict']['verb']} ({hold['verdict']['who']})"
    return f"{moment(hold['deadline'])}, then {hold['on_expiry']}"


def places(armed: Document) -> str:
    """Where something is armed: `on failure, before disk/wipe`."""
    named = [f"{word} {name}" for word in ("before", "after") for name in armed[word]]
    return ", ".join(["on failure", *named] if armed["on_failure"] else named)


def armed_for(armed: Document) -> str:
    """Everything that is armed, with what becomes of a hold that nobody decides about."""
    lasts = f"{show_duration(armed['timeout'])} after the last activity a hold ends by itself: {armed['on_expiry']}"
    return f"armed {where}; {lasts}" if (where := places(armed)) else "nothing is armed"


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


def failed(hold: Document) -> bool:
    """Whether what is held ended badly."""
    return hold["outcome"] is not None and hold["outcome"]["state"] != "SUCCESS"


def held_fields(hold: Document) -> Iterator[tuple[str, object]]:
    """A hold as fields of a table."""
    yield "Held", HELD[hold["kind"]]
    yield "Held Since", moment(hold["since"])
    if hold["verdict"]:
        why = f": {hold['verdict']['why']}" if hold["verdict"]["why"] else ""
        yield "Verdict", f"{hold['verdict']['verb']} by {hold['verdict']['who']}{why}"
    else:
        yield "Held Until", until(hold)
        yield "Verdicts", f"{', '.join(hold['verdicts'])} (tinkbox breakpoint VERDICT WORKFLOW)"
    if not hold["container"]:
        yield "Container", "none to open a shell in"


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
