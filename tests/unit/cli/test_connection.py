"""Which appliance is asked, and in which order."""

import json
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, EVENTS, MACHINE, MACHINE_NAMED, STATE, TEMPLATE, WORKFLOW, service
from tests.unit.cli.rollout_documents import member, standing
from tinkbox.cli.exit_statuses import UNREAD
from tinkbox.cli.output import progress_line
from tinkbox.cli.output.changes import MANY
from tinkbox.cli.output.progress_line import ERASE

Tinkbox = Callable[..., Printed]
VERSION = {"version": 1, "at": AT, "kept": True, "files": [{"path": "data", "size": 3, "mode": 0o644}]}


# What a command that shows asks for a key, and a document that answers it; {} is the key.
SHOWN: dict[str, dict[str, object]] = {
    "template get": {"templates/{}": TEMPLATE},
    "hardware get": {"hardware/{}": MACHINE, "hardware/{}/timeline": []},
    "hardware id": {"hardware/{}": MACHINE},
    "workflow get": {"workflows/{}": WORKFLOW},
    "workflow state": {"workflows/{}/state": STATE},
    "workflow events": {"workflows/{}/events?after=0": EVENTS},
    "workflow data": {"workflows/{}/data?version=0": {"version": 0, "files": []}},
    "workflow data --list": {"workflows/{}": WORKFLOW, "workflows/{}/data/versions": [VERSION]},
    "rollout get": {"rollouts/{}": standing()},
    "rollout get --machines": {"rollouts/{}": standing(), "rollouts/{}/machines": [member("node7")]},
    "service list": {"services?workflow={}": [service()]},
}


