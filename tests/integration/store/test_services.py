"""Services and their runs, as they are stored."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.integration.store.objects import NOW, service, workflow
from tinkbox.model.services import Phase, ServiceStatus, Standing
from tinkbox.model.workflow import State, Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.services import ServiceRun, Written

LATER = NOW + timedelta(seconds=5)
OURS, OTHERS = service("r0"), service("r1", 1, host="m9")


@pytest.fixture
async def served(store: Store) -> Store:
    """A store that holds workflow w1 with service s0 of the appliance and s1 of machine m9, and w2 with s0 of m9."""

    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", name="one", services=[OURS, OTHERS]))
        tables.workflows.insert(workflow("w2", "m2", services=[service("r2", host="m9")]))
        tables.workflows.insert(workflow("w3", "m3"))

    await store.write(use_case)
    return store


async def only(store: Store, token: str) -> ServiceRun:
    run = await store.read(lambda tables: tables.services.run(token))
    assert run is not None
    return run


async def of_workflow(store: Store, workflow_id: str) -> tuple[ServiceStatus, ...]:
    return (await store.read(lambda tables: tables.workflows.get(workflow_id))).services


def stands(run: str, phase: Phase = Phase.READY, **told: object) -> Standing:
    return Standing(run=run, phase=phase, **told)  # type: ignore[arg-type]


async def test_an_appliance_keeps_the_name_it_was_given_with_its_store(served: Store) -> None:
    name = await served.read(lambda tables: tables.services.appliance_id())
    assert name == await served.read(lambda tables: tables.services.appliance_id())
    assert len(name) == 16
    int(name, 16)


async def test_services_come_out_as_they_were_stored(served: Store) -> None:
    assert await of_workflow(served, "w1") == (OURS, OTHERS)
    assert await of_workflow(served, "w3") == ()
    expected = ServiceRun(token="r1", workflow_id="w1", workflow="one", state=State.PENDING, newest=True, status=OTHERS)
    assert await only(served, "r1") == expected
    assert await served.read(lambda tables: tables.services.run("r9")) is None


async def test_many_workflows_cost_one_question_more_at_most(store: Store) -> None:
    def insert(tables: Tables) -> None:
        for number in range(100):
            services = [service(f"r{number}")] if number % 2 else []
            tables.workflows.insert(workflow(f"w{number}", "m1", services=services))

    await store.write(insert)
    asked: list[str] = []

    def everything(tables: Tables) -> list[Workflow]:
        ids = tables.workflows.ids()
        tables.workflows._sql.set_trace_callback(asked.append)
        found = tables.workflows.some(ids)
        tables.workflows._sql.set_trace_callback(None)
        return found

    found = await store.read(everything)
    assert [len(each.services) for each in found] == [0, 1] * 50
    assert len(asked) == 3, asked


async def test_a_run_stands_where_it_was_said_to_since_its_phase_changed(served: Store) -> None:
    starting = stands("r0", Phase.STARTING)
    await served.write(lambda tables: tables.services.begin("r0", starting, NOW))
    status = (await only(served, "r0")).status
    assert status == replace(OURS, standing=starting, begun_at=NOW, changed_at=NOW)
    told = stands("r0", Phase.STARTING, restarts=3, exit_code=7, signal="SIGHUP", reason="R", message="m", tail=("\0",))
    await served.write(lambda tables: tables.services.stand(told, LATER))
    assert (await only(served, "r0")).status == replace(status, standing=told)
    ready = stands("r0", address="10.213.0.2", ports=(80,))
    await served.write(lambda tables: tables.services.stand(ready, LATER))
    await served.write(lambda tables: tables.services.set_ready("r0", LATER))
    expected = replace(status, standing=ready, ready_at=LATER, changed_at=LATER)
    assert await of_workflow(served, "w1") == (expected, OTHERS)


async def test_a_host_has_its_own_runs_that_have_not_ended_and_those_that_it_names(served: Store) -> None:
    async def found(host: str, *tokens: str) -> list[str]:
        return await served.read(lambda tables: [run.token for run in tables.services.open_or_named(host, tokens)])

    assert [await found("m9"), await found("")] == [["r1", "r2"], ["r0"]]
    for phase in Phase:
        await served.write(lambda tables, phase=phase: tables.services.stand(stands("r1", phase), NOW))
        over = phase.value in {"EXITED", "FAILED", "STOPPED"}
        assert await found("m9") == (["r2"] if over else ["r1", "r2"])
        assert await found("m9", "r1", "r0", "r9") == ["r1", "r2"], "and nothing of another host"


async def test_the_runs_of_a_host_that_belong_to_some_workflows_come_in_the_order_of_places(served: Store) -> None:
    async def found(*workflows: str, host: str = "m9") -> list[str]:
        return await served.read(lambda tables: [run.token for run in tables.services.newest_of(host, workflows)])

    assert await found("w2", "w1") == ["r1", "r2"]
    assert [await found("w2"), await found(), await found("w2", host="")] == [["r2"], [], []]
    await served.write(lambda tables: tables.workflows.make_ready("w1", 0))
    await served.write(lambda tables: tables.services.renew("w1", ["r3", "r4"]))
    assert await found("w2", "w1") == ["r2", "r4"]


async def test_a_retry_makes_new_runs_and_keeps_the_old_ones_for_their_output(served: Store) -> None:
    await served.write(lambda tables: tables.services.begin("r0", stands("r0"), NOW))
    await served.write(lambda tables: tables.services.renew("w1", ["r3", "r4"]))
    assert await of_workflow(served, "w1") == (
        replace(OURS, standing=stands("r3", Phase.PENDING)),
        replace(OTHERS, standing=stands("r4", Phase.PENDING)),
    )
    first, second = await served.read(lambda tables: tables.services.runs("w1", "s0"))
    assert await served.read(lambda tables: [run.token for run in tables.services.open_of("w1")]) == [
        "r0",
        "r1",
        "r3",
        "r4",
    ]
    assert await served.read(lambda tables: tables.services.runs("w1", "s9")) == []
    assert (first.token, first.newest, first.over, first.status.begun_at) == ("r0", False, True, NOW)
    assert (second.token, second.newest, second.over, second.status.begun_at) == ("r3", True, False, None)


@pytest.mark.parametrize("state", State)
async def test_a_run_is_over_with_its_workflow(served: Store, state: State) -> None:
    await served.write(lambda tables: tables.workflows.set_state("w1", state, NOW))
    assert (await only(served, "r0")).over == (state.value in {"SUCCESS", "FAILED", "TIMEOUT", "CANCELED"})


async def test_awaited_is_what_was_begun_and_never_ready_in_what_has_not_begun(served: Store) -> None:
    async def awaited(workflow_id: str = "") -> list[str]:
        return await served.read(lambda tables: [run.token for run in tables.services.awaited(workflow_id)])

    assert await awaited() == []
    for token in ("r0", "r1", "r2"):
        await served.write(lambda tables, token=token: tables.services.begin(token, stands(token), NOW))
    assert [await awaited(), await awaited("w2"), await awaited("w3")] == [["r0", "r1", "r2"], ["r2"], []]
    await served.write(lambda tables: tables.services.set_ready("r0", NOW))
    assert await awaited() == ["r1", "r2"]
    await served.write(lambda tables: tables.workflows.set_state("w2", State.RUNNING, NOW))
    assert await awaited() == ["r1"]
    await served.write(lambda tables: tables.services.renew("w1", ["r3", "r4"]))
    assert await awaited() == []


async def test_listed_are_all_that_are_not_over_and_some_of_those_that_are(served: Store) -> None:
    async def listed(finished: int, workflow_id: str = "") -> list[str]:
        return await served.read(lambda tables: [run.token for run in tables.services.listed(finished, workflow_id)])

    def use_case(tables: Tables) -> None:
        for number in (4, 5):
            tables.workflows.insert(workflow(f"w{number}", "m2", services=[service(f"r{number}")]))
            tables.workflows.set_state(f"w{number}", State.FAILED, NOW)
        tables.workflows.insert(workflow("w6", "m2"))
        tables.workflows.set_state("w6", State.FAILED, NOW)

    await served.write(use_case)
    assert await listed(0) == ["r0", "r1", "r2"]
    assert await listed(1) == ["r0", "r1", "r2", "r5"]
    assert await listed(2) == ["r0", "r1", "r2", "r4", "r5"]
    assert [await listed(0, "w4"), await listed(9, "w1"), await listed(9, "w3")] == [["r4"], ["r0", "r1"], []]


async def test_the_newest_workflow_with_a_service_of_some_name_is_found(served: Store) -> None:
    found = await served.read(
        lambda tables: [tables.services.newest_workflow_with(name) for name in ("s0", "s1", "s9")]
    )
    assert found == ["w2", "w1", None]


async def test_what_runs_wrote_is_known_of_the_newest_only(served: Store) -> None:
    written = Written(run="r1", files={"a/\0": "1"}, removed={"b": LATER})
    await served.write(lambda tables: tables.services.set_written(written))
    assert await served.read(lambda tables: tables.services.written("w1")) == [written]
    assert await served.read(lambda tables: tables.services.written("w2")) == []
    await served.write(lambda tables: tables.services.renew("w1", ["r3", "r4"]))
    assert await served.read(lambda tables: tables.services.written("w1")) == []


async def test_a_machine_that_hosts_services_is_needed_by_their_unfinished_workflows(served: Store) -> None:
    assert await served.read(lambda tables: tables.workflows.needing("m9")) == ["w1", "w2"]
    assert await served.read(lambda tables: tables.workflows.needing("m1")) == ["w1"]
    await served.write(lambda tables: tables.workflows.set_state("w1", State.CANCELED, NOW))
    assert await served.read(lambda tables: tables.workflows.needing("m9")) == ["w2"]


async def test_what_is_deleted_leaves_nothing(served: Store) -> None:
    await served.write(lambda tables: tables.services.renew("w1", ["r3", "r4"]))
    await served.write(lambda tables: tables.workflows.delete("w1"))
    assert (
        await served.read(lambda tables: [tables.services.run(token) for token in ("r0", "r1", "r3", "r4")])
        == [None] * 4
    )
    assert await served.read(lambda tables: tables.services.newest_workflow_with("s1")) is None


async def test_why_a_workflow_could_not_begin_is_known_until_it_is_taken_up_again(served: Store) -> None:
    await served.write(lambda tables: tables.workflows.set_reason("w1", "ServiceFailed", "why", "s0"))
    found = await served.read(lambda tables: tables.workflows.get("w1"))
    assert (found.reason, found.message, found.service) == ("ServiceFailed", "why", "s0")
    await served.write(lambda tables: tables.workflows.make_ready("w1", 0))
    found = await served.read(lambda tables: tables.workflows.get("w1"))
    assert (found.reason, found.message, found.service) == ("", "", "")
