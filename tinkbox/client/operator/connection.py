"""What is asked of an operator door over a connection of either kind: JSON documents, server-sent events.

Over a `quick_connection` one question is asked after the other, a `lasting_connection` also streams, uploads and opens shells.
"""

import errno
import json
import re
import ssl
import stat
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, NoReturn
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from tinkbox.client.operator.box_certificates import NO_TLS, distrusted, speaks_no_tls
from tinkbox.client.operator.local_appliance import LocalAppliance, local_appliance
from tinkbox.client.operator.other_doors import operator_door_advice, speaks_tls
from tinkbox.client.refusals import CutOff, Unanswered, Unreachable, Untrusted, kind_of, quoted, refusal_of
from tinkbox.host_users import group_name, user_name
from tinkbox.model.command_lines import PROGRAM, typable, typable_json
from tinkbox.model.errors import Denied, Invalid, NotFound, Refusal, TooMany, Unavailable
from tinkbox.model.text import quoted as quoted_text
from tinkbox.model.text import spelled
from tinkbox.wire.operator_door import HEADER as OPERATOR_DOOR
from tinkbox.wire.operator_door import is_on_loopback, read_operator_door, unencrypted, with_user

if TYPE_CHECKING:
    from http.client import HTTPMessage

    from tinkbox.client.shell import ShellConnection

Document = dict[str, Any]
SECONDS = 60.0  # for a question and its answer
LATE: Final = 10.0  # seconds after which a person is told what is waited for
# Of an answer that is read whole; a list of 20,000 machines has a quarter of it.
MOST_ANSWERED = 64 * 1024 * 1024
MOST_LATER: Final = 600  # seconds that a refusal may have us wait
LASTING = "only a lasting connection does that"
LOOK_FIRST = "it may be done all the same, so look before you type it again"
# What is answered in the appliance's own words, with commands in them; elsewhere are documents that people wrote, to the letter.
_OWN_WORDS: Final = re.compile(
    r"/v1/(doctor|status|events|services|discovered|workflows/[^/?]+/(state|events))(?=$|\?)"
)
_JSON_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
SERVER: Final = "TINKBOX_SERVER"
LOGIN: Final = "tinkbox login"  # in the place of a variable: this command named the appliance
LOOK_SECONDS: Final = 3.0  # for another look at a certificate that is not valid
TOKEN_VARIABLE: Final = "TINKBOX_TOKEN"  # noqa: S105  a name
_BAD_REQUEST: Final = 400


class Answered(Document):
    """A JSON object that an appliance answered with.

    Asking for a key that it lacks raises Unavailable, with `what_to_do`.
    """

    def __init__(self, document: Document, what_to_do: str) -> None:
        super().__init__(document)
        self._what_to_do = what_to_do

    def __missing__(self, key: str) -> NoReturn:
        raise Unavailable(f"the appliance answered without {key!r}: {self._what_to_do}")


class Reply(NamedTuple):
    """The bytes of an answer, and of a list that was limited how many there are without the limit."""

    content: bytes
    total: int | None = None


class Work(NamedTuple):
    """What may take minutes: it is waited for as long as the appliance answers anything.

    `waiting` hears every second how many have passed, `broken` says what to do when the answer does not come.  What only
    `looks` changes nothing.
    """

    waiting: Callable[[float], None]
    broken: str
    looks: bool = False


class Found(NamedTuple):
    """What a list has of the entries that were asked for, and how many there are of these."""

    documents: list[Document]
    total: int


