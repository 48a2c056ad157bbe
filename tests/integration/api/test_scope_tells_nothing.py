"""Whoever has a scope is answered about what is outside of it as about what does not exist: the same status, in the same words.

From the table of routes, by every key that an outside machine, workflow or shell has, and by keys of nothing.  Where work outside
has a machine within, every route is asked about what is within, and nothing of that work stands in an answer.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final

import pytest

from tests.integration.api.door import Door
from tests.integration.api.test_access import NEEDED, REHEARSED, SCOPED
from tests.integration.api.test_events_within import lines, until_quiet
from tests.integration.api.test_scopes import IN, OUT, Rack, made, rack
from tests.integration.engine.appliance import HELLO, address, hardware, mac
from tests.integration.engine.held import hold, say_held
from tests.integration.engine.serving import OWN
from tests.integration.engine.workflows.test_lost_histories import DONE, entry, told
from tinkbox.model.boot import REFUSALS, Stage
from tinkbox.model.sightings import OTHER_HOST
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import Offer
from tinkbox.wire.syslog import Message, Severity

__all__ = ["rack"]
# What machine 2 is called, and what nothing is, of the same form.
PAIRS = [
    ("machine-2", "machine-9"),
    (mac(OUT), mac(9)),
    (mac(OUT).upper().replace(":", "-"), mac(9).upper().replace(":", "-")),
    ("172.30.0.12", "172.30.0.19"),
    (str(hardware(OUT)["id"]), str(hardware(9)["id"])),
]
EVENTS: Final = "/v1/events"  # they have no end: `test_events_within`
WITH_AN_END: Final = [each for each in NEEDED if each[1] != EVENTS]
EXAMINED: Final = ("/v1/doctor?machine=KEY", "/v1/doctor?workflow=KEY", "/v1/doctor?key=KEY")


async def same(rack: Rack, method: str, path: str, outside: str, nothing: str, wish: str = "null") -> tuple[int, Any]:
    """The answer about both, of which each key is taken out."""
    told = []
    for key in (outside, nothing):
        document = json.loads(wish.replace("KEY", key))
        status, answer = await rack.ask(method, path.replace("KEY", key), document)
        told.append((status, json.dumps(answer).replace(key, "KEY")))
    assert told[0] == told[1], (method, path, wish)
    return told[0]


@pytest.mark.parametrize(("outside", "nothing"), PAIRS, ids=lambda each: str(each))
async def test_no_route_tells_an_outside_machine_from_none(rack: Rack, outside: str, nothing: str) -> None:
    await made(rack.door, IN)
    for method, path in WITH_AN_END:
        url = path.replace("{key}", "KEY").replace("{id}", "1").replace("{kind}", "hardware")
        await same(rack, method, url, outside, nothing, "null" if method == "GET" else "{}")
    for path in (
        "/v1/workflows?machine=KEY",
        "/v1/breakpoints?machine=KEY",
        "/v1/hardware?label=rack%3DKEY",
        *EXAMINED,
    ):
        await same(rack, "GET", path, outside, nothing)
    for name, text in {
        "hello": HELLO,
        "named": HELLO.replace("{{.device_1}}", "KEY"),
        "serving": OWN.replace("worker: provisioner", "worker: KEY"),
    }.items():
        for key, kind in ((outside, "outside"), (nothing, "nothing")):
            wish = {"name": f"{name}-{kind}", "data": text.replace("KEY", key)}
            status, _ = await rack.door.ask("POST", "/v1/templates", wish)
            assert status in (201, 200, 422), name
    wishes: list[dict[str, Any]] = [
        {"template": "hello", "hardware": {"device_1": "KEY"}},
        {"template": "hello", "machine": "KEY"},
        {"template": "hello", "machine": "machine-1", "hardware": {"device_2": "KEY"}},
        {"template": "hello", "machine": "machine-1", "hardware": {"device_1": "KEY"}},
    ]
    for wish in wishes:
        for more in ({}, {"strict": True}, {"require_images": True}, {"breakpoints": {"before": ["KEY"]}}):
            status, _ = await same(rack, "POST", "/v1/workflows", outside, nothing, json.dumps({**wish, **more}))
            if status < 300:
                await rack.door.done("POST", "/v1/hardware/machine-1/retire", {"force": True})
                await rack.door.done("POST", "/v1/hardware/machine-1/return", {})
    for method, path in REHEARSED:
        wish = (
            json.dumps({**REHEARSED[method, path], "dry_run": True}).replace(mac(1), "KEY").replace("machine-1", "KEY")
        )
        await same(rack, method, path, outside, nothing, wish)
    for wish in ("named", "serving"):
        told = []
        for kind, key in (("outside", outside), ("nothing", nothing)):
            for given in ({"hardware": {"device_1": mac(IN)}}, {"machine": "machine-1"}):
                status, answer = await rack.ask("POST", "/v1/workflows", {"template": f"{wish}-{kind}", **given})
                told.append((status, json.dumps(answer).replace(key, "KEY").replace(f"{wish}-{kind}", "TEMPLATE")))
        assert told[:2] == told[2:], wish


async def test_no_route_tells_an_outside_workflow_or_shell_from_none(rack: Rack) -> None:
    await rack.door.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r2"}})
    offer = await hold(rack.door.box, str(hardware(IN)["id"]))
    opened = await rack.door.done("POST", f"/v1/workflows/{offer.workflow_id}/shells", {"tty": True})
    other = await made(rack.door, OUT)
    ids = (offer.workflow_id, other, opened["id"])
    nothing = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f"
    for outside, none in [
        *((each, nothing) for each in ids),
        *((each[:8], nothing[:8]) for each in ids),
        ("hello_world_workflow", "bye_world_workflow__"),
    ]:
        for method, path in NEEDED:
            url = path.replace("{key}", "KEY").replace("{id}", "KEY").replace("{kind}", "workflow")
            # Each template may be seen.
            if "KEY" in url and "/templates/" not in url:
                await same(rack, method, url, outside, none, "null" if method == "GET" else "{}")
        for url in EXAMINED:
            assert (await same(rack, "GET", url, outside, none))[0] == 404


async def test_a_template_that_is_gone_is_known_by_workflows_within_alone(rack: Rack) -> None:
    template = next(each["id"] for each in await rack.done("GET", "/v1/templates"))
    await made(rack.door, OUT)
    await rack.door.done("DELETE", "/v1/templates/hello")
    nothing = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f"
    for key, none in (("hello", "other"), (template, nothing), (template[:8], nothing[:8])):
        assert (await same(rack, "GET", "/v1/workflows?template=KEY", key, none))[0] == 404
    await rack.door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    mine = await made(rack.door, IN)
    await rack.door.done("DELETE", "/v1/templates/hello")
    assert [each["id"] for each in await rack.done("GET", "/v1/workflows?template=hello")] == [mine]


# What belongs to the work outside has this word in it, or is named by `outside_words`.
FOREIGN: Final = """\
version: "0.1"
name: foreign-flow
tasks:
  - {name: foreign-a, worker: "{{.a}}", actions: [{name: foreign-first, image: "foreign/image:v1"}]}
  - {name: foreign-b, worker: "{{.b}}", actions: [{name: foreign-second, image: "foreign/image:v2"}]}
