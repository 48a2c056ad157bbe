"""What is noted of a run of a service when its host says where it stands.  Pure: no clock, no store.

Rule 1: an end is final; what its host says of it later is old.
Rule 2: a run is STOPPING or STOPPED exactly when its workflow is over, and then nothing but ended.
"""

from dataclasses import replace

from tinkbox.model.reasons import NO_REASON
from tinkbox.model.services import ENDED, MAX_RESTARTS, SERVING, Phase, Restarted, Standing

ENDINGS = frozenset({Phase.STOPPING, Phase.STOPPED})
# Where a run can only come to by being ready: one that exits before its health check says so has FAILED.
READY = SERVING | {Phase.EXITED}


def noted(before: Standing, said: Standing | None, *, over: bool) -> Standing | None:
    """Where a run stands after its host said so, or said that it has nothing of it (None).

    None when there is nothing new.
    """
    if before.phase in ENDED:
        return said if said is not None and said.phase is before.phase and said != before else None
    if said is None:
        return replace(before, phase=Phase.STOPPED, address="") if over else None
    if over and said.phase not in ENDED:
        said = replace(said, phase=Phase.STOPPING)
    elif not over and said.phase in ENDINGS:
        return None
    elif said.phase is Phase.PENDING:
        # Its host was told of it, and has not come to it.
        said = replace(said, phase=Phase.STARTING)
    return said if said != before else None


def told_to_end(before: Standing) -> Standing:
    """Where a run that has not ended stands when its workflow is over: there is nothing of one that was never begun."""
    return replace(before, phase=Phase.STOPPED if before.phase is Phase.PENDING else Phase.STOPPING)


def passed(before: Standing, after: Standing, *, first_ready: bool) -> list[tuple[Phase, Standing]]:
    """The phases to be told of, in order, each with what is said of it: hosts say where they are, and not what they came through.

    Every restart is told, by its number, also where its host told of no other since (`Standing.restarted`).
    """
    first = max(before.restarts, after.restarts - MAX_RESTARTS) + 1
    told = [(Phase.RESTARTING, _restart(after, number)) for number in range(first, after.restarts + 1)]
    if first_ready and after.phase is not Phase.READY:
        told.append((Phase.READY, after))
    is_told = bool(told) and after.phase is Phase.RESTARTING
    if not is_told and (told or after.phase is not before.phase):
        told.append((after.phase, after))
    return told


def _restart(after: Standing, number: int) -> Standing:
    """Where it stood at the restart of this number."""
    if number == after.restarts and after.phase is Phase.RESTARTING:
        return after
    known = {each.number: each for each in after.restarted}
    found = known.get(number, Restarted(number=number))
    return replace(
        after,
        phase=Phase.RESTARTING,
        restarts=number,
        exit_code=found.exit_code,
        signal=found.signal,
        reason=NO_REASON,
        message=found.message,
        tail=(),
    )
