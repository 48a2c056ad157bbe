"""`tinkbox status`; tests/unit/view has the picture itself."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.wire.messages.status import MachineLine, Snapshot, encode_changes, encode_machine

MACHINE = MachineLine(
    id="0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94",
    hostname="machine-1",
    mac="08:00:27:00:00:01",
    address="172.30.0.11",
    stage="",
    stage_at=None,
    ticket=False,
    boots=0,
    parked="",
    last_contact=None,
)


def test_a_pipe_gets_the_picture_once_as_plain_text(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    snapshot = Snapshot(now=datetime(2026, 11, 21, 3, 0, tzinfo=UTC), version="0.1.0", machines=(MACHINE,))
    appliance.answers["GET /v1/status?after="] = encode_changes(
        snapshot, map(encode_machine, snapshot.machines)
    ).encode()
    printed = tinkbox("status")
    assert printed.status == 0
    assert "machine-1" in printed.out
    assert "\x1b" not in printed.out
    assert appliance.asked == [("GET /v1/status?after=", b"")]


def test_one_plain_picture_loads_neither_an_event_loop_nor_what_draws(appliance: FakeAppliance) -> None:
    snapshot = Snapshot(now=datetime(2026, 11, 21, 3, 0, tzinfo=UTC), version="0.1.0", machines=(MACHINE,))
    appliance.answers["GET /v1/status?after="] = encode_changes(
        snapshot, map(encode_machine, snapshot.machines)
    ).encode()
    program = (
        "import sys; from tinkbox.cli import main; status = main(['status']); "
        "print(status, sorted({'asyncio', 'aiohttp', 'rich.console'} & sys.modules.keys()))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "0 []"
