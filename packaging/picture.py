"""Draws the pictures in docs/: status.svg and status.cast, the terminal view, and breakpoint.svg, what breakpoint.cast shows in the end.

python packaging/picture.py

The cast is a recording of a virtual machine's test: `TINKBOX_RECORDING=docs/breakpoint.cast` before
`pytest tests/machine/test_breakpoint.py` makes it anew.
"""

import io
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from tinkbox import __version__
from tinkbox.model.actions.progress import Progress
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.workflow import State
from tinkbox.view.keys import Key
from tinkbox.view.pages import machine_page
from tinkbox.view.painting import painted
from tinkbox.view.picture import picture
from tinkbox.view.state import Load, begun, loaded, looked, pressed
from tinkbox.wire.messages.status import DiskLine, HealthLine, MachineLine, Snapshot, StrangerLine, WorkLine
from tinkbox.wire.terminal.asciicast import Happened, Header, encode, encode_header
from tinkbox.wire.terminal.asciicast import Kind as Cast

DOCS = Path(__file__).parent.parent / "docs"
CAST = DOCS / "breakpoint.cast"
WIDTH = 112
HEIGHT = 18
# What a terminal does with its text, as far as a shell's recording needs it.
_STEPS = re.compile(r"\x1b\[J|\x1b\[[0-9;?!]*[A-Za-z]|\r|\n|[^\x1b\r\n]+")
NOW = datetime(2026, 11, 21, 22, 41, 7, tzinfo=UTC)


def ago(seconds: int) -> datetime:
    return NOW - timedelta(seconds=seconds)


def machine(number: int, stage: Stage, seconds: int, work: WorkLine | None = None, **more: object) -> MachineLine:
    return MachineLine(
        id=f"0eba0bf8-3772-4b4a-ab9f-6ebe93b9{number:04x}",
        hostname=f"rack2-node{number}",
        mac=f"08:00:27:00:00:{number:02x}",
        address=f"172.30.0.{20 + number}",
        stage=stage,
        stage_at=ago(seconds),
        work=work,
        **more,
    )


def work(state: State, action: str, number: int, seconds: int, **more: object) -> WorkLine:
    return WorkLine(
        id=f"{seconds * 7919 % 0xFFFFFFFF:08x}-52e5-4b0e-9a53-3d8a0c1d7d0e",
        name="debian-13",
        template="install",
        state=state,
        action=action,
        number=number,
        done=number - (state is not State.SUCCESS),
        total=5,
        since=ago(seconds),
        **more,
    )


def streaming(percent: int, seconds: int) -> WorkLine:
    left = (100 - percent) * 94 // 96
    far = Progress(done=percent, total=100, unit="bytes", rate=96e6, seconds_left=left)
    return work(State.RUNNING, "stream-image", 3, seconds, progress=far)


SNAPSHOT = Snapshot(
    now=NOW,
    version=__version__,
    machines=(
        machine(1, Stage.WORKER, 74, streaming(64, 31)),
        machine(2, Stage.WORKER, 70, streaming(58, 28)),
        machine(3, Stage.WORKER, 69, streaming(51, 25)),
        machine(4, Stage.WORKER, 400, work(
            State.FAILED, "wipe-disks", 2, 312, reason="DiskNotFound", message="there is no /dev/nvme1n1 on this machine",
        )),
        machine(5, Stage.RAMDISK, 9, work(State.PENDING, "rootfs", 1, 55), ticket=True),
        machine(6, Stage.OFFERED, 71, work(State.PENDING, "rootfs", 1, 120), ticket=True, stalled="stalled"),
        machine(7, Stage.WORKER, 900, work(
            State.RUNNING, "first-boot", 4, 95, held=Kind.FAILURE, deadline=NOW + timedelta(seconds=1705),
            on_expiry=Verb.FAIL, reason="NonZeroExit", message="exit code 7",
        )),
        machine(8, Stage.LOCAL_DISK, 1860, work(State.SUCCESS, "reboot", 5, 1900)),
        machine(9, Stage.LOCAL_DISK, 1865, work(State.SUCCESS, "reboot", 5, 1930)),
        machine(10, Stage.LOCAL_DISK, 1893, work(State.SUCCESS, "reboot", 5, 1944)),
    ),
    strangers=(StrangerLine(mac="52:54:00:12:34:56", stage=Stage.DISCOVER, stage_at=ago(12), detail="PXE"),),
    disk=DiskLine(free=212 << 30, nearly_full=False, database=9 << 20, stored=()),
    health=HealthLine(sent=288e6),
)  # fmt: skip