"""
FOREIGN_OF_ONE: Final = HELLO.replace("hello", "foreign")
SPELL: Final = HELLO.replace("hello_world_workflow", "spell")
ME, OTHER = str(hardware(IN)["id"]), str(hardware(OUT)["id"])
# What changes the scene less comes first.
IN_ORDER: Final = {"GET": 0, "PATCH": 1, "PUT": 1, "POST": 2, "DELETE": 3}
WISHES: Final[dict[tuple[str, str], Sequence[dict[str, Any]]]] = {
    ("POST", "/v1/workflows"): (
        {"template": "spell", "machine": "machine-1"},
        {"template": "spell", "hardware": {"device_1": mac(IN)}},
        {"template": "nothing", "machine": "machine-1"},
    ),
    ("PATCH", "/v1/hardware/{key}/labels"): ({"set": {"gpu": "no"}},),
    ("PATCH", "/v1/workflows/{key}/labels"): ({"set": {"gpu": "no"}},),
    ("POST", "/v1/hardware/{key}/notes"): ({"text": "seen"},),
    ("PUT", "/v1/hardware/{key}/tpm"): ({"sha256": "ab" * 32},),
    ("POST", "/v1/workflows/{key}/breakpoints/arm"): ({"on_failure": True},),
    ("POST", "/v1/workflows/{key}/breakpoints/verdict"): ({"verb": "retry"},),
    ("POST", "/v1/workflows/{key}/breakpoints/extend"): ({"seconds": 60},),
    ("POST", "/v1/workflows/{key}/cancel"): ({}, {"force": True}),
}
QUERIES: Final = {
    "/v1/hardware": ("", "?label=rack", "?state=failed", "?state=working", "?sort=since&limit=1"),
    "/v1/hardware/{key}": ("", "?to_change=delete", "?to_change=retire"),
    "/v1/hardware/{key}/timeline": ("", "?lines=100"),
    "/v1/workflows": (
        "", "?machine=machine-1", "?label=foreign-label", "?template=foreign-template", "?sort=machine&limit=1", "?state=FAILED",
    ),
    "/v1/workflows/{key}/state": ("", "?to_change=unfinished", "?to_change=held", "?to_change=delete"),
    "/v1/breakpoints": ("", "?machine=machine-1"),
    "/v1/status": ("", "?after="),
    "/v1/doctor": ("", "?machine=machine-1", "?key=machine-1", "?key=spell", "?workflow=machine-1"),
}  # fmt: skip


async def offered(door: Door, worker: str) -> Offer:
    offer = await door.box.offer(worker)
    assert offer is not None
    return offer


async def outside(door: Door) -> str:
    """Work of both machines, with recognisable words in every place."""
    await door.done("POST", "/v1/templates", {"name": "foreign-template", "data": FOREIGN})
    wish = {
        "template": "foreign-template",
        "hardware": {"a": mac(IN), "b": mac(OUT)},
        "labels": {"foreign-label": "foreign-value"},
    }
    return str((await door.done("POST", "/v1/workflows", wish))["id"])


async def spell(door: Door, state: State | None = None) -> str:
    """A workflow within the scope, of which the first action ends in this state at once."""
    if not [each for each in await door.done("GET", "/v1/templates") if each["name"] == "spell"]:
        await door.done("POST", "/v1/templates", {"name": "spell", "data": SPELL})
    wish = {"template": "spell", "hardware": {"device_1": mac(IN)}}
    mine = str((await door.done("POST", "/v1/workflows", wish))["id"])
    if state is not None:
        await door.box.report(ME, await offered(door, ME), state, reason="Mine", message="of my own")
    return mine


def says(door: Door, text: str) -> None:
    door.box.syslog.said(mac(IN), Message(facility=1, severity=Severity.INFORMATIONAL, program="tinkbox", text=text))


async def it_failed_outside(door: Door) -> Sequence[str]:
    await spell(door, State.FAILED)
    other = await outside(door)
    offer = await offered(door, ME)
    says(door, f"workflow {other}: foreign-a, foreign-first")
    door.box.clock.forward(5)
    await door.box.report(ME, offer, message="foreign message of the first")
    says(door, "foreign-first: SUCCESS")
    await door.box.report(OTHER, await offered(door, OTHER), State.FAILED, reason="Foreign", message="a foreign secret")
    return [other]


async def it_failed_on_my_machine(door: Door) -> Sequence[str]:
    await spell(door, State.FAILED)
    other = await outside(door)
    await door.box.report(ME, await offered(door, ME), State.FAILED, reason="Foreign", message="a foreign secret")
    await spell(door)
    return [other]


async def it_waits_before_mine(door: Door) -> Sequence[str]:
    await spell(door, State.FAILED)
    other = await outside(door)
    await spell(door)
    return [other]


async def it_runs_before_mine(door: Door) -> Sequence[str]:
    await spell(door, State.FAILED)
    other = await outside(door)
    await door.box.report(ME, await offered(door, ME))
    await offered(door, OTHER)
    await spell(door)
    return [other]


async def it_is_held(door: Door) -> Sequence[str]:
    other = await outside(door)
    await door.done(
        "POST", f"/v1/workflows/{other}/breakpoints/arm", {"before": ["foreign-second"], "on_failure": True}
    )
    await spell(door)
    offer = await offered(door, ME)
    await say_held(door.box, ME, offer)
    return [other]


async def it_is_a_rollout(door: Door) -> Sequence[str]:
    await spell(door, State.FAILED)
    await door.done("POST", "/v1/templates", {"name": "foreign-template", "data": FOREIGN_OF_ONE})
    wish = {"template": "foreign-template", "machines": ["machine-2", "machine-1"], "max_parallel": 1}
    return [str((await door.done("POST", "/v1/rollouts", wish))["id"])]


async def its_history_is_lost(door: Door) -> Sequence[str]:
    other = await outside(door)
    await spell(door)
    lost = entry(1, other, 0, "foreign-lost", DONE)
    await told(door.box, ME, lost)
    return [other]


async def its_template_is_gone(door: Door) -> Sequence[str]:
    await spell(door)
    await door.done("POST", "/v1/templates", {"name": "foreign-gone", "data": FOREIGN})
    wish = {"template": "foreign-gone", "hardware": {"a": mac(IN), "b": mac(OUT)}}
    other = str((await door.done("POST", "/v1/workflows", wish))["id"])
    await door.done("DELETE", "/v1/templates/foreign-gone")
    return [other]


async def my_machine_is_seen_beside_another(door: Door) -> Sequence[str]:
    """What the timeline of a machine within tells of other hosts and of what its work supplies."""
    await spell(door)
    saw = door.box.machines.timeline.saw
    for stage in Stage:
        facts = {OTHER_HOST: str(mac(OUT)), "neighbour": str(mac(OUT)), "address": address(OUT)}
        saw(mac(IN), stage, f"by another host, {mac(OUT)}", **facts)
    for stage in (Stage.SUPPLIED, Stage.SERVICES, *REFUSALS, Stage.ADDRESS_KEPT, Stage.SCRIPT_REFUSED):
        saw(mac(IN), stage, "http://foreign-service.tinkbox.internal", url="http://foreign-service.tinkbox.internal")
    for stage in (Stage.CLOUD_INIT, Stage.PHONED_HOME):
        saw(mac(IN), stage, "a foreign module failed", workflow="foreign-id")
    return []


async def another_has_the_name_of_mine(door: Door) -> Sequence[str]:
    await spell(door)
    document = hardware(OUT)
    document["network"]["interfaces"][0]["dhcp"]["hostname"] = "machine-1"  # type: ignore[index]
    await door.done("POST", "/v1/hardware", document)
    return []


SCENES: Final[Sequence[Callable[[Door], Awaitable[Sequence[str]]]]] = (
    it_failed_outside,
    it_failed_on_my_machine,
    it_waits_before_mine,
    it_runs_before_mine,
    it_is_held,
    it_is_a_rollout,
    its_history_is_lost,
    its_template_is_gone,
    my_machine_is_seen_beside_another,
    another_has_the_name_of_mine,
)


def asked(mine: Sequence[str]) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Every route that answers those who have a scope, about the machine and the workflows within, with all that it takes."""
    for method, path in sorted(SCOPED - {("GET", EVENTS)}, key=lambda each: (IN_ORDER[each[0]], each[1])):
        keys = ["machine-1"] if "/hardware/" in path else [*mine, "spell", "machine-1"] if "{key}" in path else [""]
        if path.startswith("/v1/template"):
            keys = ["spell"]
        for key in keys:
            for query in QUERIES.get(path, ("",)) or ("",):
                url = path.replace("{key}", key).replace("{id}", "1")
                for wish in WISHES.get((method, path), ({},)) if method != "GET" else (None,):
                    yield method, url + query if method == "GET" else url, wish


@pytest.mark.parametrize("scene", SCENES, ids=lambda each: each.__name__)
async def test_no_route_tells_of_work_outside_that_has_a_machine_within(
    rack: Rack, scene: Callable[[Door], Awaitable[Sequence[str]]]
) -> None:
    ids = await scene(rack.door)
    names = ["foreign", "machine-2", mac(OUT), address(OUT), OTHER, *ids, *(each[:8] for each in ids)]
    mine = [each["id"] for each in await rack.done("GET", "/v1/workflows")]
    assert mine
    assert not {*mine} & {*ids}
    leaks = list[object]()
    for method, url, wish in asked(mine):
        async with rack.session.request(method, rack.door.url + url, json=wish) as response:
            told = f"{response.status} {dict(response.headers)} {await response.text()}"
        if url == "/v1/templates":  # all of them may be read
            continue
        told = told.lower().replace("foreign-template" if "foreign-template" in url else "\0", "what was asked for")
        found = [each for each in names if each.lower() in told]
        assert response.status < 500, told
        leaks += [(method, url, wish, found, told)] if found else []
    told = "\n".join(await until_quiet(lines(rack, query="?after=0"))).lower()
    leaks += [(EVENTS, each, told) for each in names if each.lower() in told]
    assert not leaks
