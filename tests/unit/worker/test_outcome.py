import errno
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.breakpoint import DEADLINE, Verb, Verdict
from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.reasons import MAX_REASON, AnyReason, Reason, ReasonText
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerFailed, Ended
from tinkbox.wire.kernel_log import LimitedKill
from tinkbox.wire.messages.worker import MAX_MESSAGE, Order
from tinkbox.worker import outcome as verdict
from tinkbox.worker.files.failure_files import Told
from tinkbox.worker.files.helper_files import StartFailure

TAIL = ("first", "last")
SILENT = Told("", "")
NOT_ONE = "is not one CamelCase word, of at most 128 letters and digits: InvalidReason stands in its place"
SAID = Told("DiskTooSmall", "the image needs 8 GB")


def failed(code: int, told: Told = SILENT, tail: tuple[str, ...] = TAIL, **ended: bool) -> Outcome:
    with_engine, told_to_kill = (ended.pop(each, False) for each in ("with_engine", "told_to_kill"))
    return verdict.failed(
        Ended(exit_code=code, **ended), told, tail, with_engine=with_engine, told_to_kill=told_to_kill
    )


@pytest.mark.parametrize(
    ("code", "signal", "reason", "message"),
    [
        (3, "", "NonZeroExit", "the action ended with exit code 3; the last it printed: last"),
        (128, "", "NonZeroExit", "the action ended with exit code 128; the last it printed: last"),
        (255, "", "NonZeroExit", "the action ended with exit code 255; the last it printed: last"),
        (139, "SIGSEGV", "Signal", "the action was ended by SIGSEGV; the last it printed: last"),
        (137, "SIGKILL", "Signal", "the action was ended by SIGKILL; the last it printed: last"),
        (165, "SIGRTMIN+3", "Signal", "the action was ended by SIGRTMIN+3; the last it printed: last"),
        (160, "signal 32", "Signal", "the action was ended by signal 32; the last it printed: last"),
    ],
)
def test_an_action_that_said_nothing_gets_a_general_reason(code: int, signal: str, reason: str, message: str) -> None:
    assert failed(code) == Outcome(
        state=State.FAILED, exit_code=code, signal=signal, reason=reason, message=message, tail=TAIL
    )


@pytest.mark.parametrize("code", [137, 139, 143])
def test_a_process_that_no_signal_ended_exited_whatever_its_code_looks_like(code: int) -> None:
    outcome = failed(code, tail=(), killed=False)
    assert (outcome.reason, outcome.signal, outcome.exit_code) == ("NonZeroExit", "", code)
    assert outcome.message.startswith(f"the action ended with exit code {code}, as a shell does whose command SIG")
    assert failed(code, killed=True) == failed(code)


@pytest.mark.parametrize(
    ("code", "killed", "reason"),
    [
        (137, False, "NonZeroExit"),
        (255, False, "NonZeroExit"),
        (3, False, "NonZeroExit"),
        (137, True, "EngineRestarted"),
        (143, True, "EngineRestarted"),
        (143, False, "EngineRestarted"),
        (139, True, "Signal"),
    ],
)
def test_only_what_an_engine_does_to_its_containers_went_with_it(code: int, killed: bool, reason: str) -> None:
    outcome = failed(code, killed=killed, with_engine=True)
    assert outcome.reason == reason
    assert "the Docker engine ended" in outcome.message
    assert "Docker engine" not in failed(code, killed=killed).message


@pytest.mark.parametrize(
    ("remembered", "away", "ended"),
    [
        (("create", "start", "die"), False, False),
        (("create", "start", "die"), True, False),
        (("start", "kill", "die", "stop"), True, False),
        (("start", "die", "start"), False, True),
        ((), False, True),
        ((), True, True),
        (None, False, True),
        (("kill", "die", "stop"), True, True),
        (("kill", "die", "stop"), False, False),
        (("die",), True, False),
    ],
)
def test_an_engine_that_ended_is_known_by_what_it_forgot(
    remembered: tuple[str, ...] | None, away: bool, ended: bool
) -> None:
    assert verdict.engine_ended_it(remembered, engine_was_away=away) is ended


