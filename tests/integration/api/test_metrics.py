"""`/metrics` of a real engine, held against what its store says."""

from collections import Counter

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.api.door import TOKEN, Door
from tinkbox.model.workflow import State
from tinkbox.wire import ephemeral_data as bundle

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def scraped(door: Door) -> Samples:
    """Every sample by name and labels, as Prometheus' own parser reads them."""
    async with door.local.get("http://tinkbox/metrics") as response:
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        families = list(text_string_to_metric_families(await response.text()))
    return {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}


def of(samples: Samples, name: str, label: str) -> dict[str, float]:
    """The samples of one name that are not 0, by one label; the others are summed up."""
    found: Counter[str] = Counter()
    for (sample, labels), value in samples.items():
        if sample == name:
            found[dict(labels)[label]] += value
    return {key: value for key, value in found.items() if value}


async def test_the_page_says_what_the_store_holds(door: Door) -> None:
    first, second = await door.box.machine(1), await door.box.machine(2)
    await door.box.workflow(device_1=1)
    await door.box.finish(first)
    await door.box.workflow(device_1=1)
    offer = await door.box.offer(first)
    assert offer is not None
    await door.box.attempts.output(first, offer.attempt, 0, b"hello\n")
    archive = bundle.encode([bundle.Entry(path="data", content=b"{}")])
    await door.box.attempts.keep_data(first, offer.attempt, archive)
    door.box.clock.forward(7)
    await door.box.report(first, offer, State.FAILED, reason="DiskNotFound")
    await door.box.workflow(device_1=2)
    await door.box.offer(second)
    await door.box.workflow(device_1=2)
    door.box.clock.forward(30)
    door.answers["POST", "/worker/next", 200] = 4

    samples = await scraped(door)
    workflows = await door.box.workflows.all()
    actions = [each for workflow in workflows for each in workflow.actions]
    assert of(samples, "tinkbox_workflows", "state") == Counter(each.state.value for each in workflows)
    assert of(samples, "tinkbox_workflows", "state") == {"SUCCESS": 1, "FAILED": 1, "RUNNING": 1, "PENDING": 1}
    assert of(samples, "tinkbox_actions", "state") == Counter(each.state.value for each in actions)
    assert of(samples, "tinkbox_actions", "reason")["DiskNotFound"] == 1
    attempts = await door.box.store.read(
        lambda tables: [one for each in workflows for one in tables.workflows.attempts(each.id)]
    )
    assert samples["tinkbox_attempts_started_total", frozenset()] == len(attempts) == 4
    ended = Counter(each.state.value for each in attempts if each.ended_at)
    assert of(samples, "tinkbox_attempts_ended_total", "state") == ended
    stored = of(samples, "tinkbox_stored_bytes", "kind")
    assert 6 < stored["output"] < 6 + 256
    assert len(archive) < stored["data"] < len(archive) + 512
    assert of(samples, "tinkbox_stored", "kind") == {"output": 1, "data": 1, "workflows": len(workflows)}
    assert of(samples, "tinkbox_action_seconds_sum", "state") == {"FAILED": 7}
    assert of(samples, "tinkbox_queue_workflows", "machine") == {second: 2}
    assert of(samples, "tinkbox_queue_age_seconds", "machine") == {second: 30}
    assert of(samples, "tinkbox_machines", "stage") == {"the worker is in touch": 2}
    assert samples["tinkbox_offers_total", frozenset()] == 4


async def test_over_tcp_the_page_needs_the_token(door: Door) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{door.url}/metrics") as response:
            assert response.status == 401
        async with session.get(f"{door.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}) as response:
            assert response.status == 200
