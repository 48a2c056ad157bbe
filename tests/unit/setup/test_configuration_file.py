"""A few keys of a file that a person wrote are changed, and every other line stays."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.setup.configuration_file import with_keys

WRITTEN = """\
# our lab
interface: eth1   # the blue cable
metadata:
  timezone: Europe/Berlin
dhcp:
  # the router
  gateway: 172.30.0.254
  mode: pool
  pool: 172.30.0.100-172.30.0.199   # until spring
images:
  instead: {"a/b:1": "c:1"}
"""


def test_only_the_lines_of_the_keys_change() -> None:
    changed = with_keys(WRITTEN, {"interface": "eth2", "dhcp.mode": "reservation", "dhcp.pool": None})
    before, after = WRITTEN.splitlines(), changed.splitlines()
    assert [each for each in after if each not in before] == [
        "interface: eth2   # the blue cable",
        "  mode: reservation",
    ]
    assert [each for each in before if each not in after] == [before[1], before[7], before[8]]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", "dhcp:\n  mode: off\n"),
        ("# nothing yet", "# nothing yet\ndhcp:\n  mode: off\n"),
        ("dhcp:\ntpm: first\n", "dhcp:\n  mode: off\ntpm: first\n"),
        ("dhcp: {}\n", "dhcp: {mode: off}\n"),
        ("dhcp: {lease: 1h, mode: pool} # x\n", "dhcp: {mode: off, lease: 1h} # x\n"),
        ("dhcp:\n    # why\n    lease: 1h\n", "dhcp:\n    # why\n    mode: off\n    lease: 1h\n"),
        ("dhcp:\n  mode:\n  lease: 1h\n", "dhcp:\n  mode: off\n  lease: 1h\n"),
        ("dhcp:\n  mode: 'pool'", "dhcp:\n  mode: off"),
    ],
)
def test_a_key_is_put_into_its_section(text: str, changed: str) -> None:
    assert with_keys(text, {"dhcp.mode": "off"}) == changed.replace("mode: off", 'mode: "off"')


@pytest.mark.parametrize("text", ["interface: [eth1, eth2]\n", "interface:\n- eth1\n- eth2\n", "interface:\n"])
def test_a_list_gives_way_to_one_value(text: str) -> None:
    assert with_keys(f"{text}# then\ntpm: first\n", {"interface": "eth3"}) == "interface: eth3\n# then\ntpm: first\n"


def test_a_key_that_is_not_there_needs_no_removal() -> None:
    assert with_keys(WRITTEN, {"address": None, "node.http_port": None}) == WRITTEN


@pytest.mark.parametrize("text", ["{tpm: first}\n", "dhcp: ~\n", "tpm: first\n...\n"])
def test_what_cannot_be_changed_alone_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(Invalid, match=r"write `dhcp\.mode: pool` yourself"):
        with_keys(text, {"dhcp.mode": "pool"})


def test_an_aliased_value_is_not_changed_behind_the_other_key() -> None:
    with pytest.raises(Invalid, match="in a way that init cannot change"):
        with_keys("interface: &a eth1\nname: *a\n", {"interface": "eth2"})
