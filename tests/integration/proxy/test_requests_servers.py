"""Servers and a client that nobody here wrote: curl gets the same through the proxy as without it."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.proxy import servers
from tests.integration.proxy.door import HERS, door, status

Server = Callable[[Path, Path], AbstractContextManager[int]]
SERVERS: list[Server] = [servers.nginx, servers.busybox, servers.python]
# What belongs to one connection or one moment, and the type that is said where a server says none.
OF_ITS_OWN = {"date", "connection", "keep-alive", "transfer-encoding", "server", "content-type"}


@dataclass
class Told:
    """What curl was told."""

    status: int
    headers: dict[str, str]
    body: bytes


async def curl(url: str, *arguments: str, stdin: bytes = b"") -> Told:
    """One request; `--data-binary @-` and `--upload-file -` send `stdin`."""
    own = ["--silent", "--show-error", "--max-time", "60", "--include", "--interface", HERS]
    process = await asyncio.create_subprocess_exec(
        "curl", *own, *arguments, url, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate(stdin)
    # Python 3.11 complains in some later test about an end of the input that nobody asked for.
    assert process.stdin is not None
    with suppress(ConnectionError):
        await process.stdin.wait_closed()
    assert process.returncode == 0, (arguments, output[:500])
    head = b""
    while not head or head.startswith(b"HTTP/1.1 100 "):
        head, _, output = output.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
    return Told(int(line.split()[1]), {name: headers[name] for name in headers.keys() - OF_ITS_OWN}, output)


@asynccontextmanager
async def served(server: Server, tmp_path: Path) -> AsyncIterator[tuple[str, str, Path]]:
    """The URL of a server, the one through the proxy, and its folder."""
    root = tmp_path / "root"
    for folder in ("", "little", "packed", "sub"):
        (root / folder).mkdir(parents=True)
    (root / "kernel").write_bytes(os.urandom(3_000_000))
    (root / "packed" / "words").write_text("word " * 100_000)
    (root / "a b~c").write_text("a name with a space")
    (root / "empty").touch()
    with server(tmp_path, root) as port:
        async with door() as known:
            known.serve(status(port))
            yield f"http://127.0.0.1:{port}", known.url, root


REQUESTS = {
    "a file": ("/kernel",),
    "its head": ("/kernel", "--head"),
    "a part of it": ("/kernel", "--range", "1000000-1999999"),
    "the end of it": ("/kernel", "--range", "-10"),
    "a part that it has not": ("/kernel", "--range", "9000000-9000001"),
    "a file that is newer only": ("/kernel", "--time-cond", "2038-01-01"),
    "a name with a space": ("/a%20b~c",),
    "a name with needless encodings": ("/%6bernel",),
    "a query": ("/kernel?a=b&c=%20+",),
    "an empty file": ("/empty",),
    "nothing": ("/nothing",),
    "a folder without its slash": ("/sub",),
    "a method that it does not know": ("/kernel", "--request", "PATCH"),
    "by HTTP/1.0": ("/kernel", "--http1.0"),
    "compressed": ("/packed/words", "--header", "Accept-Encoding: gzip"),
}


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.__name__)
async def test_curl_gets_the_same_through_the_proxy(server: Server, tmp_path: Path) -> None:
    async with served(server, tmp_path) as (direct, proxied, _):
        for what, (path, *arguments) in REQUESTS.items():
            if server is servers.busybox and what == "its head":
                continue  # it sends the file even so, which no proxy could pass on
            without, through = await curl(direct + path, *arguments), await curl(proxied + path, *arguments)
            # Who answers with a length where the server has none knows the whole answer by then.
            if "content-length" not in without.headers:
                through.headers.pop("content-length", None)
            # A redirection names the host that was asked for.
            if "location" in without.headers:
                without.headers["location"] = without.headers["location"].replace(direct, proxied)
            if without.status in (204, 304):
                without.headers.pop("content-length", None)
            assert through == without, what


async def test_an_unchanged_file_is_not_sent_again(tmp_path: Path) -> None:
    async with served(servers.nginx, tmp_path) as (_, proxied, _):
        tag = (await curl(f"{proxied}/kernel", "--head")).headers["etag"]
        told = await curl(f"{proxied}/kernel", "--header", f"If-None-Match: {tag}")
        assert (told.status, told.body) == (304, b"")


@pytest.mark.parametrize("chunked", [False, True])
async def test_an_upload_arrives_whole(chunked: bool, tmp_path: Path) -> None:
    content = os.urandom(5_000_000)
    (tmp_path / "new").write_bytes(content)
    async with served(servers.nginx, tmp_path) as (_, proxied, root):
        sending = ("--upload-file", "-") if chunked else ("--upload-file", str(tmp_path / "new"))
        told = await curl(f"{proxied}/uploaded", *sending, "--header", "Expect: 100-continue", stdin=content)
        assert told.status == 201
        assert hashlib.sha256((root / "uploaded").read_bytes()).digest() == hashlib.sha256(content).digest()
        assert (await curl(f"{proxied}/uploaded", "--request", "DELETE")).status == 204
        assert not (root / "uploaded").exists()


async def test_an_upload_that_the_service_does_not_want_is_refused_by_it(tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(bytes(20_000_000))
    async with served(servers.nginx, tmp_path) as (_, proxied, root):
        told = await curl(f"{proxied}/little/new", "--upload-file", str(tmp_path / "new"))
        assert told.status == 413
        assert list((root / "little").iterdir()) == []


async def test_a_server_that_ends_in_the_middle_is_an_error_for_curl(tmp_path: Path) -> None:
    async with served(servers.nginx, tmp_path) as (_, proxied, root):
        with (root / "large").open("wb") as file:
            file.truncate(2**30)
        process = await asyncio.create_subprocess_exec(
            *("curl", "--silent", "--no-buffer", "--limit-rate", "10M", "--interface", HERS, f"{proxied}/large"),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        await process.stdout.readexactly(2**20)  # into the middle of it
        pid = int((tmp_path / "nginx.pid").read_text())
        killer = shutil.which("kill")
        assert killer
        ended = await asyncio.create_subprocess_exec(killer, "-TERM", str(pid))
        await ended.wait()
        async with asyncio.timeout(60):
            await process.stdout.read()
            # Partial file, or failure in receiving: what curl calls an answer that breaks off.
            assert await process.wait() in (18, 56)
