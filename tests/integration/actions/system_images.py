"""A system image as the appliance's registry has it, and a registry that can lie."""

import hashlib
import json
import platform
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import zstandard

MIB = 1 << 20
FRAME = MIB
ROOT_AT = 6 * MIB
# A GPT with an EFI system partition behind its root in numbers, before it on the disk, as Debian's images have it.
GPT = """label: gpt
start=8192, size=4096, type=U, name=esp
start=2048, size=2048, type=21686148-6449-6E6F-744E-656564454649
start=12288, type=L, name=root
"""
MBR = """label: dos
start=12288, type=83, bootable
"""


def raw_image(path: Path, table: str, *, size: int = 24 * MIB, root_size: int = 16 * MIB) -> bytes:
    """A disk with a boot sector, a table and a file system with one file in it."""
    path.write_bytes(bytes(size))
    with path.open("r+b") as file:
        file.write(b"\xfa\xeb\xfe boot code")
        file.seek(2 * MIB)
        file.write(hashlib.sha256(b"core").digest() * 3000)
    subprocess.run(["sfdisk", "-q", path], input=table.encode(), check=True)
    files = path.with_name("files")
    files.mkdir(exist_ok=True)
    (files / "hello").write_bytes(b"installed\n")
    (files / "noise").write_bytes(b"".join(hashlib.sha256(bytes([n % 251])).digest() for n in range(90_000)))
    subprocess.run(
        ["mkfs.ext4", "-q", "-F", "-d", files, "-E", f"offset={ROOT_AT}", path, f"{root_size // 1024}k"], check=True
    )
    return path.read_bytes()


def descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {
        "mediaType": f"application/vnd.tinkbox.{media_type}",
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "size": len(content),
    }


@dataclass
class Artifact:
    """What a registry has of one system image; tests change it to make it lie."""

    raw: bytes
    config: dict[str, Any] = field(default_factory=dict)
    checksum: bool = True

    def __post_init__(self) -> None:
        frames, blob = [], bytearray()
        for index, place in enumerate(range(0, len(self.raw), FRAME)):
            part = self.raw[place : place + FRAME]
            packed = zstandard.ZstdCompressor(level=1, write_checksum=self.checksum).compress(part)
            if any(part):
                frames.append([index, len(blob), len(packed), hashlib.sha256(part).hexdigest()])
            blob += packed
        self.frames = frames
        self.blob = bytes(blob)
        self.map = {
            "size": len(self.raw),
            "frame_size": FRAME,
            "digest": f"sha256:{hashlib.sha256(self.raw).hexdigest()}",
            "frames": frames,
        }

    def documents(self) -> dict[str, bytes]:
        """Path below /v2/NAME/ → content."""
        config = {"schema": 1, "id": "debian-13", "version": "1", "architecture": platform.machine()}
        contents = [
            ("system-image.config.v1+json", json.dumps({**config, **self.config}).encode()),
            ("disk.v1.raw+zstd", self.blob),
            ("block-map.v1+json", json.dumps(self.map).encode()),
        ]
        described = [descriptor(kind, content) for kind, content in contents]
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "artifactType": "application/vnd.tinkbox.system-image.v1",
                "config": described[0],
                "layers": described[1:],
            }
        ).encode()
        blobs = {f"blobs/{one['digest']}": content for one, (_, content) in zip(described, contents, strict=True)}
        return {
            "manifests/latest": manifest,
            f"manifests/sha256:{hashlib.sha256(manifest).hexdigest()}": manifest,
        } | blobs


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Registry"

    def do_GET(self) -> None:
        server = self.server
        path = self.path
        server.requests.append((path, self.headers.get("Range", ""), self.headers.get("User-Agent", "")))
        content = server.contents.get(path)
        if content is None:
            self.send_error(404)
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        habit = server.habits.pop(0) if asked and server.habits else "good"
        if habit.isdecimal():
            self.send_error(int(habit))
            return
        start, end = (int(asked[1]), int(asked[2])) if asked and habit != "whole" else (0, len(content) - 1)
        body = content[start : end + 1]
        self.send_response(206 if asked and habit != "whole" else 200)
        if asked and habit != "whole":
            shown = start + 1 if habit == "wrong range" else start
            self.send_header("Content-Range", f"bytes {shown}-{end}/{len(content)}")
        if path in server.types:
            self.send_header("Content-Type", server.types[path])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if habit == "wrong bytes":
            body = body[:-20] + bytes(20)
        self.wfile.write(body[: len(body) * 2 // 3] if habit == "breaks" else body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class Registry(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.habits: list[str] = []
        self.requests: list[tuple[str, str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def has(self, artifact: Artifact, name: str = "debian-13") -> None:
        for path, content in artifact.documents().items():
            self.contents[f"/v2/{name}/{path}"] = content

    def has_metadata(self, **files: bytes) -> str:
        for name, content in files.items():
            self.contents[f"/metadata/token/{name.replace('__', '/').replace('_', '-')}"] = content
        return f"{self.url}/metadata/token"

    @property
    def ranges(self) -> list[str]:
        return [asked for _, asked, _ in self.requests if asked]


@contextmanager
def registry() -> Iterator[Registry]:
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
