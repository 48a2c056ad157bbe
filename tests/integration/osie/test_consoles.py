"""What the consoles of the OSIE offer, by its own script under busybox, in a file tree of its own."""

import subprocess
from pathlib import Path

import pytest


def table(root: Path, command_line: str, consoles: str = "tty0 ttyS0") -> list[str]:
    """The lines of busybox init's table, on a machine that was booted with this."""
    (root / "proc" / "cmdline").write_text(f"quiet {command_line}\n")
    (root / "sys" / "class" / "tty" / "console" / "active").write_text(f"{consoles}\n")
    command = ["chroot", str(root), "/bin/sh", "/osie/inittab"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.splitlines()


@pytest.mark.parametrize("said", ["", "tinkbox.console=shell", "tinkbox.console=none tinkbox.console=shell"])
def test_every_console_offers_a_shell_by_default(osie: Path, said: str) -> None:
    offered = [line for line in table(osie, said) if "sh" in line]
    assert offered == ["tty1::askfirst:-/bin/sh", "ttyS0::askfirst:-/bin/sh"]


def test_no_console_offers_a_shell_where_the_appliance_says_so(osie: Path) -> None:
    assert table(osie, "tinkbox.console=none") == [line for line in table(osie, "") if "askfirst" not in line]
    assert not [line for line in table(osie, "tinkbox.console=none") if "/bin/sh" in line]


@pytest.mark.parametrize(("said", "offered"), [("", True), ("tinkbox.console=none", False)])
def test_machine_says_that_there_is_a_shell_only_where_there_is_one(osie: Path, said: str, offered: bool) -> None:
    table(osie, said)
    said_first = "sed '/^# Runs once/,/^say \"loading drivers\"$/!d; s/^hostname.*//; s/^ip .*//' /osie/setup > /osie/begin; sh /osie/begin"
    (osie / "etc" / "tinkbox").mkdir()
    (osie / "etc" / "tinkbox" / "version").write_text("1\n")
    (osie / "dev" / "null").touch()
    subprocess.run(["chroot", str(osie), "/bin/sh", "-c", said_first], check=True, capture_output=True, timeout=30)
    told = (osie / "run" / "osie" / "log").read_text()
    assert "loading drivers" in told
    assert ("Enter on a console gives a shell" in told) is offered


def test_worker_runs_whatever_the_consoles_offer(osie: Path) -> None:
    for said in ("", "tinkbox.console=none"):
        assert "::respawn:/osie/worker" in table(osie, said)
