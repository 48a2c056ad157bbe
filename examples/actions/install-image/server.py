"""Documents and ranges of blobs from a web server, over as many connections as it takes."""

import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import TypeVar

from download import Broken, opened, shown
from failure import Failure
from patience import Patience

AGENT = "tinkbox-install-image"
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)\Z")
_OTHER_HOST = (
    "Another host answers in the appliance's place, or the appliance has a new authority: in that case boot the machine again "
    "from the network, then retry the workflow"
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrustedDoor:
    """The appliance by its plain URL, by that for HTTPS, and by the file with what it is trusted by there."""

    plain: str
    https: str
    authority: Path


class Server:
    """Where there is a trusted `door`, whatever has its plain URL is asked by HTTPS, and by nothing else."""

    def __init__(self, patience: Patience, door: TrustedDoor | None = None) -> None:
        self._patience = patience
        self._door = door
        try:
            self._trusted = ssl.create_default_context(cafile=door.authority) if door else None
        except (OSError, ssl.SSLError) as error:
            raise Failure("InvalidParameter", f"TINKBOX_CA is no file with certificates: {error}") from None

    def document(self, url: str, *, most: int, missing: str = "ImageNotFound", accept: str = "*/*") -> bytes:
        """All of a document of at most `most` bytes; raises Failure, with the reason `missing` when there is none."""

        def read() -> bytes:
            with self._opened(url, {"Accept": accept}, missing) as response:
                content = bytes(_read(response, most + 1, exactly=False))
                if len(content) > most:
                    raise Failure("DownloadRefused", f"{shown(url)} has more than {most} bytes")
                if response.length:
                    raise Broken(f"{shown(url)} ended early")
                return content

        return self._again(url, read)

    def pieces(
        self, url: str, start: int, lengths: list[int], total: int, take: Callable[[int, bytearray], None]
    ) -> None:
        """The bytes of a blob of `total` from `start` on, piece by piece, each given with its number to `take` once."""
        done = 0
        came = False

        def read() -> None:
            nonlocal came, done
            came = False
            place = start + sum(lengths[:done])
            end = start + sum(lengths) - 1
            with self._opened(url, {"Range": f"bytes={place}-{end}"}) as response:
                _check_range(response, url, place, end, total)
                while done < len(lengths):
                    piece = _read(response, lengths[done])
                    self._patience.something_came()
                    came = True
                    take(done, piece)
                    done += 1

        self._again(url, read, lambda: came)

    def give_up(self) -> None:
        """Whoever still waits for an answer fails soon."""
        self._patience.give_up()

    def _opened(self, url: str, headers: Mapping[str, str], missing: str = "ImageNotFound") -> HTTPResponse:
        door, trusted = self._door, None
        if door is not None and url.startswith(f"{door.plain}/"):
            url, trusted = door.https + url.removeprefix(door.plain), self._trusted
        try:
            return opened(url, {"User-Agent": AGENT, **headers}, missing, trusted)
        except Failure as failure:
            if failure.reason == "CertificateRefused" and trusted is not None:
                raise Failure(failure.reason, str(failure), _OTHER_HOST) from None
            raise

    def _again(self, url: str, read: Callable[[], T], came: Callable[[], bool] = lambda: False) -> T:
        while True:
            try:
                answer = read()
            except Broken as broken:
                self._patience.wait(shown(url), str(broken), came=came())
            else:
                self._patience.something_came()
                return answer


def _read(response: HTTPResponse, length: int, *, exactly: bool = True) -> bytearray:
    """So many bytes; raises Broken when the connection ends before."""
    content = bytearray()
    try:
        while len(content) < length and (part := response.read1(min(length - len(content), 1 << 20))):
            content += part
    except (OSError, HTTPException) as error:
        raise Broken(f"the connection broke ({error!r})") from None
    if exactly and len(content) < length:
        raise Broken("the connection ended early")
    return content


def _check_range(response: HTTPResponse, url: str, start: int, end: int, total: int) -> None:
    if response.status != 206:
        raise Failure("DownloadRefused", f"{url}: the server does not send parts of a file (status {response.status})")
    answer = response.headers.get("Content-Range", "")
    match = _RANGE.match(answer)
    if match is None or (int(match[1]), int(match[2])) != (start, end):
        raise Failure("DownloadFailed", f"{url}: asked for bytes {start}-{end}, the server sent {answer!r}")
    if match[3] not in {"*", str(total)}:
        raise Failure("ImageChanged", f"{url} has {match[3]} bytes, its manifest says {total}")
