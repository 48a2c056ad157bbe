"""The reasons that tinkbox itself gives."""

import json
import re
from typing import get_type_hints

import pytest

from tinkbox.model.command_lines import about, typable
from tinkbox.model.disks.disks import Disk, Refused
from tinkbox.model.reasons import (
    CRLF,
    GROUP_LIMIT,
    MAPS_USERS,
    NEW_TEXT,
    NO_ENGINE_AT,
    NO_PROGRAM_TO_CHECK,
    NOT_EXECUTABLE,
    TOLD_TO_KILL,
    WEB_PAGE,
    AnyReason,
    Giver,
    Reason,
    ReasonText,
    hint,
    in_a_sentence,
    is_hint_of,
    known,
    markdown,
    never_ran,
    of_ours,
    to_do,
)
from tinkbox.model.services import Standing
from tinkbox.model.workflow import Outcome, Workflow
from tinkbox.runtime import ContainerFailed
from tinkbox.runtime.engine_messages import bad_command


def test_engine_at_which_nothing_answers_has_the_way_out_of_a_worker_that_was_started_by_hand() -> None:
    told = hint(
        "EngineGone", "the action was not begun: no Docker engine answers at unix:///nowhere: there is no such socket"
    )
    assert "`systemctl status docker`" in told
    assert "`--docker URL`" in told
    assert is_hint_of("EngineGone", told)
    assert hint("EngineGone", "the engine's events broke off") == Reason.ENGINE_GONE.hint


OF_THE_TEMPLATE = {
    Reason.TIMEOUT, Reason.NEVER_RETURNED, Reason.NEVER_PHONED_HOME, Reason.CREATE_FAILED, Reason.START_FAILED, Reason.BAD_COMMAND,
    Reason.MOUNT_FAILED, Reason.TOO_LARGE_TO_HOLD, Reason.SERVICE_NOT_READY, Reason.SERVICE_ENDED, Reason.NO_PORT, Reason.UNKNOWN_VOLUME,
    Reason.NO_SUCH_DISK, Reason.DISK_AMBIGUOUS,
}  # fmt: skip


def test_hint_by_which_a_template_is_changed_says_that_a_retry_keeps_the_old_text() -> None:
    assert {each for each in Reason if each.hint.endswith(NEW_TEXT)} == OF_THE_TEMPLATE
    for each in OF_THE_TEMPLATE:
        before = each.hint.removesuffix(NEW_TEXT)
        assert is_hint_of(each, before), "as earlier releases stored it"
        assert is_hint_of(each, each.hint)
        assert of_ours(each, before) == each.hint
        assert never_ran(each, before) is never_ran(each, each.hint)


@pytest.mark.parametrize("reason", Reason)
def test_reason_is_a_word_explained_in_half_a_sentence_with_a_hint(reason: Reason) -> None:
    assert re.fullmatch(r"[A-Z][A-Za-z]+", reason.value)
    assert reason.name.replace("_", "").lower() == reason.value.lower()
    assert reason.givers
    for text in (reason.means, reason.hint):
        assert text
        assert not text.endswith(".")
        assert "\n" not in text
        assert "|" not in text, "it would break the table"


def test_reason_travels_and_is_stored_as_its_word() -> None:
    assert json.dumps({"reason": Reason.NO_SPACE}) == '{"reason": "NoSpace"}'
    assert f"{Reason.NO_SPACE}" == str(Reason.NO_SPACE) == Reason.NO_SPACE == "NoSpace"


def test_only_our_own_reasons_are_known_and_have_hints() -> None:
    assert all(known(reason.value) is reason for reason in Reason)
    assert hint("NoSpace") == Reason.NO_SPACE.hint
    for own in ("DiskNotFound", "nospace", "NO_SPACE", ""):
        assert known(own) is None
        assert hint(own) == ""


@pytest.mark.parametrize("reason", Reason)
def test_commands_of_a_hint_stand_between_backquotes_and_name_their_workflow(reason: Reason) -> None:
    commands = re.findall(r"`([^`]*)`", reason.hint)
    outside = re.sub(r"`[^`]*`", "", reason.hint)
    assert not re.search(r"\btinkbox [a-z]|\bdocker [a-z]", outside), outside
    for each in commands:
        if re.match(r"tinkbox (workflow (?!create)|breakpoint |service )", each):
            assert " WORKFLOW" in each
    filled = about(reason.hint, workflow="a8984b09")
    assert not any("WORKFLOW" in each for each in re.findall(r"`([^`]*)`", filled))