@pytest.mark.parametrize("command", SHOWN)
def test_what_shows_several_shows_those_that_are_there_and_tells_of_each_other_one(
    tinkbox: Tinkbox, appliance: FakeAppliance, command: str
) -> None:
    for key in ("one", "three"):
        for path, answer in SHOWN[command].items():
            found = {**answer, "id": key} if isinstance(answer, dict) and "id" in answer else answer
            appliance.answers[f"GET /v1/{path.format(key)}"] = found
    for path in SHOWN[command]:
        for key in ("two", "four"):
            appliance.answers[f"GET /v1/{path.format(key)}"] = {"status": 404, "detail": f"there is no {key}"}
    refused = "tinkbox: there is no two\ntinkbox: there is no four\n"
    for format_ in ("table", "wide", "csv", "name", "json", "yaml", "tink"):
        words = (*command.split(), "-o", format_)
        shown = tinkbox(*words, "one", "two", "three", "four")
        assert (shown.status, shown.err) == (1, refused), format_
        assert shown.out == tinkbox(*words, "one", "three").out != "", format_
        missing = tinkbox(*words, "two", "four")
        assert (missing.status, missing.out, missing.err) == (1, "", refused), format_
        missing = tinkbox(*words, "two")
        assert (missing.status, missing.out, missing.err) == (1, "", "tinkbox: there is no two\n"), format_
    # Of several keys it is a list, though one alone means something.
    both, one = (
        json.loads(tinkbox(*command.split(), "-o", "json", *keys).out) for keys in (("one", "three"), ("two", "one"))
    )
    assert one == both[: len(both) // 2]


@pytest.mark.parametrize(("verb", "wrong"), [("mac", "08:00:27:00:00:09"), ("ip", "172.30.0.99")])
def test_of_several_addresses_those_of_machines_are_shown(
    tinkbox: Tinkbox, appliance: FakeAppliance, verb: str, wrong: str
) -> None:
    right = str(MACHINE["interfaces"][0]["mac" if verb == "mac" else "address"])
    appliance.answers[f"GET /v1/hardware/{right}"] = MACHINE
    for words in ((), ("-d",), ("-o", "json"), ("-o", "name")):
        shown = tinkbox("hardware", verb, *words, wrong, right)
        assert shown.status == 1
        assert shown.err == f"tinkbox: {verb.upper()} address not found in the database {wrong}\n"
        assert MACHINE["name"] in shown.out or str(MACHINE["id"]) in shown.out


def test_nothing_is_shown_of_several_when_the_appliance_goes_in_the_middle(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    def last() -> dict[str, object]:
        appliance.away = True
        return TEMPLATE

    appliance.answers = {"GET /v1/templates/one": last, "GET /v1/templates/two": TEMPLATE}
    shown = tinkbox("template", "get", "one", "two", "three", "-o", "json")
    assert (shown.status, shown.out, shown.err.count("\n")) == (3, "", 1)
    assert "done" not in shown.err  # which is for what changes


CHANGES = {
    "template delete": ("DELETE /v1/templates/{}", "Deleted Template:  {}"),
    "workflow delete": ("DELETE /v1/workflows/{}", "Deleted Workflow:  {}"),
    "workflow cancel": ("POST /v1/workflows/{}/cancel", "Canceled Workflow:  {}"),
    "workflow retry": ("POST /v1/workflows/{}/retry", "Retried Workflow:  {}"),
    "workflow takeover": ("POST /v1/workflows/{}/takeover", "Took Over Workflow:  {}"),
    "image delete": ("DELETE /v1/images?reference={}", "Deleted Image:  {}"),
}


@pytest.mark.parametrize("command", CHANGES)
def test_what_changes_several_goes_on_after_a_refusal_and_says_what_it_did(
    tinkbox: Tinkbox, appliance: FakeAppliance, command: str
) -> None:
    request, told = CHANGES[command]
    appliance.answers = {request.format(key): {"id": key, "state": "CANCELED", "name": key} for key in ("one", "three")}
    for key in ("one", "three"):
        appliance.answers[f"GET /v1/images/descriptor?reference={key}"] = {"reference": key, "digest": ""}
    done = tinkbox(*command.split(), "one", "two", "three")
    changes = [asked for asked, _ in appliance.asked if not asked.startswith("GET ")]
    assert changes == [request.format(key) for key in ("one", "three")]
    assert (done.status, done.out) == (1, f"{told.format('one')}\n{told.format('three')}\n")
    assert done.err.count("tinkbox: ") == 1
    assert tinkbox(*command.split(), "one", "three").status == 0


def test_nothing_more_is_asked_of_an_appliance_that_is_gone(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.away = True
    done = tinkbox("workflow", "cancel", "one", "two")
    assert (done.status, done.out, done.err.count("tinkbox: ")) == (3, "", 1)
    assert "no appliance answers at" in done.err  # and nothing can be done, for that was a look only
    done = tinkbox("workflow", "cancel", "one")
    assert (done.status, done.out, done.err.count("tinkbox: ")) == (1, "", 1)
    assert "did not answer POST /v1/workflows/one/cancel" in done.err
    assert "it may be done all the same, so look before you type it again" in done.err


def test_how_far_it_came_is_told_when_the_appliance_goes_in_the_middle(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    def last() -> dict[str, object]:
        appliance.away = True
        return {"id": "two", "state": "CANCELED"}

    appliance.answers = {
        "GET /v1/workflows?state=PENDING%2CRUNNING%2CSTOPPING&label=rack%3Dr1": [
            {"id": key, "name": "ubuntu", "machines": [{**MACHINE_NAMED, "name": f"node-{key}"}]}
            for key in ("one", "two", "three", "four")
        ],
        "POST /v1/workflows/one/cancel": {"id": "one", "state": "CANCELED"},
        "POST /v1/workflows/two/cancel": last,
    }
    done = tinkbox("workflow", "cancel", "-l", "rack=r1", "--yes")
    assert (done.status, done.out.count("\n"), done.err.count("\n")) == (3, 2, 1)
    assert "did not answer POST /v1/workflows/three/cancel" in done.err
    assert "2 of 4 were done, and it is uncertain whether three" in done.err
    assert done.err.endswith("was; type the same again for the rest\n")


def test_how_far_it_came_is_told_when_the_appliance_does_no_more(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    def full() -> dict[str, object]:
        appliance.problem = {"detail": "no room is left on the disk", "status": 503}
        return {}

    appliance.answers = {
        "POST /v1/workflows/one/cancel": {"id": "one", "state": "CANCELED"},
        "POST /v1/workflows/two/cancel": full,
        "POST /v1/workflows/three/cancel": {"id": "three", "state": "CANCELED"},
    }
    done = tinkbox("workflow", "cancel", "one", "two", "three")
    assert (done.status, done.out) == (1, "Canceled Workflow:  one\n")
    assert (
        done.err == "tinkbox: no room is left on the disk; 1 of 3 was done before: type the same again for the rest\n"
    )


def test_a_terminal_shows_how_many_of_many_are_done(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"w{number}" for number in range(MANY)]
    appliance.answers = {f"POST /v1/workflows/{key}/cancel": {"id": key, "state": "CANCELED"} for key in keys}
    assert tinkbox("workflow", "cancel", *keys).err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = tinkbox("workflow", "cancel", *keys)
    assert f"7 of {MANY}{ERASE}" in shown.err
    assert shown.err.endswith(f"{MANY} of {MANY}{ERASE}")
    assert ERASE not in tinkbox("workflow", "cancel", *keys[1:]).err
    # Of looks those are told that take longer.
    appliance.answers |= {f"GET /v1/templates/{key}": TEMPLATE for key in keys}
    monkeypatch.setattr(progress_line, "ON_TERMINAL", 1000.0)
    assert f" of {MANY}" not in tinkbox("template", "get", *keys).err


def test_2020s_delete_of_templates_and_workflows_is_silent(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/tink"])
    appliance.answers = {f"DELETE /v1/{kind}/one": {"id": "one"} for kind in ("templates", "workflows")}
    for noun in ("template", "workflow"):
        done = tinkbox(noun, "delete", "one")
        assert (done.status, done.out, done.err) == (0, "", "")


def test_a_server_of_the_environment_that_is_away_names_the_way_out(
    tinkbox: Tinkbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = ", and is operator.listen of its tinkbox.yaml an address that this host reaches"
    for server, asked in ((f"unix://{tmp_path}/operator.sock", ""), ("http://127.0.0.1:1", reached)):
        monkeypatch.setenv("TINKBOX_SERVER", server)
        away = tinkbox("template", "list")
        assert (away.status, away.err.count("\n")) == (3, 1)
        assert server.removeprefix("unix://") in away.err
        assert away.err.endswith(
            f"which TINKBOX_SERVER names: is `tinkbox serve` running there{asked}? Correct TINKBOX_SERVER, or unset it to ask the "
            "appliance on this host\n"
        )
    monkeypatch.setenv("TINKBOX_SERVER", "unix://operator.sock")
    assert tinkbox("template", "list").status == 1


def test_an_answer_of_something_else_deletes_no_image(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["DELETE /v1/images?reference=one"] = {"items": []}
    appliance.answers["GET /v1/images/descriptor?reference=one"] = {"reference": "one", "digest": ""}
    other = tinkbox("image", "delete", "one")
    assert (other.status, other.out) == (1, "")
    assert "answered without 'name': is that an appliance of this version?" in other.err
    for earlier in ({}, {"notes": []}):
        appliance.answers["DELETE /v1/images?reference=one"] = earlier
        assert tinkbox("image", "delete", "one").out == "Deleted Image:  one\n"


def test_data_beats_the_environment(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    assert tinkbox("--data", str(tmp_path), "hardware", "list").status == 3
    assert appliance.asked == []


def cancelling(appliance: FakeAppliance, *keys: str, second: Callable[[], None]) -> None:
    """While the second is done something happens."""

    def done(key: str) -> dict[str, object]:
        if key == keys[1]:
            second()
        return {"id": key, "state": "CANCELED"}

    for each in keys:
        appliance.answers[f"POST /v1/workflows/{each}/cancel"] = partial(done, each)


def test_a_reader_that_goes_away_ends_what_is_not_done_and_that_is_told(
    tinkbox: Tinkbox, appliance: FakeAppliance, piped: Callable[[], Callable[[], None]]
) -> None:
    cancelling(appliance, "one", "two", "three", "four", second=piped())
    ended = tinkbox("workflow", "cancel", "one", "two", "three", "four")
    assert ended.status == UNREAD == 141
    assert ended.err == "tinkbox: 2 of 4 were done; the others are as they were: type the same again for the rest\n"
    assert "POST /v1/workflows/three/cancel" not in [request for request, _ in appliance.asked]


def test_a_reader_that_goes_away_from_the_only_change_is_told_that_it_is_done(
    tinkbox: Tinkbox, appliance: FakeAppliance, piped: Callable[[], Callable[[], None]]
) -> None:
    appliance.answers["POST /v1/workflows/one/cancel"] = {"id": "one", "state": "CANCELED"}
    piped()()
    ended = tinkbox("workflow", "cancel", "one")
    assert (ended.status, ended.err) == (UNREAD, "tinkbox: it was done: workflow one\n")


def test_a_reader_that_goes_away_from_what_only_looks_is_told_nothing(
    tinkbox: Tinkbox, appliance: FakeAppliance, piped: Callable[[], Callable[[], None]]
) -> None:
    appliance.answers = {f"GET /v1/hardware/{key}": {"id": key, "labels": {}} for key in ("one", "two")}
    piped()()
    ended = tinkbox("hardware", "label", "one", "two")
    assert (ended.status, ended.err) == (UNREAD, "")


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda each: str(each),
)
def test_how_far_it_came_is_told_when_it_is_told_to_end(
    tinkbox: Tinkbox, appliance: FakeAppliance, number: int, status: int
) -> None:
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    before = signal.signal(number, signal.default_int_handler)  # what would end the tests as well
    cancelling(appliance, "one", "two", "three", "four", second=lambda: signal.pthread_kill(main_thread, number))
    try:
        ended = tinkbox("workflow", "cancel", "one", "two", "three", "four")
        assert signal.getsignal(number) is signal.default_int_handler, "it is as it was before"
    finally:
        signal.signal(number, before)
    assert (ended.status, ended.out) == (status, "Canceled Workflow:  one\n")
    assert ended.err == (
        "tinkbox: 1 of 4 was done, and it is uncertain whether two was; the others are as they were: "
        "type the same again for the rest\n"
    )


@pytest.mark.parametrize("command", ["hardware list", "audit export"], ids=["whole", "as it comes"])
def test_answer_that_is_cut_off_is_a_failure_of_an_appliance_that_was_reached(
    tinkbox: Tinkbox, tmp_path: Path, command: str
) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "operator.sock"))
        listening.listen()

        def begin() -> None:
            taken, _ = listening.accept()
            with taken:
                taken.recv(10_000)
                taken.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n[{}, {}\r\n")

        answering = threading.Thread(target=begin)
        answering.start()
        ended = tinkbox("--data", str(tmp_path), *command.split())
        answering.join()
    assert ended.status == 1
    assert "ended the connection in the middle of its answer" in ended.err
