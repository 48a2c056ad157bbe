"""What worker and appliance say to each other on the node door, as JSON.

    GET  /worker/time                      the appliance's clock, no credential needed
    POST /worker/next                      Hello  -> Offer, or 204 when there is nothing to do (long poll)
    POST /worker/attempts/{token}/output   raw bytes from ?offset=N -> {"next": M}, the offset wanted next
    POST /worker/attempts/{token}/leaving  Leaving -> {}, before an action of which the machine goes away begins
    POST /worker/attempts/{token}/report   Report -> {}
    GET  /worker/attempts/{token}/order    Order, or 204 when the attempt is to go on (long poll)
    GET  /worker/attempts/{token}/data     the workflow's ephemeral data as a tar (empty body: none yet)
    PUT  /worker/attempts/{token}/data     the same, changed -> {"version": N}

Every request but the clock carries `Authorization: Bearer <credential token>`.  The same report sent
again gets the same answer; a report on an attempt that is not the action's current one is a 409 and
must not be sent again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tinkbox.model.errors import Invalid
from tinkbox.model.workflow import FINAL, Outcome, PlannedAction, State

MAX_TAIL_LINES = 20
MAX_MESSAGE = 8_192
MAX_REASON = 128
MAX_OUTPUT_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Who a worker is; written into the machine's second ramdisk as `/etc/tinkbox/worker.json`.

    `server` is the node door's URL without a trailing slash, `registry` the `host[:port]` that
    images without a registry host are pulled from.
    """

    server: str
    registry: str
    worker: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A worker asks for work; `boot_id` is the kernel's, new whenever the machine has booted.

    While `finishing` its machine is about to go away: what was begun is to be ended, and nothing more begun.
    """

    boot_id: str
    version: str = ""
    finishing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One attempt at one action, for the worker that asked.

    Offered again with the same token until it is reported, so that a worker that was restarted
    finds its container by the token.  `remaining` is what is left of the action's timeout, in seconds.
    `left` tells that the worker said already that the machine goes away: nothing may be begun any more.
    """

    workflow_id: str
    attempt: str
    remaining: float
    action: PlannedAction
    left: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """The machine is about to go away by intention: this attempt's container begins next."""

    workflow_id: str
    boot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The appliance wants an attempt stopped: SIGTERM, grace, SIGKILL, and a report with this state.

    `state` is CANCELED or TIMEOUT; `message` says on whose behalf, for people.
    """

    state: State
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How an attempt ended.  `sequence` counts the worker's reports on this attempt from 1."""

    workflow_id: str
    boot_id: str
    sequence: int
    outcome: Outcome


def encode(message: Credential | Hello | Offer | Leaving | Report | Order) -> str:
    """Any of the messages as one line of JSON."""
    return json.dumps(asdict(message), separators=(",", ":"))


def decode_credential(text: str | bytes) -> Credential:
    """Raises Invalid when it is not a credential."""
    entry = _object(text, "credential")
    return Credential(**{name: _text(entry, name) for name in ("server", "registry", "worker", "token")})


def decode_hello(text: str | bytes) -> Hello:
    """Raises Invalid when it is not a hello."""
    entry = _object(text, "hello")
    return Hello(
        boot_id=_text(entry, "boot_id"), version=_text(entry, "version", ""), finishing=_flag(entry, "finishing")
    )


def decode_offer(text: str | bytes) -> Offer:
    """Raises Invalid when it is not an offer."""
    entry = _object(text, "offer")
    remaining = entry.get("remaining")
    if isinstance(remaining, bool) or not isinstance(remaining, int | float):
        raise Invalid("offer: remaining is a number of seconds")
    return Offer(
        workflow_id=_text(entry, "workflow_id"),
        attempt=_text(entry, "attempt"),
        remaining=float(remaining),
        action=action_from_document(entry.get("action")),
        left=_flag(entry, "left"),
    )