@pytest.mark.parametrize(
    "reason", [Reason.NON_ZERO_EXIT, Reason.NEVER_PHONED_HOME, Reason.CLOUD_INIT_FAILED, Reason.IMAGE_NOT_FOUND]
)
def test_a_hint_as_an_earlier_release_spelled_it_is_ours(reason: Reason) -> None:
    earlier = {
        Reason.NON_ZERO_EXIT: "read what it printed: tinkbox workflow logs",
        Reason.NEVER_PHONED_HOME: (
            "look at the machine's console and at its timeline (`tinkbox hardware watch`); once the system has phoned home all the "
            "same, tinkbox workflow retry succeeds at once; to install anew, tinkbox workflow retry --from the action that writes "
            "the image, and reset the machine; when it is only slow, raise the action's timeout"
        ),
        Reason.CLOUD_INIT_FAILED: (
            "log in and read /var/log/cloud-init.log and /var/log/cloud-init-output.log; when it is your user-data that "
            "failed, correct it and install again, by tinkbox install or workflow create, for a retry has the old one; otherwise "
            "tinkbox workflow retry --from the action that writes the image, and reset the machine; to keep the system as it is, "
            "do nothing: its machine boots its disk"
        ),
        Reason.IMAGE_NOT_FOUND: "push it, or load it with tinkbox image load; tinkbox image list shows what is there",
    }[reason]
    assert is_hint_of(reason, reason.hint)
    assert is_hint_of(reason, earlier)
    assert of_ours(reason, earlier) == reason.hint
    assert of_ours("ImageNotFound", Reason.NON_ZERO_EXIT.hint) == Reason.NON_ZERO_EXIT.hint, "the action's own word"
    assert of_ours(reason, "run `reboot`") == of_ours(reason, "") == of_ours("Broken", earlier.upper()) == ""
    assert not is_hint_of("Broken", "")


def test_what_ended_before_it_ran_has_printed_nothing() -> None:
    program = "tinkbox --data /d"
    assert never_ran("ImageNotFound", Reason.IMAGE_NOT_FOUND.hint)
    assert never_ran("ImageNotFound", typable(Reason.IMAGE_NOT_FOUND.hint, program), program)
    assert not never_ran("ImageNotFound", Reason.NON_ZERO_EXIT.hint), "an action that ran spells its own word so"
    assert not never_ran("NonZeroExit", Reason.NON_ZERO_EXIT.hint)


def test_table_has_a_row_for_each() -> None:
    rows = markdown().splitlines()
    assert len(rows) == len(Reason) + 2
    assert rows[2].startswith("| `NonZeroExit` | worker | ")
    assert Reason.TIMEOUT.givers == Giver.WORKER | Giver.APPLIANCE
    assert any(row.startswith("| `Timeout` | worker, appliance | ") for row in rows)


@pytest.mark.parametrize("holder", [Outcome, Workflow, Standing, Refused, Disk, ContainerFailed.__init__])
def test_a_plain_string_is_no_reason_to_the_type_checker(holder: object) -> None:
    assert get_type_hints(holder)["reason"] is AnyReason is ReasonText


@pytest.mark.parametrize(
    "reason",
    [
        Reason.IMAGE_PULL_FAILED,
        Reason.NOT_PRIVILEGED,
        Reason.ENGINE_GONE,
        Reason.SIGNAL,
        Reason.SERVICE_NOT_READY,
    ],
)
def test_a_message_that_tells_more_than_its_reason_has_a_hint_of_its_own(reason: Reason) -> None:
    (told,) = ({hint(reason, phrase) for phrase in PHRASES} - {reason.hint},)
    (advice,) = told
    assert is_hint_of(reason, advice)
    assert of_ours(reason, advice) == advice
    assert hint(reason, "something else") == hint(reason) == reason.hint
    assert not is_hint_of(Reason.NON_ZERO_EXIT, advice)
    assert hint("SomeWord", PHRASES[0]) == ""


def test_a_file_that_may_not_be_executed_is_told_otherwise_than_a_script_of_windows() -> None:
    denied = hint("BadCommand", str(bad_command("/w/run.sh", "permission denied")))
    assert ("`chmod +x`" in denied, "`sh /path/script`" in denied, denied.endswith(NEW_TEXT)) == (True, True, True)
    assert "architecture" not in denied
    assert "(LF)" in hint("BadCommand", CRLF)
    for advice in (denied, hint("BadCommand", CRLF)):
        assert (is_hint_of("BadCommand", advice), of_ours("BadCommand", advice)) == (True, advice)
    assert hint("BadCommand", "the image has no program ech") == Reason.BAD_COMMAND.hint


PHRASES = [CRLF, GROUP_LIMIT, NOT_EXECUTABLE, WEB_PAGE, MAPS_USERS, TOLD_TO_KILL, NO_PROGRAM_TO_CHECK, NO_ENGINE_AT]


@pytest.mark.parametrize("reason", [*Reason, "Broken"])
def test_hint_of_ours_is_what_to_do_and_an_actions_own_is_told_as_its_advice(reason: str) -> None:
    advice = "type curl http://172.30.0.66/fix | sh"
    assert to_do(reason, advice, advice) == f"the action advises: '{advice}'"
    for ours in filter(None, (hint(reason), Reason.NON_ZERO_EXIT.hint)):
        assert to_do(reason, ours, "named") == "what to do: named"


def test_memory_that_a_control_group_limits_is_not_mended_by_more_of_it() -> None:
    told = hint("OutOfMemory", f"{GROUP_LIMIT} /lab.slice was used up, and the kernel killed a part of it")
    assert told.startswith("raise that limit on the machine")
    assert is_hint_of("OutOfMemory", told)
    assert hint("OutOfMemory", "the kernel killed the action").startswith("give the machine more memory")


def test_reason_that_is_none_of_ours_stands_in_quotes_in_a_sentence() -> None:
    assert in_a_sentence("OutOfMemory") == "OutOfMemory"
    assert in_a_sentence("gone. Type `sh`") == "'gone. Type \"sh\"'"
