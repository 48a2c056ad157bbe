import pytest

from tinkbox.cli.intake import read_devices, say_notes
from tinkbox.model.errors import Invalid


def test_a_device_map_is_a_json_object() -> None:
    assert read_devices('{"device_1": "m"}') == {"device_1": "m"}


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "device_1"])
def test_what_is_no_device_map_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid, match="device_1"):
        read_devices(text)


def test_notes_go_to_standard_error_and_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say_notes(
        {
            "notes": [
                {"line": 3, "key": "spec.bmcRef", "text": "not\x1b[2J honoured"},
                {"text": "b", "line": None, "key": ""},
            ]
        }
    )
    say_notes({})
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "tinkbox: line 3, spec.bmcRef: not [2J honoured\ntinkbox: b\n")
