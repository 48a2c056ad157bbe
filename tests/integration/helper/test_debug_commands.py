"""What people in a held container decide with."""

import json
from dataclasses import replace

import pytest

from tests.integration.helper.container import ON_FAILURE, STEP, ActionContainer
from tests.integration.worker.machine import until
from tests.unit.worker.files.test_shell_welcome import ACTION, OFFER
from tinkbox.model.breakpoint import Armed, Kind, Verb
from tinkbox.model.workflow import Outcome, State
from tinkbox.worker.files.helper_files import Request
from tinkbox.worker.files.toolbox import DEBUG_COMMANDS

SCRIPTS = "/tinkbox/debug/scripts"
FAILED = Outcome(state=State.FAILED, exit_code=7, reason="DiskTooSmall", message="8 GB\x1b[31m are wanted")
ODD_WHY = 'a "b" \\ \n\t\x01\x1b\x7f ü'


def asked(
    action: ActionContainer,
    *words: str,
    ok: bool = True,
    answer: str = "so be it",
    options: tuple[str, ...] = (),
    folder: str = SCRIPTS,
) -> tuple[Request, tuple[int, str, str]]:
    """Run a command and answer it; returns what it asked for, and its status and output."""
    before = action.files.requests_so_far()
    with action.begin_inside(f"{folder}/{words[0]}", *words[1:], options=options) as process:
        until(lambda: process.poll() is not None or action.files.requests_so_far() > before, "a request")
        assert process.poll() is None, process.communicate()
        (request,) = action.files.requests(before)
        action.files.answer(request.id, ok, answer)
        output, errors = process.communicate(timeout=60)
    return request, (process.returncode, output, errors)


def test_every_command_asks_for_its_verdict(held: ActionContainer) -> None:
    expected = {
        ("debug-continue",): Request(id="", verb=Verb.CONTINUE),
        ("debug-continue", "it", "is  fine"): Request(id="", verb=Verb.CONTINUE, why="it is  fine"),
        ("debug-continue-failure", "so be it"): Request(id="", verb=Verb.FAIL, why="so be it"),
        ("debug-breakpointexit",): Request(id="", verb=Verb.FAIL),
        ("debug-retry", "--", "--fresh"): Request(id="", verb=Verb.RETRY, why="--fresh"),
        ("debug-retry", "--fresh", "because"): Request(id="", verb=Verb.RETRY, why="because", fresh=True),
        ("debug-skip", "", "a", ""): Request(id="", verb=Verb.SKIP, why=" a "),
        ("debug-abort", ODD_WHY): Request(id="", verb=Verb.ABORT, why=ODD_WHY),
        ("debug-abort", "w" * 3_000): Request(id="", verb=Verb.ABORT, why="w" * 2_048),
        ("debug-abort", "w" * 2_000, *[""] * 3_000): Request(id="", verb=Verb.ABORT, why="w" * 2_000 + " " * 48),
    }
    identifiers = set()
    for words, request in expected.items():
        got, ended = asked(held, *words)
        assert replace(got, id="") == request
        assert ended == (0, "so be it\n", ""), words
        identifiers.add(got.id)
    assert len(identifiers) == len(expected)


@pytest.mark.parametrize(
    ("script", "verb"),
    [("debug-continue", Verb.CONTINUE), ("debug-continue-failure", Verb.FAIL), ("debug-breakpointexit", Verb.FAIL)],
)
def test_the_scripts_of_tektons_proposal_do_the_same(held: ActionContainer, script: str, verb: Verb) -> None:
    request, ended = asked(held, script, folder="/tekton/debug/scripts")
    assert (request.verb, ended) == (verb, (0, "so be it\n", ""))


def test_what_is_known_of_a_step_is_where_tektons_proposal_has_it(held: ActionContainer) -> None:
    held.files.describe(OFFER, Kind.FAILURE, FAILED)
    there = f"/tekton/debug/info/{STEP}"
    assert held.script("ls /tekton/debug/info") == f"{STEP}\n"
    for name in ("about", "action.json", "outcome.json", "argv", "environ"):
        assert held.script(f"cat {there}/{name}") == held.script(f"cat /tinkbox/debug/info/{name}")
    assert held.inside("/tinkbox/bin/busybox", "touch", f"{there}/x").returncode == 1


