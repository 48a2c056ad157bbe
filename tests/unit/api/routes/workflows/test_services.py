"""Following a service's output, against one that restarts, is retried, or goes away at the worst moment."""

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tinkbox.api.output_stream import stream_output, stream_text
from tinkbox.api.routes.workflows.services import output_of_service
from tinkbox.engine.services.services import Listed, Printed
from tinkbox.model.errors import NotFound
from tinkbox.model.services import Phase, PlannedService, Service, ServiceStatus, Standing
from tinkbox.store.output import Piece

PLANNED = PlannedService(index=0, host="", spec=Service(name="boot files", worker="provisioner", image="boot-files:v1"))


@dataclass
class Script:
    """A service that prints and comes to a phase each time after somebody looked: (run, what it prints, phase).

    With nothing left to do its workflow is deleted.
    """

    steps: list[tuple[str, bytes, Phase]]
    printed: dict[str, bytes] = field(default_factory=dict)
    phases: dict[str, Phase] = field(default_factory=dict)

    async def all(self, key: str = "") -> list[Listed]:
        return []

    async def logs(self, key: str, offsets: Mapping[str, int]) -> list[Printed]:
        assert key == "w1/boot files"
        if not self.steps:
            raise NotFound("its workflow was deleted")
        run, said, phase = self.steps.pop(0)
        self.printed[run] = self.printed.get(run, b"") + said
        self.phases[run] = phase
        return [self._run(token, offsets.get(token, 0)) for token in self.printed]

    def _run(self, token: str, offset: int) -> Printed:
        standing = Standing(run=token, phase=self.phases[token])
        pieces = [Piece(start=offset, chunk=self.printed[token][offset:])]
        return Printed(
            workflow_id="w1", run=token, status=ServiceStatus(service=PLANNED, standing=standing), pieces=pieces
        )

    async def changed(self, timeout: float) -> None: ...


async def text(script: Script, *, follow: bool = True) -> bytes:
    stream = stream_text(output_of_service(script, "w1/boot files"), script.changed, follow=follow)
    async with asyncio.timeout(60):
        return b"".join([chunk async for chunk in stream])


async def test_output_is_followed_over_restarts_until_it_is_not_started_again() -> None:
    script = Script(
        [
            ("r1", b"", Phase.PENDING),
            ("r1", b"one, ", Phase.STARTING),
            ("r1", b"two, ", Phase.RESTARTING),
            ("r1", b"three, ", Phase.UNHEALTHY),
            ("r1", b"four", Phase.STOPPING),
            ("r1", b", last words", Phase.STOPPED),
            ("r1", b"never asked for", Phase.STOPPED),
        ]
    )
    assert await text(script) == b"==> boot files <==\none, two, three, four, last words"


async def test_an_exit_and_a_failure_end_it_too() -> None:
    for phase in (Phase.EXITED, Phase.FAILED):
        assert await text(Script([("r1", b"bye", phase), ("r1", b"more", phase)])) == b"==> boot files <==\nbye"


async def test_a_retry_has_a_run_of_its_own_and_the_end_of_the_former_one_ends_nothing() -> None:
    former = Script([("r2", b"two", Phase.STOPPED)], {"r1": b"one, "}, {"r1": Phase.FAILED})
    assert await text(former) == b"==> boot files <==\none, ==> boot files, run 2 <==\ntwo"
    still = Script([("r2", b"two", Phase.READY), ("r2", b"!", Phase.STOPPED)], {"r1": b"one, "}, {"r1": Phase.STOPPED})
    assert (await text(still)).endswith(b"two!")


async def test_without_following_it_is_what_there_is_now() -> None:
    script = Script([("r1", b"one", Phase.READY), ("r1", b"two", Phase.READY)])
    assert await text(script, follow=False) == b"==> boot files <==\none"


async def test_a_workflow_that_is_deleted_meanwhile_ends_its_services_output() -> None:
    assert await text(Script([("r1", b"one", Phase.READY)])) == b"==> boot files <==\none"


async def test_as_events_each_piece_says_whose_it_is_and_where_to_go_on() -> None:
    steps = [("r1", b"one", Phase.FAILED), ("r2", b"two", Phase.READY), ("r2", b"", Phase.STOPPED)]
    script = Script(steps[1:], {"r1": b"one"}, {"r1": Phase.FAILED})
    stream = stream_output(output_of_service(script, "w1/boot files"), script.changed, "1", follow=True)
    begun, first, second, silence, end = [chunk.decode() async for chunk in stream]
    assert (begun, silence, end) == ("id: 1\n\n", ": still here\n\n", "event: end\ndata: {}\n\n")
    assert (first.splitlines()[0], second.splitlines()[0]) == ("id: 3.0", "id: 3.3")
    assert told(first) == ({"run": "r1", "number": 1, "start": 1, "missing": 0}, b"ne")
    assert told(second) == ({"run": "r2", "number": 2, "start": 0, "missing": 0}, b"two")


def told(sent: str) -> tuple[dict[str, Any], bytes]:
    """The document of a sent event but for what all have, and the output in it."""
    document = json.loads(sent.splitlines()[2].removeprefix("data: "))
    assert (document.pop("workflow_id"), document.pop("service")) == ("w1", "boot files")
    return document, base64.b64decode(document.pop("output"))