def decode_leaving(text: str | bytes) -> Leaving:
    """Raises Invalid when it does not say whose machine leaves."""
    entry = _object(text, "leaving")
    return Leaving(workflow_id=_text(entry, "workflow_id"), boot_id=_text(entry, "boot_id"))


def decode_order(text: str | bytes) -> Order:
    """Raises Invalid when it is not an order to stop."""
    entry = _object(text, "order")
    state = _state(entry, "order")
    if state not in {State.CANCELED, State.TIMEOUT}:
        raise Invalid(f"order: nothing can be stopped into {state}")
    return Order(state=state, message=_text(entry, "message", "")[:MAX_MESSAGE])


def decode_report(text: str | bytes) -> Report:
    """Raises Invalid when it is not a report of how an attempt ended."""
    entry = _object(text, "report")
    outcome = outcome_from_document(entry.get("outcome"))
    if outcome.state not in FINAL:
        raise Invalid(f"report: {outcome.state} is no end of an attempt")
    return Report(
        workflow_id=_text(entry, "workflow_id"),
        boot_id=_text(entry, "boot_id"),
        sequence=_number(entry, "sequence"),
        outcome=outcome,
    )


def action_from_document(entry: Any) -> PlannedAction:
    """The inverse of `dataclasses.asdict`, for messages and for the store."""
    if not isinstance(entry, dict):
        raise Invalid("action: expected an object")
    environment = entry.get("environment", {})
    if not isinstance(environment, dict):
        raise Invalid("action: environment is an object")
    return PlannedAction(
        index=_number(entry, "index"),
        task=_text(entry, "task"),
        name=_text(entry, "name"),
        worker=_text(entry, "worker"),
        address=_text(entry, "address"),
        image=_text(entry, "image"),
        timeout=_number(entry, "timeout"),
        command=_texts(entry, "command"),
        on_timeout=_texts(entry, "on_timeout"),
        on_failure=_texts(entry, "on_failure"),
        volumes=_texts(entry, "volumes"),
        environment={str(name): str(value) for name, value in environment.items()},
        pid=_text(entry, "pid", ""),
        retries=_number(entry, "retries", 0),
        reboot=_flag(entry, "reboot"),
    )


def outcome_from_document(entry: Any) -> Outcome:
    """The inverse of `dataclasses.asdict`; what is longer than the limits is cut."""
    if not isinstance(entry, dict):
        raise Invalid("outcome: expected an object")
    return Outcome(
        state=_state(entry, "outcome"),
        exit_code=None if entry.get("exit_code") is None else _number(entry, "exit_code"),
        signal=_text(entry, "signal", "")[:MAX_REASON],
        reason=_text(entry, "reason", "")[:MAX_REASON],
        message=_text(entry, "message", "")[:MAX_MESSAGE],
        hint=_text(entry, "hint", "")[:MAX_MESSAGE],
        tail=_texts(entry, "tail")[-MAX_TAIL_LINES:],
    )


def _object(text: str | bytes, what: str) -> Mapping[str, Any]:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{what}: invalid json: {error}") from None
    if not isinstance(entry, dict):
        raise Invalid(f"{what}: expected an object")
    return entry


def _text(entry: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = entry.get(name, default)
    if not isinstance(value, str):
        raise Invalid(f"{name} is missing or is no text")
    return _whole(value)


def _texts(entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = entry.get(name) or ()
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise Invalid(f"{name} is a list of texts")
    return tuple(map(_whole, values))


def _whole(text: str) -> str:
    """JSON can spell halves of characters, which neither the store nor a terminal takes: they become `?`."""
    return text.encode(errors="replace").decode()


def _state(entry: Mapping[str, Any], what: str) -> State:
    try:
        return State(_text(entry, "state"))
    except ValueError:
        raise Invalid(f"{what}: unknown state {entry.get('state')!r}") from None


def _flag(entry: Mapping[str, Any], name: str) -> bool:
    value = entry.get(name, False)
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false")
    return value


def _number(entry: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = entry.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{name} is missing or is no whole number")
    return value
