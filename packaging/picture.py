"""Draws the pictures in docs/: status.svg, the terminal view, and breakpoint.svg, what breakpoint.cast shows in the end.

python packaging/picture.py

The cast is a recording of a virtual machine's test: `TINKBOX_RECORDING=docs/breakpoint.cast` before
`pytest tests/machine/test_breakpoint.py` makes it anew.
"""

import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from tinkbox import __version__
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State
from tinkbox.view.screen import screen
from tinkbox.wire.messages.status import FailureLine, MachineLine, RunningLine, Snapshot, TaskLine, WorkflowLine

DOCS = Path(__file__).parent.parent / "docs"
CAST = DOCS / "breakpoint.cast"
WIDTH = 112
# What a terminal does with its text, as far as a shell's recording needs it.
_STEPS = re.compile(r"\x1b\[J|\x1b\[[0-9;?!]*[A-Za-z]|\r|\n|[^\x1b\r\n]+")
NOW = datetime(2026, 11, 21, 22, 41, 7, tzinfo=UTC)


def ago(seconds: int) -> datetime:
    return NOW - timedelta(seconds=seconds)


def machine(number: int, stage: Stage, seconds: int, **more: object) -> MachineLine:
    return MachineLine(
        id=f"0eba0bf8-3772-4b4a-ab9f-6ebe93b90a9{number}",
        hostname=f"rack2-node{number}",
        mac=f"08:00:27:00:00:0{number}",
        address=f"172.30.0.2{number}",
        stage=stage,
        stage_at=ago(seconds),
        **more,
    )


SNAPSHOT = Snapshot(
    now=NOW,
    version=__version__,
    machines=(
        machine(1, Stage.WORKER, 74, ticket=True),
        machine(2, Stage.RAMDISK, 9, ticket=True),
        machine(3, Stage.LOCAL_DISK, 1860),
    ),
    workflows=(
        WorkflowLine(
            id="b7e3a7a0-52e5-4b0e-9a53-3d8a0c1d7d0e",
            name="ubuntu_provisioning",
            state=State.RUNNING,
            created_at=ago(131),
            ended_at=None,
            tasks=(TaskLine(name="os-installation", worker="rack2-node1", done=2, total=5),),
            running=RunningLine(
                task="os-installation",
                name="stream-image",
                started_at=ago(48),
                timeout=600,
                last_output="http://172.30.0.1:8080/ubuntu.img.zst: 612 of 940 MiB downloaded (65 %), 1.9 GiB written",
            ),
        ),
        WorkflowLine(
            id="0c1f6f5d-8a0c-4c51-8f0f-54f6d1a9e5b2",
            name="debian_provisioning",
            state=State.PENDING,
            created_at=ago(55),
            ended_at=None,
            tasks=(TaskLine(name="os-installation", worker="rack2-node2", done=0, total=4),),
        ),
        WorkflowLine(
            id="54e310e5-c272-4bb8-819a-95f17d183cf6",
            name="disk_wipe",
            state=State.FAILED,
            created_at=ago(2400),
            ended_at=ago(2280),
            tasks=(TaskLine(name="wipe", worker="rack2-node3", done=1, total=2),),
            failure=FailureLine(
                task="wipe", name="wipe-nvme", reason="DiskNotFound", message="there is no /dev/nvme1n1 on this machine"
            ),
        ),
    ),
)


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
    draw("status", "tinkbox status", screen(SNAPSHOT))
    draw("breakpoint", "tinkbox breakpoint shell", Text(transcript(CAST.read_text())))


if __name__ == "__main__":
    main()
