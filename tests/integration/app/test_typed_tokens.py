"""Secrets that people type in place of a name are in no line of the audit, of the log, or of what is sent elsewhere."""

import json
import socket
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.integration.cli.serving import DEADLINE, Configuration, configure, run_here, serving

ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"
MAC = "08:00:27:00:00:01"
SESSION = "_xu7O3pcZUqkTbGlw5SUiN2gR4vm1KaQeYhDWj0s8f-"
# The operator may have chosen it, so that nothing tells it by its form.
OWN = "correct-horse-battery-staple"


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    made = configure(tmp_path)
    with made.path.open("a") as file:
        file.write(f"audit: {{file: {tmp_path / 'audit.jsonl'}, syslog: 'tcp://127.0.0.1:PORT'}}\n")
    made.data.mkdir(mode=0o700)
    (made.data / "operator.token").write_text(f"{OWN}\n")
    (made.data / "operator.token").chmod(0o600)
    return made


def test_token_that_is_typed_as_a_name_is_kept_and_sent_nowhere(configuration: Configuration, tmp_path: Path) -> None:
    with socket.socket() as syslog:
        syslog.bind(("127.0.0.1", 0))
        syslog.listen()
        syslog.settimeout(60)
        text = configuration.path.read_text()
        configuration.path.write_text(text.replace("PORT", str(syslog.getsockname()[1])))
        with serving(configuration):
            typed = type_them(configuration, tmp_path)
            with closing(syslog.accept()[0]) as taken:
                sent = told(taken, "the-last-line")
            end = time.monotonic() + DEADLINE
            while "the-last-line" not in (tmp_path / "audit.jsonl").read_text():
                assert time.monotonic() < end
                assert run_here("--data", str(configuration.data), "audit", "list").status == 0
    kept = {each: each.read_bytes() for each in configuration.data.rglob("*") if each.is_file()}
    del kept[configuration.data / "operator.token"]
    kept |= {each: each.read_bytes() for each in (tmp_path / "stderr", tmp_path / "audit.jsonl")}
    for token in typed:
        assert [str(each) for each, content in kept.items() if token.encode() in content] == []
        assert token.encode() not in sent
    assert sent.count("…".encode()) + sent.count(b"\\u2026") > 10


def type_them(configuration: Configuration, folder: Path) -> list[str]:
    """Type secrets in place of names wherever one can; returns them."""
    data = ("--data", str(configuration.data))
    machine, wish = folder / "machine.json", folder / "wish.json"
    machine.write_text(json.dumps({"id": ID, "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}}))
    assert run_here(*data, "hardware", "push", "--file", str(machine)).status == 0
    ticket = json.loads(run_here(*data, "hardware", "credential", MAC).out)["token"]
    person = json.loads(run_here(*data, "token", "create", "ann", "--right", "look", "-o", "json").out)["token"]
    tokens = [OWN, ticket, person, SESSION]
    refused = run_here(*data, "token", "revoke", "--yes", OWN)
    assert (refused.status != 0, "this is the text of a token" in refused.err) == (True, True)
    for each in tokens:
        for command in (
            ("workflow", "cancel"),
            ("hardware", "retire"),
            ("secret", "delete", "--yes"),
            ("image", "delete", "--yes"),
        ):
            assert run_here(*data, *command, each).status != 0
        wish.write_text(json.dumps({"name": each, "rights": ["look"]}))
        for header in ({"Authorization": f"Bearer {OWN}"}, {"Authorization": "Bearer wrong"}, {}):
            for method, path in (
                ("PUT", f"/v2/tools/{each}/manifests/v1"), ("DELETE", f"/v2/tools/manifests/{each}"), ("POST", f"/v2/{each}/blobs/uploads/"),
            ):  # fmt: skip
                asked(configuration, method, path, header)
    run_here(*data, "secret", "delete", "--yes", "the-last-line")
    return tokens


def asked(configuration: Configuration, method: str, path: str, header: dict[str, str]) -> None:
    """Ask the registry, whatever it answers."""
    with closing(HTTPConnection("127.0.0.1", configuration.http_port, timeout=60)) as connection:
        connection.request(method, path, b"{}", header)
        connection.getresponse().read()


def told(taken: socket.socket, last: str) -> bytes:
    """What a syslog server is told, up to a line with this word."""
    taken.settimeout(60)
    content = b""
    while last.encode() not in content:
        piece = taken.recv(65_536)
        assert piece, "it tells on"
        content += piece
    return content