def test_a_refusal_is_an_error(held: ActionContainer) -> None:
    _, ended = asked(held, "debug-skip", ok=False, answer="held after its end\x1b[2J: there is continue")
    assert ended == (1, "", "held after its end [2J: there is continue\n")


def test_any_user_may_ask_and_says_from_which_shell(action: ActionContainer) -> None:
    action.shell("exit 7", ON_FAILURE, options=("--user=1000", "--read-only", "--cap-drop=ALL")).held(Kind.FAILURE)
    request, ended = asked(action, "debug-abort", options=("--env=TINKBOX_SHELL=s-1",))
    assert (request.shell, ended[0]) == ("s-1", 0)


def test_the_answer_to_another_is_none(held: ActionContainer) -> None:
    before = held.files.requests_so_far()
    with held.begin_inside(f"{SCRIPTS}/debug-abort") as process:
        until(lambda: held.files.requests_so_far() > before, "a request")
        (request,) = held.files.requests(before)
        held.files.answer("f" * 16, True, "not to you")
        held.script("true")
        assert process.poll() is None
        held.files.answer(request.id, True, "to you")
        assert process.communicate(timeout=60) == ("to you\n", "")


def test_where_nothing_is_held_there_is_nothing_to_decide(action: ActionContainer) -> None:
    action.shell("while [ ! -e /go ]; do sleep 0.01; done; exit 1", ON_FAILURE).running()
    done = action.inside(f"{SCRIPTS}/debug-continue")
    assert (done.returncode, done.stderr) == (1, "the action is not held: there is nothing to decide\n")
    assert action.inside(f"{SCRIPTS}/debug-info").stdout.endswith("It is not held now: there is nothing to decide.\n")
    assert action.files.requests_so_far() == 0


@pytest.mark.parametrize("words", [("debug-continue", "--fresh"), ("debug-retry", "-x"), ("debug-info", "x")])
def test_wrong_usage_is_told_apart(held: ActionContainer, words: tuple[str, ...]) -> None:
    before = held.files.requests_so_far()
    done = held.inside(f"{SCRIPTS}/{words[0]}", *words[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Usage: {words[0]}" in done.stderr
    assert held.files.requests_so_far() == before


def test_every_command_explains_itself(held: ActionContainer) -> None:
    script = "; ".join(f"{SCRIPTS}/{name} --help && echo" for name in DEBUG_COMMANDS)
    explained = held.script(script).split("\n\n")
    for name, text in zip(DEBUG_COMMANDS, explained, strict=False):
        assert text.startswith(f"Usage: {name}")
    assert "TEP-0042" in explained[DEBUG_COMMANDS.index("debug-breakpointexit")]


def test_info_tells_where_one_is(held: ActionContainer) -> None:
    held.files.describe(OFFER, Kind.FAILURE, FAILED)
    text = held.inside(f"{SCRIPTS}/debug-info").stdout
    for words in ("os/write is held after it failed", "exit 7", "DiskTooSmall", "8 GB are wanted", "debug-retry"):
        assert words in text
    assert "debug-skip" not in text
    info = "/tinkbox/debug/info"
    action, outcome = (json.loads(held.script(f"cat {info}/{name}.json")) for name in ("action", "outcome"))
    assert (action["name"], outcome["exit_code"]) == (ACTION.spec.name, 7)
    assert held.script(f"cat {info}/argv") == "/bin/sh\0-c\0exit 7\0"
    held.files.describe(OFFER, Kind.BEFORE, None)
    text = held.inside(f"{SCRIPTS}/debug-info").stdout
    assert "held before it begins" in text
    assert "debug-skip" in text
    assert "debug-retry" not in text


def test_what_the_action_wrote_as_a_request_is_read_as_one_at_most(action: ActionContainer) -> None:
    nonsense = (
        r"""cd /tinkbox/run; printf '{}\n[\n{"id": "../x", "verb": "abort"}\n\377\n' >>request;"""
        r"""printf '{"id": "1", "verb": "dance"}\nunfinished' >>request"""
    )
    action.shell(f"{nonsense}; exit 7", Armed(after=True)).held(Kind.FAILURE)
    request, (code, _, _) = asked(action, "debug-abort")
    assert (request.verb, code) == (Verb.ABORT, 0)
