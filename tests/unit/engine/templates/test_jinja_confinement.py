"""The process that renders Jinja2, from inside."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tinkbox.engine.templates.jinja_confinement import CONFINED, CPU_SECONDS, MEMORY_BYTES

ROOT = Path(__file__).parents[4]
LOOK = """
import json, os, resource, sys
from tinkbox.engine.templates.jinja_confinement import confine
confine()
def refused(attempt):
    try:
        attempt()
    except OSError:
        return True
limits = {name: resource.getrlimit(getattr(resource, name)) for name in ("RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE")}
print(json.dumps({"file": refused(lambda: os.open("/etc/hostname", os.O_RDONLY)), "user": os.getuid(), "groups": os.getgroups(),
    "environment": dict(os.environ), "limits": limits, "nice": os.nice(0), "address space": resource.getrlimit(resource.RLIMIT_AS)[0]}))
"""


def test_a_confined_process_has_no_files_no_rights_and_no_environment() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=ROOT,
        env={"TINKBOX_TOKEN": "secret"},
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(done.stdout)
    assert (seen["file"], seen["environment"], seen["nice"]) == (True, {}, 19)
    assert seen["limits"] == {"RLIMIT_CPU": [CPU_SECONDS] * 2, "RLIMIT_FSIZE": [0, 0], "RLIMIT_CORE": [0, 0]}
    assert MEMORY_BYTES < seen["address space"] < MEMORY_BYTES + (1 << 30)
    assert resource.getrlimit(resource.RLIMIT_AS) != (seen["address space"],) * 2
    assert seen["user"] != 0
    assert 0 not in seen["groups"]


def said(request: object) -> bytes:
    command = [sys.executable, "-m", "tinkbox", "--render"]
    return subprocess.run(
        command, cwd=ROOT, input=json.dumps(request).encode(), capture_output=True, check=False
    ).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="takes rights away from root")
def test_root_without_the_right_to_become_nobody_is_confined_all_the_same() -> None:
    command = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", sys.executable, "-c", LOOK]
    seen = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert (seen["user"], seen["file"], seen["nice"], seen["environment"]) == (0, True, 19, {})


def test_it_answers_with_texts_and_problems_in_their_order() -> None:
    answer = said({"text": "{{ a }}", "data": [{"a": "x"}, {}]})
    assert answer.startswith(CONFINED)
    assert json.loads(answer.removeprefix(CONFINED)) == [
        "x",
        {"line": 1, "text": "a has no value; known here: nothing"},
    ]


@pytest.mark.parametrize(
    "text",
    ["{{ 'a' * 10 ** 10 }}", "{{ '%1000000000s' % 1 }}", "{{ '%1000000000s' | format(1) }}", "{{ [0] * 10 ** 9 }}"],
)
def test_what_takes_all_memory_is_told_while_there_is_some(text: str) -> None:
    answer = said({"text": text, "data": [{}]})
    assert json.loads(answer.removeprefix(CONFINED)) == [{"line": 1, "text": "rendering takes too much memory"}]


def test_what_takes_all_time_is_ended_by_the_kernel() -> None:
    assert said({"text": "{{ 9 ** (9 ** 9) }}", "data": [{}]}) == CONFINED
