"""What services write into their /workflow becomes the workflow's data, whatever else is written meanwhile."""

import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase as Stage
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.engine.appliance import Appliance, appliance
from tests.integration.engine.serving import SERVED, Host, hosts, packed, served, unpacked
from tinkbox.model.errors import Conflict, Invalid, NotFound, TooLarge
from tinkbox.model.workflow import State
from tinkbox.wire.ephemeral_data import decode
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES, MAX_DATA_BYTES
from tinkbox.wire.messages.worker import Offer


async def begun(box: Appliance, text: str = SERVED) -> tuple[str, str, Offer, Host, Host]:
    """A workflow whose first action runs: its id, its worker, the offer, and the hosts of its services."""
    workflow_id, worker = await served(box, text), await box.machine(1)
    ours, machine = await hosts(box)
    for host in (ours, machine):
        await host.obey()
    offer = await box.offer(worker)
    assert offer is not None
    return workflow_id, worker, offer, ours, machine


async def newest(box: Appliance, workflow_id: str) -> dict[str, str]:
    found = await box.workflows.data(workflow_id)
    return unpacked(found.archive or b"") if found else {}


async def test_what_a_service_writes_is_there_for_later_actions_and_says_whose_it_is(box: Appliance) -> None:
    workflow_id, worker, offer, ours, machine = await begun(box)
    assert await box.attempts.keep_data(worker, offer.attempt, packed({"disk": "sda"})) == 1
    assert await machine.write(password="secret") == 2
    assert await ours.write(**{"boot/log": "x"}) == 3
    everything = {"disk": "sda", "password": "secret", "boot/log": "x"}
    assert await newest(box, workflow_id) == everything
    assert unpacked(await box.data(worker, offer.attempt)) == everything
    versions = await box.workflows.data_versions(workflow_id)
    assert [each.worker for each in versions] == [worker, "service receiver", "service boot files"]


async def test_the_same_again_makes_no_new_version(box: Appliance) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    assert await ours.write() == 0
    assert await newest(box, workflow_id) == {}
    assert [await ours.write(a="1"), await ours.write(a="1"), await ours.write(a="2")] == [1, 1, 2]
    push = packed({"a": "older", "b": "1"})
    assert [await box.attempts.keep_data(worker, offer.attempt, push) for _ in range(2)] == [3, 3]
    assert await newest(box, workflow_id) == {"a": "2", "b": "1"}
    assert [await ours.write(a="2"), await ours.write()] == [3, 4]
    assert await newest(box, workflow_id) == {"b": "1"}


async def test_what_an_action_wrote_already_is_the_services_from_then_on(box: Appliance) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    await box.attempts.keep_data(worker, offer.attempt, packed({"a": "same"}))
    assert await ours.write(a="same") == 1
    assert await box.attempts.keep_data(worker, offer.attempt, packed({"b": "1"})) == 2
    assert await newest(box, workflow_id) == {"a": "same", "b": "1"}


async def test_a_push_whose_answer_was_lost_is_answered_the_same_after_the_end_of_its_attempt(box: Appliance) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    await ours.write(key="new")
    push = packed({"key": "old", "mine": "1"})
    assert await box.attempts.keep_data(worker, offer.attempt, push) == 2
    await box.report(worker, offer)
    assert await box.attempts.keep_data(worker, offer.attempt, push) == 2
    with pytest.raises(Conflict, match="is over"):
        await box.attempts.keep_data(worker, offer.attempt, packed({"mine": "2"}))
    assert await newest(box, workflow_id) == {"key": "new", "mine": "1"}


async def test_what_a_service_removed_does_not_come_back_by_an_older_copy(box: Appliance) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    await ours.write(**{"key.tmp": "ha"})
    copy = await box.data(worker, offer.attempt)
    box.clock.forward(1)
    await ours.write(key="whole")
    await box.attempts.keep_data(worker, offer.attempt, copy)
    assert await newest(box, workflow_id) == {"key": "whole"}
    await box.report(worker, offer)
    box.clock.forward(1)
    following = await box.offer(worker)
    assert following is not None
    await box.attempts.keep_data(worker, following.attempt, packed({"key.tmp": "of its own"}))
    assert await newest(box, workflow_id) == {"key": "whole", "key.tmp": "of its own"}


async def test_what_was_removed_before_the_present_attempt_began_is_forgotten(box: Appliance) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)

    async def removed() -> set[str]:
        return await box.store.read(
            lambda tables: {path for each in tables.services.written(workflow_id) for path in each.removed}
        )

    await ours.write(a="1", b="1")
    await ours.write(b="1")
    assert await removed() == {"a"}
    await box.report(worker, offer)
    box.clock.forward(1)
    assert await box.offer(worker) is not None
    await ours.write(c="1")
    assert await removed() == {"b"}


