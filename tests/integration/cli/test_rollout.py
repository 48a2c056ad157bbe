"""A rollout as a person makes it, over an appliance that is restarted in the middle."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from tests.integration.cli.serving import DEADLINE, Ended, configure, run_here, serving
from tests.integration.engine.appliance import HELLO, hardware

MACHINES = 30


def test_a_rollout_is_previewed_made_and_kept_over_a_restart(tmp_path: Path) -> None:
    configuration = configure(tmp_path)

    def tinkbox(*words: str, stdin: bytes = b"") -> Ended:
        return run_here("--data", str(configuration.data), *words, stdin=stdin)

    create = ("workflow", "create", "-t", "hello", "machine-2", "machine-1", "--max-parallel", "1")
    with serving(configuration):
        for number in (1, 2):
            assert tinkbox("hardware", "push", stdin=json.dumps(hardware(number)).encode()).status == 0
        assert tinkbox("template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0
        preview = tinkbox(*create, "--dry-run")
        assert (preview.status, "machine-2, machine-1" in preview.out) == (0, True)
        refused = tinkbox(*create)
        assert (refused.status, "add --yes" in refused.err) == (1, True)
        assert tinkbox("rollout", "list", "-q").out == ""
        made = tinkbox(*create, "--yes")
        key = made.out.split()[2]
        wait_until_listed(tinkbox, "RUNNING")
    with serving(configuration):
        rollout = json.loads(tinkbox("rollout", "get", key[:8], "-o", "json").out)
        assert [each["name"] for each in rollout["under_way"]] == ["machine-2"]
        assert [each["name"] for each in rollout["waiting"]] == ["machine-1"]
        (workflow,) = json.loads(tinkbox("workflow", "list", "-l", f"rollout={key[:8]}", "-o", "json").out)
        assert workflow["id"] == rollout["under_way"][0]["workflow"]
        assert tinkbox("rollout", "cancel", key).status == 0
        assert tinkbox("rollout", "watch", key).status == 1
        assert tinkbox("rollout", "delete", "hello").out == f"Deleted Rollout:  {key}\n"


def test_every_machine_gets_one_workflow_though_the_appliance_is_killed_again_and_again(tmp_path: Path) -> None:
    configuration = configure(tmp_path)

    def tinkbox(*words: str, stdin: bytes = b"") -> Ended:
        return run_here("--data", str(configuration.data), *words, stdin=stdin)

    def machines() -> list[str]:
        return [each["machines"][0]["hostname"] for each in json.loads(tinkbox("workflow", "list", "-o", "json").out)]

    names = [f"node{number:02}" for number in range(1, MACHINES + 1)]
    rows = [f"08:00:27:00:01:{number:02x},{name}" for number, name in enumerate(names)]
    deadline = time.monotonic() + DEADLINE
    for wanted in (1, MACHINES // 2):
        with serving(configuration) as process:
            if wanted == 1:
                listed = "\n".join(["mac,name", *rows]).encode()
                assert tinkbox("hardware", "import", "-", "-l", "rack=r1", stdin=listed).status == 0
                assert tinkbox("template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0
                assert tinkbox("workflow", "create", "-t", "hello", "-l", "rack=r1", "--yes").status == 0
            while len(machines()) < wanted:
                assert time.monotonic() < deadline
            process.kill()
    with serving(configuration):
        while json.loads(tinkbox("rollout", "list", "-o", "json").out)[0]["counts"]["PENDING"] < MACHINES:
            assert time.monotonic() < deadline
        assert sorted(machines()) == names


def wait_until_listed(tinkbox: Callable[..., Ended], state: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not tinkbox("rollout", "list", "--state", state, "-q").out:
        assert time.monotonic() < deadline
