"""What is to go wrong where, in order; and the story of what passed on the wires."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from tests.integration.faults.matrix import LEAVING, POLLED, TRANSITIONS, Transition
from tests.integration.faults.wire import Exchange, Moment

_EFFECT = re.compile(r"/worker/attempts/[^/]+/(report|output|data|leaving)$")
Strike = Callable[[Exchange], Awaitable[None]]


@dataclass(eq=False)
class Step:
    """At this transition of this action, this fault."""

    transition: Transition
    action: str
    fault: str
    strike: Strike
    struck: bool = False

    def __str__(self) -> str:
        return f"{self.fault} at '{self.transition.name}' of {self.action}{'' if self.struck else ' (did not happen)'}"


class Story:
    """Every exchange in order, with the action that it is about, as far as outsiders can tell."""

    def __init__(self, actions: Sequence[str]) -> None:
        self._actions = actions
        self._began = time.monotonic()
        self._containers: dict[str, str] = {}
        self.lines: list[str] = []
        self.attempts: dict[str, str] = {}  # token -> action, as offered
        self.effects: list[Exchange] = []  # what changes something at the appliance, as it came
        self.acknowledged: dict[str, dict[str, object]] = {}  # token -> the outcome that was reported
        self.idle = asyncio.Event()  # set while the worker has done all it had to do, and asks for more

    def note(self, exchange: Exchange, moment: Moment) -> None:
        """Understand what passes."""
        exchange.action = self._action(exchange, moment)
        exchange.offers = self._offers(exchange, moment)
        if moment is Moment.REQUEST and exchange.method != "GET" and _EFFECT.search(exchange.path):
            self.effects.append(exchange)
            self.idle.clear()
        elif exchange.path == "/worker/next" and moment is Moment.REQUEST:
            self.idle.set()
        elif exchange.path == "/worker/next" and exchange.status == 200:
            self.idle.clear()
        if moment is Moment.ANSWER and exchange.status == 200 and exchange.path.endswith("/report"):
            self.acknowledge(exchange)
        arrow = "->" if moment is Moment.REQUEST else f"<- {exchange.status}"
        size = f" {len(exchange.body)} bytes" if exchange.body and moment is Moment.REQUEST else ""
        # Docker's identifiers are long, and their beginnings tell them apart.
        target = re.sub(r"([0-9a-f]{12})[0-9a-f]{52}", r"\1", unquote(exchange.target))[:100]
        self.add(f"{exchange.wire.name:<6} {arrow:<6} {exchange.method} {target}{size}  {exchange.action}")

    def acknowledge(self, report: Exchange) -> None:
        """The appliance took note of a report."""
        self.acknowledged[report.path.split("/")[-2]] = json.loads(report.body)["outcome"]

    def add(self, line: str) -> None:
        self.lines.append(f"{time.monotonic() - self._began:8.3f} {line}")

    def _action(self, exchange: Exchange, moment: Moment) -> str:
        path = exchange.path
        if path == "/worker/next":
            return self._next() if moment is Moment.REQUEST else self._offered(exchange)
        if path.startswith("/worker/attempts/"):
            return self.attempts.get(path.split("/")[3], "")
        if path == "/containers/create":
            return self._created(exchange)
        if path.startswith("/containers/"):
            return self._containers.get(path.split("/")[2], "")
        return ""

    def _offers(self, exchange: Exchange, moment: Moment) -> str:
        """The action that is asked for or offered."""
        if exchange.path == "/worker/next":
            return exchange.action
        if not exchange.path.endswith("/report"):
            return ""
        if moment is Moment.ANSWER:
            return self._offered(exchange)
        report = json.loads(exchange.body)
        if "next" not in report or report["next"]["finishing"]:
            return ""
        return self._next(exchange.action if report["outcome"]["state"] == "SUCCESS" else "")

    def _next(self, succeeds: str = "") -> str:
        done = {self.attempts[token] for token, told in self.acknowledged.items() if told["state"] == "SUCCESS"}
        return next((name for name in self._actions if name not in {*done, succeeds}), "")

    def _offered(self, exchange: Exchange) -> str:
        if exchange.status != 200:
            return ""
        offer = json.loads(exchange.answer)
        if not offer:
            return ""
        return self.attempts.setdefault(offer["attempt"], offer["action"]["name"])

    def _created(self, exchange: Exchange) -> str:
        action = self.attempts.get(json.loads(exchange.body)["Labels"]["tinkbox.attempt"], "")
        if exchange.status == 201:
            self._containers[json.loads(exchange.answer)["Id"]] = action
        return action


class Script:
    """A plan, step after step; what both wires report to."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.steps: list[Step] = []
        self._striking = False

    def plan(self, transition: str, action: str, fault: str, strike: Strike) -> None:
        """Let `strike` happen when the action reaches the transition, after all that was planned before."""
        self.steps.append(Step({**TRANSITIONS, **POLLED, **LEAVING}[transition], action, fault, strike))

    def waits(self, action: str) -> bool:
        """Whether the action itself has to wait for the next step that is planned for it."""
        step = next((step for step in self.steps if step.action == action and not step.struck), None)
        return step is not None and step.transition.waits

    async def heard(self, exchange: Exchange, moment: Moment) -> None:
        """Note what passes, and hold it while the step whose time has come happens."""
        self.story.note(exchange, moment)
        step = next((step for step in self.steps if not step.struck), None)
        if self._striking or step is None or not step.transition.is_of(step.action, exchange):
            return
        if not step.transition.is_at(exchange, moment):
            return
        step.struck = self._striking = True
        self.story.add(f"** {step}")
        try:
            await step.strike(exchange)
        finally:
            self._striking = False
        self.story.add("** it goes on")
