"""The completion scripts in real shells: what Tab makes of a line."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.integration.cli.completing import Shell, fish_candidates, lay_program
from tests.integration.cli.serving import PROGRAM, ROOT, Configuration, run_here
from tinkbox.cli.command_line import command_line
from tinkbox.cli.nouns import NOUNS
from tinkbox.cli.reference import bash, fish, zsh
from tinkbox.cli.reference.declarations import declared

SCRIPTS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
NAMES = ["node7\t08:00:27:00:00:01", "08:00:27:00:00:01\tnode7", "a/b:v1\t", "ubuntu\tnewest"]
# What a person has typed, and the line after Tab where one candidate is left; a blank is behind each.
LINES = {
    "tinkbox workf": "tinkbox workflow",
    "tinkbox workflow canc": "tinkbox workflow cancel",
    "tinkbox workflow create --templ": "tinkbox workflow create --template",
    "tinkbox workflow create -t ub": "tinkbox workflow create -t ubuntu",
    "tinkbox workflow create --template=ub": "tinkbox workflow create --template=ubuntu",
    "tinkbox workflow list -o ta": "tinkbox workflow list -o table",
    "tinkbox workflow list --output=ta": "tinkbox workflow list --output=table",
    "tinkbox hardware get x nod": "tinkbox hardware get x node7",
    "tinkbox hardware get 08:00:": "tinkbox hardware get 08:00:27:00:00:01",
    "tinkbox image delete a/b:": "tinkbox image delete a/b:v1",
    "tinkbox --data /x hardware get -o json nod": "tinkbox --data /x hardware get -o json node7",
    "tinkbox image load Makef": "tinkbox image load Makefile",
    "tinkbox template validate Makef": "tinkbox template validate Makefile",
    "tinkbox template validate ub": "tinkbox template validate ubuntu",
    "tinkbox serve --config Makef": "tinkbox serve --config Makefile",
    "tinkbox apply -f Makef": "tinkbox apply -f Makefile",
    "tinkbox export nod": "tinkbox export node7",
    "tinkbox help workf": "tinkbox help workflow",
    "tinkbox help workflow canc": "tinkbox help workflow cancel",
    "tinkbox workflow list --state FA": "tinkbox workflow list --state FAILED",
    "tinkbox workflow list --state FAILED,TIME": "tinkbox workflow list --state FAILED,TIMEOUT",
    "tinkbox hardware list --state=failed,par": "tinkbox hardware list --state=failed,parked",
    "tinkbox hardware list --state=par": "tinkbox hardware list --state=parked",
    "tinkbox rollout list --sort upd": "tinkbox rollout list --sort updated_at",
    "true; tinkbox versi": "true; tinkbox version",
    # Nothing fits, or nothing is to be suggested.
    "tinkbox nothing": "tinkbox nothing",
    "tinkbox hardware add no": "tinkbox hardware add no",
    "tinkbox workflow watch x nod": "tinkbox workflow watch x nod",
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return lay_program(tmp_path / "programs", NAMES)


@pytest.fixture
def environment(program: Path) -> Mapping[str, str]:
    return {"PATH": f"{program}:{os.environ['PATH']}"}


def script_for(shell: str, folder: Path) -> Path:
    path = folder / f"script.{shell}"
    path.write_text(SCRIPTS[shell](declared(command_line(list(NOUNS)))))
    return path


@pytest.fixture(params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest, tmp_path: Path, environment: Mapping[str, str]) -> Iterator[Shell]:
    with Shell(request.param, script_for(request.param, tmp_path), tmp_path, environment) as shell:
        yield shell


def test_tab_completes_the_line(shell: Shell) -> None:
    assert {typed: shell.completes(typed).rstrip(" =,") for typed in LINES} == LINES


def test_each_folder_is_suggested_once(tmp_path: Path) -> None:
    (tmp_path / "git" / "hardware").mkdir(parents=True)
    asked = f"source {script_for('bash', tmp_path)}; COMP_LINE='tinkbox apply -f git/' COMP_POINT=21 COMP_CWORD=3"
    ended = subprocess.run(
        ["bash", "-c", f"{asked}; COMP_WORDS=(tinkbox apply -f git/); _tinkbox; echo ${{COMPREPLY[*]}}"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert ended.stdout == "git/hardware\n"


def test_fish_suggests_the_same(tmp_path: Path, environment: Mapping[str, str]) -> None:
    completed = [typed for typed, line in LINES.items() if line != typed and ";" not in typed]
    for typed, found in zip(
        completed, fish_candidates(completed, script_for("fish", tmp_path), environment), strict=True
    ):
        begun, _, word = typed.rpartition(" ")
        assert LINES[typed] in {f"{begun} {each}" for each in found}
        assert all(each.startswith(word) for each in found)


def test_verbs_and_names_are_shown_with_what_they_are(tmp_path: Path, environment: Mapping[str, str]) -> None:
    told = "stop workflows that are not over"
    typed = ("tinkbox workflow ", "tinkbox hardware get ")
    verbs, names = fish_candidates(typed, script_for("fish", tmp_path), environment)
    assert (verbs["cancel"], names["node7"]) == (told, "08:00:27:00:00:01")
    with Shell("zsh", script_for("zsh", tmp_path), tmp_path, environment) as shell:
        assert told in shell.shows(typed[0], tabs=1)[1]
        assert re.search(r"node7 +-- 08:00:27:00:00:01", shell.shows(typed[1], tabs=1)[1])


def test_the_question_names_the_kind_and_the_appliance(shell: Shell, program: Path) -> None:
    shell.completes("tinkbox --data /x workflow create -t ub")
    (asked,) = (program / "asked").read_text().splitlines()
    assert asked.replace("--data=", "--data ") == "--data /x completion names TEMPLATE -- ub"


def test_verbs_and_flags_ask_nothing(shell: Shell, program: Path) -> None:
    shell.shows("tinkbox workflow create --")
    assert not (program / "asked").exists()


def test_a_name_is_never_run(shell: Shell, program: Path, tmp_path: Path) -> None:
    (program / "names").write_text(f"x$(touch {tmp_path}/run)\n`touch {tmp_path}/run`\nx;touch {tmp_path}/run\n")
    for typed in ("tinkbox hardware get ", "tinkbox hardware get x"):
        shell.shows(typed)
    assert not (tmp_path / "run").exists()


def test_a_quoted_word_stays_quoted(shell: Shell) -> None:
    assert shell.completes('tinkbox hardware get "08:0').rstrip() == 'tinkbox hardware get "08:00:27:00:00:01"'


def test_the_names_of_a_running_appliance_are_completed(appliance: Configuration, tmp_path: Path) -> None:
    words = ("hardware", "add", "08:00:27:00:00:09", "--name", "node9", "--ip", "127.0.0.9")
    added = run_here("--data", str(appliance.data), *words)
    assert added.status == 0, added.err
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "tinkbox").write_text(f'#!/bin/sh\ncd {ROOT} && exec {" ".join(PROGRAM)} "$@"\n')
    (programs / "tinkbox").chmod(0o755)
    typed = f"tinkbox --data {appliance.data} hardware get no"
    with Shell("bash", script_for("bash", tmp_path), tmp_path, {"PATH": f"{programs}:{os.environ['PATH']}"}) as shell:
        assert shell.completes(typed).rstrip() == f"{typed}de9"
