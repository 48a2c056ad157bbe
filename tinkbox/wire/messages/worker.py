"""What worker and appliance say to each other on the node door, as JSON.

    GET  /worker/time                      the appliance's clock, no credential needed
    POST /worker/next                      Hello  -> Offer, or 204 when there is nothing to do (long poll)
    POST /worker/attempts/{token}/output   raw bytes from ?offset=N -> {"next": M}, the offset wanted next
    POST /worker/attempts/{token}/image    Pulled -> {"digest": D}, what the image is pinned to, after the offer did not say
    POST /worker/attempts/{token}/leaving  Leaving -> {}, before an action of which the machine goes away begins
    POST /worker/attempts/{token}/report   Report -> {}, or the Offer that comes next when the report asks for it
    POST /worker/attempts/{token}/progress how far its action is (`wire.messages.progress`)
    POST /worker/attempts/{token}/disks    before an action wipes disks (`wire.messages.disks`)
    POST /worker/history                   what the worker did, when it is in doubt (`wire.messages.journal`)
    POST /worker/enrolment                 what the machine's firmware trusts (`wire.messages.enrolment`)
    GET  /worker/attempts/{token}/orders   what is wanted of the attempt (`wire.messages.breakpoints`)
    GET  /worker/attempts/{token}/data     the workflow's ephemeral data as a tar (empty body: none yet)
    PUT  /worker/attempts/{token}/data     the same, changed -> {"version": N}

Every request but the clock shows the session that the credential's boot ticket was exchanged for
(`wire.messages.session`).  The same report sent
again gets the same answer; a report on an attempt that is not the action's current one is a 409 and
must not be sent again.  An Offer that comes with a report's answer is that of `/worker/next`, and is offered there again when
the answer was lost; with {} the worker asks there, and waits.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from tinkbox.model.actions.action import Action, Until
from tinkbox.model.breakpoint import Armed, Override
from tinkbox.model.command_lines import not_ours
from tinkbox.model.disks.disks import Disk
from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import DIGEST
from tinkbox.model.journal import Seen
from tinkbox.model.program_versions import program_version
from tinkbox.model.reasons import MAX_REASON, Giver, Reason, ReasonText, known, of_ours
from tinkbox.model.secret import MAX_USES, SecretUse
from tinkbox.model.workflow import FINAL, Outcome, PlannedAction, State
from tinkbox.wire.messages.disks import disk_documents, disks_from_document
from tinkbox.wire.messages.json_fields import fields_of, flag, mapping, number, read_object, text, texts, write

MAX_TAIL_LINES = 20
MAX_TAIL_LINE = 1_000  # characters
MAX_MESSAGE = 8_192
MAX_NAME = 256
MAX_POSITION = 2**62
MAX_OUTPUT_CHUNK = 256 * 1024
# What the first release did not know is said only where it says something: the rest is as that release said it.
ABSENT_WHEN_EMPTY = frozenset(
    {
        "next",
        "no_data",
        "seen",
        "networks",
        "store",
        "position",
        "metadata",
        "appliance_only",
        "authority",
        "http_server",
        "enroll",
        "given",
        "secrets",
    }
)
# What the appliance says where a disk may not be wiped, and the worker reports.
_PASSED_ON = Reason.DISK_NOT_EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Who a worker is; written into the machine's second ramdisk as `/etc/tinkbox/worker.json`.

    `server` is the node door's URL without a trailing slash, `registry` the `host[:port]` that
    images without a registry host are pulled from.  With one for `discovery` a machine that nobody knows can do
    nothing but tell what it is and wait to be accepted (`wire.messages.inventory`); `worker` is its MAC then.  `token` is
    a boot ticket.  With `enroll` the worker gives the firmware of its machine the `authority` (`wire.messages.enrolment`).

    With an `authority`, certificates in PEM (RFC 7468), `server` and `registry` are asked over TLS, and only who has a
    certificate of that authority is believed to be them.  `http_server` is then the node door's URL without TLS, for what
    knows of no authority.  Without one, as from an appliance of an earlier release, all is plain HTTP.
    """

    server: str
    registry: str
    worker: str
    token: str
    discovery: bool = False
    authority: str = ""
    http_server: str = ""
    enroll: bool = False

    @property
    def url_for_others(self) -> str:
        """The node door's URL for what trusts no authority of ours: actions of other people, installed systems."""
        return self.http_server or self.server


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsDoor:
    """The node door over TLS, as the machines of one network reach it.

    `server` is its URL, `registry` HOST[:PORT] as image names carry it, `authority` what its certificate is issued by, in PEM.
    """

    server: str
    registry: str
    authority: str

    def credential(self, plain: Credential) -> Credential:
        """The same credential for this door."""
        return replace(
            plain,
            server=self.server,
            registry=self.registry,
            authority=self.authority,
            http_server=plain.url_for_others,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A worker asks for work; `boot_id` is the kernel's, new whenever the machine has booted.

    While `finishing` its machine is about to go away: what was begun is to be ended, and nothing more begun.
    Without `debug` it takes no breakpoint and serves no shell, whatever the appliance wants.
    `seen` is the newest attempt that it was given in this boot; None: there was none.  Its `networks` are those that actions
    name, which workers of earlier releases do not know: they would run every action in the machine's.  So are its `secrets`: they
    would run an action with marks in the places of values.
    """

    boot_id: str
    version: str = ""
    finishing: bool = False
    debug: bool = True
    seen: Seen | None = None
    networks: bool = False
    secrets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One attempt at one action, for the worker that asked.

    Offered again with the same token until it is reported, so that a worker that was restarted
    finds its container by the token.  `remaining` is what is left of the action's timeout, in seconds.
    `left` tells that the worker said already that the machine goes away: nothing may be begun any more.
    `armed` are the breakpoints at this moment; what becomes of them comes with the orders (`wire.messages.breakpoints`).
    `override` is what a person changed for this attempt, when it is a retry in a fresh container.
    `hosts` are names that its container is to know, such as the workflow's own, with their IPv4 addresses; an empty one
    means the appliance, wherever this worker reaches it.
    With `no_data` the workflow's ephemeral data is empty, and stays so unless this attempt changes it: it need not be fetched.
    `metadata` is the path on the node door below which the metadata of the machine's installed system is; empty: it has none.
    With `appliance_only` an image whose name has a registry's host is not to be pulled from that host, where the appliance has it not.
    `given` are the values of secrets: by the mark that stands for one in the action or override, or by the name of one of its `secrets`.
    They take their places when its container is made, and are written nowhere else.
    It stands at `position` in the history of `store` (`model.journal`); an appliance of before there was one names none.
    """

    workflow_id: str
    attempt: str
    remaining: float
    action: PlannedAction
    left: bool = False
    armed: Armed = field(default_factory=Armed)
    override: Override | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    no_data: bool = False
    store: str = ""
    position: int = 0
    metadata: str = ""
    appliance_only: bool = False
    given: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """The attempt's image, of which the appliance did not know the digest, turned out to have this one."""

    workflow_id: str
    boot_id: str
    digest: str


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
    """How an attempt ended; `disks` are those that its action wipes, as they are now.

    `next` asks for what is to be done next, as long as there is something at once.
    """

    workflow_id: str
    boot_id: str
    outcome: Outcome
    disks: tuple[Disk, ...] = ()
    next: Hello | None = None


def encode(message: Credential | Hello | Offer | Pulled | Leaving | Report) -> str:
    """Any of the messages as one line of JSON."""
    if isinstance(message, Offer):
        told = {**fields_of(message), "action": action_document(message.action), "given": given_document(message.given)}
        return write(_without_empty(told))
    if isinstance(message, Report):
        return write(_without_empty({**fields_of(message), "disks": disk_documents(message.disks)}))
    return write(_without_empty(fields_of(message)) if isinstance(message, Hello | Credential) else message)


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value or name not in ABSENT_WHEN_EMPTY}


