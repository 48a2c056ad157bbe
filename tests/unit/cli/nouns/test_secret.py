"""`tinkbox secret` on the command line."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.terminal.questions import ask_unseen
from tinkbox.model.errors import Refusal

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
