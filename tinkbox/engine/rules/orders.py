"""What a worker is to do with its attempt, at any moment.  Pure."""

from tinkbox.engine.rules.arming import armed_of
from tinkbox.model.breakpoint import Armed
from tinkbox.model.conditions import why_stopped
from tinkbox.model.shells import ShellWish
from tinkbox.model.workflow import State
from tinkbox.store.workflows import UnderWay
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Order


def wanted_of(under_way: UnderWay, shells: tuple[ShellWish, ...] = ()) -> Orders:
    """The orders for the attempt that is under way."""
    hold = under_way.hold
    return Orders(
        armed=armed_now(under_way),
        stop=_stop(under_way),
        ruling=Ruling(sequence=hold.sequence, verdict=hold.verdict) if hold and hold.verdict else None,
        shells=shells,
        hold=hold.sequence if hold else None,
    )


def armed_now(under_way: UnderWay) -> Armed:
    """What may hold the attempt: nothing when it is to be stopped, or when its worker takes no breakpoints."""
    action, attempt = under_way.action, under_way.attempt
    if action is None or attempt is None or not attempt.debug or under_way.state is not State.RUNNING:
        return Armed()
    return armed_of(under_way.breakpoints, action, under_way.failures)


def given_up(state: State) -> Order:
    """The order for an attempt that is over, which its worker does not know yet."""
    into = State.TIMEOUT if state is State.TIMEOUT else State.CANCELED
    return Order(state=into, message=f"the appliance does not wait for this attempt any more ({state})")


def _stop(under_way: UnderWay) -> Order | None:
    if under_way.stop_into is None:
        return None
    return Order(state=under_way.stop_into, message=why_stopped(under_way.stop_into, under_way.global_timeout)[1])
