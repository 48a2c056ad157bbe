"""Secrets in files at the operator door: who may apply them, and that no answer, line of the audit or export has a value."""

import base64
from typing import Any

import aiohttp
import pytest

from tests.integration.api.door import TOKEN, Door
from tests.integration.engine.applying.documents import machine

VALUE = "correct-horse-battery"
SECRET = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: lab}}\nstringData: {{password: {VALUE}}}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {ntp: 10.0.0.1}\n"


async def asked(door: Door, token: str, **how: Any) -> tuple[int, str]:
    text = "---\n".join([machine(1), SECRET, CONFIG_MAP])
    document = {"files": [{"name": "a.yaml", "text": text}], **how}
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
        session.post(f"{door.url}/v1/apply", json=document) as response,
    ):
        return response.status, await response.text()


@pytest.mark.parametrize(
    ("token", "how"), [("operate-token", {}), ("operate-token", {"dry_run": True}), ("look-token", {"dry_run": True})]
)
async def test_a_secret_is_refused_of_who_lacks_the_right(door: Door, token: str, how: dict[str, Any]) -> None:
    status, told = await asked(door, token, **how)
    assert status == 422
    assert "right to secrets" in told
    assert VALUE not in told
    assert await door.done("GET", "/v1/secrets") == []
    assert await door.done("GET", "/v1/hardware") == []


async def test_nothing_that_is_told_has_the_value(door: Door) -> None:
    before = await asked(door, TOKEN, dry_run=True, diff=True)
    made = await asked(door, TOKEN)
    (listed,) = await door.done("GET", "/v1/secrets")
    assert (listed["name"], listed["size"]) == ("lab.password", len(VALUE))
    await door.done("PUT", "/v1/secrets/lab.password", {"text": "another-value"})
    changed = await asked(door, TOKEN, dry_run=True, diff=True)
    assert '"outcome": "configured"' in changed[1]
    exported = await door.done("GET", "/v1/export")
    assert [each["kind"] for each in exported["items"]] == ["hardware", "configmap"]
    await door.box.audit.flush(all_of_them=True)
    lines = await door.done("GET", "/v1/audit?every=1")
    assert "secret set" in str(lines)
    for shown in (before[1], made[1], changed[1], str(exported), str(lines)):
        assert VALUE not in shown
        assert base64.b64encode(VALUE.encode()).decode() not in shown


async def test_a_secret_has_neither_what_it_was_nor_what_it_is_to_be(door: Door) -> None:
    text = {"files": [{"name": "a.yaml", "text": SECRET}], "dry_run": True, "diff": True}
    (result,) = (await door.done("POST", "/v1/apply", text))["results"]
    assert (result["kind"], result["name"], result["key"], result["outcome"]) == (
        "secret",
        "lab.password",
        "lab.password",
        "created",
    )
    assert not {"old", "new"} & set(result)