def decode_credential(content: str | bytes) -> Credential:
    """Raises Invalid when it is not a credential."""
    entry = read_object(content, "credential")
    return Credential(
        server=text(entry, "server"),
        registry=text(entry, "registry"),
        worker=text(entry, "worker"),
        token=text(entry, "token"),
        discovery=flag(entry, "discovery"),
        authority=text(entry, "authority", ""),
        http_server=text(entry, "http_server", ""),
        enroll=flag(entry, "enroll"),
    )


def decode_hello(content: str | bytes) -> Hello:
    """Raises Invalid when it is not a hello."""
    return _hello_from_document(read_object(content, "hello"))


def _hello_from_document(entry: object) -> Hello:
    if not isinstance(entry, dict):
        raise Invalid("hello: expected an object")
    return Hello(
        boot_id=text(entry, "boot_id"),
        version=program_version(text(entry, "version", "")),
        finishing=flag(entry, "finishing"),
        debug=flag(entry, "debug", default=True),
        seen=seen_from_document(entry.get("seen")),
        networks=flag(entry, "networks"),
        secrets=flag(entry, "secrets"),
    )


def seen_from_document(entry: Any) -> Seen | None:
    """The inverse of `dataclasses.asdict`; None for a worker that was given nothing yet.  Raises Invalid."""
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise Invalid("seen: expected an object")
    return Seen(
        store=text(entry, "store")[:MAX_NAME],
        position=position_of(entry),
        attempt=text(entry, "attempt")[:MAX_NAME],
        over=flag(entry, "over"),
    )


