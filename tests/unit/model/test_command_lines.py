"""Commands in texts for people."""

import pytest

from tinkbox.model.command_lines import typable


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Build it again: `tinkbox osie build`.", "Build it again: `tinkbox --data /d osie build`."),
        ("`tinkbox doctor` says more", "`tinkbox --data /d doctor` says more"),
        ("`systemctl restart tinkbox`", "`systemctl restart tinkbox`"),
        ("`tinkbox.yaml` says so, and tinkbox goes on", "`tinkbox.yaml` says so, and tinkbox goes on"),
        ("look: tinkbox workflow logs WORKFLOW", "look: tinkbox --data /d workflow logs WORKFLOW"),
    ],
)
def test_commands_reach_the_appliance_of_the_reader(text: str, typed: str) -> None:
    assert typable(text, "tinkbox --data /d") == typed
