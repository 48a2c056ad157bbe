"""Takes what is sent to /password or /key, and keeps it as a file of that name in the workflow's data.

The file is there, whole, before the sender hears that it is: whatever runs next in the workflow finds it.
"""

import tempfile
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ADDRESS = ("", 8080)
MOST = 65_536
NAMES = ("password", "key")


class Receiver(BaseHTTPRequestHandler):
    """One request; `folder` is where files are kept."""

    folder = Path("/workflow")
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        """Keep the body."""
        name = self.path.removeprefix("/")
        length = self.headers.get("Content-Length", "")
        if name not in NAMES:
            self._answer(HTTPStatus.NOT_FOUND)
        elif not length.isdecimal():
            self._answer(HTTPStatus.LENGTH_REQUIRED)
        elif int(length) > MOST:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            content = self.rfile.read(int(length))
            if len(content) < int(length):  # the sender went away in the middle
                self.close_connection = True
                return
            keep(self.folder, name, content)
            self._answer(HTTPStatus.NO_CONTENT, body_read=True)

    do_PUT = do_POST  # noqa: N815  http.server's name

    def _answer(self, status: HTTPStatus, *, body_read: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if not body_read:
            self.send_header("Connection", "close")
        self.end_headers()


def keep(folder: Path, name: str, content: bytes) -> None:
    """Put a file in its place at once, readable by its owner only."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}-", delete=False) as file:
        file.write(content)
    Path(file.name).replace(folder / name)


def main() -> None:
    ThreadingHTTPServer(ADDRESS, Receiver).serve_forever()


if __name__ == "__main__":
    main()
