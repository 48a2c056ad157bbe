"""An id token of the issuer becomes a token of the box: once, for those whom a group gives rights, and for nobody else."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.integration.engine.appliance import appliance
from tests.integration.oidc.conftest import BEGAN, Box, open_box, served
from tests.issuer import token
from tinkbox.api.routes.people.login import HOST, MAX_BODY, LoginDoor, routes
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.auditing import keep_audit, refused_attempts
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Means, Right
from tinkbox.model.errors import Conflict, NotFound, Unavailable


async def test_who_logs_in_gets_a_token_with_the_rights_of_the_groups(box: Box) -> None:
    box.issuer.claims["groups"] = ["lab", "audit", "others"]
    status, made = await box.ask(box.issuer.id_token())
    assert status == 200
    assert made == {
        "token": "tbx_0",
        "name": "anna",
        "rights": ["look", "operate", "audit"],
        "expires": (BEGAN + timedelta(minutes=1, hours=8)).isoformat(),
    }
    assert box.tokens.until["tbx_0"] == box.clock() + timedelta(hours=8)
    headers = {"Authorization": "Bearer tbx_0"}
    async with box.session.get(f"{box.url}/who", headers=headers) as answer:
        assert await answer.json() == {"name": "anna", "means": Means.ISSUER}


async def test_what_logging_in_needs_is_told_to_everybody_and_nothing_else(box: Box) -> None:
    async with box.session.get(f"{box.url}/v1/login") as answer:
        assert await answer.json() == {
            "issuer": box.issuer.url, "client_id": "tinkbox", "scopes": ["openid", "profile"], "ca": "",
        }  # fmt: skip
    async with box.session.get(f"{box.url}/who") as answer:
        assert answer.status == 401


async def test_a_token_that_is_not_good_any_more_keeps_nobody_from_logging_in(box: Box) -> None:
    status, _ = await box.ask(box.issuer.id_token(), Authorization="Bearer tbx_expired")
    assert status == 200
    assert box.refused.total == 0


async def test_log_in_is_a_line_of_the_audit_before_and_after_the_token_is_made(box: Box, tmp_path: Path) -> None:
    async with appliance(tmp_path / "tinkbox.sqlite") as engine:
        application = web.Application(middlewares=[refusals_become_problems, refused_attempts])
        keep_audit(application, engine.audit)
        door = LoginDoor(logins=box.logins, refused=RefusedTokens(), monotonic=box.clock.seconds)
        application.add_routes(routes(door))
        async with served(application) as url:
            for id_token in (box.issuer.id_token(), "nonsense"):
                async with box.session.post(f"{url}/v1/login", json={"id_token": id_token}) as answer:
                    text = await answer.text()
                    assert answer.status == (401 if id_token == "nonsense" else 200), text
        await engine.audit.save()
        told = [each.document() for each in await engine.audit.after(0, 10)]
    assert [(each["kind"], each["who"], each["how"], each["what"]) for each in told] == [
        ("asked", "anna", "issuer", "POST /v1/login"),
        ("done", "anna", "issuer", "POST /v1/login"),
        ("refused", "", "", "POST /v1/login"),
    ]
    assert told[1]["did"] == [{"what": "logged in", "which": "anna"}]
    assert told[1]["why"].startswith("look, operate; no scope; until ")
    assert "tbx_" not in str(told)


async def test_an_id_token_is_good_once(box: Box) -> None:
    once = box.issuer.id_token()
    async with asyncio.TaskGroup() as both:
        answers = [both.create_task(box.ask(once)) for _ in range(2)]
    assert sorted(each.result()[0] for each in answers) == [200, 401]
    assert len(box.tokens.made) == 1
    box.clock.forward(200)
    assert (await box.refusal(once))[1].startswith("this id token was used already: log in again")


async def test_an_id_token_is_good_once_over_a_restart_as_well(box: Box) -> None:
    once = box.issuer.id_token()
    assert (await box.ask(once))[0] == 200
    box.clock.forward(2)
    box.restart()
    status, detail = await box.refusal(once)
    assert (status, len(box.tokens.made)) == (401, 1)
    assert detail.endswith("cannot tell whether it was used already: log in again in 32 seconds")


async def test_an_issuer_whose_clock_is_ahead_makes_nothing_that_is_good_twice_over_a_restart(box: Box) -> None:
    once = box.issuer.id_token(iat=box.clock.seconds() + 29)
    assert (await box.ask(once))[0] == 200
    box.restart()
    assert (await box.refusal(once))[0] == 401
    box.clock.forward(31)
    assert (await box.ask(box.issuer.id_token()))[0] == 200


@pytest.mark.parametrize("by", [timedelta(days=3000), timedelta(days=-3000)])
async def test_a_clock_that_is_set_later_keeps_nobody_from_logging_in(box: Box, by: timedelta) -> None:
    used = box.issuer.id_token()
    assert (await box.ask(used))[0] == 200
    box.clock.jump(by)
    assert (await box.ask(box.issuer.id_token()))[0] == 200


async def test_a_clock_that_is_set_after_a_restart_makes_nothing_good_again(box: Box) -> None:
    once = box.issuer.id_token()
    assert (await box.ask(once))[0] == 200
    box.clock.jump(timedelta(days=-3000))  # as without a battery
    box.restart()
    box.clock.jump(timedelta(days=3000))
    assert (await box.refusal(once))[0] == 401


async def test_an_id_token_for_which_no_token_could_be_kept_is_not_used_up(box: Box) -> None:
    once = box.issuer.id_token()
    for broken, status in ((Unavailable("the disk is full"), 503), (Conflict("there is an anna"), 409)):
        box.tokens.broken = broken
        assert await box.refusal(once) == (status, str(broken))
    box.tokens.broken = None
    assert (await box.ask(once))[0] == 200


NOBODY: dict[str, tuple[dict[str, Any], str]] = {
    "of another group": ({"groups": ["cooks"]}, "in the claim groups is 'cooks', and rights come with 'audit', 'lab'"),
    "of no group": ({"groups": []}, "in the claim groups is no group, and rights come with 'audit', 'lab'"),
    "of a group in other letters": ({"groups": ["LAB"]}, "is 'LAB'"),
    "of groups that are none": ({"groups": [7, None, ["lab"], {"lab": 1}]}, "is no group"),
    "of a map of groups": ({"groups": {"lab": True}}, "is no group"),
    "without the claim": ({"groups": None}, "the id token has no claim groups. Set operator.oidc.claim"),
    "without a name": ({"preferred_username": None}, "no name in its claim preferred_username. It has 'aud'"),
    "with the operator's name": ({"preferred_username": "operator"}, "operator is somebody else here"),
    "with a name that steers a terminal": ({"preferred_username": "a\x1b[2J"}, "'a [2J' cannot be a name here"),
    "with a name that is a path": ({"preferred_username": "../root"}, "cannot be a name here"),
    "with a name that is a list": ({"preferred_username": ["anna"]}, "no name in its claim"),
}


@pytest.mark.parametrize(("claims", "why"), NOBODY.values(), ids=NOBODY)
async def test_somebody_is_refused_and_told_why(box: Box, claims: dict[str, Any], why: str) -> None:
    box.issuer.claims |= claims
    status, detail = await box.refusal(box.issuer.id_token())
    assert (status, box.tokens.made) == (403, {})
    assert why in detail


async def test_one_group_may_be_a_text_and_a_claim_within_another_one() -> None:
    async with open_box({"/lab": frozenset({Right.LOOK})}, "realm_access.roles") as box:
        box.issuer.claims["realm_access"] = {"roles": "/lab"}
        assert (await box.ask(box.issuer.id_token()))[1]["rights"] == ["look"]
    async with open_box({"lab": frozenset({Right.LOOK})}, "https://example.com/groups") as box:
        box.issuer.claims["https://example.com/groups"] = ["lab"]
        assert (await box.ask(box.issuer.id_token()))[1]["rights"] == ["look"]


@pytest.mark.parametrize("verified", [None, False, "true", 1])
async def test_an_address_that_the_issuer_did_not_verify_is_nobodys_name(box: Box, verified: object) -> None:
    object.__setattr__(box.logins.terms, "name", "email")
    box.issuer.claims |= {"email": "anna@example.com", "email_verified": verified}
    assert (await box.refusal(box.issuer.id_token()))[0] == 403
    box.issuer.claims["email_verified"] = True
    assert (await box.ask(box.issuer.id_token()))[1]["name"] == "anna@example.com"


async def test_a_token_of_somebody_else_is_refused_and_counted(box: Box) -> None:
    now = box.clock.seconds()
    good = {"iss": box.issuer.url, "aud": "tinkbox", "sub": "1", "iat": now, "exp": now + 60, "groups": ["lab"]}
    for text in (token(good, "none"), token({**good, "aud": "wiki"}), "a.b.c", box.issuer.id_token()[:-8] + "AAAAAAAA"):
        status, _ = await box.ask(text)
        assert status == 401
    assert (box.refused.total, box.tokens.made) == (4, {})


@pytest.mark.parametrize("wrong", [None, 7, "", [], {}])
async def test_what_is_no_text_is_no_id_token(box: Box, wrong: object) -> None:
    assert (await box.ask(wrong))[0] == 422


async def test_other_words_and_large_bodies_are_refused_before_they_are_read(box: Box) -> None:
    async with box.session.post(f"{box.url}/v1/login", json={"id_token": "x", "name": "root"}) as answer:
        assert answer.status == 422
    async with box.session.post(f"{box.url}/v1/login", data=b"x" * (MAX_BODY + 1)) as answer:
        assert answer.status == 413
    async with box.session.post(f"{box.url}/v1/login?rights=admin", json={"id_token": "x"}) as answer:
        assert answer.status == 422


async def test_who_tries_often_has_to_wait(box: Box) -> None:
    for _ in range(int(HOST.burst)):
        assert (await box.ask("a.b.c"))[0] == 401
    async with box.session.post(f"{box.url}/v1/login", json={"id_token": box.issuer.id_token()}) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
    assert box.issuer.asked == []
    box.clock.forward(60)
    assert (await box.ask(box.issuer.id_token()))[0] == 200


async def test_a_box_without_an_issuer_says_to_everybody_how_to_get_one() -> None:
    application = web.Application(middlewares=[refusals_become_problems])
    application.add_routes(routes(LoginDoor(logins=None, refused=RefusedTokens(), monotonic=float)))
    async with served(application) as url, Operator(LastingConnection(url=url)) as operator:
        for asked in (operator.logins.offer(), operator.logins.log_in("a.b.c")):
            with pytest.raises(NotFound, match=r"set operator\.oidc in tinkbox\.yaml"):
                await asked
