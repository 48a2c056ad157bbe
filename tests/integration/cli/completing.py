"""Shells in which a person types, presses Tab, and sees what becomes of the line."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.integration.cli.person import Person
from tests.integration.cli.serving import ROOT, clean_environment

READY = "READY> "
LOOK = "\x14"  # Ctrl-T: write the line to a file, and empty it
LOOKED = "<looked>"
# What each shell reads when it starts: {script} is the completion script, {line} where the line goes.
BASH = """\
PS1='{ready}'
eval "$(cat {script})"
look() {{ printf %s "$READLINE_LINE" >{line}; READLINE_LINE=; echo '{looked}'; }}
bind 'set bell-style none'
bind -x '"\\C-t": look'
"""
ZSH = """\
PS1='{ready}'
setopt no_beep
autoload -U compinit; compinit -u -D
eval "$(cat {script})"
look() {{ print -rn -- "$BUFFER" >{line}; BUFFER=; print '{looked}' }}
zle -N look; bindkey '^T' look
"""


class Shell:
    """bash or zsh with the completion script; a context manager."""

    def __init__(self, name: str, script: Path, folder: Path, environment: Mapping[str, str]) -> None:
        require(name)
        self._line = folder / "line"
        start = folder / (".zshrc" if name == "zsh" else ".bashrc")
        start.write_text(
            (ZSH if name == "zsh" else BASH).format(ready=READY, looked=LOOKED, script=script, line=self._line)
        )
        program = ["zsh", "-d", "-i"] if name == "zsh" else ["bash", "--noprofile", "--rcfile", str(start), "-i"]
        self._person = Person([], {"TERM": "dumb", "ZDOTDIR": str(folder), "HOME": str(folder), **environment}, program)

    def __enter__(self) -> Self:
        self._person.__enter__()
        self._person.sees(READY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._person.__exit__(kind, error, trace)

    def completes(self, typed: str, tabs: int = 1) -> str:
        """The line after Tab."""
        return self.shows(typed, tabs)[0]

    def shows(self, typed: str, tabs: int = 2) -> tuple[str, str]:
        """The line after Tab, and everything that was shown meanwhile."""
        self._person.type(typed + "\t" * tabs + LOOK)
        shown = self._person.sees(LOOKED).decode()
        return self._line.read_text(), shown


def fish_candidates(typed: Sequence[str], script: Path, environment: Mapping[str, str]) -> list[dict[str, str]]:
    """What fish suggests for each line, with the descriptions."""
    require("fish")
    ended = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; for line in $argv; complete -C $line; echo; end", *typed],
        capture_output=True, text=True, check=True, cwd=ROOT, env={**clean_environment(), **environment},
    )  # fmt: skip
    assert ended.stderr == ""
    answers: list[dict[str, str]] = [{}]
    for line in ended.stdout.splitlines():
        if not line:
            answers.append({})
            continue
        name, _, about = line.partition("\t")
        answers[-1][name] = about
    return answers[:-1]


def require(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"this host has no {program}: `make packages-test` installs it")


def lay_program(folder: Path, names: Sequence[str]) -> Path:
    """A folder for PATH with a `tinkbox` that suggests these names, and writes what it was asked into `asked`."""
    folder.mkdir()
    (folder / "names").write_text("".join(f"{each}\n" for each in names))
    program = folder / "tinkbox"
    program.write_text(f'#!/bin/sh\necho "$*" >>{folder}/asked\ncat {folder}/names\n')
    program.chmod(0o755)
    return folder
