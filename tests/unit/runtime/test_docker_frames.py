import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.runtime import ContainerFailed
from tinkbox.runtime.docker_frames import taken_from


def frame(stream: int, content: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(content)) + content


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=30))), st.lists(st.integers(1, 50)))
def test_what_was_printed_comes_whole_and_in_order_however_it_is_cut(
    printed: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    sent = b"".join(frame(stream, content) for stream, content in printed)
    come, taken = bytearray(), b""
    for cut in [*cuts, len(sent)]:
        come += sent[:cut]
        sent = sent[cut:]
        taken += taken_from(come)
    assert (taken, come) == (b"".join(content for _, content in printed), b"")


def test_a_frame_of_which_the_end_is_missing_stays() -> None:
    come = bytearray(frame(1, b"one\n") + frame(2, b"two\n")[:-1])
    assert taken_from(come) == b"one\n"
    assert (taken_from(come), come) == (b"", frame(2, b"two\n")[:-1])


def test_what_the_engine_says_of_a_damaged_log_is_no_output() -> None:
    come = bytearray(frame(1, b"one\n") + frame(3, b"Error grabbing logs: invalid character\n"))
    assert taken_from(come) == b"one\n"
    with pytest.raises(ContainerFailed, match=r"cannot read its log: Error grabbing logs: invalid character$"):
        taken_from(come)