def position_of(entry: Mapping[str, Any]) -> int:
    """A place in a store's history, 0 when none is named; raises Invalid."""
    position = number(entry, "position", 0)
    if not 0 <= position < MAX_POSITION:
        raise Invalid("position is a number of attempts")
    return position


def decode_offer(content: str | bytes) -> Offer:
    """Raises Invalid when it is not an offer."""
    return _offer_from_document(read_object(content, "offer"))


def _offer_from_document(entry: Mapping[str, Any]) -> Offer:
    remaining = entry.get("remaining")
    if isinstance(remaining, bool) or not isinstance(remaining, int | float):
        raise Invalid("offer: remaining is a number of seconds")
    return Offer(
        workflow_id=text(entry, "workflow_id"),
        attempt=text(entry, "attempt"),
        remaining=float(remaining),
        action=action_from_document(entry.get("action")),
        left=flag(entry, "left"),
        armed=armed_from_document(entry.get("armed", {})),
        override=None if entry.get("override") is None else override_from_document(entry["override"]),
        hosts=mapping(entry, "hosts"),
        no_data=flag(entry, "no_data"),
        store=text(entry, "store", ""),
        position=position_of(entry),
        metadata=text(entry, "metadata", ""),
        appliance_only=flag(entry, "appliance_only"),
        given=given_from_document(entry),
    )


def decode_report_answer(content: str | bytes) -> Offer | None:
    """What a report is answered with: the offer that comes next, None when there is none yet.  Raises Invalid."""
    entry = read_object(content, "answer")
    return _offer_from_document(entry) if entry else None


def decode_pulled(content: str | bytes) -> Pulled:
    """Raises Invalid when it does not say what was pulled."""
    entry = read_object(content, "pulled")
    digest = text(entry, "digest")
    if not DIGEST.match(digest):
        raise Invalid("pulled: digest is no sha256 digest")
    return Pulled(workflow_id=text(entry, "workflow_id"), boot_id=text(entry, "boot_id"), digest=digest)


def decode_leaving(content: str | bytes) -> Leaving:
    """Raises Invalid when it does not say whose machine leaves."""
    entry = read_object(content, "leaving")
    return Leaving(workflow_id=text(entry, "workflow_id"), boot_id=text(entry, "boot_id"))


