"""How the OSIE tells and sets its clock, by its own script under busybox, in a file tree of its own.

There is only one clock, and it is this host's: so the script runs without the right to set it, and is told the right time.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

HARMLESS = ["setpriv", "--bounding-set=-sys_time"]
# Refuses the first question, as a door does that is not open yet.
APPLIANCE = """
import http.server, time
class Door(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Door.asked += 1
        print(self.path, flush=True)
        self.send_response(200 if Door.asked > 1 else 503)
        self.end_headers()
        if Door.asked > 1:
            self.wfile.write(b'{"now": "now", "unix": %.2f}' % time.time())
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 80), Door).serve_forever()
"""


@pytest.fixture
def osie(osie: Path) -> Path:
    """What the script finds when the machine is online."""
    (osie / "proc" / "cmdline").write_text("quiet tinkbox.server=http://127.0.0.1 console=ttyS0\n")
    (osie / "run" / "osie" / "online").touch()
    return osie


@pytest.fixture
def asked(osie: Path, tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The script beside an appliance of its own, and when it began; its output is what that was asked."""
    (tmp_path / "door.py").write_text(APPLIANCE)
    door = f'ip link set lo up; "{sys.executable}" "{tmp_path}/door.py" &'
    script = f'{door} exec chroot "{osie}" /bin/sh /osie/clock >&2'
    began = int(datetime.now(UTC).timestamp())
    with subprocess.Popen(
        [*HARMLESS, "unshare", "--net", "sh", "-c", script],
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as running:
        yield began, running
        os.killpg(running.pid, signal.SIGKILL)


def test_the_appliance_is_told_what_the_machines_own_clock_showed(asked: tuple[int, subprocess.Popen[str]]) -> None:
    began, script = asked
    assert script.stdout is not None
    times = []
    for _ in range(2):
        path, _, told = script.stdout.readline().strip().partition("?was=")
        assert path == "/worker/time"
        times.append(int(told))
    # It asked again five seconds later: what it showed at first would be that far off by then.
    assert began <= times[0] <= times[1] - 5 <= datetime.now(UTC).timestamp()
