from pathlib import Path

import pytest
from failure import Failure, required, run


def fails() -> None:
    raise Failure("DiskBusy", "the disk is in use")


def test_reason_and_message_are_left_where_they_are_asked_for(tmp_path: Path) -> None:
    reason, message, hint = tmp_path / "reason", tmp_path / "message", tmp_path / "hint"
    reason.write_text("something longer from before")
    message.touch()
    hint.touch()
    assert run(fails, str(reason), str(message), str(hint), advice={"DiskBusy": "unmount it"}) == 1
    assert (reason.read_text(), message.read_text(), hint.read_text()) == (
        "DiskBusy",
        "the disk is in use",
        "unmount it",
    )


def test_a_failures_own_hint_comes_before_what_is_always_said(tmp_path: Path) -> None:
    (tmp_path / "hint").touch()

    def own() -> None:
        raise Failure("DiskBusy", "the disk is in use", "stop the RAID")

    run(own, hint_file=str(tmp_path / "hint"), advice={"DiskBusy": "unmount it"})
    assert (tmp_path / "hint").read_text() == "stop the RAID"


def test_nothing_is_made_where_nobody_asks(tmp_path: Path) -> None:
    assert run(fails, str(tmp_path / "reason"), str(tmp_path / "message"), str(tmp_path / "hint")) == 1
    assert list(tmp_path.iterdir()) == []


def test_success_is_zero_and_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lambda: None) == 0
    assert capsys.readouterr().err == ""


def test_all_that_is_missing_is_named() -> None:
    assert required({"A": "1", "B": "2"}, "A", "B") == ["1", "2"]
    with pytest.raises(Failure, match="set B, C in"):
        required({"A": "1", "B": ""}, "A", "B", "C")
