"""A shell's frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages import shell
from tinkbox.wire.messages.shell import Channel, Frame


@given(st.sampled_from(Channel), st.binary(max_size=300))
def test_a_frame_is_its_channel_and_what_it_carries(channel: Channel, content: bytes) -> None:
    encoded = shell.encode(Frame(channel, content))
    assert encoded == bytes([channel]) + content
    assert shell.decode(encoded) == Frame(channel, content)


def test_the_channels_are_those_of_kubernetes() -> None:
    known = {"STDIN": 0, "STDOUT": 1, "STDERR": 2, "STATUS": 3, "RESIZE": 4, "CLOSE": 255}
    assert {name: Channel[name].value for name in known} == known


@pytest.mark.parametrize("content", [b"", b"\x06x", b"\xfe", b"\x01" + b"x" * shell.MAX_FRAME])
def test_what_is_no_frame_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid):
        shell.decode(content)


@given(st.integers(0, 3 * shell.MAX_FRAME))
def test_content_of_any_length_goes_into_frames(length: int) -> None:
    content = bytes(length)
    frames = shell.pieces(Channel.STDOUT, content)
    assert b"".join(frame.content for frame in frames) == content
    assert all(len(shell.encode(frame)) <= shell.MAX_FRAME for frame in frames)


@pytest.mark.parametrize("end", [ShellEnd(0), ShellEnd(130), ShellEnd(None, "ShellLost", "it is gone")])
def test_an_end_is_told_and_understood(end: ShellEnd) -> None:
    assert shell.read_status(shell.status(end)) == end


def test_a_size_is_kept_within_what_terminals_have() -> None:
    assert shell.read_resize(shell.resize(24, 80)) == (24, 80)
    assert shell.read_resize(shell.resize(-5, 10**9)) == (1, shell.MAX_SIZE)


def test_a_notice_is_an_object_and_a_channel_can_be_closed() -> None:
    assert shell.read_control(shell.control({"driver": "anna"})) == {"driver": "anna"}
    assert shell.close(Channel.STDIN) == Frame(Channel.CLOSE, b"\0")


@pytest.mark.parametrize("content", [b"", b"x", b"[]", b'{"rows": "1"}', b"\xff"])
def test_what_is_no_size_and_no_end_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid):
        shell.read_resize(Frame(Channel.RESIZE, content))
    if content != b'{"rows": "1"}':
        with pytest.raises(Invalid):
            shell.read_status(Frame(Channel.STATUS, content))
        with pytest.raises(Invalid):
            shell.read_control(Frame(Channel.CONTROL, content))
