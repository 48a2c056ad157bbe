"""Who may do what, and how a refusal reads to Docker."""

import asyncio
import base64
import json

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request

from tests.people import People
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import operator
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.registry.protocol.errors import answering, challenge_for, credential, operator_only


def asked(**headers: str) -> web.Request:
    return make_mocked_request("GET", "/v2/", headers={"Host": "box:5000", **headers})


def basic(text: bytes) -> str:
    return "Basic " + base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer  abc ", "abc"),
        (basic(b"me:abc"), "abc"),
        (basic(b":a:b"), "a:b"),
        (basic(b"abc"), ""),
        (basic(b"\xff:abc"), ""),
        ("Basic !!!", ""),
        ("Basic täglich", ""),
        ("Basic", ""),
        ("Digest abc", ""),
        ("", ""),
    ],
)
def test_a_token_is_a_bearer_or_a_password(authorization: str, token: str) -> None:
    assert credential(asked(Authorization=authorization)) == token


@pytest.mark.parametrize("authorization", ["Bearer wrong", basic(b"secret:user"), "Bearer anonymous", ""])
def test_only_the_operator_passes(authorization: str) -> None:
    people = People({"secret": operator()})
    with pytest.raises(Denied, match="docker login"):
        operator_only(asked(Authorization=authorization), people.bearer, RefusedTokens())
    passing = asked(Authorization=basic(b"anyone:secret"))
    assert operator_only(passing, people.bearer, RefusedTokens()) == operator()


def test_the_challenge_leads_back_to_the_address_that_was_asked() -> None:
    assert challenge_for(asked()) == 'Bearer realm="http://box:5000/v2/token",service="tinkbox"'
    with pytest.raises(web.HTTPBadRequest):
        challenge_for(asked(Host='x",realm="http://evil'))


@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (NotFound("none"), 404, "BLOB_UNKNOWN"),
        (Invalid("bad"), 400, "UNSUPPORTED"),
        (Conflict("gap"), 416, "BLOB_UPLOAD_INVALID"),
        (TooLarge("big"), 413, "SIZE_INVALID"),
        (Denied("who"), 401, "UNAUTHORIZED"),
        (Unavailable("full"), 503, "UNKNOWN"),
    ],
)
async def test_a_refusal_is_an_oci_error(refusal: Refusal, status: int, code: str) -> None:
    async def refuse(_: web.Request) -> web.Response:
        raise refusal

    answer = await answering(refuse, {NotFound: "BLOB_UNKNOWN"})(asked())
    assert isinstance(answer, web.Response)
    assert answer.status == status
    assert json.loads(answer.text or "") == {"errors": [{"code": code, "message": str(refusal)}]}
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)


@pytest.mark.parametrize("name", ["..", "a/../b", "A", "a//b", "_tags", "a" * 256, "a\n"])
async def test_a_bad_repository_name_never_reaches_a_handler(name: str) -> None:
    async def unreachable(_: web.Request) -> web.Response:
        raise AssertionError

    request = make_mocked_request("GET", "/v2/", match_info={"name": name})
    answer = await answering(unreachable, {})(request)
    assert answer.status == 404


def test_a_wrong_token_is_counted_and_none_is_not() -> None:
    refused = RefusedTokens()
    with pytest.raises(Denied, match="pushing needs"):
        operator_only(asked(), lambda _: None, refused)
    with pytest.raises(Denied, match="pushing needs"):
        operator_only(asked(Authorization="Bearer anonymous"), lambda _: None, refused)
    assert refused.total == 0
    with pytest.raises(Denied, match="not valid here"):
        operator_only(asked(Authorization=basic(b"anyone:guess")), lambda _: None, refused)
    assert refused.total == 1


async def test_a_refused_manifest_is_heard_out_before_the_answer() -> None:
    """`ctr` waits for ever where the answer comes first."""

    async def refusing(_: web.Request) -> web.Response:
        raise Denied("who")

    loop = asyncio.get_running_loop()
    sent = StreamReader(BaseProtocol(loop), 2**16, loop=loop)
    request = make_mocked_request(
        "PUT",
        "/v2/a/manifests/b",
        headers={"Host": "box:5000", "Content-Length": "2"},
        payload=sent,
        app=web.Application(),
    )
    sent.feed_data(b"{}")
    sent.feed_eof()
    answer = await answering(refusing, {})(request)
    assert isinstance(answer, web.Response)
    assert (answer.status, sent.at_eof()) == (401, True)
