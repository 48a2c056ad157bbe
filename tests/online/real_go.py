"""Programs in Go that say what Go itself makes of something: each is a folder beside this file, built when it is asked.

What they import comes from a module proxy.  Where there is no Go, or none that can be used, the tests are skipped and say
what the host lacks.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PLACES = f"/usr/local/go/bin{os.pathsep}/usr/lib/go/bin"
MEMORY = 4 << 30
ENDED = {"error": "Go ended the whole program"}


def built(name: str, folder: Path) -> Path:
    """Build the program of a folder; skips, with the reason, where that cannot be done."""
    program = folder / name
    go(HERE / name, "build", "-o", str(program), ".", modules="readonly", what=f"tests/online/{name}")
    return program


def go(folder: Path, *arguments: str, modules: str, what: str) -> None:
    """Run Go in a folder, `modules` as its flag -mod has it; skips, with the reason, where `what` cannot be built."""
    found = shutil.which("go") or shutil.which("go", path=PLACES)
    if found is None:
        pytest.skip("no Go on this host: install the package golang-go")
    done = subprocess.run(
        [found, *arguments],
        cwd=folder,
        env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": f"-mod={modules}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"this host cannot build {what}: {done.stderr.strip()[-500:]}")


def answers(program: Path, questions: Sequence[Any]) -> list[Any]:
    """Ask a program a line of JSON for each question; one at which Go ends the program is answered with ENDED.

    After an end the program is started again at the same question, so that only what ends it each time counts.
    """
    found: list[Any] = []
    while len(found) < len(questions):
        done = subprocess.run(
            ["prlimit", f"--as={MEMORY}", program],
            input=_lines(questions[len(found) :]),
            env=os.environ | {"TZ": "UTC"},
            capture_output=True,
            text=True,
            check=False,
        )
        told = [json.loads(line) for line in done.stdout.split("\n") if line]
        if not told:
            assert "fatal error:" in done.stderr, done.stderr[:2000]
            told = [ENDED]
        found += told
    return found


def _lines(questions: Iterable[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in questions)
