"""Missing firmware in the kernel's log, and what whoever writes there can do: little."""

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.wire.kernel_log import MOST_FILES, MOST_PLACES, MissingFirmware, missing_firmware

LOG = """6,1,100,-;Linux version 6.1.0
3,339,5140900,-;bnx2 0000:02:00.0: firmware: failed to load bnx2/bnx2-mips-09-6.2.1b.fw (-2)
 SUBSYSTEM=pci
 DEVICE=+pci:0000:02:00.0
3,340,5140901,-;firmware_class: See https://wiki.debian.org/Firmware for information about missing firmware
4,341,5140902,-;bnx2 0000:02:00.0: Direct firmware load for bnx2/bnx2-mips-09-6.2.1b.fw failed with error -2
4,342,5140903,-;bnx2 0000:02:00.0: Direct firmware load for bnx2/bnx2-rv2p-09-6.0.17.fw failed with error -2
4,343,5140904,-,caller=T1;r8152 2-1:1.0: Direct firmware load for rtl_nic/rtl8153b-2.fw failed with error -2
4,344,5140905,-;qed 0000:05:00.0: Direct firmware load for qed/x.bin failed with error -12
"""


def test_each_file_is_told_once_by_driver_and_place() -> None:
    assert missing_firmware(LOG) == {
        "0000:02:00.0": MissingFirmware("bnx2", ("bnx2/bnx2-mips-09-6.2.1b.fw", "bnx2/bnx2-rv2p-09-6.0.17.fw")),
        "2-1:1.0": MissingFirmware("r8152", ("rtl_nic/rtl8153b-2.fw",)),
    }


def test_a_log_without_such_lines_tells_nothing() -> None:
    assert missing_firmware("") == missing_firmware("6,1,1,-;nothing\nno record\n;\n;;;") == {}
    # What a record is about stands behind a blank, and is no record.
    assert missing_firmware(" x;bnx2 0: Direct firmware load for a failed with error -2") == {}


def test_whoever_writes_much_into_the_log_is_bounded() -> None:
    line = "4,1,1,-;d p{}: Direct firmware load for f{} failed with error -2"
    places = missing_firmware("\n".join(line.format(number, 0) for number in range(1000)))
    assert len(places) == MOST_PLACES
    files = missing_firmware("\n".join(line.format(0, number) for number in range(1000)))
    assert len(files["p0"].files) == MOST_FILES
    assert missing_firmware(line.format(0, "x" * 500)) == {}


@given(st.text() | st.text().map(lambda name: f"4,1,1,-;d p: Direct firmware load for {name} failed with error -2"))
def test_nothing_that_cannot_be_shown_or_is_long_comes_out_of_it(log: str) -> None:
    for place, missing in missing_firmware(log).items():
        for word in (place, missing.driver, *missing.files):
            assert word.isprintable()
            assert 0 < len(word) <= 128
