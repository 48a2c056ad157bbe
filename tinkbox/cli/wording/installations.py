"""What becomes of an installation, in one line that says what happens now.  Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tinkbox.cli.output.formats import Document
from tinkbox.cli.wording.hints import advice_of, may_have_printed
from tinkbox.model.reasons import Reason

GIB, MIB = 1 << 30, 1 << 20
ENDS = ("SUCCESS", "FAILED", "TIMEOUT", "CANCELED")
IMAGE_ACTION = "image"  # of the template `install`
STEP = 10  # percent of progress that are worth a line where lines cannot be drawn again
_UP_AT = re.compile(r"is up at (\d{1,3}(?:\.\d{1,3}){3})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One machine: `text` says what happens now; where only changes are printed, they are those of `change`."""

    machine: str
    text: str
    change: str
    over: bool = False
    succeeded: bool = False

    def __str__(self) -> str:
        # What it says of itself at the end begins with its name.
        return (
            self.text if self.succeeded and self.text.startswith(f"{self.machine} ") else f"{self.machine}: {self.text}"
        )


def deleted(name: str) -> Line:
    """Of a machine whose workflow is not there any more."""
    text = "its workflow is over, and was deleted"
    return Line(machine=name, text=text, change=text, over=True)


def line_of(name: str, workflow: Document, machine: Document) -> Line:
    """How far the workflow of a machine came; one that is over says it without the machine, which may be deleted."""
    state = workflow["state"]
    if state in ENDS:
        text = _end(workflow)
        return Line(machine=name, text=text, change=text, over=True, succeeded=state == "SUCCESS")
    if state == "STOPPING":
        return Line(machine=name, text="is being stopped", change="stopping")
    current = next((each for each in workflow["actions"] if each["state"] not in ("SUCCESS", "SKIPPED")), None)
    if current is None or current["state"] == "PENDING":
        text = _booting(machine, workflow["created_at"]) if not _begun(workflow) else "begins the next action"
        return Line(machine=name, text=text, change=text)
    action = current["name"]
    if current["state"] == "HELD":
        text = f"{action} is held: tinkbox breakpoint shell {workflow['id'][:8]}"
        return Line(machine=name, text=text, change=text)
    if current["state"] == "LEAVING":
        seen = _seen_since(machine, current["started_at"])
        text = f"{action}: {seen}" if seen else f"{action}: the machine reboots"
        return Line(machine=name, text=text, change=text)
    progress = current.get("progress")
    if not progress or not progress.get("total"):
        return Line(machine=name, text=f"{action} runs", change=action)
    percent = 100 * progress["done"] // progress["total"]
    return Line(machine=name, text=f"{action} {_progress(progress, percent)}", change=f"{action} {percent // STEP}")


def farewell(line: Line, address: str, user: str) -> Sequence[str]:
    """How to log in to one that succeeded."""
    up = _UP_AT.search(line.text)
    at = up[1] if up else address
    return [f"ssh {user}@{at}"] if at and user else []


def refusal_of(name: str, workflow_id: str, state: Document, program: str) -> Sequence[str]:
    """The last lines of one that failed: why, and what helps; `program` is how the lines begin that a person may type."""
    where = " / ".join(each for each in (state["current_task"], state["current_action"]) if each)
    reason = ": ".join(each for each in (state["reason"], state["message"]) if each)
    key = workflow_id[:8]
    printed = f"what it printed: {program} workflow logs {key}"
    again = f"{program} workflow retry {key}"
    if state["reason"] == Reason.CLOUD_INIT_FAILED:
        # cloud-init runs most of its modules once, so that only another installation tries them again.
        again = f"{again} --from {IMAGE_ACTION}, then reset {name}"
    elif state["reason"] == Reason.DISK_NOT_EMPTY:
        again = f"{again} --confirm-wipe"
    return [
        f"{name}: {where or 'the workflow'}: {reason or state['state'].lower()}",
        *filter(None, [advice_of(state, workflow_id)]),
        "   ".join([*([printed] if may_have_printed(state, program) else []), f"once more: {again}"]),
    ]


def _end(workflow: Document) -> str:
    last = next((each for each in reversed(workflow["actions"]) if each["outcome"]), None)
    message = last["outcome"]["message"] if last else ""
    if workflow["state"] == "SUCCESS":
        return message or "is installed"
    return f"{workflow['state'].lower()}{f': {message}' if message else ''}"


def _begun(workflow: Document) -> bool:
    return any(each["state"] == "SUCCESS" for each in workflow["actions"])


def _booting(machine: Document, since: str) -> str:
    """What a machine does before its first action."""
    seen = _seen_since(machine, since)
    if not seen:
        return "waits for it: power it on, or reboot it when it is on; it must boot from the network"
    # What to do about it is the doctor's to say.
    stopped = str(machine.get("parked") or "").partition("; ")[0] or machine.get("stalled")
    return f"boots: {seen}" + (
        f" ({stopped}; ask `tinkbox doctor {machine['interfaces'][0]['mac']}`)" if stopped else ""
    )


def _seen_since(machine: Document, since: str | None) -> str:
    """The stage that a machine reached after a moment; empty when it was not seen since."""
    at = machine.get("stage_at")
    if not at or not since or datetime.fromisoformat(at) < datetime.fromisoformat(since):
        return ""
    return str(machine["stage"])


def _progress(progress: Document, percent: int) -> str:
    """`41 %  1.2 of 3.0 GiB  38 MB/s  0:43 left`."""
    done, total, rate = progress["done"], progress["total"], progress.get("rate") or 0
    if progress.get("unit", "bytes") != "bytes":
        parts = [f"{percent} %", f"{done} of {total} {progress['unit']}"]
    else:
        size, unit = (GIB, "GiB") if total >= GIB else (MIB, "MiB")
        parts = [f"{percent} %", f"{done / size:.1f} of {total / size:.1f} {unit}"]
        parts += [f"{rate / 1_000_000:.0f} MB/s"] if rate else []
    left = progress.get("seconds_left")
    if left is not None:
        parts.append(f"{int(left) // 60}:{int(left) % 60:02} left")
    return "  ".join(parts)
