"""The command line in this process, against an appliance that answers what a test wrote down."""

import argparse
import io
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tinkbox.cli import main

LOOK_UP = re.compile(
    r"GET (?P<path>/v1/(hardware|templates|rollouts|workflows(?=.*/state))/(?P<key>[^/?]+))(/state)?([?]to_change=(1|unfinished|held|delete|retire))?"
)


@dataclass
class FakeAppliance:
    """Answers by method and path; what it has no answer for is a 404.  An answer may be a function that gives it.

    Keys are the ids of what it has an answer to a change of: who looks one up is told so, which `asked` leaves out.

    Of a list `totals` says how many there are without the limit.  With `problem` it refuses everything like that, and while it is `away` it hangs up.
    """

    answers: dict[str, object] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    last_event_ids: list[str | None] = field(default_factory=list)
    problem: dict[str, object] | None = None
    away: bool = False

    def changed_by(self, request: str) -> str:
        """The key that a request looks up, where an answer to a change of it is known; else empty."""
        looked_up = LOOK_UP.fullmatch(request)
        path = looked_up["path"] if looked_up else "nothing"
        changes = [each.split()[1] for each in self.answers if not each.startswith("GET ")]
        found = any(each == path or each.startswith((f"{path}/", f"{path}?")) for each in changes)
        return looked_up["key"] if looked_up and found else ""

    def handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def chunks(self) -> Iterator[bytes]:
                """Of a body without a length (RFC 9112 §7.1)."""
                chunked = self.headers.get("Transfer-Encoding") == "chunked"
                while chunked and (size := int(self.rfile.readline(), 16)):
                    yield self.rfile.read(size)
                    self.rfile.readline()
                if chunked:
                    self.rfile.readline()

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"".join(self.chunks())
                request = f"{self.command} {self.path}"
                if fake.away:
                    return
                answer = fake.answers.get(request)
                if answer is None and fake.problem is None and (key := fake.changed_by(request)):
                    answer = {"id": key, "workflow_id": key, "name": "", "machines": []}
                else:
                    fake.asked.append((request, body))
                    fake.last_event_ids.append(self.headers.get("Last-Event-ID"))
                answer = answer() if callable(answer) else answer
                status = 200
                if isinstance(answer, dict) and "detail" in answer and "status" in answer:
                    status = int(str(answer["status"]))
                if fake.problem is not None or answer is None:
                    answer = fake.problem or {"detail": "no such thing here", "problems": []}
                    status = int(str(answer.get("status", 404))) if isinstance(answer, dict) else 404
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if isinstance(answer, dict) and "retry_after" in answer:
                    self.send_header("Retry-After", str(answer["retry_after"]))
                if request in fake.totals:
                    self.send_header("Total-Count", str(fake.totals[request]))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815  the names http.server calls

            def log_message(self, *_: object) -> None: ...

        return Handler


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    """Wherever the tests run."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("TZ", "UTC0")
        time.tzset()
        yield
    time.tzset()


class Server(ThreadingHTTPServer):
    """A command that is told to end leaves its answer behind: that is nothing to print beside what the command says."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@pytest.fixture
def appliance(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAppliance]:
    """An appliance that the commands find through TINKBOX_SERVER."""
    fake = FakeAppliance()
    with Server(("127.0.0.1", 0), fake.handler()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("TINKBOX_SERVER", f"http://127.0.0.1:{server.server_port}")
        yield fake
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Printed:
    status: int
    out: str
    err: str


def run_of(chosen: argparse.Namespace) -> str:
    """What carries a command out, as `module:function` below `tinkbox.cli.nouns`."""
    return f"{chosen.run.__module__.removeprefix('tinkbox.cli.nouns.')}:{chosen.run.__name__}"


@pytest.fixture
def tinkbox(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Printed]:
    """`tinkbox("hardware", "list", stdin=b"…")`: the exit status and what was printed."""

    def run(*arguments: str, stdin: bytes = b"") -> Printed:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = main(arguments)
        except SystemExit as stop:
            status = int(str(stop.code))
        printed = capsys.readouterr()
        return Printed(status, printed.out, printed.err)

    return run


@pytest.fixture
def piped() -> Iterator[Callable[[], Callable[[], None]]]:
    """Has standard output be a pipe from then on, and gives what has its reader go away."""
    with ExitStack() as stack:

        def pipe() -> Callable[[], None]:
            reading, writing = os.pipe()
            stream = stack.enter_context(os.fdopen(writing, "w"))
            stack.enter_context(pytest.MonkeyPatch.context()).setattr(sys, "stdout", stream)
            return partial(os.close, reading)

        yield pipe


@pytest.fixture
def tink(tinkbox: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Printed]:
    """The same where an old script has asked for the output of 2020."""
    monkeypatch.setenv("TINKBOX_FORMAT", "tink")
    return tinkbox
