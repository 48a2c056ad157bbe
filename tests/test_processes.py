from tests.processes import ORDER, place_in_order

MACHINE, UNIT = "tests/machine/test_demo.py::test_a[bios]", "tests/unit/wire/dhcp/test_packets.py::test_b"
QUICK, SLOW = "tests/integration/wire/test_foreign.py::test_c", "tests/integration/faults/test_matrix.py::test_d"


def test_machines_come_first_and_engines_last() -> None:
    places = [place_in_order(each) for each in (MACHINE, UNIT, QUICK, SLOW)]
    assert places == sorted(places)


def test_the_machines_that_others_wait_for_are_booted_first() -> None:
    assert place_in_order("tests/machine/test_power_cut.py::test") == 0
    assert place_in_order("tests/machine/test_of_tomorrow.py::test") == ORDER.index("tests/machine/")


def test_every_test_has_a_place() -> None:
    assert place_in_order("tests/test_house_rules.py::test") == ORDER.index("tests/")
