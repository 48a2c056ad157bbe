"""`/v1/tokens`, and what becomes of a request that is under way when its token ends."""

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

import aiohttp
import pytest

from tests.integration.api.door import Door, image_archive
from tests.integration.api.test_shells import Held, frame
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.engine.held import hold, out
from tests.integration.registry.serving import until
from tinkbox.engine.shells import tickets
from tinkbox.engine.workflows.deadlines import REPORTING, STOP_GRACE
from tinkbox.model.access import BEYOND_SCOPES, Right
from tinkbox.model.errors import Forbidden
from tinkbox.wire.messages.shell import Channel

EVERY = [str(each) for each in Right]
WITHIN = 60.0  # seconds, for what takes less than one


async def make(door: Door, name: str = "anna", *rights: str, **more: str) -> str:
    every = [each for each in EVERY if "scope" not in more or each not in BEYOND_SCOPES]
    wish = {"name": name, "rights": list(rights or every), **more}
    return str((await door.done("POST", "/v1/tokens", wish))["token"])


@asynccontextmanager
async def asking(token: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
        yield session


async def test_a_token_is_made_shown_once_used_listed_and_revoked(door: Door) -> None:
    made = await door.done(
        "POST", "/v1/tokens", {"name": "anna", "rights": ["look", "attach"], "scope": "rack=r1", "expires": "30d"}
    )
    assert re.fullmatch(r"tbx_[0-9a-f]{48}", made["token"])
    async with asking(made["token"]) as anna, anna.get(f"{door.url}/v1/hardware") as answer:
        assert (answer.status, await answer.json()) == (200, [])
    (listed,) = await door.done("GET", "/v1/tokens")
    assert made["token"] not in json.dumps(listed)
    now = door.box.clock()
    assert listed == {
        "id": made["id"],
        "name": "anna",
        "rights": ["look", "attach"],
        "means": "token",
        "scope": "rack=r1",
        "created_at": now.isoformat(),
        "expires_at": (now + timedelta(days=30)).isoformat(),
        "expired": False,
        "used_at": now.isoformat(),
        "by": listed["by"],
    }
    assert listed["by"] not in ("", "operator")  # the user of this host
    told = await door.done("DELETE", "/v1/tokens/anna")
    assert told == {"name": "anna", "revoked": 1, "credentials": [], "not_rotated": ""}
    async with asking(made["token"]) as anna, anna.get(f"{door.url}/v1/hardware") as answer:
        assert answer.status == 401
        assert "was revoked" in (await answer.json(content_type=None))["detail"]


async def test_revoking_a_token_names_the_credentials_that_it_read_and_voids_them_where_that_is_asked(
    door: Door,
) -> None:
    for number in (1, 2, 3):
        await door.done("POST", "/v1/hardware", hardware(number))
    bert = await make(door, "bert", "look", "operate")
    async with asking(bert) as session:
        for method, number in (("GET", 1), ("POST", 2), ("GET", 3)):
            async with session.request(method, f"{door.url}/v1/hardware/machine-{number}/credential") as answer:
                assert answer.status == 200
                read = (await answer.json())["token"]
    await door.done("POST", "/v1/hardware/machine-1/credential")
    now = door.box.clock().isoformat()
    left = [
        {
            "id": hardware(each)["id"],
            "name": f"machine-{each}",
            "key": f"machine-{each}",
            "given_at": now,
            "rotated": False,
            "at_work": None,
        }
        for each in (2, 3)
    ]
    told = await door.done("DELETE", "/v1/tokens/bert")
    assert told == {"name": "bert", "revoked": 1, "credentials": left, "not_rotated": ""}
    again = await door.done("DELETE", "/v1/tokens/bert?rotate=yes")
    rotated = [each | {"rotated": True} for each in left]
    assert again == {"name": "bert", "revoked": 0, "credentials": rotated, "not_rotated": ""}
    with pytest.raises(Forbidden, match="it is void"):
        await door.box.exchange(read)
    assert (await door.ask("DELETE", "/v1/tokens/bert?rotate=yes"))[0] == 404


async def test_who_may_not_operate_revokes_the_token_and_is_told_that_no_credential_was_voided(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    bert = await make(door, "bert", "look", "operate")
    async with asking(bert) as session, session.get(f"{door.url}/v1/hardware/machine-1/credential") as answer:
        read = (await answer.json())["token"]
    url = f"{door.url}/v1/tokens/bert?rotate=yes"
    async with asking("admin-token") as admin:
        async with admin.delete(url) as answer:
            told = await answer.json()
        assert (answer.status, told["revoked"]) == (200, 1)
        assert (
            told["not_rotated"] == "who-may-admin lacks the right to operate, so no credential of a machine was voided"
        )
        assert [(each["key"], each["rotated"]) for each in told["credentials"]] == [("machine-1", False)]
        async with asking(bert) as session, session.get(f"{door.url}/v1/hardware") as answer:
            assert answer.status == 401
        async with admin.delete(url) as answer:
            again = await answer.json()
        assert (answer.status, again) == (200, told | {"revoked": 0})
        assert [each["why"] for each in await door.done("GET", "/v1/audit?what=revoke")][-1].endswith(
            told["not_rotated"]
        )
    assert await door.box.exchange(read)


async def test_revoking_tells_which_machines_are_at_work_and_when_their_action_ends_without_a_worker(
    door: Door,
) -> None:
    worker, other = await door.box.machine(1), await door.box.machine(2)
    bert = await make(door, "bert", "look", "operate")
    async with asking(bert) as session:
        for each in (worker, other):
            async with session.get(f"{door.url}/v1/hardware/{each}/credential") as answer:
                assert answer.status == 200
    await door.box.workflow(HELLO)
    offer = await door.box.offer(worker)
    assert offer is not None
    at_work = {
        "workflow_id": offer.workflow_id,
        "held": False,
        "ends_at": (door.box.clock() + timedelta(seconds=60 + STOP_GRACE + REPORTING)).isoformat(),
    }
    for each, work in ((worker, at_work), (other, None)):
        assert await door.done("GET", f"/v1/hardware/{each}/at-work") == {"at_work": work}
    before = await door.done("GET", "/v1/tokens/bert/machines")
    assert before == (await door.done("DELETE", "/v1/tokens/bert"))["credentials"]
    for query, rotated in (("", False), ("?rotate=yes", True)):
        told = (await door.done("DELETE", f"/v1/tokens/bert{query}"))["credentials"]
        assert [(each["id"], each["rotated"], each["at_work"]) for each in told] == [
            (worker, rotated, at_work),
            (other, rotated, None),
        ]
    assert await door.done("GET", "/v1/tokens/bert/machines") == []


async def test_the_operators_token_is_replaced_at_once(door: Door) -> None:
    async with asking("the-token-in-the-file") as operator:
        async with operator.get(f"{door.url}/v1/hardware") as answer:
            assert answer.status == 200
        told = await door.done("DELETE", "/v1/tokens/operator")
        assert told == {"name": "operator", "revoked": 1, "credentials": [], "not_rotated": ""}
        async with operator.get(f"{door.url}/v1/hardware") as answer:
            assert answer.status == 401
    async with asking("another-token-in-the-file") as operator, operator.get(f"{door.url}/v1/hardware") as answer:
        assert answer.status == 200


async def test_a_token_is_rotated_without_a_gap(door: Door) -> None:
    former = await make(door, "cron", "look", scope="rack=r1")
    made = await door.done("POST", "/v1/tokens/cron/rotate", {"expires": "2d", "overlap": "1m"})
    assert (made["name"], made["rights"], made["scope"]) == ("cron", ["look"], "rack=r1")
    assert made["token"] != former

    async def status(text: str) -> int:
        async with asking(text) as session, session.get(f"{door.url}/v1/hardware") as answer:
            return answer.status

    assert (await status(former), await status(made["token"])) == (200, 200)
    door.box.clock.forward(60)
    assert (await status(former), await status(made["token"])) == (401, 200)
    brief = await door.done("POST", "/v1/tokens/cron/rotate", {"expires": "10m", "overlap": "1h"})
    assert {each["expires_at"] for each in await door.done("GET", "/v1/tokens") if not each["expired"]} == {
        brief["expires_at"]
    }
    made = brief
    at_once = await door.done("POST", "/v1/tokens/cron/rotate", {"overlap": "0"})
    told = [each["why"] for each in await door.done("GET", "/v1/audit?what=rotate")]
    assert [each.partition("; the former text counts for ")[2] for each in told] == ["0s", "10m", "1m"]
    assert (await status(made["token"]), await status(at_once["token"])) == (401, 200)
    assert (await door.ask("POST", "/v1/tokens/nobody/rotate"))[0] == 404
    status_of_own, refused = await door.ask("POST", "/v1/tokens/operator/rotate")
    assert (status_of_own, "`tinkbox token revoke operator` puts another one" in refused["detail"]) == (404, True)
    assert (await door.ask("POST", "/v1/tokens/cron/rotate", {"overlap": "30d"}))[0] == 422


@pytest.mark.parametrize("right", ["push", "audit", "admin"])
async def test_a_right_that_a_scope_makes_useless_is_refused_with_the_reason(door: Door, right: str) -> None:
    status, problem = await door.ask(
        "POST", "/v1/tokens", {"name": "ci", "rights": ["look", right], "scope": "rack=r1"}
    )
    assert status == 422
    assert f"the right to {right} is about all machines" in problem["detail"]
    assert "leave out `-l rack=r1`" in problem["detail"]


async def test_a_token_lasts_ninety_days_where_nothing_else_is_said_and_for_ever_where_that_is(door: Door) -> None:
    await make(door, "anna")
    await make(door, "bert", expires="never")
    found = {each["name"]: each["expires_at"] for each in await door.done("GET", "/v1/tokens")}
    assert found == {"anna": (door.box.clock() + timedelta(days=90)).isoformat(), "bert": None}


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"name": "a b", "rights": ["look"]}, "'a b' is no name of a token"),
        ({"name": "operator", "rights": ["look"]}, "is no name of a token"),
        ({"name": "anna", "rights": []}, "a token needs a right: expected look, operate"),
        ({"name": "anna", "rights": ["lok"]}, "'lok' is no right: expected look, operate"),
        ({"name": "anna", "rights": ["look"], "expires": "soon"}, "'soon' is no duration"),
        ({"name": "anna", "rights": ["look"], "expires": "90"}, "'90' has no unit: write 90d for days"),
        ({"name": "anna", "rights": ["look"], "expires": "0s"}, "write never for a token without an end"),
        ({"name": "anna", "rights": ["look"], "expires": "99999d"}, "write never for a token without an end"),
        ({"name": "anna", "rights": ["look"], "scope": "=="}, "=="),
        ({"name": "anna", "rights": ["look"], "right": "x"}, "right"),
    ],
)
async def test_a_wrong_wish_is_refused_and_makes_none(door: Door, wish: dict[str, object], why: str) -> None:
    status, problem = await door.ask("POST", "/v1/tokens", wish)
    assert status == 422
    assert why in json.dumps(problem, ensure_ascii=False)
    assert await door.done("GET", "/v1/tokens") == []


