"""Recordings, shown again."""

import json
import re

from tests.integration.cli.person import Person
from tests.integration.cli.serving import run
from tests.integration.cli.shell_lab import ShellLab


def test_a_recording_is_played_again(shells: ShellLab) -> None:
    with shells.person() as anna:
        anna.sees("$ ")
        anna.type("printf '\\033[6n\\033[?1049h'; echo grün $((40 + 2))\r")
        anna.sees("grün 42")
        anna.type("exit\r")
        anna.ends()
    session = shells.session()
    plain = run(*shells.arguments("replay", session[:8]))
    assert plain.status == 0
    assert "grün 42\r\n" in plain.out
    raw = shells.folder / "raw.cast"
    assert run(*shells.arguments("replay", session, "--raw", str(raw))).status == 0
    assert json.loads(raw.read_text().splitlines()[0])["version"] == 2
    assert raw.stat().st_mode & 0o777 == 0o600
    with Person(shells.arguments("replay", session, "--speed", "100")) as ben:
        ben.resize(10, 20)
        assert ben.ends() == 0
        assert b"\x1b[6n" not in ben.seen
        assert "grün 42".encode() in ben.seen
        assert ben.seen.rstrip().endswith(b"\x1b[?1049l\x1b[!p\x1b[0m")
        assert ben.settings() == ben.before
    unknown = run(*shells.arguments("replay", "nonsense"))
    assert (unknown.status, unknown.err.count("\n")) == (1, 1)
    (command,) = re.findall(r"`tinkbox (?:--data [^ ]+ )?(.*) WORKFLOW`", unknown.err)
    listed = run("--data", str(shells.configuration.data), *command.split(), shells.workflow)
    assert (listed.status, session[:8] in listed.out) == (0, True)