def view_of(snapshot: Snapshot) -> Text:
    """The first picture of the view, with the colours that it has in a terminal."""
    shown = Text()
    for line, selected in picture(begun(snapshot, HEIGHT, WIDTH)):
        for text, style in line:
            shown.append(text, style=f"{style} reverse".strip() if selected else style)
        shown.append("\n")
    return shown


FAILED = SNAPSHOT.machines[3]
ACTIONS = (("rootfs", "SUCCESS", 88), ("wipe-disks", "FAILED", 4), ("stream-image", "PENDING", 0))
PAGE = {
    "id": FAILED.work.id if FAILED.work else "",
    "name": "debian-13",
    "state": "FAILED",
    "actions": [
        {
            "name": name,
            "state": state,
            "started_at": ago(316).isoformat() if seconds else None,
            "ended_at": ago(316 - seconds).isoformat(),
            "outcome": {"reason": "DiskNotFound", "message": "there is no /dev/nvme1n1 here"}
            if state == "FAILED"
            else None,
        }
        for name, state, seconds in ACTIONS
    ],
}
BOOT = [
    {"at": ago(400 - number * 9).isoformat(), "stage": stage, "detail": ""}
    for number, stage in enumerate(
        (Stage.DISCOVER, Stage.OFFERED, Stage.LEASED, Stage.SCRIPT, Stage.KERNEL, Stage.WORKER)
    )
]
LOG = ["==> installation / wipe-disks", "disks here: /dev/nvme0n1 (512 GB)", "there is no /dev/nvme1n1 here"]
# What a person does, and how long it takes before; empty: the appliance tells what changed.
STEPS: Sequence[tuple[float, str]] = (
    *((1.0, ""),) * 2, (0.7, "j"), (0.5, Key.ENTER), (3.5, Key.ESCAPE), (1.2, "/"),
    *((0.2, letter) for letter in "running"), (1.5, Key.ENTER), *((1.0, ""),) * 3, (0.5, Key.ESCAPE), (1.0, "p"),
    (2.5, "q"), (0.8, "g"), (0.8, "r"), (2.0, "n"), *((1.0, ""),) * 2,
)  # fmt: skip


def later(snapshot: Snapshot, seconds: int) -> Snapshot:
    """The same machines, each that streams a little further."""
    machines = tuple(
        replace(each, work=replace(streaming(far.done + 2, 31), id=each.work.id, since=each.work.since))
        if each.work and (far := each.work.progress)
        else each
        for each in snapshot.machines
    )
    return replace(snapshot, now=snapshot.now + timedelta(seconds=seconds), machines=machines)


def recording() -> str:
    """A recording (asciicast v2) of a person in the view."""
    view = begun(SNAPSHOT, HEIGHT + 2, WIDTH)
    before = picture(view)
    lines = [
        encode_header(Header(width=WIDTH, height=HEIGHT + 2, timestamp=int(NOW.timestamp()), title="tinkbox status"))
    ]
    lines.append(encode(Happened(0.0, Cast.OUTPUT, "\x1b[?25l" + painted((), before))))
    at = 0.0
    for seconds, key in STEPS:
        at += seconds
        if not key:
            view = looked(view, later(view.snapshot, 1))
        else:
            view, effect = pressed(view, key)
            if isinstance(effect, Load):
                page = partial(machine_page, view.rows[effect.machine], BOOT, PAGE, LOG, view.snapshot.now)
                view = loaded(view, effect, lambda width, height, page=page: (page(width, height), ()))
        after = picture(view)
        lines.append(encode(Happened(at, Cast.OUTPUT, painted(before, after))))
        before = after
    return "".join(lines)


def transcript(cast: str) -> str:
    """The lines that a recording (asciicast v2) leaves behind on an endless terminal."""
    said = "".join(json.loads(line)[2] for line in cast.splitlines()[1:])
    lines, column = [""], 0
    for step in _STEPS.findall(said):
        if step == "\n":
            lines.append("")
            column = 0
        elif step == "\r":
            column = 0
        elif step == "\x1b[J":
            lines[-1] = lines[-1][:column]
        elif not step.startswith("\x1b"):
            lines[-1] = lines[-1][:column] + step + lines[-1][column + len(step) :]
            column += len(step)
    return "\n".join(lines)


def draw(name: str, title: str, shown: RenderableType) -> None:
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True)
    console.print(shown)
    (DOCS / f"{name}.svg").write_text(console.export_svg(title=title, unique_id=name))


def main() -> None:
    os.environ["TZ"] = "UTC"  # the view shows times where one is
    time.tzset()
    draw("status", "tinkbox status", view_of(SNAPSHOT))
    (DOCS / "status.cast").write_text(recording())
    draw("breakpoint", "tinkbox breakpoint shell", Text(transcript(CAST.read_text())))


if __name__ == "__main__":
    main()
