import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.terminal.asciicast import Happened, Header, Kind, decode, decode_header, encode, encode_header


def test_a_recording_is_what_asciinema_plays() -> None:
    header = Header(width=80, height=24, timestamp=1_795_230_000, title="t", command="sh", env={"TERM": "xterm"})
    assert json.loads(encode_header(header)) == {
        "version": 2, "width": 80, "height": 24, "timestamp": 1_795_230_000, "title": "t", "command": "sh",
        "env": {"TERM": "xterm"},
    }  # fmt: skip
    assert encode(Happened(1.5, Kind.OUTPUT, "ü\r\n")) == '[1.5, "o", "\\u00fc\\r\\n"]\n'
    assert encode(Happened(2.0000001, Kind.RESIZE, "80x24")) == '[2.0, "r", "80x24"]\n'


def test_what_is_empty_is_left_out_of_the_header() -> None:
    assert set(json.loads(encode_header(Header(width=1, height=1, timestamp=0)))) == {
        "version", "width", "height", "timestamp",
    }  # fmt: skip


@given(st.builds(Header, width=st.integers(1, 999), height=st.integers(1, 999), timestamp=st.integers(0, 2**40),
                 title=st.text(st.characters(codec="utf-8"))))  # fmt: skip
def test_a_header_comes_back(header: Header) -> None:
    assert decode_header(encode_header(header)) == header


@given(st.lists(st.builds(Happened, st.integers(0, 10**6).map(float), st.sampled_from(Kind),
                          st.text(st.characters(codec="utf-8")))), st.integers(0, 60))  # fmt: skip
def test_events_come_back_up_to_where_the_file_was_cut_off(happened: list[Happened], missing: int) -> None:
    content = "".join(map(encode, happened)).encode()
    kept = content[: max(0, len(content) - missing)]
    found = list(decode(kept.splitlines(keepends=True)))
    assert found == happened[: len(found)]
    assert len(found) >= kept.count(b"\n")


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b'{"version": 1}', b'{"version": 2, "width": "8", "height": 2}'])
def test_what_is_no_recording_is_refused(line: bytes) -> None:
    with pytest.raises(Invalid):
        decode_header(line)


@pytest.mark.parametrize("line", ["", "x", "[1]", '["a", "o", "b"]', '[1, "?", "b"]', "{}", "null", "1"])
def test_a_line_that_is_no_event_ends_them(line: str) -> None:
    good = encode(Happened(1.0, Kind.OUTPUT, "a"))
    assert list(decode([good, line, good])) == [Happened(1.0, Kind.OUTPUT, "a")]
