"""What the field calls secret in documents of machines is masked for who lacks the right to `secrets`."""

import base64
import json
from typing import Any

import aiohttp
import pytest

from tests.integration.api.door import TOKEN, Door
from tests.integration.api.test_access import declared_flow
from tests.integration.engine.appliance import HELLO, hardware, mac
from tinkbox.model.access import Right
from tinkbox.model.documents.secret_fields import MASKED

USER_DATA = "#cloud-config\npassword: top-secret-of-node1\n"
CRYPTED = "$6$saltsalt$top-secret-hash"
KEY = "-----BEGIN OPENSSH PRIVATE KEY----- top-secret-key"
FORMS = (
    "top-secret",
    base64.b64encode(USER_DATA.encode()).decode(),
    USER_DATA.encode().hex(),
    base64.b64encode(CRYPTED.encode()).decode(),
)
SHOWING = HELLO.replace(
    "image: hello-world",
    "image: hello-world\n        environment: {DATA: '{{ b64enc .Hardware.UserData }}', RAW: {{ .Hardware.UserData | toJson }}}",
)


def machine() -> dict[str, Any]:
    document = hardware(1)
    document["metadata"] = {
        "instance": {"userdata": USER_DATA, "crypted_root_password": CRYPTED, "hostname": "machine-1"},
        "custom": {"ssh_host_keys": {"rsa": KEY}},
    }
    return document


@pytest.fixture
async def filled(door: Door) -> Door:
    await door.done("POST", "/v1/hardware", machine())
    await door.done("POST", "/v1/templates", {"name": "showing", "data": SHOWING})
    return door


async def asked(door: Door, token: str, method: str, path: str, document: object = None) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
        session.request(method, door.url + path, json=document) as response,
    ):
        return response.status, await response.text()


async def all_answers(door: Door, token: str) -> str:
    """Everything that may be asked for with the right to look."""
    flow = (await door.done("GET", "/v1/workflows"))[0]["id"]
    failing = '{{ fail (printf "%s %x" .Hardware.UserData .Hardware.UserData) }}'
    template = {"name": "x.yaml", "text": json.dumps(machine() | {"labels": {"a": "b"}})}
    asked_for: list[tuple[str, str, object]] = [
        ("GET", "/v1/hardware", None),
        ("GET", "/v1/hardware/machine-1", None),
        ("GET", "/v1/export", None),
        ("GET", "/v1/status", None),
        ("GET", f"/v1/workflows/{flow}", None),
        ("GET", "/v1/workflows", None),
        ("GET", f"/v1/workflows/{flow}/state", None),
        ("GET", f"/v1/workflows/{flow}/events", None),
        ("POST", "/v1/workflows/plan", {"template": "showing", "machine": "machine-1"}),
        ("POST", "/v1/workflows/plan", {"template": "failing", "machine": "machine-1"}),
        ("POST", "/v1/templates/validate", {"data": HELLO.replace("hello-world", failing)}),
        ("POST", "/v1/rollouts", {"template": "failing", "machines": ["machine-1"], "dry_run": True}),
        ("POST", "/v1/apply", {"files": [template], "dry_run": True, "diff": True}),
        ("POST", "/v1/apply", {"files": [{"name": "f.yaml", "text": declared_flow("failing")}], "dry_run": True}),
    ]
    await door.ask("POST", "/v1/templates", {"name": "failing", "data": HELLO.replace("hello-world", failing)})
    told = ""
    for method, path, document in asked_for:
        status, answer = await asked(door, token, method, path, document)
        assert status in (200, 422), (path, answer)
        told += f"{method} {path}: {answer}\n"
    return told


async def test_who_may_look_is_shown_no_secret_in_any_answer_and_who_has_the_right_is(filled: Door) -> None:
    await filled.done("POST", "/v1/workflows", {"template": "showing", "hardware": {"device_1": mac(1)}})
    shown = await all_answers(filled, TOKEN)
    assert all(form in shown for form in FORMS[:3])
    masked = await all_answers(filled, "look-token")
    for line in masked.splitlines():
        assert not any(form in line for form in FORMS), line
    assert MASKED in masked
    assert "machine-1" in masked


async def test_a_document_that_was_shown_masked_is_not_stored_in_the_place_of_the_secret(filled: Door) -> None:
    _, text = await asked(filled, "look-token", "GET", "/v1/hardware/machine-1")
    shown = json.loads(text)
    document, base = shown["document"], {"updated_at": shown["updated_at"], "labels": shown["labels"]}
    assert document["metadata"]["instance"]["userdata"] == MASKED
    for method, path, body in (
        ("POST", "/v1/hardware", document),
        ("PUT", "/v1/hardware/machine-1", {"text": json.dumps(document), "base": base}),
        ("POST", "/v1/apply", {"files": [{"name": "a.json", "text": json.dumps(document)}]}),
    ):
        status, answer = await asked(filled, TOKEN, method, path, body)
        assert status == 422, (path, answer)
        assert "masked" in answer, path
    stored = (await filled.done("GET", "/v1/hardware/machine-1"))["document"]
    assert stored["metadata"]["instance"]["userdata"] == USER_DATA


async def test_a_change_is_answered_without_secrets_too(filled: Door) -> None:
    made = await filled.done("POST", "/v1/tokens", {"name": "anna", "rights": [Right.LOOK, Right.OPERATE]})
    for method, path, body in (
        ("PATCH", "/v1/hardware/machine-1", {"disks": ["/dev/sda"]}),
        ("PATCH", "/v1/hardware/machine-1/labels", {"set": {"a": "b"}}),
        ("POST", "/v1/hardware/machine-1/retire", {}),
        ("POST", "/v1/hardware/machine-1/return", {}),
    ):
        status, answer = await asked(filled, made["token"], method, path, body)
        assert status == 200, answer
        assert "top-secret" not in answer, path
        assert MASKED in answer, path


@pytest.mark.parametrize("guess", ["#cloud-config\npassword: a-guess\n", None])
async def test_dry_run_without_secrets_says_nothing_of_a_guess(filled: Door, guess: str | None) -> None:
    document = machine()
    if guess is not None:
        document["metadata"]["instance"]["userdata"] = guess
        document["metadata"]["custom"]["ssh_host_keys"]["rsa"] = guess
    for more in ({}, {"diff": True}):
        wish = {"files": [{"name": "a.json", "text": json.dumps(document)}], "dry_run": True, **more}
        status, text = await asked(filled, "look-token", "POST", "/v1/apply", wish)
        told = json.loads(text)
        assert (status, [each["outcome"] for each in told["results"]]) == (200, ["unchanged"])
        assert [each["text"] for each in told["notes"]] == [
            "what the field calls secret, such as user-data, is not compared: that needs the right to secrets"
        ]
    wish["files"] = [{"name": "a.json", "text": json.dumps({**document, "labels": {"rack": "r1"}})}]
    _, text = await asked(filled, "look-token", "POST", "/v1/apply", wish)
    assert [each["outcome"] for each in json.loads(text)["results"]] == ["configured"]
    _, text = await asked(
        filled, TOKEN, "POST", "/v1/apply", {**wish, "files": [{"name": "a.json", "text": json.dumps(document)}]}
    )
    assert [each["outcome"] for each in json.loads(text)["results"]] == ["unchanged" if guess is None else "configured"]
    assert "not compared" not in text
