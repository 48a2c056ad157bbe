"""Secrets on a real engine: they are in the container, and nowhere else."""

import base64
import json
import urllib.parse
from pathlib import Path

from tests.integration.cli.serving import serving
from tests.integration.worker.machine import Lab, until

VALUE = b"correct-horse/battery+staple?"
KEY = b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0cyBvZiB0ZXN0cw7q\n-----END PRIVATE KEY-----\n"
SPELLINGS = (
    VALUE,
    base64.b64encode(VALUE),
    base64.b64encode(b"x" + VALUE)[4:-4],
    urllib.parse.quote(VALUE, safe="").encode(),
    VALUE.hex().encode(),
    KEY.splitlines()[1],
)
USES = [{"name": "db", "env": "DB"}, "tls.key", {"name": "db", "file": "/run/secrets/password"}]
PRINTS = """\
printf %s "$DB" >/marks/env; cat /run/secrets/tls.key >/marks/file; printf %s "$WORD" >/marks/word
stat -c %a /run/secrets/tls.key >/marks/mode; echo more >>/run/secrets/tls.key
while [ ! -e /marks/go ]; do sleep 0.1; done
echo $DB; cat /run/secrets/*; printf %s "$DB" | base64
echo "no entry with $DB" >/dev/message; echo "BadLogin" >/dev/reason; exit 1"""
SERVES = 'echo "serving with $DB"; cat /run/secrets/tls.key; : >/marks/$TINKBOX_SERVICE; trap "exit 0" TERM; while true; do sleep 0.1; done'
TOOLS = ("cat", "stat", "sleep", "base64")


def found_in(content: bytes) -> list[bytes]:
    return [each for each in SPELLINGS if each in content]


def everything_below(folder: Path, *but: Path) -> dict[Path, list[bytes]]:
    """The files that have a secret in them, in any spelling."""
    files = [
        path for path in folder.rglob("*") if path.is_file() and not any(path.is_relative_to(each) for each in but)
    ]
    return {path: found for path in files if (found := found_in(path.read_bytes()))}


def command_lines() -> bytes:
    """Those of all processes of this host."""
    told = b""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            told += each.read_bytes() + b"\n"
        except OSError:
            continue
    return told


def set_secrets(lab: Lab) -> None:
    lab.tinkbox("secret", "set", "db", stdin=VALUE + b"\n")
    key = lab.folder / "marks" / "key"
    key.write_bytes(KEY)
    lab.tinkbox("secret", "set", "tls.key", "--file", str(key))
    key.unlink()


def script(text: str) -> str:
    """A script that finds busybox's programs."""
    return "".join(f'{each}() {{ /bin/busybox {each} "$@"; }}; ' for each in TOOLS) + text


def test_a_secret_is_in_the_container_and_nowhere_else(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        set_secrets(lab)
        workflow = lab.workflow(
            script(PRINTS),
            secrets=USES,
            environment={"WORD": "{{ secret `db` | b64enc }}"},
        )
        until(lambda: lab.marked("mode"), "the action")
        assert found_in(command_lines()) == []
        lab.allow("go")
        assert lab.finished(workflow) == "FAILED"
        assert (lab.marks / "env").read_bytes() == VALUE
        assert (lab.marks / "word").read_bytes() == base64.b64encode(VALUE)
        assert (lab.marks / "file").read_bytes() == KEY
        assert (lab.marks / "mode").read_text() == "400\n"
        told = {
            words: lab.tinkbox(*words.split())
            for words in (
                f"workflow logs {workflow}",
                f"workflow get {workflow} -o json",
                f"workflow state {workflow} -o json",
                f"workflow events {workflow} -o json",
                "secret list -o json",
                "export",
                "template list -o json",
            )
        }
        assert {words: found_in(text.encode()) for words, text in told.items()} == {words: [] for words in told}
        assert "{{ secret" in told[f"workflow get {workflow} -o json"]
        assert "no entry with ****" in told[f"workflow events {workflow} -o json"]
        assert "*" * len(VALUE) in told[f"workflow logs {workflow}"]
        assert json.loads(told["secret list -o json"])[0]["workflows"] == []
    until(lambda: lab.containers() == [], "the end of the containers")
    assert everything_below(lab.folder, lab.marks) == {}
    assert not [path for path in Path("/dev/shm").glob("tinkbox-*") if everything_below(path)]


def test_a_command_and_a_service_have_secrets_too(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        set_secrets(lab)
        workflow = lab.workflow(
            'printf %s "{{ secret `db` }}" >/marks/said; echo "{{ secret `db` }}"',
            services={"served": script(SERVES)},
            of_services={"secrets": USES[:2]},
        )
        assert lab.finished(workflow) == "SUCCESS"
        assert (lab.marks / "said").read_bytes() == VALUE
        printed = lab.tinkbox("service", "logs", f"{workflow}/served")
        assert printed.startswith(f"serving with {'*' * len(VALUE)}\n****")
        listed = lab.tinkbox("service", "list", workflow, "-o", "json")
        assert found_in((printed + listed + lab.tinkbox("workflow", "logs", workflow)).encode()) == []
        until(lambda: lab.containers() == [], "the end of the service")
    assert everything_below(lab.folder, lab.marks) == {}