@pytest.mark.parametrize(
    ("remembered", "ended"),
    [
        (("start", "die"), True),
        (("attach", "start", "die"), True),
        (("create", "start", "die"), False),
        (("start", "kill", "die", "start", "die"), False),
    ],
)
def test_a_process_that_had_begun_before_the_engines_only_start_of_it_ended_with_the_engine_before(
    remembered: tuple[str, ...], ended: bool
) -> None:
    assert verdict.engine_ended_it(remembered, engine_was_away=True, end_unseen=True) is ended
    assert not verdict.engine_ended_it(remembered, engine_was_away=True)


def test_an_action_that_somebody_had_the_engine_kill_is_told_so() -> None:
    killed = ("create", "start", "kill", "die")
    assert verdict.engine_was_told_to_kill(killed)
    assert not verdict.engine_was_told_to_kill(("start", "kill", "die", "start", "die")), "in an earlier run"
    assert not verdict.engine_was_told_to_kill(None)
    assert (
        "somebody on the machine had its Docker engine do that (docker kill" in failed(137, told_to_kill=True).message
    )
    assert "somebody" not in failed(3, told_to_kill=True).message, "it ended by itself meanwhile"
    assert "somebody" not in failed(137, told_to_kill=True, out_of_memory=True).message


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        (Told("DiskTooSmall", "", "use a larger disk"), "use a larger disk"),
        (Told("ImageNotFound", "404", "correct the address"), "correct the address"),
        (Told("ImageNotFound", "404"), Reason.NON_ZERO_EXIT.hint),
        (Told("DiskTooSmall", ""), ""),
        (Told("", "", "look at the cable"), "look at the cable"),
        (Told("two words", "", "look at the cable"), ""),
        (SILENT, ""),
    ],
)
def test_a_hint_is_the_actions_own_where_the_reason_is(told: Told, hint: str) -> None:
    assert failed(1, told).hint == hint
    assert failed(137, told, out_of_memory=True).hint == ""


def test_an_image_for_another_processor_is_told_so() -> None:
    alien = ("exec /bin/x: exec format error",)
    outcome = verdict.failed(
        Ended(exit_code=1),
        SILENT,
        alien,
        with_engine=False,
        foreign="the image is for arm64, and this machine is amd64",
    )
    assert outcome.reason is Reason.WRONG_PLATFORM
    assert outcome.message == "the image is for arm64, and this machine is amd64"
    assert verdict.not_executable(1, alien)
    assert not verdict.not_executable(1, ("exec /bin/x: no such file or directory",))
    assert isinstance(verdict.not_begun("/x", StartFailure(number=errno.ENOEXEC)), verdict.NotExecutable)


def test_without_output_there_is_no_last_line_and_a_long_one_is_cut() -> None:
    assert failed(3, tail=()).message == "the action ended with exit code 3"
    assert len(failed(3, tail=("x" * 5000,)).message) < 400


@pytest.mark.parametrize(
    ("told", "reason", "message"),
    [
        (SAID, "DiskTooSmall", "the image needs 8 GB"),
        (Told("DiskTooSmall", ""), "DiskTooSmall", "the action ended with exit code 3; the last it printed: last"),
        (Told("", "words"), "NonZeroExit", "words"),
        (Told("disk too small", ""), "InvalidReason", f"the action's reason 'disk too small' {NOT_ONE}"),
        (Told("9x", "words"), "InvalidReason", f"the action's reason '9x' {NOT_ONE}; words"),
        (
            Told("R" * (MAX_REASON + 1), ""),
            "InvalidReason",
            f"the action's reason '{'R' * 129}' {NOT_ONE}",
        ),
    ],
)
def test_a_failure_is_told_in_the_actions_own_words_when_it_left_any(told: Told, reason: str, message: str) -> None:
    outcome = failed(3, told)
    assert (outcome.reason, outcome.message) == (reason, message)


