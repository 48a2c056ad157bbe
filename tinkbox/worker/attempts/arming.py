"""Who holds an action where: its helper wherever it can, and the worker itself where there is no process to hold."""

from dataclasses import replace

from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.model.workflow import Outcome, PlannedAction, State


class Arming:
    """Of one attempt; `armed` changes whenever the appliance says so."""

    def __init__(self, action: PlannedAction, armed: Armed, *, debug: bool) -> None:
        self._action = action
        self._debug = debug
        self._armed = armed

    @property
    def armed(self) -> Armed:
        """What is armed now: nothing on a machine that takes no breakpoints."""
        return self._armed if self._debug else Armed()

    @armed.setter
    def armed(self, armed: Armed) -> None:
        self._armed = armed

    @property
    def helped(self) -> bool:
        """Whether the action has a helper."""
        return self._debug and self._action.spec.helper

    @property
    def policy(self) -> Armed:
        """What the helper holds: an action of which the machine goes away only where it fails."""
        return replace(self.armed, before=False, after=False) if self._action.spec.reboot else self.armed

    @property
    def worker_holds_before(self) -> bool:
        """Whether the worker holds before there is a container."""
        return self.armed.before and (not self.helped or self._action.spec.reboot)

    def kind(self, outcome: Outcome) -> Kind | None:
        """Where the worker holds what ended and no helper holds: it has none, it is gone, or nothing ever began."""
        if outcome.state is State.SUCCESS:
            return Kind.AFTER if self.armed.after and not self.helped and not self._action.spec.reboot else None
        return Kind.FAILURE if self.armed.on_failure or self.policy.after else None