class Connection(ABC):
    """To the unix socket of an appliance on this host, or to the URL of another, with a token.

    `variable` is what of the environment names it, or the command LOGIN, empty: nothing, and `token_place` the variable or
    the file that holds the token.  `authority` (PEM) alone is trusted to sign an https:// one's certificate, empty: all that this
    host trusts.  `changed` hears of each change that the appliance says it made: the path that was asked, and the answer,
    which may be empty.  `late` hears once, in a sentence, of
    an answer that is not there after LATE.  `program` is how a person begins a command to this appliance: so those begin that it tells.

    Raises Invalid for a token that cannot be one.  Whatever is asked raises the refusal that the appliance answers with, and
    Unreachable when none answers.
    """

    def __init__(
        self,
        *,
        socket: Path | None = None,
        url: str = "",
        token: str = "",
        variable: str = "",
        token_place: str = TOKEN_VARIABLE,
        authority: str = "",
    ) -> None:
        self.socket = socket
        self.url = url or "http://tinkbox"
        if not (token.isascii() and token.isprintable()):
            raise Invalid(
                f"the token of {token_place} has letters in it that no token has: is it a whole line of a file?"
            )
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.where = str(socket or url)
        self.changed: Callable[[str, Document], None] = lambda *_: None
        self.late: Callable[[str], None] = lambda _: None
        self.program = PROGRAM
        self._variable = variable
        self._token_place = token_place
        self.authority = authority
        self._is_late = False

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def exchange(
        self, method: str, path: str, body: bytes | None, *, looks: bool = False, seconds: float | None = None
    ) -> Reply:
        """Ask, and return the answer, which is waited for so many `seconds`, None: SECONDS.

        What only `looks` changes nothing, as nothing does that GETs.
        """

    async def work(self, path: str, body: Document, work: Work) -> Document:
        """POST what may take long; the answer is a JSON object."""
        raise NotImplementedError("only a quick connection does that")

    async def upload(self, path: str, content: BinaryIO | AsyncIterator[bytes]) -> Document:
        """POST a file of any length, or what comes, for as long as that takes; the answer is a JSON object.

        Raises what `content` raises when it is asked for more.
        """
        raise NotImplementedError(LASTING)

    def stream(self, path: str, headers: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """GET an answer without an end, as it comes."""
        raise NotImplementedError(LASTING)

    def shell(self, path: str, *, tty: bool) -> AbstractAsyncContextManager["ShellConnection"]:
        """A WebSocket for a shell; `client.shell` says what is raised."""
        raise NotImplementedError(LASTING)

    async def documents(self, path: str) -> list[Document]:
        """GET a JSON list."""
        return (await self.found(path, {})).documents

    async def found(self, path: str, asked: Mapping[str, str]) -> Found:
        """GET what a JSON list has of what is asked for; `asked` is its query, such as `state` and `limit`."""
        query = f"?{urlencode(asked)}" if asked else ""
        reply = await self.exchange("GET", path + query, None)
        answer = self._decoded(self._typed(path, reply.content))
        if not isinstance(answer, list) or not all(isinstance(each, dict) for each in answer):
            raise self.other_answer(path, "a list of objects")
        return Found(answer, len(answer) if reply.total is None else reply.total)

    async def document(
        self,
        method: str,
        path: str,
        body: Document | bytes | None = None,
        *,
        looks: bool = False,
        seconds: float | None = None,
    ) -> Document:
        """A JSON object; `body` is as for `send`, all else as for `exchange`."""
        answer = self.object_of(path, await self._answer(method, path, body, looks=looks, seconds=seconds))
        if method != "GET" and not looks:
            self.changed(path, answer)
        return answer

    async def send(self, method: str, path: str, body: Document | bytes | None = None) -> bytes:
        """The answer's bytes; a `body` that is a dict is sent as JSON, bytes as they are."""
        answer = await self._answer(method, path, body)
        if method != "GET":
            self.changed(path, {})
        return answer

    async def _answer(
        self,
        method: str,
        path: str,
        body: Document | bytes | None,
        *,
        looks: bool = False,
        seconds: float | None = None,
    ) -> bytes:
        content = encoded(body) if isinstance(body, dict) else body
        return self._typed(path, (await self.exchange(method, path, content, looks=looks, seconds=seconds)).content)

    def _typed(self, path: str, content: bytes) -> bytes:
        """The answer of a path, with its commands as a person types them."""
        if self.program == PROGRAM or not _OWN_WORDS.match(path):
            return content
        return typable_json(content, self.program)

    async def sent_events(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[Mapping[str, str]]:
        """The fields of each server-sent event; one that was cut off is not among them.

        Raises Denied where the appliance says that the token counts no more.
        """
        buffer = bytearray()
        async for chunk in self.stream(path, headers):
            begin = max(0, len(buffer) - 1)  # the event's end may lie across two chunks
            buffer += chunk
            while (end := buffer.find(b"\n\n", begin)) >= 0:
                lines = self._typed(path, bytes(buffer[:end])).decode().split("\n")
                del buffer[: end + 2]
                begin = 0
                fields = dict(line.split(": ", 1) for line in lines if ": " in line[1:])
                if fields.get("event") == "denied":
                    raise Denied(
                        self.told(str(self.object_of(path, fields.get("data", "").encode()).get("detail", "")))
                    )
                yield fields

    async def output(self, path: str, place: str) -> AsyncIterator[tuple[str, Document | None]]:
        """What is printed behind `place`, the beginning if empty; each piece with the place to go on from.

        Before the first comes a place without a piece.  Raises CutOff when the connection ends before the output
        does.
        """
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": place} if place else {})}
        async for fields in self.sent_events(path, headers):
            if fields.get("event") == "end":
                return
            if "id" in fields:
                yield fields["id"], self.object_of(path, fields["data"].encode()) if "data" in fields else None
        raise self.ended()

    def object_of(self, path: str, answer: bytes) -> Document:
        """An answer that must be a JSON object.  Raises Unavailable for another."""
        document = self._decoded(answer)
        if not isinstance(document, dict):
            raise self.other_answer(path, "an object")
        return document

    def other_answer(self, path: str, expected: str) -> Unavailable:
        """What to say of an answer that succeeded, and is not what an appliance of this version answers."""
        return Unavailable(f"{self.where}{path} did not answer with {expected}: {self._is_that_one()}")

    def _decoded(self, answer: bytes) -> object:
        """JSON, with an Answered for every object; None when it is none."""
        told = self._is_that_one()
        try:
            return json.loads(answer, object_hook=lambda found: Answered(found, told))
        except (ValueError, RecursionError):
            return None

    def _is_that_one(self) -> str:
        way_out = f" If not, {self._correct()}" if self._variable or not self.socket else ""
        return f"is that an appliance of this version?{way_out}"

    def _correct(self) -> str:
        if self._variable == LOGIN:
            return f"type `{LOGIN} https://HOST:7080` with the URL of the operator door"
        return f"correct {self._variable or SERVER}, which names the operator door, such as https://HOST:7080"

    def raise_refusal(
        self, status: int, reason: str, headers: "Mapping[str, str] | HTTPMessage", answer: bytes
    ) -> None:
        """Raise what an answer that is no success says; its `headers` are found however their names are written."""
        if status < 300:
            return
        variable = self._variable or SERVER
        if status < 400:
            place = headers.get("Location", "") or "nowhere"
            raise Unavailable(f"{self.where} sends us on to {place}: name the appliance itself by {variable}")
        if (door := read_operator_door(headers.get(OPERATOR_DOOR) or "")) is not None:
            token_place = "" if self.headers else self._token_place
            raise NotFound(operator_door_advice(self.where, door, variable, token_place))
        refusal = refusal_of(status, answer)
        if refusal is None:
            raise self._foreign(status, reason, answer)
        told = self.told(str(refusal))
        if type(refusal) is Denied and not self.socket:
            told = f"{told}. {self._put_yours()}"
        refusal.args = (told,)
        later = headers.get("Retry-After") or ""
        if isinstance(refusal, TooMany) and later.isascii() and later.isdecimal():
            refusal.retry_after = min(int(later[:6]), MOST_LATER)
        raise refusal

    def _put_yours(self) -> str:
        if self._variable == LOGIN:
            return f"`{LOGIN} {self.url}` takes another one, or with `--oidc` your company's account"
        return f"Put yours into {self._token_place}"

    def told(self, detail: str) -> str:
        """The appliance's own words, as a person is told them."""
        return typable(detail, self.program)

    def _foreign(self, status: int, reason: str, answer: bytes) -> Refusal:
        """What to say of an answer that no appliance gives."""
        if status == _BAD_REQUEST and self._speaks_tls():
            return self._encrypted()
        return kind_of(status)(
            f"{self.where} does not answer as the operator door of an appliance: {quoted(status, reason, answer)}. "
            f"If a proxy stands before the appliance, look there; else {self._correct()}"
        )

    def _speaks_tls(self) -> bool:
        return not self.socket and self.url.startswith("http://") and speaks_tls(self.url)

    def _encrypted(self) -> Unreachable:
        url = self.url.replace("http://", "https://", 1)
        return Unreachable(
            f"{self.where} speaks TLS: write https:// instead of http://. `{LOGIN} {url}` keeps its authority and your token"
        )

    def encrypted_or_here(self) -> SplitResult:
        """The parts of the URL.  Raises Invalid for one that is none, has a user, or to which all would cross a network unencrypted."""
        try:
            url, is_here = urlsplit(self.url), is_on_loopback(self.url)
            _ = url.port  # raises for what is none
        except ValueError as error:
            raise Invalid(self._no_url(str(error))) from None
        if url.scheme not in ("http", "https"):
            raise Invalid(self._no_url("it begins with neither https:// nor http://"))
        if not url.hostname or any(map(str.isspace, url.hostname)):
            raise Invalid(self._no_url("it has no host"))
        if url.username is not None:
            raise Invalid(with_user(self._variable or "the URL", url, url.scheme if is_here else "https"))
        if url.scheme == "https" or is_here:
            return url
        place = f" in {self._variable}" if self._variable else ""
        raise Invalid(
            f"{unencrypted(self.url, url.scheme)}{place}, after `{LOGIN} https://{url.netloc}{url.path}`, which keeps the "
            "authority of the box"
        )

    def _no_url(self, why: str) -> str:
        told = quoted_text(self.url) if "@" not in self.url else "what is given"  # with a password
        which = f", which {self._variable} names," if self._variable else ""
        return f"{told}{which} is no URL of an appliance ({why}): write https://HOST:7080, or unix:/PATH for a socket on this host"

    def too_much(self, path: str) -> Unavailable:
        """What to say of an answer that goes on beyond MOST_ANSWERED."""
        return Unavailable(
            f"{self.where} answered {path} with more than {MOST_ANSWERED >> 20} MiB, which is all that is read of an answer: "
            "instead of a whole list ask for one by its id or name, such as `tinkbox workflow state WORKFLOW`, or delete "
            "what is not needed any more"
        )

    def broken(
        self,
        method: str,
        path: str,
        error: Exception,
        then: str = LOOK_FIRST,
        *,
        looks: bool = False,
        seconds: float = SECONDS,
    ) -> Unavailable:
        """What to say of a connection that ended, or was silent for `seconds`, before the answer came.

        Unless it only `looks`, a change may have been made.
        """
        if self._speaks_tls():  # so nothing of what was asked was understood
            return self._encrypted()
        if looks or method == "GET":
            return self._silent(seconds) if isinstance(error, TimeoutError) else self.unreachable(error)
        why = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
        return Unanswered(f"{self.where} did not answer {method} {path} ({why})", then)

    def tell_late(self, seconds: float) -> None:
        """Tell of an appliance that has not answered after LATE, and is waited for so many `seconds` in all."""
        if self._is_late:
            return
        self._is_late = True
        why = self._hindered() or "it may be busy"
        self.late(
            f"the appliance at {self.where} has not answered for {LATE:g} s: {why}. It is waited for up to {seconds:g} s"
        )

    def _hindered(self) -> str:
        """What keeps an appliance on this host from answering, as far as that is seen; else empty."""
        there = local_appliance(self.socket.parent) if self.socket else None
        return str(there) if there is not None else ""

    def _silent(self, seconds: float) -> Unreachable:
        """What to say of an appliance that took a question and does not answer it."""
        its_log = "its log, `journalctl -u tinkbox`," if self.socket else "its log"
        why = self._hindered() or (
            f"it may be busy. Type the same again; when it stays silent, see {its_log} and what its processor does"
        )
        return Unreachable(
            f"the appliance at {self.where} took the question, and did not answer within {seconds:g} s: {why}"
        )

    def ended(self) -> CutOff:
        """What to say of an answer that was cut off."""
        look = "`systemctl status tinkbox` tells" if self.socket else "see whether `tinkbox serve` runs there"
        return CutOff(
            f"{self.where} ended the connection in the middle of its answer: was the appliance stopped, or restarted? {look}. If it runs, its log has the reason"
        )

    def unreachable(self, error: Exception) -> Unreachable:
        """What to say of an error of the connection."""
        # A library's own words may name the place again.
        why = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
        # An error of TLS has a number of its own, which may be the same.
        if self.socket and isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
            return Unreachable(
                f"no right to use {self.where}: run as {self._owner()}. Or come to its operator door with a token: `{LOGIN} "
                "https://HOST:7080`, or TINKBOX_SERVER and TINKBOX_TOKEN"
            )
        if isinstance(error, ssl.SSLCertVerificationError):
            kept = self.authority if self.authority or self._variable == LOGIN else None
            return Untrusted(distrusted(self.where, self.url, kept, error, LOOK_SECONDS))
        if isinstance(error, ssl.SSLError) and error.reason == NO_TLS:
            return Unreachable(speaks_no_tls(self.where))
        if self.socket and (there := local_appliance(self.socket.parent)) is not None:
            return self._without_socket(self.socket, there, why)
        reached = (
            "" if self.socket else ", and is operator.listen of its tinkbox.yaml an address that this host reaches"
        )
        served = f"is `tinkbox serve` running there{reached}"
        if self._variable == LOGIN:
            return Unreachable(
                f"no appliance answers at {self.where} ({why}), where you are logged in: {served}? "
                "`tinkbox logout` has the commands ask the appliance on this host again"
            )
        if self._variable:
            without = ", or unset it to ask the appliance on this host" if self._variable == SERVER else ""
            return Unreachable(
                f"no appliance answers at {self.where} ({why}), which {self._variable} names: {served}? Correct "
                f"{self._variable}{without}"
            )
        here = "`systemctl start tinkbox` starts one that `tinkbox init` has set up, and that answers root and the group tinkbox: sudo tinkbox. "
        return Unreachable(
            f"no appliance answers at {self.where} ({why}): is `tinkbox serve` running? {here if self.socket and self.program == PROGRAM else ''}"
            f"Another one on this host is named by --data, one on another host by `{LOGIN} https://HOST:7080`, or by TINKBOX_SERVER and "
            "TINKBOX_TOKEN"
        )

    def _without_socket(self, path: Path, there: LocalAppliance, why: str) -> Unreachable:
        """What to say of an appliance that runs, and whose socket nobody answers on."""
        what = f"cannot be used ({why})" if path.exists() else "is gone"
        # That it waits for a disk at this moment is as usual, and no reason.
        more = (str(there) if there.is_stopped else "") or (
            "it starts or ends, or makes that socket anew within seconds, so type the same again. If that does not help, its log says "
            "why, and so does `tinkbox doctor` with TINKBOX_SERVER and TINKBOX_TOKEN, by TCP"
        )
        return Unreachable(
            f"the socket {path} {what}, but a tinkbox (pid {there.pid}) has the data folder {path.parent} locked: {more}"
        )

    def _owner(self) -> str:
        """The user whose socket it is, and the group that may use it; where nobody may see that, whose folder it is in."""
        for place in (self.socket, self.socket.parent) if self.socket else ():
            with suppress(OSError):
                found = place.stat()
                owner = f"user {user_name(found.st_uid)}, whose it is"
                group_may, others_may = (
                    (stat.S_IXGRP, stat.S_IXOTH) if place != self.socket else (stat.S_IWGRP, stat.S_IWOTH)
                )
                if not found.st_mode & group_may or found.st_mode & others_may:
                    return owner
                group = group_name(found.st_gid)
                return (
                    f"{owner}, or as a member of the group {group} (`sudo usermod -aG {group} NAME`, and log in again)"
                )
        return "the user of the appliance"


def part(key: str) -> str:
    """A key as one part of a path, or one value of a query, whatever letters it has."""
    return quote(key, safe=":")


def encoded(body: Document) -> bytes:
    """A body as JSON; raises Invalid for a text with bytes that are none, such as an argument that was typed in Latin-1."""
    written = json.dumps(body, ensure_ascii=False)
    try:
        return written.encode()
    except UnicodeEncodeError as error:
        text = json.loads(next(each[0] for each in _JSON_TEXT.finditer(written) if each.end() > error.start))
        # Python keeps a byte that is no UTF-8 as half of a character, \udc80 to \udcff.
        told = spelled(text).replace("\\udc", "\\x")
        raise Invalid(f"{told} is not UTF-8 text, so it was not sent") from None
