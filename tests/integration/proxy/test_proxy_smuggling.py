"""Requests and answers that are made to be understood in two ways: nobody gets to see a second one in them."""

import asyncio

import pytest

from tests.integration.proxy.door import DOMAIN, NAME, door, named, recorder, status
from tinkbox.proxy.responses import NOBODY_THERE

HOST = f"Host: {NAME}\r\n".encode()
SMUGGLED = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def post(*headers: bytes, body: bytes = b"", line: bytes = b"POST /x HTTP/1.1\r\n") -> bytes:
    return line + HOST + b"".join(headers) + b"\r\n" + body


def get(path: bytes, *headers: bytes, host: bytes = HOST, version: bytes = b"1.1") -> bytes:
    return b"GET " + path + b" HTTP/" + version + b"\r\n" + host + b"".join(headers) + b"\r\n"


LENGTH_AND_CHUNKS = {
    "CL.TE": post(b"Content-Length: 6\r\n", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED),
    "TE.CL": post(CHUNKED, b"Content-Length: 4\r\n", body=b"5c\r\n" + SMUGGLED + b"\r\n0\r\n\r\n"),
    "TE twice": post(CHUNKED, b"Transfer-Encoding: identity\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE twice, the other way": post(b"Transfer-Encoding: identity\r\n", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED),
    "TE listed": post(b"Transfer-Encoding: chunked, identity\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE listed after another": post(b"Transfer-Encoding: gzip, chunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE misspelt": post(b"Transfer-Encoding: xchunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE quoted": post(b'Transfer-Encoding: "chunked"\r\n', body=b"0\r\n\r\n" + SMUGGLED),
    "TE with a vertical tab": post(b"Transfer-Encoding: \x0bchunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE with a null": post(b"Transfer-Encoding: chunked\x00\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE with a space before the colon": post(b"Transfer-Encoding : chunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE folded": post(b"Transfer-Encoding:\r\n chunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE after a folded header": post(b"X: y\r\n Transfer-Encoding: chunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE behind a bare LF": post(b"X: y\nTransfer-Encoding: chunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE behind a bare CR": post(b"X: y\rTransfer-Encoding: chunked\r\n", body=b"0\r\n\r\n" + SMUGGLED),
    "TE of HTTP/1.0": post(CHUNKED, body=b"0\r\n\r\n" + SMUGGLED, line=b"POST /x HTTP/1.0\r\n"),
    "TE of HTTP/1.0 and nothing after it": post(CHUNKED, body=b"0\r\n\r\n", line=b"POST /x HTTP/1.0\r\n"),
    "CL twice": post(b"Content-Length: 0\r\n", b"Content-Length: 50\r\n", body=SMUGGLED),
    "CL twice the same": post(b"Content-Length: 0\r\n", b"Content-Length: 0\r\n", body=SMUGGLED),
    "CL listed": post(b"Content-Length: 0, 50\r\n", body=SMUGGLED),
    "CL with a sign": post(b"Content-Length: +0\r\n", body=SMUGGLED),
    "CL negative": post(b"Content-Length: -1\r\n", body=SMUGGLED),
    "CL hexadecimal": post(b"Content-Length: 0x32\r\n", body=SMUGGLED),
    "CL with an underscore": post(b"Content-Length: 1_0\r\n", body=SMUGGLED),
    "CL too large": post(b"Content-Length: 99999999999999999999999\r\n", body=SMUGGLED),
    "CL empty": post(b"Content-Length: \r\n", body=SMUGGLED),
    "CL with a space before the colon": post(b"Content-Length : 0\r\n", body=SMUGGLED),
    "chunk size with a sign": post(CHUNKED, body=b"+0\r\n\r\n" + SMUGGLED),
    "chunk size with a prefix": post(CHUNKED, body=b"0x0\r\n\r\n" + SMUGGLED),
    "chunk size too large": post(CHUNKED, body=b"10000000000000000\r\n" + SMUGGLED),
    "chunk without its end": post(CHUNKED, body=b"1\r\nxx0\r\n\r\n" + SMUGGLED),
    "chunk that ends in a bare LF": post(CHUNKED, body=b"1\nx\n0\n\n" + SMUGGLED),
    "chunk extension with a bare LF": post(CHUNKED, body=b"0;a\n\r\n\r\n" + SMUGGLED),
}
LINES = {
    "a bare LF after the request line": b"GET /x HTTP/1.1\n" + HOST + b"\r\n" + SMUGGLED,
    "a bare CR in the request line": b"GET /x\rX HTTP/1.1\r\n" + HOST + b"\r\n",
    "a space before the colon": get(b"/x", b"X-Thing : 1\r\n"),
    "a header without a name": get(b"/x", b": 1\r\n"),
    "a header without a colon": get(b"/x", b"thing\r\n"),
    "a header with a control character in its name": get(b"/x", b"X\x01: 1\r\n"),
    "a header with a null": get(b"/x", b"X: a\x00b\r\n"),
    "a header with a bare CR": get(b"/x", b"X: a\rb\r\n"),
    "a header that is no UTF-8": get(b"/x", b"X: \xe4\r\n"),
    "no host": b"GET /x HTTP/1.1\r\n\r\n",
    "two hosts": get(b"/x", HOST),
    "an empty host": get(b"/x", host=b"Host:\r\n"),
    "a host with a path": get(b"/x", host=f"Host: {NAME}/x\r\n".encode()),
    "a host with a user": get(b"/x", host=f"Host: a@{NAME}\r\n".encode()),
    "a host with a space": get(b"/x", host=f"Host: {NAME} x\r\n".encode()),
    "a host with a quote": get(b"/x", host=f'Host: {NAME}";for=1\r\n'.encode()),
    "a host with two ports": get(b"/x", host=f"Host: {NAME}:80:80\r\n".encode()),
    "a version that is none": b"GET /x HTTP/1.2\r\n" + HOST + b"\r\n",
    "a version of long ago": b"GET /x\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a method that is none": b"G\x01T /x HTTP/1.1\r\n" + HOST + b"\r\n",
    "a request line that is too long": get(b"/" + b"x" * 9000),
    "a header that is too long": get(b"/x", b"X: " + b"x" * 9000 + b"\r\n"),
    "headers that are too many": get(b"/x", b"X: 1\r\n" * 200),
    "another protocol": get(b"/x", b"Upgrade: h2c\r\n", b"Connection: Upgrade, HTTP2-Settings\r\n") + SMUGGLED,
    "a WebSocket without its key": get(b"/x", b"Upgrade: websocket\r\n", b"Connection: Upgrade\r\n") + SMUGGLED,
    "a WebSocket by POST": post(
        b"Upgrade: websocket\r\n", b"Connection: Upgrade\r\n", b"Sec-WebSocket-Version: 13\r\n",
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", b"Content-Length: 0\r\n",
    ),
}  # fmt: skip
TARGETS = {
    "another server's": f"http://{NAME}/x".encode(),
    "another server's without a path": f"http://{NAME}".encode(),
    "an asterisk": b"*",
    "no slash": b"x",
    "a fragment": b"/x#y",
    "a backslash": b"/a\\..\\x",
    "a dot segment": b"/a/../x",
    "a dot segment at the end": b"/a/..",
    "one dot": b"/./x",
    "an encoded dot segment": b"/a/%2e%2e/x",
    "a half encoded dot segment": b"/a/.%2E/x",
    "a dot segment with a parameter": b"/a/..;x=1/x",
    "an encoded slash": b"/a%2fx",
    "an encoded backslash": b"/a%5cx",
    "an encoded null": b"/x%00",
    "an encoded line end": b"/x%0d%0aX:1",
    "a percent sign alone": b"/x%",
    "a percent sign before something else": b"/x%zz",
    "what is no UTF-8": b"/%ff",
    "an overlong dot": b"/%c0%ae%c0%ae/x",
    "a letter that is not ASCII": "/ä".encode(),
    "a tab": b"/x\ty",
    "a space": b"/x y",
}  # fmt: skip


@pytest.mark.parametrize("case", [*LENGTH_AND_CHUNKS, *LINES])
async def test_an_ambiguous_request_is_refused_and_no_service_sees_it(case: str) -> None:
    sent = {**LENGTH_AND_CHUNKS, **LINES}[case]
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(sent)
        assert answer.split()[1] in (b"400", b"501"), answer
        assert answer.count(b"\r\nContent-Length:") == 1, "one answer, and the connection is closed"
        assert watched.connections == []


@pytest.mark.parametrize("case", TARGETS)
async def test_an_ambiguous_target_is_refused_and_no_service_sees_it(case: str) -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(get(TARGETS[case]))
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 ")), answer
        assert watched.connections == []


async def test_a_tunnel_is_not_opened() -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        for target in (f"{NAME}:80", f"127.0.0.1:{watched.port}"):
            answer = await known.raw(f"CONNECT {target} HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode() + SMUGGLED)
            assert answer == b"" or answer.split()[1] in (b"400", b"501"), answer
        assert watched.connections == []


async def test_two_requests_in_a_row_are_two_requests() -> None:
    """What is no trick: a client that does not wait for the first answer."""
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(post(b"Content-Length: 3\r\n", body=b"abc") + get(b"/2", b"Connection: close\r\n"))
        assert answer.count(b"HTTP/1.1 200 OK") == 2
        first, second = sorted(bytes(each) for each in watched.connections)[::-1]
        assert first.startswith(b"POST /x HTTP/1.1\r\n")
        assert first.endswith(b"\r\n\r\nabc")
        assert second.startswith(b"GET /2 HTTP/1.1\r\n")


async def test_what_a_service_sees_of_a_body_in_chunks_is_framed_anew() -> None:
    """An extension of a chunk, and its size in another spelling, do not reach the service."""
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        await known.raw(named("/x", "POST", "Transfer-Encoding: chunked") + b"00003;a=b\r\nabc\r\n0\r\n\r\n")
        (seen,) = watched.connections
        assert seen.endswith(b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n")


async def test_a_client_cannot_drop_a_header_that_the_proxy_sets() -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        told = "Connection: X-Real-Ip, X-Forwarded-For, Host, Content-Length, Transfer-Encoding"
        await known.raw(post(told.encode() + b", close\r\n", b"Content-Length: 3\r\n", body=b"abc"))
        assert {f"Host: {NAME}", "X-Real-Ip: 127.0.0.2", "X-Forwarded-For: 127.0.0.2", "Content-Length: 3"} <= set(
            watched.lines
        )


ANSWERS = {
    "CL and TE": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "CL twice": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\nabc",
    "CL negative": b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc",
    "another coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "a control character": b"HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n",
    "a bare CR": b"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n",
    "a null": b"HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 0\r\n\r\n",
    "what is no UTF-8": b"HTTP/1.1 200 OK\r\nX: \xe4\r\nContent-Length: 0\r\n\r\n",
    "a name with a space": b"HTTP/1.1 200 OK\r\nX y: 1\r\nContent-Length: 0\r\n\r\n",
    "a space before the colon": b"HTTP/1.1 200 OK\r\nX : 1\r\nContent-Length: 0\r\n\r\n",
    "a header that is too long": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 9000 + b"\r\nContent-Length: 0\r\n\r\n",
    "headers that are too many": b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 200 + b"Content-Length: 0\r\n\r\n",
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "no status": b"HTTP/1.1\r\n\r\n",
    "a status that is none": b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
    "a protocol that nobody asked for": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
async def test_a_malformed_answer_is_a_bad_gateway(case: str) -> None:
    async with recorder(ANSWERS[case]) as watched, door() as known:
        known.serve(status(watched.port))
        answer = await known.raw(named("/x"))
        assert answer.startswith(b"HTTP/1.1 502 "), answer
        assert b"evil" not in answer
        assert answer.count(b"HTTP/1.1") == 1


async def test_what_a_service_says_after_its_answer_is_nobody_s() -> None:
    async def more(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        await writer.drain()

    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    async with recorder(plain, then=more) as watched, door() as known, known.client() as client:
        known.serve(status(watched.port))
        for _ in range(5):
            async with client.get("/x", headers={"Host": NAME}) as answer:
                assert await answer.text() == "ok"


async def test_a_line_end_in_the_reason_is_no_header() -> None:
    async with recorder(b"HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n") as watched, door() as known:
        known.serve(status(watched.port))
        assert (await known.raw(named("/x"))).split(b"\r\n")[0] in (b"HTTP/1.1 200 OK", b"HTTP/1.1 502 Bad Gateway")


async def test_nobody_is_sent_the_answer_that_nobody_gets() -> None:
    async def close(writer: asyncio.StreamWriter) -> None:
        writer.close()

    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    async with recorder(half, then=close) as watched, door() as known:
        known.serve(status(watched.port))
        assert str(NOBODY_THERE).encode() not in await known.raw(named("/x"))


async def test_a_name_that_merely_ends_like_the_domain_is_not_below_it() -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        assert not known.directory.covers(f"evil{DOMAIN}")
        assert known.directory.covers(f"evil.{DOMAIN}")
