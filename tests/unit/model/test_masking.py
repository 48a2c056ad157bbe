"""Secrets in what programs print, however it comes in pieces."""

import base64
import binascii
import html
import itertools
import json
import os
import pprint
import re
import shlex
import shutil
import subprocess
import textwrap
import time
import urllib.parse
from collections.abc import Callable, Sequence

import pytest
import yaml

from tinkbox.model.masking import Masks

VALUE = b"s3cret 'quoted' \"text\"/plus+ \xc3\xa4?"
PEM = b"-----BEGIN KEY-----\nAAAAB3NzaC1yc2EAAAADAQAB\nzz9+\n-----END KEY-----\n"
MASKS = Masks.of([VALUE, PEM])


@pytest.mark.parametrize(
    "spelling",
    [
        VALUE,
        base64.b64encode(VALUE),
        base64.urlsafe_b64encode(VALUE),
        urllib.parse.quote(VALUE, safe="").encode(),
        urllib.parse.quote_plus(VALUE).encode(),
        json.dumps(VALUE.decode()).encode(),
        json.dumps(VALUE.decode(), ensure_ascii=False).encode(),
        shlex.quote(VALUE.decode()).encode(),
        VALUE.replace(b"'", b"'\\''"),
        VALUE.replace(b"'", b"''"),
        VALUE.replace(b'"', b'""'),
        VALUE.hex().encode(),
        PEM,
        PEM.replace(b"\n", b"\r\n"),
    ],
    ids=repr,
)
def test_every_usual_spelling_is_masked_in_place(spelling: bytes) -> None:
    printed = b"before " + spelling + b" after"
    masked = MASKS.piece(b"", printed, known=True)
    assert len(masked) == len(printed)
    assert masked.startswith(b"before ")
    assert masked.endswith(b" after")
    assert set(masked[7:-6]) <= set(b"*'\"=\r\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="this host lacks bash")
@pytest.mark.parametrize(
    "command",
    [
        'printf "%q" "$S"',
        "declare -p S",
        "export -p | grep S=",
        'set -x; : "$S"',
        "echo ${S@Q}",
        "set -fx; : $S",
        'set -x; [[ a == "$S" ]] || :',
        'set -x; [[ a =~ "$S" ]] || :',
    ],
)
@pytest.mark.parametrize(
    "value",
    [
        "it's a-pass word", "Winter$2026!", 'S3cr*t &Val~ue/"q"', 'pa$$w`or!d"x\\y', "#~ {a,b} [c] (d|e);<f>?^", "tab\there\x1b[1mand\x01that's",
        "Größe\n12345",
    ],
)  # fmt: skip
def test_what_bash_quotes_is_masked(command: str, value: str) -> None:
    bash = ["bash", "-c", command]
    ran = subprocess.run(bash, env={"S": value, "PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)  # fmt: skip
    shown = Masks.of([value.encode()]).piece(b"", ran.stdout, known=True).decode()
    assert not re.search(r"[a-zA-Z0-9]{3}", re.sub(r"declare -x|declare|-x S|S=", "", shown)), shown


@pytest.mark.parametrize(
    "value", ["tab\there\x1b[1mand that", "\tit's there", "Größe of it\n", "ends with\a", "it's plain"]
)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_what_a_message_of_gnu_programs_quotes_is_masked(value: str, locale: str) -> None:
    ran = subprocess.run(
        ["cat", f"/no-such/{value}"], env={"LC_ALL": locale, "PATH": os.environ["PATH"]}, stderr=subprocess.PIPE
    )
    shown = Masks.of([value.encode()]).piece(b"", ran.stderr, known=True).decode()
    assert shown.startswith("cat: ")
    assert "No such file" in shown
    assert not re.search(r"here|there|ends|plain|[0-9]{3}", shown), shown


def masked_in_pieces(masks: Masks, printed: bytes, ends: Sequence[int]) -> bytes:
    return b"".join(
        masks.piece(printed[max(0, begin - masks.reach) : begin], printed[begin:end], known=True)
        for begin, end in itertools.pairwise([0, *ends, len(printed)])
    )


def shown_of(value: str, masked: bytes) -> list[str]:
    """What of a value can still be read: three letters in a row."""
    threes = (value[place : place + 3] for place in range(len(value) - 2))
    return [each for each in threes if re.fullmatch("[a-zA-Z0-9]{3}", each) and each.encode() in masked]


MIXED = 'Zaq\'s"wex" r!tyu$iop\\dfg%41hjk<b>&zé😀\txcv'
HARD = [
    MIXED, "two words-é", "Zaq\\nwex\\tzé%25rty", "first line\nÜber\nlast", "qwe&amp;^AbcM-xyz%%def", 'Zaq""wex\'\'rty$$uio',
    "".join(f"K{each:02}w+x&<'\"é! $" for each in range(15)),
]  # fmt: skip
SPELLED: dict[str, Callable[[str], object]] = {
    "ascii": ascii,
    "repr of repr": lambda value: repr(repr(value)),
    "JSON in JSON in JSON": lambda value: json.dumps(json.dumps(json.dumps(value))),
    "JSON of wrapped base64": lambda value: json.dumps(base64.encodebytes(value.encode()).decode()),
    "YAML": lambda value: yaml.safe_dump({"of": {"a": value}}),
    "YAML in Unicode": lambda value: yaml.safe_dump([value], allow_unicode=True),
    "pprint": lambda value: pprint.pformat({"a": value}, width=40),
    "Rust and Ruby": lambda value: "".join(each if each.isascii() else f"\\u{{{ord(each):x}}}" for each in value),
    "Perl": lambda value: "".join(each if each.isascii() else f"\\x{{{ord(each):x}}}" for each in value),
    "re.escape": re.escape,
    "HTML": html.escape,
    "HTML twice": lambda value: html.escape(html.escape(value)),
    "XML": lambda value: html.escape(value).encode("ascii", "xmlcharrefreplace").decode(),
    "XML in hex": lambda value: "".join(each if each.isalnum() else f"&#x{ord(each):X};" for each in value),
    "percent-encoded thrice": lambda value: urllib.parse.quote(urllib.parse.quote(urllib.parse.quote(value))),
    "doubled": lambda value: value.replace("%", "%%").replace("$", "$$").replace("'", "''").replace('"', '""'),
    "query": lambda value: urllib.parse.urlencode({"a": value}),
}


@pytest.mark.parametrize("value", HARD, ids=range(len(HARD)))
@pytest.mark.parametrize("spelled", SPELLED)
@pytest.mark.parametrize("size", [1, 2, 3, 13, 100_000])
def test_what_programs_escape_is_masked_however_often_they_do(spelled: str, value: str, size: int) -> None:
    printed = f"it is {SPELLED[spelled](value)} end of it\n".encode()
    masks = Masks.of([value.encode()])
    masked = masked_in_pieces(masks, printed, range(size, len(printed), size))
    assert len(masked) == len(printed)
    assert masked.startswith(b"it is ")
    assert masked.endswith(b" end of it\n")
    assert not shown_of(value, masked), masked
    assert masked.count(b"*") >= len(value.encode()) * 0.7, masked


@pytest.mark.parametrize("spelled", SPELLED)
def test_what_programs_escape_is_masked_wherever_it_comes_in_two(spelled: str) -> None:
    printed, masks = f"it is {SPELLED[spelled](MIXED)} end of it\n".encode(), Masks.of([MIXED.encode()])
    for place in range(1, len(printed)):
        masked = masked_in_pieces(masks, printed, [place])
        assert not shown_of(MIXED, masked), (place, masked)
        assert masked.endswith(b" end of it\n")


@pytest.mark.parametrize(
    "command",
    [
        'cat -v <<< "$S"', 'cat -A <<< "$S"', 'sed -n l <<< "$S"', 'git rev-parse --sq-quote "$S"', "dash -xc ': \"$S\"'", "dash -c 'export -p'",
        "busybox ash -xc ': \"$S\"'", "busybox ash -c 'set'", "dash -c 'echo \"$S\"'", "jq -nr 'env.S|@sh, @uri, @html, @json'", "jq -n 'env.S|@json|@json'",
        'LC_ALL=C ls "/no-such/$S"', 'LC_ALL=C.UTF-8 ls "/no-such/$S"', 'openssl base64 <<< "$S"', 'openssl base64 -A <<< "user:$S"', "zsh -fc 'print -r -- ${(q)S} ${(qqqq)S}'",
        "perl -MData::Dumper -e '$Data::Dumper::Useqq = 1; print Dumper($ENV{S})'",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", HARD, ids=range(len(HARD)))
def test_what_common_programs_print_of_a_secret_is_masked(command: str, value: str) -> None:
    needed = command.removeprefix("LC_ALL=C.UTF-8 ").removeprefix("LC_ALL=C ").split()[0]
    if not shutil.which("bash") or not shutil.which(needed):
        pytest.skip(f"this host lacks bash or {needed}")
    ran = subprocess.run(
        ["bash", "-c", command],
        # What is printed beside it has none of its letters.
        env={"S": value, "PATH": "/usr/bin:/bin"},
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    shown = Masks.of([value.encode()]).piece(b"", ran.stdout, known=True)
    assert not shown_of(value, shown), shown
    assert shown.count(b"*") >= len(value.encode()) * 0.7, shown


@pytest.mark.parametrize("end", ["M", "^", "&", "&am", "%4", "\\u00", "\\x"])
def test_value_that_ends_as_a_code_begins_is_masked_as_a_whole_alone(end: str) -> None:
    masks = Masks.of([f"passphrase{end}".encode()])
    assert masks.piece(b"", b"the passphrase of it\n", known=True) == b"the passphrase of it\n"
    assert b"passphrase" not in masks.piece(b"", json.dumps(f"\tpassphrase{end}\t").encode(), known=True)


def test_letters_in_latin_1_are_masked() -> None:
    masks = Masks.of(["Größe-1é".encode()])
    assert masks.piece(b"", "x=Größe-1é.".encode("latin-1"), known=True) == b"x=********."
    assert masks.piece(b"", rb"x=Gr\xf6\xdfe-1\xE9.", known=True) == b"x=" + b"*" * 17 + b"."


@pytest.mark.parametrize("value", ["Grüße €an Zoë", "é1234567", "1234567𝄞"])
def test_value_with_a_letter_that_an_engine_cut_in_two_is_masked(value: str) -> None:
    masks, whole = Masks.of([value.encode()]), value.encode()
    for cut in range(1, len(whole)):
        kept = "".join(_kept_by_engine(each) for each in (b"x=" + whole[:cut], whole[cut:] + b"."))
        assert set(masks.text(kept)) == set("x=*."), cut
        assert set(masks.piece(b"", kept.encode(), known=True)) == set(b"x=*."), cut


def _kept_by_engine(line: bytes) -> str:
    """In the log of an engine, which is JSON that Go wrote: a replacement character for each byte that is no UTF-8."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if "\udc80" <= each <= "\udcff" else each
        for each in line.decode(errors="surrogateescape")
    )


@pytest.mark.parametrize("value", ["Größe-1é", "é12345", "Ünï-Cödé", "Ã¤-Ãü9Zw~"])
def test_letters_in_latin_1_that_an_engine_kept_as_replacement_characters_are_masked(value: str) -> None:
    kept = f"x={value}.".encode("latin-1").decode(errors="replace")
    masks = Masks.of([value.encode()])
    assert set(masks.text(kept)) == set("x=*.")
    assert set(masks.piece(b"", kept.encode(), known=True)) == set(b"x=*.")


LATIN_SPELLED: dict[str, Callable[[str], object]] = {
    "as it is": str,
    "JSON": json.dumps,
    "ascii": ascii,
    "HTML": lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    "percent-encoded": urllib.parse.quote,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "octal": lambda text: "".join(chr(each) if each < 0x80 else f"\\{each:o}" for each in text.encode()),
}


@pytest.mark.parametrize(
    "value", ["Größe-1é 22".encode("latin-1"), "Größe-1é 22".encode(), b"\xff\xfe\x80\x81\xe9\xe8"], ids=repr
)
@pytest.mark.parametrize("spelled", LATIN_SPELLED)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_value_that_a_program_takes_for_latin_1_is_masked_in_utf_8(spelled: str, value: bytes, size: int) -> None:
    told = str(LATIN_SPELLED[spelled](value.decode("latin-1"))).encode()
    printed = b"it is " + told + b" end of it\n"
    masked = masked_in_pieces(Masks.of([value]), printed, range(size, len(printed), size))
    assert masked.startswith(b"it is ")
    assert masked.endswith(b" end of it\n")
    assert masked.count(b"*") >= len(told) * (0.5 if size < 1_000 else 0.9), masked


@pytest.mark.parametrize(
    "spelled",
    [lambda latin: latin.hex().encode(), lambda latin: base64.b64encode(b"anna:" + latin), binascii.hexlify],
    ids=["hex", "Basic", "binascii"],
)
def test_letters_in_latin_1_are_masked_in_base64_and_hex(spelled: Callable[[bytes], bytes]) -> None:
    printed = spelled("Größe-1é".encode("latin-1"))
    masked = Masks.of(["Größe-1é".encode()]).piece(b"", b"it is " + printed, known=True)
    assert masked.count(b"*") >= 10, masked


def test_value_of_few_letters_is_masked_as_it_is_and_as_shells_and_json_quote_it() -> None:
    value = "a'b\"c$d"
    for printed in (
        value,
        shlex.quote(value),
        value.replace("'", "'\\''"),
        json.dumps(value),
        urllib.parse.quote(value),
    ):
        shown = Masks.of([value.encode()]).piece(b"", f"{printed} abcd".encode(), known=True)
        assert shown.endswith(b" abcd")
        assert re.fullmatch(rb"['\"]?\*+['\"]? abcd", shown), shown


def test_quotation_marks_and_percents_that_are_no_secret_stay_as_they_are() -> None:
    printed = b'it\'s "so": 50% of $HOME \\n %41%zz &amp; &#65; &nosuch; &#9999999; ^A M-a \\U0010ffff \\UFFFFFFFF \\x{ffffff} \\ud83d end'
    assert MASKS.piece(b"", printed + b"\n", known=True) == printed + b"\n"
    for place in range(1, len(printed)):
        assert masked_in_pieces(MASKS, printed + b"\n", [place]) == printed + b"\n"


@pytest.mark.parametrize("kept", ["", "/", "!'()*", ";,/?:@&=+$!'()*#", "&="], ids=repr)
@pytest.mark.parametrize("form", [str, str.lower])
@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_percent_encoding_is_masked_whatever_letters_a_program_leaves(
    kept: str, form: Callable[[str], str], size: int
) -> None:
    value = "abc!def#ghi$jkl%mno'(p) q*&r=s/ü"
    printed = f"it is {form(urllib.parse.quote(value, safe=kept))} end of it".encode()
    masks, masked = Masks.of([value.encode()]), b""
    for place in range(0, len(printed), size):
        masked += masks.piece(printed[max(0, place - masks.reach) : place], printed[place : place + size], known=True)
    assert len(masked) == len(printed)
    assert masked.startswith(b"it is ")
    assert masked.endswith(b" end of it")
    assert set(masked[6 + 2 : -10]) <= {*b"*"}, masked


def test_masks_that_are_joined_are_those_of_all_their_values() -> None:
    short, long = b"s3cret", b"a-token-that-is-much-longer-than-the-secret"
    assert Masks.joined([Masks.of([short]), Masks.of([long])]) == Masks.of([short, long])
    assert Masks.joined([Masks.of([short]), Masks(all=True)]).all
    assert not Masks.joined([])


def test_where_nobody_knows_the_secrets_all_but_the_line_ends_is_masked() -> None:
    everything = Masks(all=True)
    assert everything.piece(b"before", b"one\r\ntwo", known=False) == b"***\r\n***"
    assert everything.text("one\ntwo") == "***\n***"
    assert everything.words(["one", "to"]) == ("***", "**")


@pytest.mark.parametrize("before", range(6))
def test_base64_of_a_longer_text_shows_nothing_of_a_secret_within(before: int) -> None:
    encoded = base64.b64encode(b"x" * before + VALUE + b"y" * 5)
    masked = MASKS.piece(b"", encoded, known=True)
    shown = bytes(each if each != ord("*") else ord("A") for each in masked)
    assert VALUE[2:-2] not in base64.b64decode(shown)
    assert masked.count(b"*") > len(VALUE)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_pieces_of_any_size_show_at_most_two_bytes_of_a_secret(size: int) -> None:
    printed = b"one " + VALUE + b" two " + VALUE + b" end of it"
    masked = b""
    for place in range(0, len(printed), size):
        masked += MASKS.piece(printed[max(0, place - MASKS.reach) : place], printed[place : place + size], known=True)
    assert len(masked) == len(printed)
    assert VALUE[2:6] not in masked
    assert masked.startswith(b"one ")
    assert masked.endswith(b" end of it")


def test_what_comes_behind_an_unknown_beginning_is_masked_where_it_may_be_an_end() -> None:
    assert MASKS.piece(b"", VALUE[5:] + b" and more", known=False) == b"*" * len(VALUE[5:]) + b" and more"
    assert MASKS.piece(b"", b"text and more", known=False) == b"text and more"


def test_a_line_of_a_secret_is_masked_by_itself_but_not_what_all_keys_begin_with() -> None:
    printed = b"  1 -----BEGIN KEY-----\n  2 AAAAB3NzaC1yc2EAAAADAQAB\n"
    assert MASKS.piece(b"", printed, known=True) == b"  1 -----BEGIN KEY-----\n  2 ************************\n"


def test_a_message_is_masked_also_where_it_was_cut() -> None:
    text = VALUE.decode()
    assert MASKS.text(f"no: {text[:15]}") == f"no: {'*' * 15}"
    assert MASKS.text(f"{text}!") == "*" * len(VALUE) + "!"
    assert MASKS.text("nothing of it") == "nothing of it"


def test_words_are_masked_also_where_a_secret_became_several() -> None:
    masks = Masks.of([b"correct horse battery", b"s3cret-of-b"])
    words = ("echo", "correct", "horse", "battery", "x=s3cret-of-b;", "\udcff", "horse", "s3cret")
    assert masks.words(words) == ("echo", "*******", "*****", "*******", "x=***********;", "\ufffd", "horse", "s3cret")
    assert masks.words(("echo", "correct")) == ("echo", "correct")
    assert masks.environment({"A": "b", "PASS": "s3cret-of-b"}) == {"A": "b", "PASS": "***********"}
    assert Masks().words(words) == words
    assert Masks(all=True).words(("ab", "c d")) == ("**", "***")


def test_where_nobody_knows_the_secrets_everything_is_masked() -> None:
    assert Masks(all=True).piece(b"", b"two\nlines", known=True) == b"***\n*****"
    assert not Masks()


@pytest.mark.parametrize(
    "each",
    ["\\", "%25", "&amp;", "&", "^", "M-", "%", "&#", "\\u", "'", "0x73, ", " 73", "73", "73\\n", "abcdef: ", "app: " + "73" * 30 + "\n"],
)  # fmt: skip
def test_output_of_escapes_alone_takes_no_long_time(each: str) -> None:
    before = time.perf_counter()
    MASKS.piece(b"", (each * 100_000)[:400_000].encode() + b"!z", known=True)
    assert time.perf_counter() - before < 5, "a tenth of a second"


def test_output_that_is_like_a_long_secret_takes_no_long_time() -> None:
    masks = Masks.of([b"a" * 65_536])
    assert masks.piece(b"", b"a" * 262_144, known=True) == b"*" * 262_144


def dumped(content: bytes, line: str, group: int, letters: str = "") -> bytes:
    """A hex dump: `line` has the offset, and what stands before the column of letters."""
    told = []
    for place in range(0, len(content), 16):
        part = content[place : place + 16]
        shown = "".join(chr(each) if 32 <= each < 127 else "." for each in part)
        told.append(line.format(place, part.hex(" ", -group)) + letters.format(shown))
    return "\n".join(told).encode()


@pytest.mark.parametrize(
    "before",
    [
        b"#x: ",
        b"     7\t",
        b"[app] ",
        b"2026-11-30T22:00:00Z host app[12]: ",
        b'{"log": "',
        b"<7>",
        b"'",
        b"f=ab,",
        b'msg="',
        b"7f3a2b1c: ",
    ],
)
@pytest.mark.parametrize("first_only", [False, True])
@pytest.mark.parametrize(
    ("line", "group"), [("{:08x}: {}  ", 2), ("{:08x}  {}  ", 1), ("{:07o} {}", 1)], ids=["xxd", "hexdump", "od"]
)
def test_dumps_behind_what_a_log_puts_before_them_are_masked(
    line: str, group: int, before: bytes, *, first_only: bool
) -> None:
    value = b"correct horse battery staple 1234"
    lines = dumped(b"a key: " + value, line, group).splitlines()
    printed = b"\n".join((b"" if first_only and at else before) + each for at, each in enumerate(lines))
    masked = Masks.of([value]).piece(b"", printed, known=True)
    assert masked.startswith(before)
    assert masked.count(b"*") > len(value) * 2, masked
    assert value[-4:].hex(" ", group).encode() not in masked


def lines_of(content: bytes, size: int, spell: Callable[[bytes], str]) -> list[str]:
    return [spell(content[place : place + size]) for place in range(0, len(content), size)]


WITHOUT_OFFSETS: dict[str, tuple[int, Callable[[bytes], str]]] = {
    "xxd -p": (30, bytes.hex),
    "xxd -i": (12, lambda part: "  " + ", ".join(f"0x{each:02x}" for each in part) + ","),
    "od -An -t x1": (16, lambda part: " " + part.hex(" ")),
}


@pytest.mark.parametrize("program", WITHOUT_OFFSETS)
@pytest.mark.parametrize(
    ("before", "behind"),
    [("app: ", ""), ("<7>", "\r"), ('{"msg":"', '\\n"}'), ("2026-11-30T22:00:00Z app[12]: ", ""), ("│ ", " │"), ("Nov 30 22:00:00 ", "")],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 13, 61, 100_000])
def test_dumps_without_offsets_are_masked_behind_what_a_log_puts_before_them(
    program: str, before: str, behind: str, size: int
) -> None:
    value = b"correct horse battery staple 12345678\n"
    lines = [before + each + behind for each in lines_of(b"a key: " + value, *WITHOUT_OFFSETS[program])]
    printed = "\n".join(["begins at 12", *lines, "ended at 22", ""]).encode()
    masks = Masks.of([value])
    masked = masked_in_pieces(masks, printed, range(size, len(printed), size))
    assert len(masked) == len(printed)
    assert masked.startswith(b"begins at 12\n" + before.encode())
    assert masked.endswith(b"\nended at 22\n")
    assert masked.count(b"*") >= len(value) * 2 - 6, masked


def test_lines_of_digits_that_are_no_secret_stay_as_they_are() -> None:
    lines = [
        f"app: {each}" for spelled in WITHOUT_OFFSETS.values() for each in lines_of(bytes(range(128, 192)), *spelled)
    ]
    printed = "\n".join([*lines, "layer sha256:" + "3f" * 32, "took 12", ""]).encode()
    for place in range(1, len(printed), 7):
        assert masked_in_pieces(MASKS, printed, [place]) == printed


LONG = bytes(range(33, 127)) * 3 + b"'quoted' and <b>&amp;</b> \xc3\xa4\xf0\x9f\x94\x91 end"


def wrapped(text: bytes, columns: int, end: str = "\n") -> bytes:
    return end.join(textwrap.wrap(text.decode(), columns)).encode()


@pytest.mark.parametrize(
    "printed",
    [
        wrapped(base64.b64encode(LONG), 76),
        wrapped(base64.b64encode(b"before " + LONG + b" after"), 64),
        wrapped(base64.b64encode(LONG), 60, "\r\n  "),
        wrapped(binascii.hexlify(LONG), 60),
        LONG.hex(" ").encode(),
        LONG.hex(":").replace(":", " \n").encode(),
        wrapped(LONG.hex(":").replace(":", ": ").encode(), 60, "\n    ").replace(b": ", b":"),
        LONG.hex(":").upper().encode(),
        LONG.hex("-").upper().encode(),
        b"".join(b"%%%02x" % each for each in LONG),
        b"".join(b"%%%02X" % each for each in b"in front " + LONG + b" behind"),
        wrapped(b", ".join(b"0x%02x" % each for each in LONG), 72, "\n  "),
        b" ".join(b"0x%02X" % each for each in LONG),
        repr([hex(each) for each in LONG]).encode(),
        b",".join(b"0X%02X" % each for each in LONG),
        dumped(LONG, "{:07o} {}", 1),
        dumped(LONG, "{:08x}: {}  ", 2, "{}"),
        dumped(LONG, "{:08x}  {}  ", 1, "|{}|"),
        dumped(b"in front " + LONG + b" behind", "{:08x}  {}  ", 1, "|{}|"),
        json.dumps(LONG.decode()).replace("&", "\\u0026").replace("<", "\\u003C").encode(),
        json.dumps(LONG.decode()).replace("/", "\\/").encode(),
        LONG.decode().encode("utf-16-be").hex("\\", 2).replace("\\", "\\u").join(["\\u", ""]).encode(),
        repr(LONG).encode(),
    ],
    ids=range(23),
)
@pytest.mark.parametrize("size", [61, 1_000, 100_000])
def test_wrapped_spaced_and_escaped_spellings_are_masked_over_pieces_too(printed: bytes, size: int) -> None:
    masks = Masks.of([LONG])
    masked = b""
    printed = b"before:\n" + printed + b"\nafter it"
    for place in range(0, len(printed), size):
        masked += masks.piece(printed[max(0, place - masks.reach) : place], printed[place : place + size], known=True)
    assert len(masked) == len(printed)
    assert masked.startswith(b"before:\n")
    assert masked.endswith(b"\nafter it")
    shown = masked[8:-9]
    assert shown.count(b"*") > len(shown) * 0.7, shown.decode()
    assert masked.count(b"\n") == printed.count(b"\n"), "lines stay lines"


@pytest.mark.parametrize(
    "spell", ["{:02x}:", "%{:02X}", "0x{:02x}, ", "{:02X}-"], ids=["colons", "percent", "0x", "dashes"]
)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 13])
def test_bytes_that_are_printed_one_by_one_show_at_most_two_over_pieces(spell: str, size: int) -> None:
    printed = b"it is " + "".join(map(spell.format, VALUE)).encode() + b" end of it"
    masked = b""
    for place in range(0, len(printed), size):
        masked += MASKS.piece(printed[max(0, place - MASKS.reach) : place], printed[place : place + size], known=True)
    assert len(masked) == len(printed)
    one, first = len(spell.format(0)), spell.index("{")
    digits = [masked[6 + place + first :][:2] for place in range(0, len(VALUE) * one, one)]
    assert [each for each in digits if each != b"**"] in ([b"73"], [b"73", b"3*"], []), masked
    assert masked.startswith(b"it is ")
    assert masked.endswith(b" end of it")


def test_numbers_of_two_digits_that_are_no_secret_stay_as_they_are() -> None:
    printed = (
        b"08:00:27:00:00:01 at 2026-11-30T16:28:00.123456-05:00, %2Fa%20b, 0x73, 0x33, 53-33-63-72-65-75\n73:33:63"
    )
    assert MASKS.piece(b"", printed + b" \n", known=True) == printed + b" \n"
    assert Masks.of([bytes.fromhex("080027000002")]).piece(b"", printed + b"\n", known=True) == printed + b"\n"


def test_output_is_masked_fast_however_many_long_secrets_there_are() -> None:
    values = [
        b"-----BEGIN KEY-----\n" + wrapped(base64.b64encode(bytes([each]) * 16 + bytes(range(256)) * 12), 64)
        for each in range(10)
    ]
    masks = Masks.of(values)
    chunk = (values[3] + b"\n" + b"nothing \\u0020 of it\n" * 1_000) * 12
    before = time.perf_counter()
    masked = masks.piece(chunk[: masks.reach], chunk[: 256 * 1024], known=True)
    assert time.perf_counter() - before < 5, "about half a second"
    assert values[3][30:90] not in masked