async def test_an_administrator_gives_no_right_that_they_lack(door: Door) -> None:
    admins = await make(door, "admin", "admin", "look")
    async with asking(admins) as admin:
        for right in EVERY:
            wish = {"name": f"for-{right}", "rights": [right]}
            async with admin.post(f"{door.url}/v1/tokens", json=wish) as answer:
                assert answer.status == (201 if right in ("admin", "look") else 403), right
    assert {each["name"]: each["by"] for each in await door.done("GET", "/v1/tokens") if each["name"] != "admin"} == {
        "for-admin": "admin",
        "for-look": "admin",
    }


async def test_an_expired_token_is_refused_like_an_unknown_one(door: Door) -> None:
    made = await make(door, expires="1h")
    door.box.clock.forward(3600)
    async with asking(made) as anna, anna.get(f"{door.url}/v1/hardware") as answer:
        assert answer.status == 401
        assert "has expired" in (await answer.json(content_type=None))["detail"]
    assert [each["expired"] for each in await door.done("GET", "/v1/tokens")] == [True]


async def revoked(door: Door, name: str = "anna") -> None:
    await door.done("DELETE", f"/v1/tokens/{name}")


async def test_a_watch_ends_with_its_token_and_says_why(door: Door) -> None:
    annas, berts = await make(door, "anna"), await make(door, "bert")
    async with (
        asking(annas) as anna,
        asking(berts) as bert,
        anna.get(f"{door.url}/v1/events") as followed,
        bert.get(f"{door.url}/v1/events") as other,
    ):
        assert (await followed.content.readline()).startswith(b"id: ")
        async with asyncio.timeout(WITHIN):
            await revoked(door)
            told = await followed.content.read()
            assert b"event: denied" in told
            assert b"the token was revoked" in told
            await door.done("POST", "/v1/hardware", hardware(1))
            await door.box.workflow()  # of which the other hears
            while b"workflow.created" not in await other.content.readline():
                pass


