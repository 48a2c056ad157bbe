"""The service that takes a machine's password, over real HTTP on loopback; curl sends."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from receive import MOST, Receiver


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    kept = type("Kept", (Receiver,), {"folder": tmp_path, "log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), kept) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def sent(url: str, *options: str, content: bytes = b"") -> str:
    """The status of a request."""
    command = ["curl", "--silent", "--max-time", "10", "--output", "/dev/null", "--write-out", "%{http_code}", *options]
    return subprocess.run([*command, url], input=content, check=True, stdout=subprocess.PIPE).stdout.decode()


@pytest.mark.parametrize(("name", "options"), [("password", ()), ("key", ("--request", "PUT"))])
def test_what_is_sent_is_kept_byte_by_byte(url: str, tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    assert sent(f"{url}/{name}", "--data-binary", "@-", *options, content=b"secret\0\xff\n") == "204"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: b"secret\0\xff\n"}


def test_the_newest_counts(url: str, tmp_path: Path) -> None:
    for word in (b"first and longer", b"second"):
        assert sent(f"{url}/password", "--data-binary", "@-", content=word) == "204"
    assert (tmp_path / "password").read_bytes() == b"second"


@pytest.mark.parametrize(
    ("path", "options", "content", "status"),
    [
        ("/other", ("--data-binary", "@-"), b"x", "404"),
        ("/../password", ("--path-as-is", "--data-binary", "@-"), b"x", "404"),
        ("/password", ("--data-binary", "@-"), b"x" * (MOST + 1), "413"),
        ("/password", ("--header", "Transfer-Encoding: chunked", "--data-binary", "@-"), b"x", "411"),
        ("/password", (), b"", "501"),
    ],
)
def test_anything_else_is_refused_and_nothing_kept(
    url: str, tmp_path: Path, path: str, options: tuple[str, ...], content: bytes, status: str
) -> None:
    assert sent(url + path, *options, content=content) == status
    assert list(tmp_path.iterdir()) == []


def test_what_broke_off_in_the_middle_is_not_kept(url: str, tmp_path: Path) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as sender:
        sender.sendall(b"POST /password HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        sender.shutdown(socket.SHUT_WR)
        assert sender.recv(1) == b""
    assert list(tmp_path.iterdir()) == []
