"""What becomes of a service, by what its host sees of it.  Pure: no clock, no engine.

Rule 1: an end that the engine saw, and that nobody had asked for, is the service's own: it counts, and its restart policy
decides.  Any other end (the engine went away, or somebody killed it through the engine) is followed by a start that is
not counted, whatever the policy.
Rule 2: what was decided is noted before anything is done about it, so that a host that was killed decides nothing twice.
Rule 3: one that is unhealthy is not restarted: what it is worth then is for its users to say (proposal 0014).
"""

import json
from dataclasses import asdict, dataclass, replace

from tinkbox.model.command_lines import not_ours
from tinkbox.model.reasons import NO_REASON, AnyReason, Reason
from tinkbox.model.services import (
    ENDED,
    SETTLED_SECONDS,
    TOLD_RESTARTS,
    UP_SECONDS,
    Phase,
    PlannedService,
    Restarted,
    RestartPolicy,
    Standing,
)
from tinkbox.runtime.exit_codes import KILLED, signal_of
from tinkbox.runtime.hosting import Health, Look
from tinkbox.wire.messages.hosting import standing_from_document
from tinkbox.wire.messages.json_fields import number, read_object, text
from tinkbox.wire.messages.worker import MAX_MESSAGE

UNCOUNTED_DELAY = 1.0  # an engine, or a person, that ends it again and again is not to be run against
_MAX_LINE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is known of one run, also by the next host that takes over.

    `row` counts the restarts in a row.  `decided` is the newest end (`Look.ended_at`) after which it is to be started
    again, `ready` the newest start (`Look.started_at`) in which it was ready.
    """

    standing: Standing
    row: int = 0
    decided: str = ""
    ready: str = ""

    @property
    def over(self) -> bool:
        """Whether it is not to be started any more."""
        return self.standing.phase in ENDED


def encode(note: Note) -> str:
    """As one line of JSON."""
    return json.dumps(asdict(note))


def decode(content: bytes) -> Note:
    """The inverse of `encode`; raises Invalid."""
    entry = read_object(content, "note")
    return Note(
        standing=standing_from_document(entry.get("standing")),
        row=number(entry, "row"),
        decided=text(entry, "decided"),
        ready=text(entry, "ready"),
    )


def beginning(note: Note, message: str) -> Note:
    """It is made ready to run."""
    return replace(note, standing=replace(_quiet(note.standing, Phase.STARTING), message=message))


def pulled(note: Note, digest: str) -> Note:
    """Its image is here, and turned out to be this."""
    return replace(note, standing=replace(note.standing, digest=digest))


def listening(note: Note, ports: tuple[int, ...]) -> Note:
    """It listens on these ports when it runs."""
    return replace(note, standing=replace(note.standing, ports=ports))


def running(note: Note, look: Look, up: float, tail: tuple[str, ...]) -> Note:
    """It runs, since `up` seconds; until it is ready `tail`, its last lines, is shown."""
    was_ready, tail = bool(note.ready), _printed(tail)
    if look.health is None:
        is_ready = look.started_at == note.ready or up >= UP_SECONDS
    else:
        is_ready = look.health is Health.HEALTHY
    if is_ready:
        phase, message = Phase.READY, ""
    else:
        unhealthy = look.health is Health.UNHEALTHY and was_ready
        phase = Phase.UNHEALTHY if unhealthy else Phase.STARTING
        message = f"its health check fails: {not_ours(look.probe)}" if look.probe else ""
    standing = replace(
        note.standing,
        phase=phase,
        message=message,
        reason=NO_REASON,
        address=look.address,
        tail=note.standing.tail if was_ready or is_ready else tail,
    )
    return replace(note, standing=standing, ready=look.started_at if is_ready else note.ready)


def ended(
    note: Note, look: Look, service: PlannedService, tail: tuple[str, ...], *, alone: bool
) -> tuple[Note, float | None]:
    """It is over: what is known of it now, and after how many seconds it is to be started; None: never.

    `alone` is what `ServiceRuntime.ended_alone` says.
    """
    name, tail = signal_of(look.exit_code), _printed(tail)
    standing = replace(
        note.standing, exit_code=look.exit_code, signal=name, tail=tail, address="", reason=NO_REASON, message=""
    )
    if not alone:
        message = "the Docker engine went away or was told to end it: started again"
        standing = replace(standing, phase=Phase.RESTARTING, message=message)
        return replace(note, standing=standing, decided=look.ended_at), UNCOUNTED_DELAY
    row = 0 if look.seconds >= SETTLED_SECONDS else note.row
    how = _how(look, name, tail)
    delay = service.spec.restart.delay(look.exit_code, row)
    if delay is not None:
        message = f"{how}: started again in {delay:.0f} s"
        restarts = standing.restarts + 1
        restarted = Restarted(number=restarts, exit_code=look.exit_code, signal=name, message=message)
        standing = replace(
            standing,
            phase=Phase.RESTARTING,
            message=message,
            restarts=restarts,
            restarted=(*standing.restarted, restarted)[-TOLD_RESTARTS:],
        )
        return replace(note, standing=standing, row=row + 1, decided=look.ended_at), delay
    if look.exit_code == 0 and service.spec.restart.policy is not RestartPolicy.ALWAYS:
        if look.health in (None, Health.HEALTHY) or note.ready:
            return replace(note, standing=replace(standing, phase=Phase.EXITED)), None
        reason, message = Reason.SERVICE_ENDED, f"{how} before its health check succeeded"
    else:
        reason, message = Reason.SERVICE_FAILED, how + _after(row)
    standing = replace(standing, phase=Phase.FAILED, reason=reason, message=message)
    return replace(note, standing=standing), None


def refused(note: Note, reason: AnyReason, message: str) -> Note:
    """It cannot run, and never will."""
    standing = replace(note.standing, phase=Phase.FAILED, reason=reason, message=message[:MAX_MESSAGE], address="")
    return replace(note, standing=standing)


def stopping(note: Note) -> Note:
    """It was told to end; one that is over stays what it is."""
    return note if note.over else replace(note, standing=_quiet(note.standing, Phase.STOPPING))


def stopped(note: Note, look: Look | None) -> Note:
    """It was ended; `look` is the last that was seen of it."""
    if note.over:
        return note
    standing = _quiet(note.standing, Phase.STOPPED)
    if look is not None and look.ended_at:
        standing = replace(standing, exit_code=look.exit_code, signal=signal_of(look.exit_code))
    return replace(note, standing=standing)


def _printed(tail: tuple[str, ...]) -> tuple[str, ...]:
    """The last lines that a service printed, in which nothing stands as a command of ours does."""
    return tuple(map(not_ours, tail))


def _how(look: Look, name: str, tail: tuple[str, ...]) -> str:
    """How one ended that was not told to."""
    if look.out_of_memory:
        how = "the kernel killed it, or a part of it, because memory ran out"
    elif look.exit_code == KILLED:
        # Docker forgets it now and then, its event as well, and the kernel's log is not for an appliance's user to read.
        how = f"was ended by {name}, and not through its engine: perhaps its memory ran out"
    else:
        how = f"was ended by {name}" if name else f"ended with exit code {look.exit_code}"
    return f"{how} ({tail[-1][:_MAX_LINE]})" if tail else how


def _after(restarts: int) -> str:
    if not restarts:
        return ""
    return ", after 1 restart" if restarts == 1 else f", after {restarts} restarts in a row"


def _quiet(standing: Standing, phase: Phase) -> Standing:
    return replace(standing, phase=phase, reason=NO_REASON, message="", address="")
