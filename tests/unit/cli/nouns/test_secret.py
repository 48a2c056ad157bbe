"""`tinkbox secret` on the command line."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli import main
from tinkbox.cli.terminal.questions import ask_unseen
from tinkbox.model.errors import Refusal
from tinkbox.model.secret import MAX_VALUE

Tinkbox = Callable[..., Printed]
LINE = {
    "name": "db-password",
    "size": 13,
    "set_at": "2026-01-01T00:00:00+00:00",
    "set_by": "ann",
    "workflows": ["0a0a0a0a-0000"],
    "templates": ["asking"],
}
SET = "PUT /v1/secrets/db-password"


def sent(appliance: FakeAppliance) -> Any:
    (asked,) = appliance.asked
    return json.loads(asked[1])


def test_a_value_is_read_from_standard_input_without_its_line_end(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[SET] = {"name": "db-password", "created": True}
    done = tinkbox("secret", "set", "db-password", stdin=b"correct-horse\n")
    assert done.out == "Created Secret:  db-password\n"
    assert sent(appliance) == {"base64": b64encode(b"correct-horse").decode()}


def test_a_file_is_kept_byte_for_byte(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    appliance.answers[SET] = {"name": "db-password", "created": False}
    (tmp_path / "value").write_bytes(b"\xffcorrect\n")
    assert tinkbox("secret", "set", "db-password", "--file", str(tmp_path / "value")).out.startswith("Changed")
    assert sent(appliance) == {"base64": b64encode(b"\xffcorrect\n").decode()}


def test_what_is_no_name_or_no_value_is_refused_before_it_is_sent(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    assert tinkbox("secret", "set", "a b", stdin=b"correct-horse").status == 1
    refused = tinkbox("secret", "set", "db-password", stdin=b"short")
    assert refused.status == 1
    assert "fewer than 6 bytes" in refused.err
    assert "short" not in refused.err.replace("so short", "")
    assert not appliance.asked


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "the value is empty"),
        (b"\n", "the value is empty"),
        (b"x" * (MAX_VALUE + 1), "more than 64 KiB"),
        (b"x" * MAX_VALUE + b"\n\n", "more than 64 KiB"),
    ],
)
def test_value_of_standard_input_that_cannot_be_one_is_refused(
    stdin: bytes, said: str, tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    refused = tinkbox("secret", "set", "db-password", stdin=stdin)
    assert (refused.status, said in refused.err, appliance.asked) == (1, True, [])


def test_longest_value_may_have_a_line_end_behind_it(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[SET] = {"name": "db-password", "created": True}
    assert tinkbox("secret", "set", "db-password", stdin=b"x" * MAX_VALUE + b"\r\n").status == 0
    assert sent(appliance) == {"base64": b64encode(b"x" * MAX_VALUE).decode()}


def test_standard_input_without_an_end_is_read_no_further_than_a_value_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/zero").open(encoding="ascii") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        assert main(["secret", "set", "db-password"]) == 1
    assert "more than 64 KiB" in capsys.readouterr().err


def test_line_end_of_a_file_is_told(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    appliance.answers[SET] = {"name": "db-password", "created": True}
    file = tmp_path / "value"
    for content, is_told in ((b"correct-horse\n", True), (b"correct-horse", False), (b"-----BEGIN\nkey\n", False)):
        file.write_bytes(content)
        done = tinkbox("secret", "set", "db-password", "-f", str(file))
        assert (f"the line end at the end of {file} is part of the value" in done.err) is is_told
    assert "line end" not in tinkbox("secret", "set", "db-password", stdin=b"correct-horse\n").err


@pytest.mark.parametrize("value", [b"correct\0horse", b"correct-\xff"])
def test_value_that_only_a_file_can_have_is_told(value: bytes, tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[SET] = {"name": "db-password", "created": True}
    done = tinkbox("secret", "set", "db-password", stdin=value)
    assert (done.status, "only a file, with `secrets: [db-password]`" in done.err) == (0, True)
    assert sent(appliance) == {"base64": b64encode(value).decode()}


def test_help_says_what_becomes_of_a_value(tinkbox: Tinkbox) -> None:
    told = " ".join(tinkbox("secret", "set", "--help").out.split())
    for each in ("6 bytes to 64 KiB", "byte for byte", "not shown", "without NUL", "db and DB are two secrets"):
        assert each in told


def test_there_is_no_flag_for_a_value(tinkbox: Tinkbox) -> None:
    assert tinkbox("secret", "set", "db-password", "correct-horse").status == 2


def test_secrets_are_listed_with_who_asks_for_them(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/secrets?sort=name"] = [LINE]
    shown = tinkbox("secret", "list").out
    assert "0a0a0a0a" in shown
    assert "asking" in shown
    assert tinkbox("secret", "list", "-q").out == "db-password\n"


def test_one_is_deleted_by_its_name(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["DELETE /v1/secrets/db-password"] = {"name": "db-password"}
    assert tinkbox("secret", "delete", "db-password").out == "Deleted secret:  db-password\n"


@pytest.mark.parametrize(
    ("raised", "said"),
    [(EOFError(), "nothing was typed"), (UnicodeDecodeError("utf-8", b"\xf6", 0, 1, "no start"), "no text in utf-8")],
)
def test_what_cannot_be_read_at_the_prompt_is_told(
    raised: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: str) -> str:
        raise raised

    monkeypatch.setattr("getpass.getpass", broken)
    with pytest.raises(Refusal, match=said):
        ask_unseen("Value: ")


def test_help_says_which_templates_and_workflows_a_secret_is_listed_with(tinkbox: Tinkbox) -> None:
    told = " ".join(tinkbox("secret", "list", "--help").out.split())
    assert "asks for by `.references`" in told
    assert "is known once a workflow is made of it" in told
