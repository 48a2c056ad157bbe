"""The bytes of a URL, each once and in order, over as many connections as it takes.

Rule 1: an end is only believed when it is the announced one; a connection that closes early is a broken one.
Rule 2: what follows a break continues what came before it, or the download fails: the server vouches for it
by a range of the same entity, or the bytes we have are read again and must have the same digest.
"""

import hashlib
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse

from failure import Failure

CHUNK = 256 * 1024
SILENCE_SECONDS = 60
PAUSE_SECONDS = 2
TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)\Z")
# Below the path comes a token, which opens the machine's secrets to whoever reads it.
_TOKEN = re.compile(r"(/metadata/)[^/]+")


class Broken(Exception):
    """This connection failed; another may do better."""


def opened(
    url: str, headers: Mapping[str, str], missing: str = "ImageNotFound", trusted: ssl.SSLContext | None = None
) -> HTTPResponse:
    """The answer of a web server; raises Broken where another try may help, else Failure, with `missing` for what is not there.

    By HTTPS it is believed by `trusted`; None: by what the image of this action trusts.
    """
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", **headers})
    try:
        response: HTTPResponse = urllib.request.urlopen(request, timeout=SILENCE_SECONDS, context=trusted)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in TEMPORARY:
            raise Broken(f"the server answered {error.code} {error.reason}") from None
        reason = missing if error.code in {404, 410} else "DownloadRefused"
        raise Failure(reason, f"{shown(url)}: the server answered {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise Failure("CertificateRefused", f"{shown(url)}: {error.reason.verify_message}") from None
        raise Broken(f"no connection ({error.reason})") from None
    except (OSError, HTTPException) as error:
        raise Broken(f"no answer ({error!r})") from None
    except ValueError as error:
        raise Failure("InvalidParameter", f"{shown(url)} is no address: {error}") from None
    return response


def shown(url: str) -> str:
    """An address as people are told it."""
    return _TOKEN.sub(r"\1…", url)


class Download:
    """`received`, `total` (None: not announced) and `digest` tell how far it is.

    `content_type` is what the server says of them.  `patience` is how many seconds without a new byte are spent on trying again; with 0 only a connection
    that brought something is followed by another.  `clock` is monotonic.
    """

    def __init__(
        self,
        url: str,
        *,
        patience: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        say: Callable[[str], None],
        agent: str,
    ) -> None:
        self.received = 0
        self.total: int | None = None
        self.digest = hashlib.sha256()
        self.end_is_certain = True
        self.content_type = ""
        self._entity = ""
        self._url = url
        self._agent = agent
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._say = say

    def chunks(self) -> Iterator[bytes]:
        """The bytes; raises Failure when there is no getting all of them."""
        quiet_since = self._clock()
        while True:
            before = self.received
            try:
                yield from self._connection()
                return
            except Broken as broken:
                if self.received > before:
                    quiet_since = self._clock()
                elif self._clock() - quiet_since >= self._patience:
                    raise Failure("DownloadFailed", f"{self._url}: {broken}") from None
                self._say(f"{broken}; trying again after {self.received} bytes")
                self._sleep(PAUSE_SECONDS)

    def _connection(self) -> Iterator[bytes]:
        with self._request() as response:
            try:
                if self.received == 0:
                    self._first_answer(response)
                elif response.status == 206:
                    self._check_range(response.headers.get("Content-Range", ""))
                else:
                    self._read_again(response)
                while chunk := response.read1(CHUNK):
                    self.received += len(chunk)
                    self.digest.update(chunk)
                    yield chunk
            except (OSError, HTTPException) as error:
                raise Broken(f"the connection broke ({error!r})") from error
        if self.total is not None and self.received < self.total:
            raise Broken(f"the connection ended after {self.received} of {self.total} bytes")

    def _request(self) -> HTTPResponse:
        headers = {"User-Agent": self._agent}
        if self.received:
            headers["Range"] = f"bytes={self.received}-"
            if self._entity:
                headers["If-Range"] = self._entity
        return opened(self._url, headers)

    def _first_answer(self, response: HTTPResponse) -> None:
        self.total = response.length
        self.content_type = response.headers.get("Content-Type", "")
        self.end_is_certain = self.total is not None or bool(response.chunked)
        # A weak tag promises the same meaning, not the same bytes (RFC 9110 §13.1.5).
        tag = response.headers.get("ETag", "")
        self._entity = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")

    def _check_range(self, header: str) -> None:
        match = _RANGE.match(header)
        if match is None or int(match[1]) != self.received:
            raise Failure("DownloadFailed", f"asked for bytes from {self.received} on, the server sent {header!r}")
        if self.total is not None and match[2] not in {"*", str(self.total)}:
            raise Failure("ImageChanged", f"{self._url} had {self.total} bytes and now has {match[2]}")

    def _read_again(self, response: HTTPResponse) -> None:
        if response.length != self.total:
            raise Failure("ImageChanged", f"{self._url} had {self.total} bytes and now has {response.length}")
        again, left = hashlib.sha256(), self.received
        while left:
            chunk = response.read1(min(left, CHUNK))
            if not chunk:
                raise Broken(f"the connection ended {left} bytes before the place where the last one broke")
            again.update(chunk)
            left -= len(chunk)
        if again.digest() != self.digest.digest():
            raise Failure("ImageChanged", f"{self._url} changed while it was downloaded")
