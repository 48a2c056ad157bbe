"""`tinkbox hardware edit`, `note`, `retire`, `return` and `delete`."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, MACHINE, MACHINE_ID
from tests.unit.model.test_ssh_keys import key
from tinkbox.cli.terminal.questions import Questions

Tinkbox = Callable[..., Printed]
TODAY = {"kind": "Hardware", "metadata": {"name": "node7", "labels": {"rack": "r1"}}, "spec": {"interfaces": []}}
KNOWN: dict[str, Any] = {**MACHINE, "name": "node7", "labels": {"rack": "r1"}, "updated_at": AT, "document": TODAY}
GET, PUT, PATCH = "GET /v1/hardware/node7", f"PUT /v1/hardware/{MACHINE_ID}", "PATCH /v1/hardware/node7"
NOTE = {"number": 1, "at": AT, "who": "ann", "text": "loud\x1b[2J fan"}


@pytest.fixture
def machine(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        GET: KNOWN,
        f"{GET}?to_change=retire": KNOWN,
        PUT: {**KNOWN, "notes": []},
        PATCH: KNOWN,
        "GET /v1/hardware/node7/notes": {"notes": [NOTE]},
        "POST /v1/hardware/node7/notes": {"notes": [NOTE]},
        "DELETE /v1/hardware/node7/notes/1": {"notes": []},
        "POST /v1/hardware/node7/retire": {**KNOWN, "canceled": ["w1", "w2"], "stopping": ["w2"]},
        "POST /v1/hardware/node7/return": KNOWN,
        "DELETE /v1/hardware/node7": {"id": MACHINE_ID, "name": "node7", "canceled": []},
        "DELETE /v1/hardware/node7?force=1": {"id": MACHINE_ID, "name": "node7", "canceled": ["w1"]},
    }
    return appliance


def sent(appliance: FakeAppliance, request: str) -> Any:
    return json.loads(next(body for asked, body in reversed(appliance.asked) if asked == request))


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Have `VISUAL` be a program that carries out Python on `text`, the next piece each time it is started."""

    def made(*pieces: str) -> Path:
        seen = tmp_path / "seen"
        script = tmp_path / "editor.py"
        script.write_text(
            f"import sys, pathlib\nseen, path = pathlib.Path({str(seen)!r}), pathlib.Path(sys.argv[-1])\n"
            "text, times = path.read_text(), len(seen.read_text().split('=====')) - 1 if seen.exists() else 0\n"
            "seen.open('a').write(text + '=====')\n"
            f"names = dict(text=text, sys=sys)\nexec({list(pieces)!r}[times], names)\npath.write_text(names['text'])\n"
        )
        monkeypatch.setenv("VISUAL", f"{sys.executable} {script} --flag")
        return seen

    return made


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person is at the terminal."""
    monkeypatch.setattr(Questions, "can_ask", True)


def refuse(appliance: FakeAppliance) -> None:
    """Refuse what an editor wrote, for its first line."""

    def answer() -> object:
        problem = {"text": "bad", "line": 1, "key": "spec"}
        appliance.problem = {"status": 422, "detail": "one problem", "problems": [problem]}
        return {}

    appliance.answers[PUT] = answer


def test_flags_change_values(tinkbox: Tinkbox, machine: FakeAppliance, tmp_path: Path) -> None:
    path = tmp_path / "id.pub"
    path.write_text(f"{key()} anna\n")
    words = [
        "--name",
        "node8",
        "--ip",
        "172.30.0.8/24",
        "--gateway",
        "172.30.0.1",
        "--add-mac",
        "a",
        "--remove-mac",
        "b",
    ]
    more = ["--label", "rack=r1", "-l", "gpu-", "--disk", "/dev/sda", "--ssh-key", str(path), "--force"]
    edited = tinkbox("hardware", "edit", "node7", *words, *more)
    assert (edited.status, edited.out) == (0, "Edited node7 08:00:27:00:00:01 172.30.0.11\n")
    assert sent(machine, PATCH) == {
        "name": "node8",
        "address": "172.30.0.8/24",
        "gateway": "172.30.0.1",
        "add_macs": ["a"],
        "remove_macs": ["b"],
        "labels": {"set": {"rack": "r1"}, "remove": ["gpu"]},
        "disks": ["/dev/sda"],
        "ssh_keys": [f"{key()} anna"],
        "force": True,
    }


def test_what_changes_nothing_is_told_as_unchanged(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    machine.answers[PATCH] = {**KNOWN, "changed": False}
    edited = tinkbox("hardware", "edit", "node7", "--name", "node7")
    assert (edited.status, edited.out) == (0, "Unchanged node7 08:00:27:00:00:01 172.30.0.11\n")


@pytest.mark.parametrize("words", [["--name", ""], ["--label", "a b"], ["--disk", "sda"], ["--ip", " "]])
def test_a_wrong_flag_asks_no_appliance(tinkbox: Tinkbox, machine: FakeAppliance, words: list[str]) -> None:
    assert tinkbox("hardware", "edit", "node7", *words).status == 2
    assert machine.asked == []


def test_the_document_opens_in_an_editor(tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path]) -> None:
    seen = editor("text = text.replace('r1', 'r2')")
    edited = tinkbox("hardware", "edit", "node7")
    assert (edited.status, edited.out) == (0, "Edited node7 08:00:27:00:00:01 172.30.0.11\n")
    told, _, document = seen.read_text().removesuffix("=====").partition("\n")
    assert told.startswith("# The hardware document of node7.")
    assert "  labels:\n    rack: r1\n" in document
    assert sent(machine, PUT) == {
        "text": document.replace("r1", "r2"),
        "base": {"updated_at": AT, "labels": {"rack": "r1"}},
        "force": False,
    }


def test_a_document_of_2020_opens_as_json(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path]
) -> None:
    machine.answers[GET] = {**KNOWN, "document": {"id": MACHINE_ID, "network": {}}}
    editor("text = text.replace('{}', '{\"a\": 1}')")
    assert tinkbox("hardware", "edit", "node7").status == 0
    assert json.loads(sent(machine, PUT)["text"]) == {"id": MACHINE_ID, "network": {"a": 1}}


@pytest.mark.parametrize("piece", ["pass", "text = ''"])
def test_what_is_left_as_it_is_or_emptied_changes_nothing(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path], piece: str
) -> None:
    editor(piece)
    assert tinkbox("hardware", "edit", "node7").out == "Nothing was changed\n"
    assert [asked for asked, _ in machine.asked] == [GET]


def test_what_is_refused_opens_again_with_the_reason_and_the_line(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path], watched: None
) -> None:
    problem = {"status": 422, "detail": "one problem", "problems": [{"text": "bad", "line": 3, "key": "spec"}]}
    refusals = iter([problem, None])

    def answer() -> object:
        machine.problem = next(refusals)
        return {**KNOWN, "notes": []}

    machine.answers[PUT] = answer
    seen = editor("text = text.replace('r1', 'bad')", "text = text.replace('rack: bad', 'rack: r3')")
    edited = tinkbox("hardware", "edit", "node7")
    assert (edited.status, edited.out) == (0, "Edited node7 08:00:27:00:00:01 172.30.0.11\n")
    second = seen.read_text().split("=====")[1].splitlines()
    assert second[1:3] == ["# one problem", "#   line 6, spec: bad"]
    assert second[5] == "  name: node7", "the third line of the document is the sixth of the file"
    assert not sent(machine, PUT)["text"].startswith("#")


@pytest.mark.parametrize(
    "pieces",
    [
        ["text = text.replace('r1', 'r2')", "pass"],
        ["text = text.replace('r1', 'r2')", "text = ''"],
        ["text = 'rack: r2'", "text = 'rack: r2'"],
    ],
    ids=["left", "emptied", "written again"],
)
def test_what_is_refused_and_given_up_is_kept_and_told_why(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path], watched: None, pieces: list[str]
) -> None:
    refuse(machine)
    seen = editor(*pieces)
    ended = tinkbox("hardware", "edit", "node7")
    assert ended.status == 1
    assert ended.err.startswith("tinkbox: one problem; nothing was stored, so type `tinkbox hardware edit ")
    assert "\n  line 4, spec: bad\n" in ended.err, "the first line of the document is the fourth of the file"
    kept = Path(ended.err.splitlines()[0].rpartition(" is in ")[2])
    assert "# one problem\n#   line 4, spec: bad\n" in kept.read_text()
    assert "rack: r2" in kept.read_text()
    assert len(seen.read_text().split("=====")) == 2 + 1
    kept.unlink()
    kept.parent.rmdir()


def test_without_a_terminal_what_is_refused_is_opened_once(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path]
) -> None:
    refuse(machine)
    seen = editor("text = text.replace('r1', 'r2')")
    ended = tinkbox("hardware", "edit", "node7")
    assert (ended.status, len(seen.read_text().split("====="))) == (1, 1 + 1)
    assert "one problem; nothing was stored" in ended.err
    assert "  line 4, spec: bad\n" in ended.err
    kept = Path(ended.err.splitlines()[0].rpartition(" is in ")[2])
    assert "rack: r2" in kept.read_text()
    kept.unlink()
    kept.parent.rmdir()


def test_without_a_terminal_no_editor_is_started_that_none_named(
    tinkbox: Tinkbox, machine: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("an editor was started"))
    ended = tinkbox("hardware", "edit", "node7")
    assert ended.status == 1
    assert "there is no terminal for an editor: say with flags" in ended.err
    assert machine.asked == []


@pytest.mark.parametrize("status", [409, 413])
def test_what_another_document_would_mend_opens_again(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path], watched: None, status: int
) -> None:
    taken = {"status": status, "detail": "there is a machine called node8 already: choose another name"}
    answers = iter([taken, {**KNOWN, "notes": []}])
    machine.answers[PUT] = lambda: next(answers)
    machine.answers[f"GET /v1/hardware/{MACHINE_ID}"] = KNOWN
    seen = editor("text = text.replace('name: node7', 'name: node8')", "text = text.replace('me: node8', 'me: node9')")
    edited = tinkbox("hardware", "edit", "node7")
    assert (edited.status, edited.out) == (0, "Edited node7 08:00:27:00:00:01 172.30.0.11\n")
    second = seen.read_text().split("=====")[1].splitlines()
    assert second[1:3] == [f"# {taken['detail']}", "kind: Hardware"]
    assert "name: node9" in sent(machine, PUT)["text"]


@pytest.mark.parametrize(
    "now", [{**KNOWN, "updated_at": "2026"}, {**KNOWN, "labels": {}}, {"status": 404, "detail": ""}]
)
def test_what_no_document_would_mend_does_not_open_again(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path], watched: None, now: dict[str, Any]
) -> None:
    machine.answers[PUT] = {"status": 409, "detail": "machine node7 was changed meanwhile"}
    machine.answers[f"GET /v1/hardware/{MACHINE_ID}"] = now
    seen = editor("text = text.replace('r1', 'r2')")
    ended = tinkbox("hardware", "edit", "node7")
    assert (ended.status, len(seen.read_text().split("====="))) == (1, 1 + 1)
    told, _, kept = ended.err.strip().rpartition("what you wrote is in ")
    assert "changed meanwhile; nothing was stored, so type `tinkbox hardware edit node7` again: " in told
    assert "rack: r2" in Path(kept).read_text()
    Path(kept).unlink()
    Path(kept).parent.rmdir()


def test_a_change_meanwhile_keeps_what_was_written(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path]
) -> None:
    editor("text = text.replace('r1', 'r2')")
    del machine.answers[PUT]
    ended = tinkbox("hardware", "edit", "node7")
    assert ended.status == 1
    kept = Path(ended.err.rpartition("what you wrote is in ")[2].strip())
    assert "rack: r2" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    kept.unlink()
    kept.parent.rmdir()


def test_an_editor_that_fails_stores_nothing(
    tinkbox: Tinkbox, machine: FakeAppliance, monkeypatch: pytest.MonkeyPatch, editor: Callable[..., Path]
) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/vi")
    assert (
        "the editor `/nowhere/vi` does not start (No such file or directory)"
        in tinkbox("hardware", "edit", "node7").err
    )
    editor("sys.exit(3)")
    ended = tinkbox("hardware", "edit", "node7")
    assert (ended.status, "ended with status 3, so nothing was stored" in ended.err) == (1, True)
    assert "what you wrote" not in ended.err
    assert [asked for asked, _ in machine.asked] == [GET, GET]


def test_ctrl_c_in_an_editor_ends_no_more_than_the_editor_makes_of_it(
    tinkbox: Tinkbox, machine: FakeAppliance, editor: Callable[..., Path]
) -> None:
    """It reaches both: vim knows it as Esc, emacs sends it for Ctrl-G."""
    editor(
        "import os, signal\nos.kill(os.getppid(), signal.SIGINT)\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\ntext = text.replace('r1', 'r2')"
    )
    before = signal.getsignal(signal.SIGINT)
    assert tinkbox("hardware", "edit", "node7").status == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_notes_are_made_listed_and_removed(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    assert tinkbox("hardware", "note", "node7", "the", "fan is loud").out == "Noted (1)\n"
    assert sent(machine, "POST /v1/hardware/node7/notes") == {"text": "the fan is loud"}
    listed = tinkbox("hardware", "note", "node7", "--utc").out
    assert "loud [2J fan" in listed
    assert "ann" in listed
    assert tinkbox("hardware", "note", "node7", "--remove", "1").out == "Removed note 1\n"
    assert tinkbox("hardware", "note", "node7", "x", "--remove", "1").status == 2


def test_machines_are_retired_and_returned_each_for_itself(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    machine.answers[f"POST /v1/hardware/{MACHINE_ID}/retire"] = machine.answers["POST /v1/hardware/node7/retire"]
    ended = tinkbox("hardware", "retire", "nodeX", "node7", "--reason", "board broken")
    assert (ended.status, ended.out) == (1, "Retired node7\nCanceled Workflow:  w1\nCanceling Workflow:  w2\n")
    assert "no such thing here" in ended.err
    body = sent(machine, f"POST /v1/hardware/{MACHINE_ID}/retire")
    at = "2020-07-08T15:17:02.250000+00:00"
    assert body == {"reason": "board broken", "force": False, "created_at": at}, "it is the machine that was looked up"
    assert tinkbox("hardware", "return", "node7").out == "Returned to service: node7\n"
    assert tinkbox("hardware", "retire", "node7").status == 0


@pytest.mark.parametrize("verb", ["retire", "delete"])
def test_force_asks_or_wants_yes(tinkbox: Tinkbox, machine: FakeAppliance, verb: str) -> None:
    refused = tinkbox("hardware", verb, "node7", "--force")
    assert (refused.status, machine.asked) == (1, [])
    assert f"type `tinkbox hardware {verb} node7 --force --yes`" in refused.err
    done = tinkbox("hardware", verb, "node7", "--force", "--yes")
    assert (done.status, "Canceled Workflow:  w1\n" in done.out) == (0, True)


def test_delete_says_what_it_did_and_needs_no_terminal(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    assert tinkbox("hardware", "delete", "node7").out == f"Deleted Hardware:  {MACHINE_ID} node7\n"


def test_a_note_that_is_no_text_is_refused_before_it_is_sent(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    refused = tinkbox("hardware", "note", "node7", 'caf\udce9 "fan" is loud')
    assert (refused.status, refused.out, machine.asked) == (1, "", [])
    assert refused.err == "tinkbox: 'caf\\xe9 \"fan\" is loud' is not UTF-8 text, so it was not sent\n"


def test_several_machines_get_the_same_note(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    found = [{"id": "node7", "name": "node7"}, {"id": "m8", "name": "node8"}]
    machine.answers["GET /v1/hardware?label=rack%3Dr1&sort=name"] = found
    done = tinkbox("hardware", "note", "-l", "rack=r1", "the", "fan", "is loud")
    assert (done.status, done.out, done.err.count("tinkbox: ")) == (1, "node7: noted (1)\n", 1)  # m8 is gone by now
    assert sent(machine, "POST /v1/hardware/node7/notes") == {"text": "the fan is loud"}


def test_the_names_of_what_got_a_note_are_keys(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    named = [("id-1", "node7", "node7"), ("id-2", "node8", "id-2"), ("id-3", "rack=r2", "rack=r2")]
    found = [{"id": identity, "name": name, "key": key} for identity, name, key in named]
    machine.answers["GET /v1/hardware?label=rack%3Dr1&sort=name"] = found
    for identity, _, _ in named:
        machine.answers[f"POST /v1/hardware/{identity}/notes"] = {"notes": [NOTE]}
    done = tinkbox("hardware", "note", "-l", "rack=r1", "loud", "-o", "name")
    assert (done.status, done.out) == (0, "node7\nid-2\nid-3\n")


@pytest.mark.parametrize("words", [[], ["-l", "rack=r1"], ["-l", "rack=r1", "x", "--remove", "1"]])
def test_a_note_of_several_machines_has_a_text(tinkbox: Tinkbox, machine: FakeAppliance, words: list[str]) -> None:
    machine.answers["GET /v1/hardware?label=rack%3Dr1&sort=name"] = [{"id": "node7", "name": "node7"}]
    wrong = tinkbox("hardware", "note", *words)
    assert (wrong.status, wrong.out, "usage: tinkbox hardware note" in wrong.err) == (2, "", True)


def test_notes_are_documents_to_programs(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    assert json.loads(tinkbox("hardware", "note", "node7", "the fan", "-o", "json").out) == [NOTE]
    assert json.loads(tinkbox("hardware", "note", "node7", "--remove", "1", "-o", "json").out) == []
    machine.answers["GET /v1/hardware?label=rack%3Dr1&sort=name"] = [{**KNOWN, "id": "node7", "name": "node-7"}]
    noted = json.loads(tinkbox("hardware", "note", "-l", "rack=r1", "the fan", "-o", "json").out)
    assert noted == [{"hardware_id": "node7", "machine": "node-7", **NOTE}]


def test_what_there_is_to_say_of_the_new_address_is_told(tinkbox: Tinkbox, machine: FakeAppliance) -> None:
    machine.answers[PATCH] = {
        **KNOWN,
        "changed": True,
        "notes": [{"text": "172.30.0.9 is lent", "line": None, "key": ""}],
    }
    edited = tinkbox("hardware", "edit", "node7", "--address", "172.30.0.9/24")
    assert (edited.status, edited.err) == (0, "tinkbox: 172.30.0.9 is lent\n")
    assert edited.out.startswith("Edited node7")