def test_what_the_worker_knows_is_the_reason_and_the_actions_words_are_appended() -> None:
    said = "; the action said: DiskTooSmall: the image needs 8 GB"
    starved = failed(137, SAID, out_of_memory=True)
    assert (starved.reason, starved.signal) == ("OutOfMemory", "SIGKILL")
    assert starved.message == "the kernel killed the action, or a part of it, because memory ran out" + said
    for code in (255, 137):
        lost = failed(code, SAID, with_engine=True)
        assert lost.reason == "EngineRestarted"
        assert lost.message == "the Docker engine ended, and the action with it" + said
    refused = verdict.refused(ContainerFailed("ContainerLost", "it is gone"), SAID, TAIL)
    assert (refused.reason, refused.message, refused.exit_code) == ("ContainerLost", "it is gone" + said, None)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("exec /bin/x: exec format error", "/bin/x is made for another processor, or is a script"),
        ("exec /bin/x: no such file or directory", "the interpreter that /bin/x names in its first line"),
    ],
)
def test_a_program_that_the_kernel_would_not_begin_is_a_bad_command(tail: str, message: str) -> None:
    for code in (1, 255):
        outcome = failed(code, tail=(tail,))
        assert (outcome.reason, outcome.exit_code) == ("BadCommand", None)
        assert message in outcome.message
    for other in (failed(2, tail=(tail,)), failed(1, tail=("before", tail)), failed(1, Told("", "own"), (tail,))):
        assert other.reason == "NonZeroExit"


@pytest.mark.parametrize(
    ("error", "reason"), [(TooLarge("huge.img is 11 MB"), "DataTooLarge"), (Invalid("what?"), "DataInvalid")]
)
def test_data_that_cannot_be_kept_is_the_reason_though_the_action_gave_one(
    error: Invalid | TooLarge, reason: str
) -> None:
    outcome = verdict.data_refused(error, SAID, TAIL)
    assert (outcome.state, outcome.exit_code, outcome.reason) == (State.FAILED, 0, reason)
    assert outcome.message == f"{error}; the action said: DiskTooSmall: the image needs 8 GB"


def test_an_action_that_is_stopped_gets_the_orders_state() -> None:
    canceled = verdict.stopped(Order(state=State.CANCELED, message="by the operator"), "", SAID, TAIL)
    assert (canceled.state, canceled.reason, canceled.tail) == (State.CANCELED, "Canceled", TAIL)
    assert canceled.message == "by the operator; the action said: DiskTooSmall: the image needs 8 GB"
    late = Order(state=State.TIMEOUT, message="late")
    assert verdict.stopped(late, "", SILENT, ()) == Outcome(state=State.TIMEOUT, reason="Timeout", message="late")
    assert verdict.stopped(late, "EngineGone", SILENT, ()).reason == "EngineGone"


def test_success_keeps_the_message_and_no_reason() -> None:
    assert verdict.succeeded(SAID, TAIL) == Outcome(
        state=State.SUCCESS, exit_code=0, message="the image needs 8 GB", tail=TAIL
    )


@pytest.mark.parametrize(
    ("ended", "away", "went"),
    [
        (Ended(exit_code=0), False, True),
        (Ended(exit_code=143), False, True),
        (Ended(exit_code=137), False, True),
        (Ended(exit_code=137, out_of_memory=True), False, False),
        (Ended(exit_code=255), True, True),
        (Ended(exit_code=255), False, False),
        (Ended(exit_code=1), True, False),
        (Ended(exit_code=139), False, False),
    ],
)
def test_it_is_known_how_actions_end_when_their_machine_goes(ended: Ended, away: bool, went: bool) -> None:
    assert verdict.went_with_the_machine(ended, engine_was_away=away) == went


