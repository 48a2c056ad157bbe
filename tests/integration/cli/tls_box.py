"""What a box shows to those who log in: TLS with its certificates, and an operator door that knows one token."""

import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tinkbox.certificates import Certificates, Door

TOKEN = "anna-may-look-at-everything"
NAMES = ("provisioner", "127.0.0.1", "localhost")


@dataclass
class TlsBox:
    """`heard` are the tokens that came, the newest last."""

    certificates: Certificates
    url: str = ""
    heard: list[str] = field(default_factory=list)


@contextmanager
def tls_box(
    data: Path,
    port: int = 0,
    names: Sequence[str] = NAMES,
    own: tuple[Path, Path] | None = None,
    forged: tuple[Path, Path] | None = None,
) -> Iterator[TlsBox]:
    """A box whose authority is below `data`; an impostor, which shows a chain that is `forged` to everybody."""
    data.mkdir(exist_ok=True)
    box = TlsBox(Certificates.open(data, names, own, datetime.now(UTC)))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            box.heard.append(token)
            answers = {
                "/v1/authority": {
                    "certificate": box.certificates.authority_pem,
                    "fingerprint": box.certificates.fingerprint,
                },
                "/v1/osie": [],
            }
            if token == TOKEN:
                self._answer(200, answers[self.path])
            elif token == "may-push":
                self._answer(403, {"type": "/problems/forbidden", "status": 403, "detail": "this token may not look"})
            else:
                self._answer(401, {"type": "/problems/denied", "status": 401, "detail": "the token is not known here"})

        def _answer(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if status < 300 else "application/problem+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    context = box.certificates.server_context(Door.OPERATOR)
    if forged is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*forged)
    with _Server(("127.0.0.1", port), Handler, context) as server:
        box.url = f"https://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    allow_reuse_address = True

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext
    ) -> None:
        super().__init__(address, handler)
        self._context = context

    def get_request(self) -> tuple[ssl.SSLSocket, Any]:
        plain, address = super().get_request()
        return self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever does not trust us hangs up."""
