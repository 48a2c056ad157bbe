"""The service that takes a machine's password, over real HTTP on loopback."""

import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

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


def sent(url: str, method: str = "POST", content: bytes = b"", **headers: str) -> int:
    """The status of a request."""
    place = urlsplit(url)
    connection = HTTPConnection(place.netloc, timeout=60)
    try:
        connection.request(method, place.path, body=content or None, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(("name", "method"), [("password", "POST"), ("key", "PUT")])
def test_what_is_sent_is_kept_byte_by_byte(url: str, tmp_path: Path, name: str, method: str) -> None:
    assert sent(f"{url}/{name}", method, b"secret\0\xff\n") == HTTPStatus.NO_CONTENT
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: b"secret\0\xff\n"}


def test_the_newest_counts(url: str, tmp_path: Path) -> None:
    for word in (b"first and longer", b"second"):
        assert sent(f"{url}/password", content=word) == HTTPStatus.NO_CONTENT
    assert (tmp_path / "password").read_bytes() == b"second"


@pytest.mark.parametrize(
    ("path", "method", "length", "status"),
    [
        ("/other", "POST", "1", HTTPStatus.NOT_FOUND),
        ("/../password", "POST", "1", HTTPStatus.NOT_FOUND),
        ("/password", "POST", str(MOST + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        ("/password", "POST", "-1", HTTPStatus.LENGTH_REQUIRED),
        ("/password", "GET", "0", HTTPStatus.NOT_IMPLEMENTED),
    ],
)
def test_anything_else_is_refused_and_nothing_kept(
    url: str, tmp_path: Path, path: str, method: str, length: str, status: HTTPStatus
) -> None:
    assert sent(url + path, method, **{"Content-Length": length}) == status
    assert list(tmp_path.iterdir()) == []


def test_what_broke_off_in_the_middle_is_not_kept(url: str, tmp_path: Path) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as sender:
        sender.sendall(b"POST /password HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        sender.shutdown(socket.SHUT_WR)
        assert sender.recv(1) == b""
    assert list(tmp_path.iterdir()) == []
