"""`tinkbox --worker`: what the flags mean."""

import argparse
from pathlib import Path

import pytest

from tinkbox.cli.command_line import parse
from tinkbox.cli.nouns.worker import work


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("--worker", (None, None, None, Path("/worker"), True, True)),
        (
            "--worker --server http://a --credential c.json --docker unix:///d --data d --no-privileged",
            ("http://a", Path("c.json"), "unix:///d", Path("d").absolute(), False, True),
        ),
        ("--worker --no-debug", (None, None, None, Path("/worker"), True, False)),
    ],
)
def test_the_flags_reach_the_worker(monkeypatch: pytest.MonkeyPatch, line: str, given: tuple[object, ...]) -> None:
    started = []

    def run(server: object, credential: object, docker: object, data: object, *, privileged: bool, debug: bool) -> int:
        started.append((server, credential, docker, data, privileged, debug))
        return 7

    monkeypatch.setattr("tinkbox.worker.main.work", run)
    chosen: argparse.Namespace = parse(line.split())
    assert work(chosen) == 7
    assert started == [given]
