"""TFTP transfers against a model of a client, over a channel that loses, doubles and reorders."""

import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import golden
from tinkbox.wire.tftp import (
    RETRIES,
    RETRIES_UNHEARD,
    Abort,
    Acknowledgement,
    End,
    ErrorCode,
    MalformedDatagram,
    ReadRequest,
    ReadTransfer,
    WriteRequest,
    acknowledged_block,
    decode,
    encode_error,
    file_name,
    unfragmented,
)


def asking(**options: object) -> ReadRequest:
    return ReadRequest(name="f", mode="octet", options={name: str(value) for name, value in options.items()})


def bytes_of(length: int) -> bytes:
    """Content in which no block equals its neighbours."""
    return b"".join(struct.pack("!I", number) for number in range(length // 4 + 1))[:length]


def options_of(datagram: bytes) -> dict[str, str]:
    assert datagram[:2] == b"\0\6"
    fields = datagram[2:-1].decode().split("\0")
    return dict(zip(fields[::2], fields[1::2], strict=True))


@pytest.mark.parametrize(
    ("asked", "mtu", "block"),
    [
        ("1468", 1500, "1468"),
        ("1468", 1400, "1368"),
        ("1368", 1400, "1368"),
        ("1369", 1400, "1368"),
        ("512", 576, "512"),
        ("65464", 1500, "1468"),
        ("1468", 20, "8"),
        ("7", 1400, "7"),
        ("x", 1400, "x"),
    ],
)
def test_blocks_are_asked_for_as_they_cross_the_path_in_one_piece(asked: str, mtu: int, block: str) -> None:
    request = ReadRequest(name="a", mode="octet", options={"tsize": "0", "blksize": asked})
    assert unfragmented(request, mtu) == replace(request, options={"tsize": "0", "blksize": block})


def test_who_asks_for_no_blocks_of_a_size_gets_none() -> None:
    request = ReadRequest(name="a", mode="octet", options={"tsize": "0"})
    assert unfragmented(request, 68) == request


class Client:
    """The other end, by RFC 1350 and RFC 7440; it knows from a short block alone that it has everything."""

    def __init__(self, request: ReadRequest) -> None:
        self._awaiting_options = bool(request.options)
        self._block, self._window = 512, 1
        self._blocks: list[bytes] = []
        self._acknowledged = 0
        self._complained_at = -1
        self.finished = False

    @property
    def content(self) -> bytes:
        return b"".join(self._blocks)

    def acknowledge(self) -> bytes:
        self._acknowledged = len(self._blocks)
        return struct.pack("!HH", 4, self._acknowledged % 65_536)

    def receive(self, datagram: bytes) -> list[bytes]:
        (op,) = struct.unpack_from("!H", datagram)
        if op == 6:
            if self._awaiting_options:
                agreed = options_of(datagram)
                self._block, self._window = int(agreed.get("blksize", 512)), int(agreed.get("windowsize", 1))
                self._awaiting_options = False
            return [] if self._blocks else [self.acknowledge()]
        assert op == 3
        assert not self._awaiting_options, "data before the options were agreed"
        (number,) = struct.unpack_from("!H", datagram, 2)
        data, expected = datagram[4:], len(self._blocks) + 1
        if not self.finished and number == expected % 65_536:
            assert len(data) <= self._block
            self._blocks.append(data)
            self.finished = len(data) < self._block
            full = len(self._blocks) - self._acknowledged == self._window
            return [self.acknowledge()] if full or self.finished else []
        if number == self._acknowledged % 65_536:
            return [self.acknowledge()]  # our acknowledgement was lost
        behind = (expected - number) % 65_536 < 1_000
        if behind or self.finished or self._complained_at == len(self._blocks):
            return []
        self._complained_at = len(self._blocks)
        return [self.acknowledge()]  # a gap: from here again, please


class Channel:
    """Brings datagrams to the other side, badly; after three silences in a row well, so that all ends."""

    def __init__(self, chance: random.Random, loss: float, doubling: float, reordering: int) -> None:
        self._chance, self._loss, self._doubling, self._reordering = chance, loss, doubling, reordering
        self.silences = 0
        self.under_way: list[bytes] = []

    def send(self, datagrams: list[bytes]) -> None:
        for datagram in datagrams:
            if self.silences < 3 and self._chance.random() < self._loss:
                continue
            self.under_way += [datagram] * (1 + (self._chance.random() < self._doubling))

    def deliver(self) -> bytes:
        return self.under_way.pop(self._chance.randrange(min(self._reordering, len(self.under_way))))


def converse(
    begin: Callable[[], ReadTransfer],
    client: Client,
    down: Channel,
    up: Channel,
    chance: random.Random,
    *,
    patience: int,
) -> ReadTransfer:
    """Let both talk until the server is done; more than `patience` datagrams are a storm.

    Who has heard nothing yet asks again, and who has something says again what it has.
    """
    transfer = begin()
    down.send(list(transfer.start()))
    for _ in range(patience):
        if transfer.done:
            return transfer
        if down.under_way and (not up.under_way or chance.random() < 0.5):
            up.send(client.receive(down.deliver()))
        elif up.under_way:
            message = decode(up.deliver())
            assert isinstance(message, Acknowledgement)
            if advanced := transfer.acknowledged(message.block):
                down.silences = up.silences = 0
            down.send(list(advanced))
        else:
            down.silences = up.silences = down.silences + 1
            again = list(transfer.timeout())
            if not again and client.content:
                up.send([client.acknowledge()])
            elif not again:
                transfer = begin()
                again = list(transfer.start())
            down.send(again)
    pytest.fail("neither side came to an end")


@given(
    block=st.one_of(st.integers(8, 64), st.integers(8, 1468)),
    window=st.integers(1, 16),
    blocks=st.integers(0, 60),
    extra=st.integers(-1, 1),
    named=st.sets(st.sampled_from(["blksize", "windowsize", "tsize", "timeout"])),
    seed=st.integers(0, 2**32),
    loss=st.sampled_from([0.0, 0.05, 0.3]),
    doubling=st.sampled_from([0.0, 0.2, 1.0]),
    reordering=st.integers(1, 4),
)
@example(block=512, window=1, blocks=0, extra=0, named=set(), seed=0, loss=0.0, doubling=0.0, reordering=1)
@example(block=512, window=1, blocks=3, extra=0, named=set(), seed=0, loss=0.0, doubling=0.0, reordering=1)
@settings(max_examples=200, deadline=None)
def test_whatever_the_channel_does_the_client_ends_with_the_whole_file(
    block: int,
    window: int,
    blocks: int,
    extra: int,
    named: set[str],
    seed: int,
    loss: float,
    doubling: float,
    reordering: int,
) -> None:
    values = {"blksize": block, "windowsize": window, "tsize": 0, "timeout": 2}
    request = asking(**{name: values[name] for name in named})
    content = bytes_of(max(0, blocks * (block if "blksize" in named else 512) + extra))
    client, chance = Client(request), random.Random(seed)
    transfer = converse(
        lambda: ReadTransfer(content, request),
        client,
        Channel(chance, loss, doubling, reordering),
        Channel(chance, loss, doubling, reordering),
        chance,
        patience=40 * (blocks + 50),
    )
    assert transfer.failure == ""
    assert transfer.complete
    assert client.finished
    assert client.content == content


@pytest.mark.parametrize(
    ("length", "window"), [(65_534 * 8, 1), (65_535 * 8, 1), (65_600 * 8 + 3, 16), (2 * 65_536 * 8 + 1, 16)]
)
def test_block_numbers_wrap(length: int, window: int) -> None:
    request, content, chance = asking(blksize=8, windowsize=window), bytes_of(length), random.Random(length)
    client = Client(request)
    down, up = Channel(chance, 0.001, 0.001, 1), Channel(chance, 0.001, 0.001, 1)
    transfer = converse(lambda: ReadTransfer(content, request), client, down, up, chance, patience=length)
    assert transfer.complete
    assert client.finished
    assert client.content == content


# --- word for word


def test_without_options_blocks_of_512_are_sent_one_by_one() -> None:
    transfer = ReadTransfer(b"a" * 512 + b"b", asking())
    assert transfer.start() == [b"\0\3\0\1" + b"a" * 512]
    assert not transfer.moving
    assert transfer.acknowledged(1) == [b"\0\3\0\2b"]
    assert transfer.moving
    assert transfer.acknowledged(2) == ()
    assert transfer.done
    assert transfer.complete


@pytest.mark.parametrize("length", [0, 512, 1024])
def test_a_file_of_whole_blocks_ends_with_an_empty_one(length: int) -> None:
    transfer = ReadTransfer(bytes(length), asking())
    sent = list(transfer.start())
    for number in range(1, length // 512 + 1):
        sent += transfer.acknowledged(number)
    assert sent[-1] == struct.pack("!HH", 3, length // 512 + 1)
    assert not transfer.done


def test_a_window_is_sent_at_once_and_the_next_after_its_acknowledgement() -> None:
    transfer = ReadTransfer(b"abcdefgh" * 3, asking(blksize=8, windowsize=2))
    transfer.start()
    assert not transfer.moving
    assert transfer.acknowledged(0) == [b"\0\3\0\1abcdefgh", b"\0\3\0\2abcdefgh"]
    assert transfer.moving
    assert transfer.acknowledged(2) == [b"\0\3\0\3abcdefgh", b"\0\3\0\4"]
    assert transfer.retransmissions == 0


def test_an_acknowledgement_inside_the_window_brings_the_rest_again() -> None:
    transfer = ReadTransfer(b"abcdefgh" * 9, asking(blksize=8, windowsize=4))
    transfer.start()
    transfer.acknowledged(0)
    sent = transfer.acknowledged(2)
    assert [datagram[3] for datagram in sent] == [3, 4, 5, 6]
    assert transfer.retransmissions == 2


# --- options


@pytest.mark.parametrize(
    ("wanted", "agreed"),
    [
        ({}, None),
        ({"blksize": "8"}, {"blksize": "8"}),
        ({"blksize": "1468"}, {"blksize": "1468"}),
        ({"blksize": "65464"}, {"blksize": "1468"}),
        ({"blksize": "7"}, None),
        ({"blksize": "65465"}, None),
        ({"blksize": "-8"}, None),
        ({"blksize": "1e3"}, None),
        ({"blksize": "٥١٢"}, None),
        ({"blksize": "9" * 400}, None),
        ({"blksize": ""}, None),
        ({"tsize": "0"}, {"tsize": "1000"}),
        ({"tsize": "55"}, {"tsize": "1000"}),
        ({"timeout": "1"}, {"timeout": "1"}),
        ({"timeout": "255"}, {"timeout": "255"}),
        ({"timeout": "0"}, None),
        ({"timeout": "256"}, None),
        ({"windowsize": "1"}, {"windowsize": "1"}),
        ({"windowsize": "65535"}, {"windowsize": "64"}),
        ({"windowsize": "0"}, None),
        ({"windowsize": "65536"}, None),
        ({"multicast": "", "tsize": "0"}, {"tsize": "1000"}),
        ({"rollover": "1"}, None),
    ],
)
def test_options_are_agreed_to_lowered_or_left_out(wanted: Mapping[str, str], agreed: Mapping[str, str] | None) -> None:
    (first,) = ReadTransfer(bytes(1000), ReadRequest(name="f", mode="octet", options=wanted)).start()
    if agreed is None:
        assert first == b"\0\3\0\1" + bytes(512)
    else:
        assert options_of(first) == agreed


def test_what_firmware_really_asks_is_agreed_to() -> None:
    probe, read, ipxe = (
        decode(golden.packet(name)) for name in ("tftp/ovmf-size-probe", "tftp/ovmf-read", "tftp/ipxe-read")
    )
    assert isinstance(probe, ReadRequest)
    assert isinstance(read, ReadRequest)
    assert isinstance(ipxe, ReadRequest)
    assert (probe.name, probe.mode) == ("snponly.efi", "octet")
    assert options_of(ReadTransfer(bytes(99), probe).start()[0]) == {
        "blksize": "1468",
        "tsize": "99",
        "windowsize": "4",
    }
    assert options_of(ReadTransfer(bytes(99), read).start()[0]) == {"blksize": "1468", "windowsize": "4"}
    assert ipxe.name == "undionly.kpxe"
    assert options_of(ReadTransfer(bytes(99), ipxe).start()[0]) == {"blksize": "1432", "tsize": "99"}


def test_only_acknowledgement_zero_accepts_the_options() -> None:
    transfer = ReadTransfer(bytes(20), asking(blksize=8))
    transfer.start()
    assert transfer.acknowledged(1) == ()
    assert len(transfer.acknowledged(0)) == 1


# --- ends


def test_asking_for_the_size_and_leaving_is_a_normal_end() -> None:
    transfer = ReadTransfer(bytes(2000), asking(tsize=0, blksize=1468))
    transfer.start()
    transfer.aborted(Abort(8, "User aborted the transfer"))
    assert transfer.done
    assert transfer.end is End.PROBE
    assert transfer.failure == ""
    assert not transfer.complete


def test_so_is_leaving_after_the_first_window() -> None:
    transfer = ReadTransfer(bytes(2000), asking(tsize=0))
    transfer.start()
    transfer.acknowledged(0)
    transfer.aborted(Abort(0, "enough"))
    assert transfer.done
    assert transfer.failure == ""


@pytest.mark.parametrize("options", [{}, {"tsize": 0}, {"blksize": 512}])
def test_giving_up_in_the_middle_is_a_failure_that_says_where(options: dict[str, object]) -> None:
    transfer = ReadTransfer(bytes(2000), asking(**options))
    transfer.start()
    if options:
        transfer.acknowledged(0)
    transfer.acknowledged(1)
    transfer.aborted(Abort(3, "Disk full"))
    assert transfer.done
    assert transfer.end is End.GAVE_UP
    assert transfer.failure == "the client gave up at block 1 of 4: 3 'Disk full'"
    assert transfer.acknowledged(2) == ()
    assert transfer.timeout() == ()


def test_giving_up_at_once_without_having_asked_for_the_size_is_a_failure() -> None:
    transfer = ReadTransfer(bytes(2000), asking())
    transfer.start()
    transfer.aborted(Abort(0, ""))
    assert "at block 0 of 4" in transfer.failure


@pytest.mark.parametrize("options", [{}, {"blksize": 8, "windowsize": 4}])
def test_who_was_never_heard_is_soon_left_alone(options: dict[str, object]) -> None:
    transfer = ReadTransfer(bytes(2000), asking(**options))
    first = transfer.start()
    for _ in range(RETRIES_UNHEARD):
        # The small answer to options is sent again; a block is much more than what asked for it.
        assert transfer.timeout() == (first if options else ())
        assert not transfer.done
    assert transfer.timeout() == ()
    assert transfer.done
    assert transfer.end is End.SILENCE
    assert transfer.failure.startswith("nothing heard after block 0 of ")


def test_silence_ends_the_transfer_after_its_retries() -> None:
    transfer = ReadTransfer(bytes(2000), asking())
    transfer.start()
    second = transfer.acknowledged(1)
    for _ in range(RETRIES):
        assert transfer.timeout() == second
    assert transfer.timeout() == ()
    assert transfer.done
    assert transfer.end is End.SILENCE
    assert transfer.failure == "nothing heard after block 1 of 4"


def test_silence_in_the_middle_repeats_the_window_and_progress_grants_new_retries() -> None:
    transfer = ReadTransfer(b"abcdefgh" * 99, asking(blksize=8, windowsize=3))
    transfer.start()
    sent = transfer.acknowledged(0)
    for number in (3, 6, 9):
        for _ in range(RETRIES):
            assert transfer.timeout() == sent
        sent = transfer.acknowledged(number)
        assert len(sent) == 3
    assert transfer.retransmissions == 3 * 3 * RETRIES


def waits(transfer: ReadTransfer, silences: int = RETRIES) -> list[float]:
    """How long it waits, silence after silence."""
    told = []
    for _ in range(silences):
        told.append(round(transfer.patience, 3))
        transfer.timeout()
    return told


def test_patience_doubles_with_each_silence_up_to_four_times() -> None:
    for options, base in (({}, 1.0), ({"timeout": 3}, 3.0)):
        transfer = ReadTransfer(bytes(2000), asking(**options))
        transfer.start()
        transfer.acknowledged(0 if options else 1)
        assert waits(transfer) == [base, 2 * base] + [4 * base] * (RETRIES - 2)


def test_where_rounds_are_quick_a_silence_is_broken_soon_and_given_up_as_late_as_elsewhere() -> None:
    transfer = ReadTransfer(bytes(2000), asking())
    transfer.start()
    assert transfer.patience == 1.0, "nothing is known yet"
    transfer.acknowledged(1, 0.001)
    given_up_after = waits(transfer)
    assert given_up_after == [0.2, 0.4, 0.8, 1.6, 3.2] + [4.0] * (RETRIES - 5)
    assert sum(given_up_after) > 40


def test_patience_is_four_times_the_slowest_of_the_last_rounds_and_never_more_than_a_second() -> None:
    transfer = ReadTransfer(bytes(512 * 90), asking())
    transfer.start()
    seen = []
    for block, took in enumerate((0.001, 0.15, 0.001, 0.7, *[0.001] * 30), start=1):
        transfer.acknowledged(block, took)
        seen.append(round(transfer.patience, 3))
    assert seen[:4] == [0.2, 0.6, 0.54, 1.0]
    assert seen[10] > seen[20] > seen[-1] == 0.2


def test_patience_that_a_client_asked_for_is_kept() -> None:
    transfer = ReadTransfer(bytes(2000), asking(timeout=6))
    transfer.start()
    transfer.acknowledged(0, 0.001)
    assert transfer.patience == 6


def test_after_a_repetition_patience_stays_doubled_until_a_round_needs_none() -> None:
    transfer = ReadTransfer(bytes(512 * 9), asking())
    transfer.start()
    transfer.acknowledged(1, 0.1)
    assert waits(transfer, 2) == [0.4, 0.8]
    transfer.acknowledged(2, 0.001)
    assert transfer.patience == 1.6, "nobody knows which of the three was answered"
    transfer.acknowledged(3, 0.001)
    assert round(transfer.patience, 3) == 0.36


def test_when_a_crowd_makes_rounds_slow_a_block_is_sent_twice_and_not_every_block() -> None:
    transfer = ReadTransfer(bytes(512 * 90), asking())
    transfer.start()
    for block, took in enumerate([0.001] * 20 + [0.5] * 20, start=1):
        waited, resent = 0.0, 0.0
        while waited + transfer.patience < took:
            waited += transfer.patience
            resent = waited
            assert transfer.timeout()
        transfer.acknowledged(block, took - resent)
    assert 0 < transfer.retransmissions <= 2


@pytest.mark.parametrize("window", [1, 4])
def test_late_duplicates_of_acknowledgements_bring_nothing_again(window: int) -> None:
    transfer = ReadTransfer(bytes(8 * 40), asking(blksize=8, windowsize=window))
    transfer.start()
    sent = list(transfer.acknowledged(0))
    for number in range(window, 41 - window, window):
        sent += transfer.acknowledged(number)
        for late in range(number + 1):
            assert transfer.acknowledged(late) == ()
    assert len({datagram[:4] for datagram in sent}) == len(sent)
    assert transfer.retransmissions == 0


def test_an_acknowledgement_of_what_was_never_sent_changes_nothing() -> None:
    transfer = ReadTransfer(bytes(5000), asking())
    transfer.start()
    assert transfer.acknowledged(2) == ()
    assert transfer.acknowledged(65_535) == ()
    assert not transfer.moving


# --- bytes


@pytest.mark.parametrize(
    ("datagram", "expected"),
    [
        (b"\0\1a\0octet\0", ReadRequest(name="a", mode="octet")),
        (b"\0\1a\0OcTeT\0BLKSIZE\x00512\0", ReadRequest(name="a", mode="octet", options={"blksize": "512"})),
        (b"\0\1a\0octet\0tsize\x000\0tsize\x009\0", ReadRequest(name="a", mode="octet", options={"tsize": "0"})),
        (b"\0\1a\0octet\0lonely\0", ReadRequest(name="a", mode="octet")),
        (b"\0\2a\0octet\0", WriteRequest()),
        (b"\0\4\xff\xff", Acknowledgement(65_535)),
        (b"\0\4\0\1 and more", Acknowledgement(1)),
        (b"\0\5\0\3Disk full\0rest", Abort(3, "Disk full")),
        (b"\0\5\0\0" + b"x" * 400, Abort(0, "x" * 100)),
        (b"\0\5\0\0", Abort(0, "")),
        (b"\0\5\0\0bye\n2026-11-24 m2\r\x1b[2J\0", Abort(0, "bye 2026-11-24 m2  [2J")),
        (b"\0\1\0octet\0", ReadRequest(name="", mode="octet")),  # answered "not found", as any name that is none
    ],
)
def test_what_clients_send_is_read(datagram: bytes, expected: object) -> None:
    assert decode(datagram) == expected


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\0\4\0",
        b"\0\0\0\0",
        b"\0\3\0\1data",
        b"\0\6blksize\x008\0",
        b"\0\7\0\0",
        b"\1\1a\0octet\0",
        b"\0\1a\0octet",
        b"\0\1a\0",
        b"\0\1" + b"a" * 600 + b"\0octet\0",
    ],
)
def test_anything_else_is_malformed(datagram: bytes) -> None:
    with pytest.raises(MalformedDatagram):
        decode(datagram)


@given(st.sampled_from(golden.names("tftp")), st.data())
def test_a_spoilt_request_is_read_or_refused_and_can_be_served(name: str, data: st.DataObject) -> None:
    datagram = bytearray(golden.packet(name))
    for at in data.draw(st.lists(st.integers(0, len(datagram)), max_size=6)):
        datagram[at : at + 1] = data.draw(st.binary(max_size=3))
    try:
        message = decode(bytes(datagram))
    except MalformedDatagram:
        return
    if isinstance(message, ReadRequest):
        assert len(ReadTransfer(bytes(5000), message).start()) == 1


@given(st.binary(max_size=600))
def test_noise_is_read_or_refused(datagram: bytes) -> None:
    try:
        decode(datagram)
    except MalformedDatagram:
        return


@pytest.mark.parametrize("op", range(8))
def test_only_an_acknowledgement_is_taken_for_one(op: int) -> None:
    datagram = struct.pack("!HH", op, 515)
    assert acknowledged_block(datagram) == (515 if op == 4 else None)
    if op == 4:
        assert decode(datagram) == Acknowledgement(515)


def test_an_error_is_laid_out_as_rfc_1350_draws_it() -> None:
    assert encode_error(ErrorCode.FILE_NOT_FOUND, "no such file") == b"\0\5\0\1no such file\0"


@pytest.mark.parametrize("name", ["snponly.efi", "/snponly.efi", "//snponly.efi", "\\snponly.efi", "\\/snponly.efi"])
def test_a_name_is_known_with_and_without_the_slashes_firmware_adds(name: str) -> None:
    assert file_name(ReadRequest(name=name, mode="octet")) == "snponly.efi"


def test_a_name_with_folders_stays_another_name() -> None:
    assert file_name(ReadRequest(name="../etc/passwd", mode="octet")) == "../etc/passwd"
