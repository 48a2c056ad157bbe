"""People type the text of a token where its name is asked for: it is in no line of the audit, and not in the log."""

import getpass
import io
import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import unquote

import aiohttp
import pytest

from tests.integration.api.door import Door
from tests.integration.api.test_access import NEEDED
from tests.integration.api.test_audit import lines, refused
from tests.integration.engine.appliance import hardware
from tinkbox.log_text import LogText

SECRET = "0123456789ab" * 4
TOKEN = f"tbx_{SECRET}"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(LogText())
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        TOKEN.upper(),
        TOKEN[:20],
        f"a-{TOKEN}-b",
        f"{'x' * 290}{TOKEN}",
        TOKEN.replace("_", "%5F").replace("0", "%30"),
    ],
)
async def test_no_route_has_the_text_of_a_token_recorded_or_logged(door: Door, log: io.StringIO, text: str) -> None:
    for method, path in NEEDED:
        url = path.replace("{key}", text).replace("{id}", text).replace("{kind}", text)
        if "{" in path and method != "GET":
            await door.ask(method, f"{url}?reference={text}&name={text}", {"name": text, "rights": [text]})
    logging.getLogger("tinkbox").warning("no %s here", text)
    await door.box.audit.flush(all_of_them=True)
    written = json.dumps(await lines(door)) + log.getvalue()
    assert "tbx_…" in json.dumps(await lines(door), ensure_ascii=False)
    assert SECRET[:12] not in unquote(written).lower()


async def test_attempt_that_was_refused_has_not_the_text_of_a_token(door: Door) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer look-token"}) as session:
        for path in (f"/v1/tokens/{TOKEN}", f"/v1/{TOKEN}"):
            async with session.delete(door.url + path) as response:
                assert response.status in (403, 404)
    assert SECRET not in json.dumps(await refused(door))
    assert len(await refused(door)) == 1


async def test_text_of_a_token_is_no_name_of_one_and_revoking_it_tells_the_name(door: Door) -> None:
    made = (await door.done("POST", "/v1/tokens", {"name": "bert", "rights": ["look"]}))["token"]
    status, problem = await door.ask("DELETE", f"/v1/tokens/{made}")
    assert (status, problem["detail"]) == (
        422,
        "this is the text of a token, and its name is asked for: type `tinkbox token revoke bert`",
    )
    status, problem = await door.ask("DELETE", f"/v1/tokens/{TOKEN}")
    assert (status, "`tinkbox token list` shows the names" in problem["detail"]) == (422, True)
    status, problem = await door.ask("POST", "/v1/tokens", {"name": TOKEN, "rights": ["look"]})
    assert (status, SECRET in problem["detail"]) == (422, False)
    await door.done("DELETE", "/v1/tokens/bert")


async def test_line_of_a_token_tells_its_rights_its_scope_and_its_end(door: Door) -> None:
    until = (door.box.clock() + timedelta(days=30)).isoformat(timespec="seconds")
    wish = {"name": "bert", "rights": ["operate", "look"], "scope": "rack=r1", "expires": "30d"}
    await door.done("POST", "/v1/tokens", wish)
    await door.done("POST", "/v1/tokens", {"name": "carl", "rights": ["look"], "expires": "never"})
    await door.done("DELETE", "/v1/tokens/bert")
    told = f"look, operate; scope rack=r1; until {until}"
    assert [each["why"] for each in await lines(door, "sort=number")] == [told, "look; no scope; without an end", told]


@pytest.mark.parametrize(
    "name",
    [
        "root",
        "Root",
        "tinkbox",
        "operator",
        "socket",
        "ticket",
        "others",
        "system",
        "appliance",
        "Worker",
        "null",
        "none",
        "nobody",
        "anonymous",
    ],
)
async def test_token_has_no_name_of_somebody_else_in_the_records(door: Door, name: str) -> None:
    status, problem = await door.ask("POST", "/v1/tokens", {"name": name, "rights": ["look"]})
    assert (status, "would be taken for another" in problem["detail"]) == (422, True)


async def test_log_tells_a_token_from_a_user_of_the_host(door: Door, log: io.StringIO) -> None:
    logging.getLogger().setLevel(logging.INFO)
    user = getpass.getuser().replace("root", "anna")
    made = await door.done("POST", "/v1/tokens", {"name": user, "rights": ["operate"]})
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {made['token']}"}) as session,
        session.post(f"{door.url}/v1/hardware", json=hardware(1)) as response,
    ):
        assert response.status == 200
    await door.done("POST", "/v1/hardware", hardware(1))
    assert f"hardware pushed by {user} (token): " in log.getvalue()
    assert f"hardware pushed by {getpass.getuser()}: " in log.getvalue()