async def test_between_attempts_nobody_has_an_older_copy(box: Appliance) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    await ours.write(a="1")
    await box.report(worker, offer)
    await ours.write()
    (run,) = await box.runs(workflow_id, "boot files")
    (written,) = await box.store.read(lambda tables: tables.services.written(workflow_id))
    assert (written.run, written.files, written.removed) == (run.token, {}, {})


@pytest.mark.parametrize("archive", [b"no archive at all", packed({"a": "1"})[:700]])
async def test_what_is_no_archive_is_refused_and_changes_nothing(box: Appliance, archive: bytes) -> None:
    workflow_id, _, _, ours, _ = await begun(box)
    await ours.write(a="1")
    with pytest.raises(Invalid):
        await box.services.keep_data("", ours.told().run, archive)
    assert await newest(box, workflow_id) == {"a": "1"}


async def test_what_is_too_large_alone_or_with_everything_else_is_refused_and_changes_nothing(box: Appliance) -> None:
    workflow_id, worker, offer, ours, machine = await begun(box)
    await machine.write(small="1")
    with pytest.raises(TooLarge):
        await box.services.keep_data("", ours.told().run, b"\0" * (MAX_ARCHIVE_BYTES + 1))
    await box.attempts.keep_data(worker, offer.attempt, packed({"image": "x" * (MAX_DATA_BYTES - 100)}))
    with pytest.raises(TooLarge, match="largest: image"):
        await ours.write(log="x" * 200)
    assert set(await newest(box, workflow_id)) == {"small", "image"}
    assert await ours.write(log="x" * 50) == 3
    with pytest.raises(TooLarge, match="largest: image"):
        await box.attempts.keep_data(worker, offer.attempt, packed({"image": "x" * (MAX_DATA_BYTES - 10)}))
    assert set(await newest(box, workflow_id)) == {"small", "image", "log"}


async def test_last_words_are_taken_when_the_workflow_is_over_but_not_when_it_was_taken_up_again(
    box: Appliance,
) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    await ours.write(a="1")
    await box.report(worker, offer, State.FAILED)
    assert await ours.write(a="1", b="2") == 2
    await box.workflows.retry(workflow_id)
    with pytest.raises(Conflict, match="started anew by a retry"):
        await ours.write(a="1", b="3")
    assert await newest(box, workflow_id) == {"a": "1", "b": "2"}
    await ours.ask()
    assert await ours.write(b="4") == 3
    assert await newest(box, workflow_id) == {"a": "1", "b": "4"}, "what an earlier run left is the workflow's"
    await box.workflows.cancel(workflow_id)
    await box.workflows.delete(workflow_id)
    with pytest.raises(NotFound):
        await ours.write(b="5")


async def test_before_an_action_reads_everything_that_services_wrote_is_gathered(box: Appliance) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    gathered = []

    async def gather(wanted: str) -> bool:
        gathered.append(wanted)
        await ours.write(password="just posted")
        return True

    box.attempts._gather = gather
    assert unpacked(await box.data(worker, offer.attempt)) == {"password": "just posted"}
    assert gathered == [workflow_id]
    with pytest.raises(NotFound):
        await box.data(await box.machine(2), offer.attempt)
    assert gathered == [workflow_id]


def meanwhile(monkeypatch: pytest.MonkeyPatch, others: list[Callable[[], Awaitable[object]]]) -> None:
    """Have the next of `others` done after something was merged, and before it is stored."""
    merge_in_thread = asyncio.to_thread

    async def to_thread(*work: object) -> object:
        merged = await merge_in_thread(*work)  # type: ignore[arg-type]
        if others and work[0] is not decode:
            await others.pop(0)()
        return merged

    monkeypatch.setattr(asyncio, "to_thread", to_thread)


