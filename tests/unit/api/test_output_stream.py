"""Following output, against a workflow that ends at the worst moment."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tinkbox.api.output_stream import output_of_actions, stream_text
from tinkbox.engine.workflows.workflows import Output
from tinkbox.model.actions.action import Action
from tinkbox.model.workflow import ActionStatus, PlannedAction, State, Workflow
from tinkbox.store.output import Piece
from tinkbox.store.workflows import Attempt

NOW = datetime(2026, 11, 21, tzinfo=UTC)
ACTION = PlannedAction(index=0, task="os", worker="m1", address="m", spec=Action(name="write", image="i", timeout=60))
WORKFLOW = Workflow(
    id="w1", name="w", template_id="t", template_name="t", devices={}, text="", state=State.RUNNING,
    actions=(ActionStatus(action=ACTION),), created_at=NOW, updated_at=NOW,
)  # fmt: skip
ATTEMPT = Attempt(
    token="a1", workflow_id="w1", position=0, worker="m1", boot_id="b", state=State.RUNNING, started_at=NOW
)


@dataclass
class EndsBehindTheLook:
    """A workflow that prints its last words and ends right after somebody has looked at its output."""

    printed: bytes = b"first words, "
    state: State = State.RUNNING
    looks: list[int] = field(default_factory=list)

    async def get(self, key: str) -> Workflow:
        return replace(WORKFLOW, state=self.state)

    async def output(self, key: str, offsets: dict[str, int]) -> list[Output]:
        start = offsets.get("a1", 0)
        self.looks.append(start)
        pieces = [Piece(start=start, chunk=self.printed[start:])]
        if self.state is State.RUNNING:
            self.printed += b"last words"
            self.state = State.FAILED
        return [Output(attempt=ATTEMPT, action=ACTION, pieces=pieces)]

    async def changed(self, timeout: float) -> None: ...


async def test_the_last_words_of_a_workflow_that_ends_behind_a_look_are_told() -> None:
    source = EndsBehindTheLook()
    async with asyncio.timeout(60):
        stream = stream_text(output_of_actions(source, "w1"), source.changed, follow=True)
        text = b"".join([chunk async for chunk in stream])
    assert text == b"==> os / write <==\nfirst words, last words"
    assert source.looks == [0, len(b"first words, ")]
