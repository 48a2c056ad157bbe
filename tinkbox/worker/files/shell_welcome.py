"""What people read who look into a held container: where they are, and what they can do."""

import re
from collections.abc import Mapping

from tinkbox.model.breakpoint import Kind, Verb, verdicts
from tinkbox.model.text import clean_block
from tinkbox.model.workflow import Outcome, PlannedAction
from tinkbox.wire.messages.worker import Offer

_WHERE: Mapping[Kind, str] = {
    Kind.BEFORE: "is held before it begins",
    Kind.FAILURE: "is held after it failed",
    Kind.AFTER: "is held after it succeeded",
}
_COMMANDS: Mapping[Verb, str] = {
    Verb.CONTINUE: "debug-continue [WHY]",
    Verb.SKIP: "debug-skip [WHY]",
    Verb.FAIL: "debug-continue-failure [WHY]",
    Verb.RETRY: "debug-retry [--fresh] [WHY]",
    Verb.ABORT: "debug-abort [WHY]",
}
_EFFECTS: Mapping[Verb, str] = {
    Verb.CONTINUE: "let it count as success, and go on",
    Verb.SKIP: "do not run it, and go on as if it had succeeded",
    Verb.FAIL: "let it fail, as the template says",
    Verb.RETRY: "run it again here as things are now, or in a new container",
    Verb.ABORT: "cancel the workflow",
}
_BEFORE_IT_BEGINS: Mapping[Verb, str] = {Verb.CONTINUE: "run it", Verb.FAIL: "do not run it, and let it fail"}


def about(offer: Offer, kind: Kind, outcome: Outcome | None) -> str:
    """A few lines, without anything that would steer a terminal."""
    action = offer.action
    lines = [
        f"Action {action.task}/{action.spec.name} {_WHERE[kind]}.",
        f"workflow  {offer.workflow_id}",
        f"attempt   {offer.attempt}",
        f"image     {action.spec.image}",
    ]
    if outcome is not None:
        said = {"ended": _ended(outcome), "reason": outcome.reason, "message": outcome.message, "hint": outcome.hint}
        lines += [f"{name:<9} {words}" for name, words in said.items() if words]
    lines += ["", "What can be done:"]
    effects = {**_EFFECTS, **_BEFORE_IT_BEGINS} if kind is Kind.BEFORE else _EFFECTS
    lines += [f"  {_COMMANDS[verb]:<31} {effects[verb]}" for verb in verdicts(kind)]
    lines += ["", "Its command line and what surrounds it are in /tinkbox/debug/info."]
    return _steerless("\n".join(lines)) + "\n"


def prompt(action: PlannedAction, outcome: Outcome | None) -> str:
    """What names the action and its end in front of every command."""
    return _steerless(f"{action.task}/{action.spec.name} {'not begun' if outcome is None else _ended(outcome)}")


def _ended(outcome: Outcome) -> str:
    if outcome.signal:
        return outcome.signal
    return outcome.reason or str(outcome.state) if outcome.exit_code is None else f"exit {outcome.exit_code}"


def _steerless(text: str) -> str:
    return clean_block(re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text))