def order_from_document(entry: object) -> Order:
    """Raises Invalid when it is not an order to stop."""
    if not isinstance(entry, dict):
        raise Invalid("order: expected an object")
    state = _state(entry, "order")
    if state not in {State.CANCELED, State.TIMEOUT}:
        raise Invalid(f"order: nothing can be stopped into {state}")
    return Order(state=state, message=text(entry, "message", "")[:MAX_MESSAGE])


def decode_report(content: str | bytes) -> Report:
    """Raises Invalid when it is not a report of how an attempt ended."""
    entry = read_object(content, "report")
    outcome = outcome_from_document(entry.get("outcome"))
    if outcome.state not in FINAL:
        raise Invalid(f"report: {outcome.state} is no end of an attempt")
    return Report(
        workflow_id=text(entry, "workflow_id"),
        boot_id=text(entry, "boot_id"),
        outcome=outcome,
        disks=disks_from_document(entry.get("disks", [])),
        next=None if entry.get("next") is None else _hello_from_document(entry["next"]),
    )


def armed_from_document(entry: object) -> Armed:
    """The inverse of `dataclasses.asdict`; raises Invalid."""
    if not isinstance(entry, dict):
        raise Invalid("armed: expected an object")
    return Armed(before=flag(entry, "before"), after=flag(entry, "after"), on_failure=flag(entry, "on_failure"))


def override_from_document(entry: object) -> Override:
    """The inverse of `dataclasses.asdict`; raises Invalid."""
    if not isinstance(entry, dict):
        raise Invalid("override: expected an object")
    command = None if entry.get("command") is None else texts(entry, "command")
    return Override(command=command, environment=mapping(entry, "environment"))


class SecretDocument(TypedDict):
    """A secret that a container is given as a variable, as a file, or both."""

    name: str
    env: str
    file: str


class ActionSays(TypedDict, total=False):
    """What of an action is said only where it says something."""

    network: str
    disk: str
    until: Until
    secrets: Sequence[SecretDocument]


class ActionDocument(ActionSays):
    index: int
    task: str
    name: str
    worker: str
    address: str
    image: str
    timeout: int
    command: Sequence[str]
    on_timeout: Sequence[str]
    on_failure: Sequence[str]
    volumes: Sequence[str]
    environment: Mapping[str, str]
    pid: str
    retries: int
    reboot: bool
    helper: bool
    wipes: Sequence[str]


def action_document(action: PlannedAction) -> ActionDocument:
    """An action as one flat object, as it travels and as it is shown."""
    spec = action.spec
    return {
        "index": action.index,
        "task": action.task,
        "name": spec.name,
        "worker": action.worker,
        "address": action.address,
        "image": spec.image,
        "timeout": spec.timeout,
        "command": spec.command,
        "on_timeout": spec.on_timeout,
        "on_failure": spec.on_failure,
        "volumes": spec.volumes,
        "environment": spec.environment,
        "pid": spec.pid,
        "retries": spec.retries,
        "reboot": spec.reboot,
        "helper": spec.helper,
        "wipes": spec.wipes,
        **_said(spec),
    }


def _said(spec: Action) -> ActionSays:
    """As ABSENT_WHEN_EMPTY has it."""
    said: ActionSays = {}
    if spec.network:
        said["network"] = spec.network
    if spec.disk:
        said["disk"] = spec.disk
    if spec.until:
        said["until"] = spec.until
    if spec.secrets:
        said["secrets"] = secret_documents(spec.secrets)
    return said


def secret_documents(uses: Sequence[SecretUse]) -> list[SecretDocument]:
    """Which secrets a container is given, and how."""
    return [{"name": each.name, "env": each.env, "file": each.file} for each in uses]


def secret_uses(entry: Mapping[str, Any]) -> tuple[SecretUse, ...]:
    """The inverse of `secret_documents`, of the key `secrets`; raises Invalid."""
    listed = entry.get("secrets", [])
    if not isinstance(listed, list) or len(listed) > MAX_USES or not all(isinstance(each, dict) for each in listed):
        raise Invalid(f"secrets are a list of at most {MAX_USES} objects")
    return tuple(
        SecretUse(name=text(each, "name"), env=text(each, "env", ""), file=text(each, "file", "")) for each in listed
    )