@given(st.integers(1, 255), st.text(max_size=300), st.text(max_size=9000), st.booleans(), st.booleans())
def test_a_failure_always_has_a_reason_of_one_word_and_a_message_that_fits(
    code: int, reason: str, message: str, starved: bool, away: bool
) -> None:
    outcome = failed(code, Told(reason, message), out_of_memory=starved, with_engine=away)
    assert outcome.reason.isalnum()
    assert 0 < len(outcome.message) <= MAX_MESSAGE
    assert len(outcome.reason) <= MAX_REASON


def test_every_reason_given_here_has_its_hint() -> None:
    given = {failed(3).reason, failed(137).reason, failed(3, Told("a b", "")).reason}
    given |= {"OutOfMemory", "EngineRestarted", "BadCommand", "DataTooLarge", "DataInvalid", "Timeout", "Canceled"}
    assert given | {"EngineGone", "RegistryUnreachable", "WrongPlatform"} <= set(Reason)


ANNA, NOBODY = Verdict(verb=Verb.FAIL, who="anna", why="wrong disk"), Verdict(verb=Verb.FAIL, who=DEADLINE)
BROKEN = Outcome(state=State.FAILED, exit_code=7, reason="DiskNotFound", message="no disk")


def test_what_fails_by_verdict_fails_as_its_process_did() -> None:
    assert verdict.given_up(BROKEN, ANNA) == replace(BROKEN, message="no disk; anna let it fail (wrong disk)")
    assert verdict.given_up(BROKEN, NOBODY).message == "no disk; nobody decided before the deadline"


@pytest.mark.parametrize(("ruled", "reason"), [(ANNA, "FailedAtBreakpoint"), (NOBODY, "BreakpointExpired")])
def test_what_did_not_fail_by_itself_fails_at_its_breakpoint(ruled: Verdict, reason: str) -> None:
    good = Outcome(state=State.SUCCESS, exit_code=0)
    for outcome in (verdict.given_up(good, ruled), verdict.not_run(ruled)):
        assert (outcome.state, outcome.reason) == (State.FAILED, reason)


def test_what_is_continued_or_skipped_says_by_whom_and_why() -> None:
    let_pass = verdict.continued(BROKEN, replace(ANNA, verb=Verb.CONTINUE))
    assert (let_pass.state, let_pass.exit_code, let_pass.reason) == (State.SUCCESS, 7, "DiskNotFound")
    assert let_pass.message == "anna let it count as success (wrong disk); it had ended so: no disk"
    skipped = verdict.not_run(replace(ANNA, verb=Verb.SKIP))
    assert skipped == Outcome(state=State.SUCCESS, message="anna let it be skipped (wrong disk)")


@pytest.mark.parametrize(
    ("program", "failure", "message"),
    [
        ("/bin/x", StartFailure(number=errno.ENOENT), "the image has no program /bin/x"),
        ("x", StartFailure(number=errno.ENOENT), "the image has no program x in the folders of its PATH"),
        ("/bin", StartFailure(number=errno.EACCES), "/bin may not be executed"),
        ("/x", StartFailure(number=errno.ENOEXEC), "/x is made for another processor"),
        ("/x", StartFailure(number=errno.ENOENT, interpreter=True), "the interpreter that /x names in its first line"),
        ("", StartFailure(number=errno.ENOENT), "the command is empty"),
        ("/x", StartFailure(number=errno.E2BIG), "/x cannot be executed: Argument list too long"),
    ],
)
def test_what_the_helper_could_not_begin_is_told_as_without_it(
    program: str, failure: StartFailure, message: str
) -> None:
    refusal = verdict.not_begun(program, failure)
    assert (refusal.reason, str(refusal)[: len(message)]) == ("BadCommand", message)


MEMORY = "Out of memory: Killed process 412 (tail) total-vm:809344kB"