async def test_what_is_written_while_something_is_merged_is_merged_as_well(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, worker, offer, ours, machine = await begun(box)
    await ours.write(a="1")
    others: list[Callable[[], Awaitable[object]]] = [
        lambda: box.attempts.keep_data(worker, offer.attempt, packed({"a": "old", "quick": "1"})),
        # Makes no new version, but whose the file is counts as well.
        lambda: machine.write(quick="1"),
    ]
    meanwhile(monkeypatch, others)
    await ours.write(a="2")
    assert others == []
    assert await newest(box, workflow_id) == {"a": "2", "quick": "1"}
    others.append(lambda: machine.write(quick="2"))
    await box.attempts.keep_data(worker, offer.attempt, packed({"a": "old", "quick": "old", "mine": "1"}))
    assert await newest(box, workflow_id) == {"a": "2", "quick": "2", "mine": "1"}


async def test_an_action_that_begins_while_a_removal_is_merged_has_an_older_copy_as_well(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, worker, offer, ours, _ = await begun(box)
    await ours.write(**{"key.tmp": "half"})
    await box.report(worker, offer)
    copies: list[tuple[Offer, bytes]] = []

    async def begin() -> None:
        following = await box.offer(worker)
        assert following is not None
        copies.append((following, await box.data(worker, following.attempt)))

    meanwhile(monkeypatch, [begin])
    await ours.write()
    ((following, copy),) = copies
    assert unpacked(copy) == {"key.tmp": "half"}
    await box.attempts.keep_data(worker, following.attempt, copy)
    assert await newest(box, workflow_id) == {}


NAMES = st.sampled_from(["a", "b", "d/a", "d/b"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["write", "write", "write", "remove", "pull", "change", "push", "push", "again", "end", "retry"]
        ),
        NAMES,
        st.integers(0, 1),
    ),
    max_size=25,
)


@dataclass
class Lab:
    """An action and two services that write, and what each service has."""

    box: Appliance
    workflow_id: str
    worker: str
    services: tuple[Host, Host]
    offer: Offer | None = None
    folder: dict[str, str] = field(default_factory=dict)
    own: tuple[dict[str, str], dict[str, str]] = field(default_factory=lambda: ({}, {}))
    pushed: bytes = b""
    steps: int = 0

    async def step(self, what: str, name: str, which: int) -> None:
        self.steps += 1
        self.box.clock.forward(self.steps % 2)
        path = f"{'pq'[which]}/{name}"
        if what in {"write", "remove"}:
            if what == "write":
                self.own[which][path] = f"service {self.steps}"
            else:
                self.own[which].pop(path, None)
            await self.services[which].write(**self.own[which])
        elif what == "pull" and self.offer:
            self.folder = unpacked(await self.box.data(self.worker, self.offer.attempt))
        elif what == "change":
            self.folder[path if self.steps % 3 else f"mine/{name}"] = f"action {self.steps}"
        elif what == "push" and self.offer:
            self.pushed = packed(self.folder)
            await self.push()
        elif what == "again" and self.offer and self.pushed:
            await self.push()
        elif what == "end" and self.offer:
            await self.box.report(self.worker, self.offer, State.FAILED)
            await self.begin_again()
        elif what == "retry":
            await self.box.workflows.cancel(self.workflow_id)
            if self.offer:
                await self.box.report(self.worker, self.offer, State.CANCELED)
            await self.begin_again()

    async def push(self) -> None:
        assert self.offer is not None
        version = await self.box.attempts.keep_data(self.worker, self.offer.attempt, self.pushed)
        assert await self.box.attempts.keep_data(self.worker, self.offer.attempt, self.pushed) == version

    async def begin_again(self) -> None:
        """The workflow is taken up again: services and action begin with what there is."""
        if (await self.box.workflows.get(self.workflow_id)).state is not State.PENDING:
            await self.box.workflows.retry(self.workflow_id)
        for host, files in zip(self.services, self.own, strict=True):
            await host.obey()
            files.clear()
        self.offer, self.pushed = await self.box.offer(self.worker), b""
        self.folder = unpacked(await self.box.data(self.worker, self.offer.attempt)) if self.offer else {}

    async def check(self) -> None:
        there = await newest(self.box, self.workflow_id)
        for files in self.own:
            assert {path: there.get(path) for path in files} == files


async def run(path: Path, steps: list[tuple[str, str, int]]) -> None:
    async with appliance(path) as box:
        workflow_id, worker, offer, ours, machine = await begun(box)
        lab = Lab(box, workflow_id, worker, (ours, machine), offer)
        for what, name, which in steps:
            await lab.step(what, name, which)
            await lab.check()


@settings(max_examples=25, deadline=None, phases=(Stage.explicit, Stage.generate, Stage.shrink))
@given(STEPS)
def test_in_whatever_order_actions_and_services_write_no_services_newest_file_is_lost(
    steps: list[tuple[str, str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "db", steps))


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_at_once_no_services_newest_file_is_lost(box: Appliance, seed: int) -> None:
    workflow_id, worker, offer, ours, machine = await begun(box)
    dice = random.Random(seed)

    async def write(host: Host, prefix: str) -> dict[str, str]:
        files: dict[str, str] = {}
        for number in range(15):
            files[f"{prefix}{dice.randrange(4)}"] = str(number)
            if dice.random() < 0.3:
                files.pop(dice.choice(list(files)))
            await host.write(**files)
        return files

    async def push() -> None:
        for number in range(15):
            folder = unpacked(await box.data(worker, offer.attempt))
            await asyncio.sleep(0)
            await box.attempts.keep_data(worker, offer.attempt, packed({**folder, "mine": str(number)}))

    async with asyncio.TaskGroup() as parts:
        first, second = parts.create_task(write(ours, "p")), parts.create_task(write(machine, "q"))
        parts.create_task(push())
    assert await newest(box, workflow_id) == {**first.result(), **second.result(), "mine": "14"}


async def test_an_action_beside_services_is_not_told_that_there_is_no_data(box: Appliance) -> None:
    _, _, offer, _, _ = await begun(box)
    assert not offer.no_data