def given_document(given: Mapping[str, bytes]) -> dict[str, str]:
    """Values as they travel: base64 (RFC 4648, section 4) by what asks for them."""
    return {name: b64encode(value).decode() for name, value in given.items()}


def given_from_document(entry: Mapping[str, Any]) -> dict[str, bytes]:
    """The inverse of `given_document`, of the key `given`; raises Invalid, which tells no value."""
    try:
        return {name: b64decode(value, validate=True) for name, value in mapping(entry, "given").items()}
    except ValueError:
        raise Invalid("given: expected base64") from None


def action_from_document(entry: Any) -> PlannedAction:
    """The inverse of `action_document`; raises Invalid."""
    if not isinstance(entry, dict):
        raise Invalid("action: expected an object")
    environment = entry.get("environment", {})
    if not isinstance(environment, dict):
        raise Invalid("action: environment is an object")
    return PlannedAction(
        index=number(entry, "index"),
        task=text(entry, "task"),
        worker=text(entry, "worker"),
        address=text(entry, "address"),
        spec=Action(
            name=text(entry, "name"),
            image=text(entry, "image"),
            timeout=number(entry, "timeout"),
            command=texts(entry, "command"),
            on_timeout=texts(entry, "on_timeout"),
            on_failure=texts(entry, "on_failure"),
            volumes=texts(entry, "volumes"),
            environment={str(name): str(value) for name, value in environment.items()},
            pid=text(entry, "pid", ""),
            retries=number(entry, "retries", 0),
            reboot=flag(entry, "reboot"),
            helper=flag(entry, "helper", default=True),
            wipes=texts(entry, "wipes") if "wipes" in entry else (),
            disk=text(entry, "disk", ""),
            network=text(entry, "network", ""),
            # It is the appliance that waits: what an older worker does not know is none of its business.
            until=Until.PHONE_HOME if entry.get("until") == Until.PHONE_HOME else Until.SEEN,
            secrets=secret_uses(entry),
        ),
    )


def outcome_from_document(entry: Any) -> Outcome:
    """The inverse of `dataclasses.asdict`; what is longer than the limits is cut.

    What stands in backquotes is shown to people as a command to type, so an action's words have none.
    """
    if not isinstance(entry, dict):
        raise Invalid("outcome: expected an object")
    reason = ReasonText(not_ours(text(entry, "reason", "")[:MAX_REASON]))
    advice = text(entry, "hint", "")[:MAX_MESSAGE]
    return Outcome(
        state=_state(entry, "outcome"),
        exit_code=None if entry.get("exit_code") is None else number(entry, "exit_code"),
        signal=not_ours(text(entry, "signal", "")[:MAX_REASON]),
        reason=reason,
        message=not_ours(text(entry, "message", "")[:MAX_MESSAGE]),
        hint=of_ours(reason, advice) or not_ours(advice) or _hint_of_own_word(reason),
        tail=tail_of(entry),
    )


def _hint_of_own_word(reason: str) -> str:
    """For a word that is spelled as a reason which only the appliance gives, the hint that says so; else none."""
    ours = known(reason)
    is_spelled_so = ours is not None and ours.givers == Giver.APPLIANCE and ours is not _PASSED_ON
    return Reason.NON_ZERO_EXIT.hint if is_spelled_so else ""


def tail_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The last lines that something printed, without commands of ours; what is longer than the limits is cut."""
    return tuple(not_ours(line[:MAX_TAIL_LINE]) for line in texts(entry, "tail")[-MAX_TAIL_LINES:])


def _state(entry: Mapping[str, Any], what: str) -> State:
    try:
        return State(text(entry, "state"))
    except ValueError:
        raise Invalid(f"{what}: unknown state {entry.get('state')!r}") from None
