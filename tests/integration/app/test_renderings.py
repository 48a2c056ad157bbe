"""What somebody with the right to look, and no other, costs by having templates rendered."""

import json
import socket
import ssl
from contextlib import ExitStack
from pathlib import Path
from select import select

from tests.integration.app.test_limits import answered
from tests.integration.cli.serving import configure, run_here, serving
from tinkbox.engine.turns import AT_ONCE
from tinkbox.model.limits import RENDERINGS

ATTEMPTS = 24
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}"
PATIENCE = 60.0


def renderers(appliance: int) -> int:
    """How many processes render for it now."""
    number = 0
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            parent = (line.parent / "stat").read_text().rpartition(")")[2].split()[1]
            number += b"--render" in line.read_bytes() and int(parent) == appliance
        except OSError:
            continue  # gone meanwhile
    return number


def test_validations_of_one_person_leave_the_processor_to_booting_machines(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    body = json.dumps({"data": ENDLESS, "hardware": {"device_1": "08:00:27:00:00:01"}})
    with serving(configuration) as appliance, ExitStack() as stack:
        made = run_here("--data", str(configuration.data), "token", "create", "anna", "--right", "look")
        token = made.out.strip()
        question = (
            f"POST /v1/templates/validate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        )
        trusting = configuration.trusting()
        trusting.maximum_version = ssl.TLSVersion.TLSv1_2  # in 1.3 something comes before an answer does
        waiting = set()
        for _ in range(ATTEMPTS):
            plain = socket.create_connection(("127.0.0.1", configuration.operator_port), PATIENCE)
            asking = stack.enter_context(trusting.wrap_socket(plain, server_hostname="127.0.0.1"))
            asking.sendall(question.encode())
            waiting.add(asking)
        refused: list[str] = []
        while len(refused) < ATTEMPTS - RENDERINGS.each:
            ready, _, _ = select(waiting, [], [], PATIENCE)
            assert ready, "nobody was refused"
            refused += [each.recv(1 << 16).decode() for each in ready]
            waiting -= set(ready)
            assert renderers(appliance.pid) <= AT_ONCE
        for answer in refused:
            assert answer.startswith("HTTP/1.1 429 ")
            assert "Retry-After: " in answer
            assert "too many renderings run or wait: 16 for one person" in answer
        assert answered(configuration.http_port, "127.0.0.7", "/worker/time") == 200
        assert renderers(appliance.pid) <= AT_ONCE
