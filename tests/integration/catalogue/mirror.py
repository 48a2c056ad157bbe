"""A publisher of our own on loopback, over HTTPS and HTTP, who also lies: each file has what goes wrong with it.

Over HTTP it is a proxy as well, for every host there is.
"""

import hashlib
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pysequoia import Cert, Sig, SignatureMode, Tsk, sign


@dataclass(frozen=True)
class File:
    """What is served at a path.

    `cut` ends the connection at that place, `stalled` falls silent there, `told` is the length that is
    claimed, `place` a redirect, `later` what is there after the first answer, `ignores_range` sends all of it whatever is asked,
    `untold` tells no length, `untagged` no ETag, `displaced` begins so many bytes behind what is asked for.
    """

    content: bytes = b""
    kind: str = "application/octet-stream"
    tag: str = ""
    encoding: str = ""
    status: int = 200
    cut: int | None = None
    stalled: int | None = None
    told: int | None = None
    place: str = ""
    later: "File | None" = None
    ignores_range: bool = False
    ignores_condition: bool = False
    untold: bool = False
    untagged: bool = False
    displaced: int = 0

    @property
    def etag(self) -> str:
        return self.tag or f'"{hashlib.sha256(self.content).hexdigest()[:12]}"'


@dataclass
class Mirror:
    """`url` is over HTTPS and `plain` over HTTP, for the same files; `asked` is who asked for what, with its Range."""

    authority: Path
    files: dict[str, File] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    url: str = ""
    plain: str = ""
    awake: threading.Event = field(default_factory=threading.Event)

    def publish(self, files: Mapping[str, File | bytes]) -> None:
        self.files |= {name: file if isinstance(file, File) else File(file) for name, file in files.items()}

    def change(self, name: str, **changes: object) -> None:
        self.files[name] = replace(self.files[name], **changes)

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    def ranges(self, name: str) -> list[str]:
        """What was asked for of a file, `` for all of it."""
        return [part for method, path, part in self.asked if (method, path) == ("GET", name)]


@contextmanager
def mirror(folder: Path) -> Iterator[Mirror]:
    certificate = certificate_for(folder, "localhost", "127.0.0.1")
    made = Mirror(authority=certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with _serving(made) as plain, _serving(made, context) as secure:
        made.plain, made.url = f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{secure}"
        try:
            yield made
        finally:
            made.awake.set()


@contextmanager
def _serving(made: Mirror, context: ssl.SSLContext | None = None) -> Iterator[int]:
    class Server(ThreadingHTTPServer):
        daemon_threads = False

        def process_request_thread(self, request: object, client_address: object) -> None:
            # The handshake is the connection's own affair, and a client may end it.
            with suppress(OSError):
                if context is not None:
                    request = context.wrap_socket(request, server_side=True)  # type: ignore[arg-type]
                super().process_request_thread(request, client_address)  # type: ignore[arg-type]

        def handle_error(self, *_: object) -> None: ...

    with Server(("127.0.0.1", 0), _handler(made)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            made.awake.set()
            server.shutdown()
            thread.join()


def _handler(made: Mirror) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        mirror = made

    return Handler


class _Handler(BaseHTTPRequestHandler):
    mirror: Mirror

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        files, path, asked = self.mirror.files, urlsplit(self.path).path, self.headers.get("Range", "")
        self.mirror.asked.append((self.command, path, asked))
        file = files.get(path, File(b"nothing here", status=404))
        if file.later is not None and body:
            files[path] = file.later
        if file.place:
            self._head(302, {"Location": file.place, "Content-Length": "0"})
            return
        begin = self._begin(file, asked)
        if body:
            self._send(file, begin)

    def _begin(self, file: File, asked: str) -> int:
        """The head of an answer; returns where in the content it goes on."""
        size, begin, status = len(file.content), 0, file.status
        told = {"Content-Type": file.kind} if file.untagged else {"ETag": file.etag, "Content-Type": file.kind}
        same = file.ignores_condition or self.headers.get("If-Range") in (None, file.etag)
        if asked and same and not file.ignores_range:
            begin = int(asked.removeprefix("bytes=").removesuffix("-")) + file.displaced
            status = 206 if begin < size else 416
            told["Content-Range"] = f"bytes {begin}-{size - 1}/{size}" if begin < size else f"bytes */{size}"
        if file.encoding:
            told["Content-Encoding"] = file.encoding
        length = max(0, size - begin) if file.told is None else file.told
        self._head(status, told if file.untold else {**told, "Content-Length": str(length)})
        return begin

    def _head(self, status: int, told: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, file: File, begin: int) -> None:
        end = min((each for each in (file.cut, file.stalled) if each is not None), default=len(file.content))
        self.wfile.write(file.content[begin:end])
        self.wfile.flush()
        if file.stalled is not None:
            self.mirror.awake.wait(30)

    def log_message(self, *_: object) -> None: ...


def certificate_for(folder: Path, *hosts: str) -> Path:
    """A certificate of these names and addresses that is its own authority, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mirror")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([_named(each) for each in hosts]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = folder / "mirror.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


def _named(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@dataclass(frozen=True)
class Signer:
    """A publisher's key."""

    secret: Tsk
    public: Cert

    @property
    def fingerprint(self) -> str:
        return self.public.fingerprint.upper()

    def put(self, folder: Path) -> None:
        """Lay the public key where an operator's keys are."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.fingerprint}.asc").write_text(str(self.public))

    def detached(self, content: bytes) -> bytes:
        return sign(self.secret.signer(), content, mode=SignatureMode.DETACHED)

    def clear(self, content: bytes) -> bytes:
        return sign(self.secret.signer(), content, mode=SignatureMode.CLEAR)

    def expired(self) -> "Signer":
        """The same key, that ends before now."""
        ended = datetime.now(UTC) - timedelta(seconds=1)
        return replace(self, public=self.public.set_expiration(ended, self.secret.certifier()))

    def revoked(self) -> "Signer":
        revocation: Sig = self.public.revoke(self.secret.certifier())
        return replace(self, public=Cert.from_bytes(bytes(self.public) + bytes(revocation)))


def signer(name: str) -> Signer:
    secret = Tsk.generate(f"{name} <{name}@example.org>")
    return Signer(secret, secret.extract_certificate())
