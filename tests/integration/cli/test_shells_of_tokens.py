"""A shell that a person opened with a token, over an appliance that runs, and what they leave in it."""

import sqlite3
from contextlib import closing

import pytest

from tests.integration.cli.held_machine import processes_of
from tests.integration.cli.person import Person
from tests.integration.cli.serving import run, run_here
from tests.integration.cli.shell_lab import ShellLab
from tests.integration.worker.machine import until

LEFT = '(trap "" HUP TERM; setsid sleep 1000 & exec sleep 1000) & echo is le"ft"\r'


def token_of_anna(shells: ShellLab) -> str:
    made = run_here("--data", str(shells.configuration.data), "token", "create", "anna", "--right", "attach,look")
    assert made.status == 0, made.err
    return made.out.strip()


def anna_at(shells: ShellLab, token: str) -> Person:
    """Anna's terminal, on another computer."""
    there = {
        "TINKBOX_SERVER": f"https://127.0.0.1:{shells.configuration.operator_port}",
        "TINKBOX_TOKEN": token,
        "SSL_CERT_FILE": str(shells.configuration.authority),
    }
    return Person(["breakpoint", "shell", shells.workflow], there)


def revoke(shells: ShellLab) -> None:
    ended = run("--data", str(shells.configuration.data), "token", "revoke", "anna")
    assert ended.status == 0, ended.err


def reason_of_the_end(shells: ShellLab) -> str:
    (end,) = [event for event in shells.told() if event["kind"] == "shell.ended"]
    return f"{end['reason']}: {end['message']}"


@pytest.mark.parametrize("stays", [True, False], ids=["stays", "leaves"])
def test_what_runs_in_a_shell_ends_with_the_token_of_its_driver(shells: ShellLab, *, stays: bool) -> None:
    with anna_at(shells, token_of_anna(shells)) as anna:
        anna.sees("$ ")
        anna.type(LEFT)
        anna.sees("is left")
        if not stays:
            anna.type("\r~.")
            assert anna.ends() == 0
        until(lambda: len(processes_of(shells.session())) == 3, "the shell and what it started")
        revoke(shells)
        until(lambda: not processes_of(shells.session()), "the end of everything in the shell")
        if stays:
            assert anna.ends() != 0
    assert reason_of_the_end(shells) == "TokenOver: the token of anna was revoked"


def test_what_runs_in_a_shell_ends_with_a_token_that_ended_while_the_appliance_was_off(shells: ShellLab) -> None:
    with anna_at(shells, token_of_anna(shells)) as anna:
        anna.sees("$ ")
        anna.type(LEFT)
        anna.sees("is left")
        anna.type("\r~.")
        anna.ends()
    session = shells.session()
    shells.kill()
    with closing(sqlite3.connect(shells.configuration.data / "tinkbox.sqlite")) as store, store:
        store.execute("DELETE FROM token")
    shells.start()
    until(lambda: not processes_of(session), "the end of everything in the shell")
    assert reason_of_the_end(shells) == "TokenOver: the token of anna was revoked"