async def test_a_watch_ends_when_its_token_expires(door: Door) -> None:
    made = await make(door, expires="1h")
    async with asking(made) as anna, anna.get(f"{door.url}/v1/events") as followed:
        await followed.content.readline()
        async with asyncio.timeout(WITHIN):
            door.box.clock.forward(3600)
            door.tokens.tell_expired()
            assert b"the token has expired" in await followed.content.read()


async def test_a_watch_whose_token_was_rotated_is_told_that_it_was_replaced(door: Door) -> None:
    made = await make(door)
    async with asking(made) as anna, anna.get(f"{door.url}/v1/events") as followed:
        await followed.content.readline()
        async with asyncio.timeout(WITHIN):
            door.box.clock.forward(1)
            await door.done("POST", "/v1/tokens/anna/rotate", {"overlap": "0"})
            assert b"the token was replaced by a newer one of its name" in await followed.content.read()


async def test_the_output_of_actions_is_followed_no_longer_than_the_token_counts(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    flow = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    made = await make(door)
    async with (
        asking(made) as anna,
        anna.get(f"{door.url}/v1/workflows/{flow['id']}/logs", params={"follow": "1"}) as followed,
    ):
        async with asyncio.timeout(WITHIN):
            await revoked(door)
            with pytest.raises(aiohttp.ClientPayloadError):  # nobody takes it for all of the output
                await followed.content.read()
    made = await make(door)
    headers = {"Accept": "text/event-stream"}
    async with (
        asking(made) as anna,
        anna.get(f"{door.url}/v1/workflows/{flow['id']}/logs", params={"follow": "1"}, headers=headers) as followed,
    ):
        async with asyncio.timeout(WITHIN):
            await revoked(door)
            assert b"event: denied" in await followed.content.read()


async def test_a_shell_is_closed_with_its_token_and_says_why(door: Door) -> None:
    worker = await door.box.machine(1)
    held = Held(door, worker, await hold(door.box, worker))
    made = await make(door)
    opened = await held.open(made)
    async with (
        held.attached(opened, made) as client,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
    ):
        await line.deliver(out(b"/ # "))
        await frame(client, Channel.STDOUT)
        async with asyncio.timeout(WITHIN):
            await revoked(door)
            while not client.closed:
                message = await client.receive()
        assert client.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION
        assert message.extra is None or "the token was revoked" in message.extra


async def test_a_shell_of_a_browser_which_has_a_ticket_alone_is_closed_as_well(door: Door) -> None:
    worker = await door.box.machine(1)
    held = Held(door, worker, await hold(door.box, worker))
    opened = await held.open(await make(door))
    async with held.attached(opened) as client:
        async with asyncio.timeout(WITHIN):
            await revoked(door)
            while not client.closed:
                await client.receive()
        assert client.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION


async def test_a_shell_that_a_person_left_is_over_as_soon_as_their_token_is_revoked(door: Door) -> None:
    assert await end_of_left_shell(door, revoked(door)) == ("TokenOver", "the token of anna was revoked")


async def test_a_shell_that_a_person_left_is_over_as_soon_as_its_machine_leaves_their_scope(door: Door) -> None:
    leaving = door.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r2"}})
    end = await end_of_left_shell(door, leaving, scope="rack=r1")
    assert end == ("LeftScope", "labels changed, and a machine left the scope of the token of anna")


async def end_of_left_shell(door: Door, ending: Awaitable[object], **more: str) -> tuple[str, str]:
    """Reason and message of a shell whose driver has left, when this becomes of their token."""
    worker = await door.box.machine(1)
    await relabelled(door, worker, rack="r1")
    held = Held(door, worker, await hold(door.box, worker))
    made = await make(door, **more)
    async with held.attached(await held.open(made), made):
        pass
    async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as group:
        watching = group.create_task(door.shells.run())
        await ending
        while (listed := (await door.done("GET", held.path))[0])["ended_at"] is None:
            pass
        watching.cancel()
    return listed["reason"], listed["message"]


async def test_a_ticket_opens_nothing_once_its_token_was_revoked(door: Door) -> None:
    worker = await door.box.machine(1)
    held = Held(door, worker, await hold(door.box, worker))
    opened = await held.open(await make(door))
    await revoked(door)
    await refused_each_time(held, opened, 401)


async def test_a_ticket_opens_nothing_once_the_machine_left_the_scope_of_its_token(door: Door) -> None:
    worker = await door.box.machine(1)
    await relabelled(door, worker, rack="r1")
    held = Held(door, worker, await hold(door.box, worker))
    opened = await held.open(await make(door, scope="rack=r1"))
    await relabelled(door, worker, rack="r2")
    await refused_each_time(held, opened, 404)
    await relabelled(door, worker, rack="r1")
    async with held.attached(opened) as client:
        async with asyncio.timeout(WITHIN):
            await revoked(door)
            while not client.closed:
                await client.receive()


async def test_a_ticket_that_is_forgotten_among_very_many_opens_nothing(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tickets, "MOST", 2)
    worker = await door.box.machine(1)
    held, made = Held(door, worker, await hold(door.box, worker)), await make(door)
    first, *others = [await held.open(made) for _ in range(3)]
    await refused_each_time(held, first, 401)
    for each in others:
        async with held.attached(each):
            pass


async def refused_each_time(held: Held, opened: Mapping[str, str], status: int) -> None:
    """A ticket that was refused is refused again, and never taken for one of a person without a token."""
    for _ in range(3):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with held.attached(opened):
                pass
        assert refused.value.status == status


async def test_an_archive_that_is_being_sent_is_refused_and_nothing_of_it_is_kept(door: Door) -> None:
    made, archive = await make(door), image_archive()
    revoking = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield archive[:1000]
        await revoking.wait()
        yield archive[1000:]

    async def revoke() -> None:
        await until(lambda: door.tokens.all()[0].used_at is not None)
        await revoked(door)  # though the rest of the archive never comes

    async with asking(made) as anna, asyncio.timeout(WITHIN), asyncio.TaskGroup() as group:
        group.create_task(revoke())
        try:
            async with anna.post(f"{door.url}/v1/images", data=slowly()) as answer:
                assert answer.status == 401
                assert "the token was revoked" in await answer.text()
        except aiohttp.ClientConnectionError:
            pass  # the connection was closed before it was read
        revoking.set()
    assert await door.done("GET", "/v1/images") == []


async def test_a_change_that_is_under_way_runs_to_its_end(door: Door) -> None:
    """What it committed must reach the memory of the appliance too."""
    made = await make(door)
    async with asking(made) as anna, asyncio.TaskGroup() as group:

        async def push() -> None:
            try:
                async with anna.post(f"{door.url}/v1/hardware", data=io.BytesIO(json.dumps(hardware(1)).encode())):
                    pass
            except aiohttp.ClientConnectionError:
                pass

        group.create_task(push())
        group.create_task(revoked(door))
    listed = {each["id"] for each in await door.done("GET", "/v1/hardware")}
    stored = await door.box.store.read(lambda tables: {each.hardware.id for each in tables.hardware.all()})
    assert listed == stored


async def relabelled(door: Door, machine: str, **labels: str) -> None:
    await door.done("PATCH", f"/v1/hardware/{machine}/labels", {"set": labels})


async def test_a_shell_and_a_stream_end_when_their_machine_leaves_the_scope_of_the_token(door: Door) -> None:
    worker = await door.box.machine(1)
    await relabelled(door, worker, rack="r1")
    held = Held(door, worker, await hold(door.box, worker))
    made = await make(door, scope="rack=r1")
    berts = await make(door, "bert", scope="rack in (r1, r2)")
    first, second, theirs = await held.open(made), await held.open(made), await held.open(berts)
    logs = f"{door.url}/v1/workflows/{held.offer.workflow_id}/logs"
    async with (
        asking(made) as anna,
        anna.get(logs, params={"follow": "1"}) as followed,
        held.attached(first) as client,
        held.attached(theirs) as other,
    ):
        async with asyncio.timeout(WITHIN):
            await relabelled(door, worker, rack="r2")
            with pytest.raises(aiohttp.ClientPayloadError):
                await followed.content.read()
            while not client.closed:
                await client.receive()
        assert client.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with held.attached(second):
                pass
        assert refused.value.status == 404
        async with anna.get(logs) as gone:
            assert gone.status == 404
        assert not other.closed  # of a token whose scope it is within still
        async with anna.get(f"{door.url}/v1/hardware") as answer:  # the token counts still
            assert answer.status == 200


async def test_a_stream_ends_as_well_when_the_document_of_its_machine_has_other_labels(door: Door) -> None:
    document = {**hardware(1), "labels": {"rack": "r1"}}
    await door.done("POST", "/v1/hardware", document)
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    flow = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    async with (
        asking(await make(door, scope="rack=r1")) as anna,
        anna.get(f"{door.url}/v1/workflows/{flow['id']}/logs", params={"follow": "1"}) as followed,
    ):
        assert followed.status == 200
        async with asyncio.timeout(WITHIN):
            await door.done("POST", "/v1/hardware", {**document, "labels": {"rack": "r2"}})
            with pytest.raises(aiohttp.ClientPayloadError):
                await followed.content.read()


async def test_who_takes_a_machine_out_of_their_scope_is_answered(door: Door) -> None:
    known = await door.done("POST", "/v1/hardware", hardware(1))
    await relabelled(door, known["id"], rack="r1")
    async with (
        asking(await make(door, scope="rack=r1")) as anna,
        anna.patch(f"{door.url}/v1/hardware/{known['id']}/labels", json={"remove": ["rack"]}) as answer,
    ):
        assert answer.status == 200, await answer.text()