@pytest.mark.parametrize(
    "reason", [Reason.SIGNAL, Reason.NON_ZERO_EXIT, Reason.CONTAINER_LOST, Reason.ENGINE_RESTARTED]
)
def test_what_ends_beside_memory_that_ran_out_ended_for_that(reason: Reason) -> None:
    before = Outcome(state=State.FAILED, exit_code=137, reason=reason, message="the action was ended by SIGKILL")
    after = verdict.for_lack_of_memory(before, MEMORY)
    assert after.reason is Reason.OUT_OF_MEMORY
    assert after.message == (
        f"memory ran out on the machine; its kernel said '{MEMORY}'; the action was ended by SIGKILL"
    )
    assert (after.exit_code, verdict.for_lack_of_memory(before, "")) == (137, before)


def test_memory_that_the_engine_knows_of_is_told_once_with_the_kernels_line() -> None:
    after = verdict.for_lack_of_memory(failed(137, out_of_memory=True), MEMORY)
    assert after.message == (
        f"the kernel killed the action, or a part of it, because memory ran out; its kernel said '{MEMORY}'"
    )


@pytest.mark.parametrize(
    ("reason", "of_engine", "after"),
    [
        (Reason.SIGNAL, False, Reason.OUT_OF_MEMORY),
        (Reason.NON_ZERO_EXIT, False, Reason.OUT_OF_MEMORY),
        (Reason.ENGINE_RESTARTED, True, Reason.OUT_OF_MEMORY),
        (Reason.ENGINE_GONE, True, Reason.OUT_OF_MEMORY),
        (Reason.NON_ZERO_EXIT, True, Reason.NON_ZERO_EXIT),
        (Reason.BAD_COMMAND, False, Reason.BAD_COMMAND),
        (ReasonText("Own"), False, ReasonText("Own")),
    ],
)
def test_what_ends_beside_a_group_whose_memory_is_used_up_ended_for_that(
    reason: AnyReason, after: AnyReason, *, of_engine: bool
) -> None:
    before = Outcome(state=State.FAILED, exit_code=137, reason=reason, message="it ended")
    killed = LimitedKill(MEMORY, "/lab.slice", of_engine)
    told = verdict.for_lack_of_limited_memory(before, killed, "c1")
    assert told.reason == after
    is_told = not (of_engine and after == reason)
    assert ("the limit of memory of the control group /lab.slice was used up" in told.message) == is_told
    assert verdict.for_lack_of_limited_memory(before, None, "c1") is before


def test_memory_that_the_engine_knows_of_is_told_with_the_group_above_that_had_the_limit() -> None:
    starved = failed(137, out_of_memory=True)
    own = LimitedKill(MEMORY, "/docker/c1")
    assert verdict.for_lack_of_limited_memory(starved, own, "c1") is starved
    above = verdict.for_lack_of_limited_memory(starved, LimitedKill(MEMORY, "/lab.slice"), "c1")
    assert above.message == (
        f"{starved.message}; it was the limit of memory of the control group /lab.slice, on the machine"
    )
    canceled = Outcome(state=State.CANCELED, reason=Reason.CANCELED)
    assert verdict.for_lack_of_limited_memory(canceled, own, "c1") is canceled


def test_an_actions_own_reason_and_a_timeout_stand_beside_memory_that_ran_out() -> None:
    own = Outcome(state=State.FAILED, exit_code=1, reason=ReasonText("Signal"), message="no")
    late = Outcome(state=State.TIMEOUT, reason=Reason.TIMEOUT, message="late")
    for before in (own, late):
        after = verdict.for_lack_of_memory(before, MEMORY)
        assert (after.reason, after.message.startswith(f"{before.message}; memory ran out")) == (before.reason, True)
    for state in (State.SUCCESS, State.CANCELED):
        whole = Outcome(state=state, reason=Reason.NON_ZERO_EXIT)
        assert verdict.for_lack_of_memory(whole, MEMORY) is whole
