"""The doctor's rules about what belongs together."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, answered, asked, case, osie_boot, seen
from tests.unit.engine.doctor.rules.test_silence import WORK
from tinkbox.engine.doctor.case import Near
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.rules.pairing import management_controller, same_mac, wrong_mac
from tinkbox.model.boot import Asker, Silence, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Sighting

NEXT = MacAddress("08:00:27:00:00:02")
FAR = MacAddress("52:54:00:aa:bb:cc")
UNKNOWN = (asked(0), seen(0.1, Stage.IGNORED, why=Silence.UNKNOWN.value))
UUIDS = ("4c4c4544-0042-3510-8052-b4c04f4d3733", "4c4c4544-0042-3510-8052-b4c04f4d3799")


def test_an_unknown_machine_may_be_the_one_that_is_waited_for() -> None:
    (found,) = wrong_mac(case(*UNKNOWN, interface=None, ticket=False, near=(Near(mac=NEXT, key="node7"),)))
    assert found.gravity is Gravity.SUSPECT
    assert found.cause.startswith(
        f"The unknown machine {MAC} may be node7, which is registered with {NEXT}: only the last"
    )
    assert f"`tinkbox hardware edit node7 --add-mac {MAC} --remove-mac {NEXT} --force`" in found.remedy
    assert f"First check that {MAC} is a card of node7: on the machine's label" in found.remedy
    assert "lets that card have node7's workflow" in found.remedy


def test_the_machine_that_is_waited_for_is_told_who_asks() -> None:
    near = Near(mac=NEXT, key="node7", seen_at=BEGIN)
    (found,) = wrong_mac(case(near=(near,)))
    assert f"{NEXT} may be node7, which is registered with {MAC}" in found.cause
    assert found.evidence[0] == f"2026-11-21 03:00:00 {NEXT} was seen last"


def test_another_card_of_the_same_machine_is_sure() -> None:
    near = Near(mac=FAR, key="node7", of_one_machine=True)
    (found,) = wrong_mac(case(*UNKNOWN, interface=None, ticket=False, near=(near,)))
    assert found.gravity is Gravity.FAULT
    assert f"an inventory has both {FAR} and {MAC}" in found.evidence
    assert found.remedy.startswith(
        f"Type `tinkbox hardware edit node7 --add-mac {MAC} --force`, then boot it again. First check that"
    )


def test_what_is_paired_is_not_told_to_be_unknown_as_well() -> None:
    told = case(*UNKNOWN, interface=None, ticket=False, near=(Near(mac=NEXT, key="node7"),))
    assert [each.rule for each in diagnose(told)] == ["WrongMac"]
    far = case(*UNKNOWN, interface=None, ticket=False, near=(Near(mac=FAR, key="node7"),))
    assert [each.rule for each in diagnose(far)] == ["NotKnown"]


def test_a_mac_of_the_appliances_own_host_is_told_as_that_and_never_to_be_added() -> None:
    near = (Near(mac=NEXT, key="node7"),)
    told = case(*UNKNOWN, interface=None, ticket=False, near=near, own_macs={MAC: "lab"})
    (found,) = diagnose(told)
    assert (found.rule, found.gravity) == ("SameMac", Gravity.SUSPECT)
    assert found.cause == f"{MAC} is the MAC of this host's own interface lab: a machine asks with it too."
    assert "hardware add" not in found.remedy
    assert "--add-mac" not in found.remedy
    (found,) = same_mac(case(own_macs={MAC: "lab"}))
    assert (found.gravity, found.cause) == (
        Gravity.FAULT,
        f"{MAC} is the MAC of this host's own interface lab: no machine can have it.",
    )
    assert f"--remove-mac {MAC} --force`" in found.remedy
    assert not list(same_mac(case(own_macs={NEXT: "lab"})))
    assert not list(wrong_mac(case(near=near, own_macs={NEXT: "lab"})))


@pytest.mark.parametrize(
    ("traits", "what", "gravity"),
    [
        (({"uuid": UUIDS[0]}, {"uuid": UUIDS[1]}), "UUID", Gravity.FAULT),
        (({"architecture": 7}, {"architecture": 11}), "processor", Gravity.FAULT),
        (({"circuit": "port 1"}, {"circuit": "port 2"}), "switch port", Gravity.SUSPECT),
        (({"relay": "172.31.0.1"}, {"relay": "172.32.0.1"}), "switch port", Gravity.SUSPECT),
    ],
)
def test_two_machines_ask_in_turns(traits: tuple[dict[str, object], ...], what: str, gravity: Gravity) -> None:
    one, other = traits
    story = [asked(second, xid=second, **who) for second, who in ((1, one), (20, other), (40, one))]  # type: ignore[arg-type]
    (found,) = same_mac(case(*story))
    assert (found.gravity, f"now one {what}, now another" in found.cause) == (gravity, True)
    assert len(found.evidence) == 3
    assert not list(same_mac(case(*story[:2])))
    assert not list(same_mac(case(*story, after=7200)))


def test_one_that_was_repeated_while_the_other_asked_is_in_turns_too() -> None:
    (found,) = same_mac(case(asked(1, count=4, lasted=30.0), asked(10, architecture=11)))
    assert len(found.evidence) == 2


def test_two_machines_are_told_by_the_newest_questions() -> None:
    turns = [asked(each * 100, uuid=UUIDS[each % 2]) for each in range(6)]
    (found,) = same_mac(case(*turns))
    assert [each[:19] for each in found.evidence] == [
        "2026-11-21 03:05:00",
        "2026-11-21 03:06:40",
        "2026-11-21 03:08:20",
    ]
    repeated = asked(1, count=4, lasted=30.0), asked(10, architecture=11)
    (found,) = same_mac(case(*repeated))
    assert found.evidence == (
        "2026-11-21 03:00:10 asked with processor ARM",
        "2026-11-21 03:00:31 asked with processor x86, since 2026-11-21 03:00:01",
    )


def test_questions_by_relays_count_no_more_when_the_newest_came_without_one() -> None:
    relayed = [asked(each, relay=f"172.3{each % 2}.0.1", xid=each, count=9, lasted=500.0) for each in range(1, 4)]
    assert len(list(same_mac(case(*relayed)))) == 1
    assert not list(same_mac(case(*relayed, asked(600, xid=9, count=30, lasted=300.0), after=300)))


def test_one_machine_that_shows_itself_in_several_ways_is_one() -> None:
    dual = [asked(1, architecture=0), asked(20, architecture=7), asked(40, architecture=0)]
    assert not list(same_mac(case(*dual)))
    swapped = "44454c4c-4200-1035-8052-b4c04f4d3733"
    assert not list(same_mac(case(*(asked(each * 20, uuid=(UUIDS[0], swapped)[each % 2]) for each in range(4)))))
    loaders = [
        asked(each * 10, Asker.IPXE if each % 2 else Asker.PXE, uuid=UUIDS[each % 2], xid=each) for each in range(6)
    ]
    assert not list(same_mac(case(*loaders)))
    relayed = [asked(each * 10 + port, circuit=f"port {port}", xid=each + 1) for each in range(3) for port in (1, 2)]
    assert not list(same_mac(case(*relayed)))
    assert not list(same_mac(case(*osie_boot(0), *answered(60), after=timedelta(0).total_seconds())))


def forged(*after: Sighting) -> tuple[Sighting, ...]:
    """A machine of which another host asks with another UUID for some seconds."""
    turns = [asked(each, uuid=UUIDS[each % 2], xid=each) for each in range(1, 9)]
    return (*turns, *after)


def test_one_mac_of_two_machines_is_over_when_only_one_asks() -> None:
    (found,) = same_mac(case(*forged(asked(20, uuid=UUIDS[0], count=20, lasted=400.0)), after=400))
    assert found.gravity is Gravity.FAULT
    assert f"bridge fdb show | grep {MAC}" in found.remedy
    assert found.remedy.index("a host asks in this machine's name") < found.remedy.index("give one of them another MAC")
    assert not list(same_mac(case(*forged(asked(20, uuid=UUIDS[0], count=540, lasted=1080.0)), after=1080)))


def test_who_else_asks_is_suspect_beside_a_worker_and_silences_no_standstill() -> None:
    told = case(*forged(seen(10, Stage.LEASED)), after=60)
    assert [(each.rule, each.gravity) for each in diagnose(told)] == [
        ("SameMac", Gravity.FAULT),
        ("Stalled", Gravity.SUSPECT),
    ]
    working = replace(told, work=replace(WORK, contact=told.now - timedelta(seconds=5)))
    (found,) = (each for each in diagnose(working) if each.rule == "SameMac")
    assert found.gravity is Gravity.SUSPECT
    assert "its worker was in touch all the same" in found.evidence[-1]
    waits = case(near=(Near(mac=NEXT, key="node7", seen_at=BEGIN),))
    assert [each.rule for each in diagnose(waits)] == ["WrongMac", "NeverSeen"]


def in_a_loop(*uuids: str) -> list[Sighting]:
    """Boots that each end at the boot script, of machines with these UUIDs."""
    return [
        told
        for turn, uuid in enumerate(uuids)
        for told in (
            asked(60 * turn, uuid=uuid, xid=turn + 1),
            *answered(60 * turn + 1),
            seen(60 * turn + 7, Stage.SCRIPT),
        )
    ]


def test_two_machines_with_one_mac_are_not_said_to_be_one_that_boots_again_and_again() -> None:
    one, other = UUIDS
    turns = case(*in_a_loop(one, other, one, other), after=50)
    assert [each.rule for each in diagnose(turns)] == ["SameMac"]
    working = replace(turns, work=replace(WORK, contact=turns.now))
    assert [(each.rule, each.gravity) for each in diagnose(working)] == [("SameMac", Gravity.SUSPECT)]
    assert [each.rule for each in diagnose(case(*in_a_loop(one, one, one, one), after=50))] == ["BootLoop"]


def test_that_there_may_be_two_machines_does_not_hide_one_that_boots_again_and_again() -> None:
    ports = [replace(each, facts={**each.facts, "circuit": f"port {turn % 2}"}) if each.stage is Stage.DISCOVER else each
             for turn, each in enumerate(in_a_loop(*[UUIDS[0]] * 4))]  # fmt: skip
    assert [(each.rule, each.gravity) for each in diagnose(case(*ports, after=50))] == [
        ("BootLoop", Gravity.FAULT),
        ("SameMac", Gravity.SUSPECT),
    ]


TWO_PROCESSORS = [asked(second, architecture=7 if second % 20 else 11) for second in (70, 80, 90)]


@pytest.mark.parametrize("story", [[asked(70 + each, uuid=UUIDS[each % 2]) for each in range(3)], TWO_PROCESSORS])
def test_who_asked_before_the_worker_was_heard_of_did_not_silence_it(story: list[Sighting]) -> None:
    work = replace(WORK, contact=BEGIN + timedelta(seconds=140))
    for silent in (21, 60, 300):
        now = BEGIN + timedelta(seconds=140 + silent)
        first, *others = diagnose(replace(case(*osie_boot(0), *story, work=work), now=now))
        assert first.rule == "SilentWorker"
        (found,) = (each for each in others if each.rule == "SameMac")
        assert (found.gravity, found.leads) == (Gravity.SUSPECT, False)
        assert found.evidence[-1].startswith("2026-11-21 03:02:20 its worker was in touch all the same")


def test_two_that_ask_in_turns_since_the_worker_was_heard_of_are_a_fault() -> None:
    turns = [asked(150 + each, uuid=UUIDS[each % 2]) for each in range(3)]
    work = replace(WORK, contact=BEGIN + timedelta(seconds=140))
    (found,) = (each for each in diagnose(case(*osie_boot(0), *turns, work=work, after=60)) if each.rule == "SameMac")
    assert (found.gravity, found.leads) == (Gravity.FAULT, True)


@pytest.mark.parametrize(
    "called",
    [{"vendor_class": "iDRAC"}, {"hostname": "ILOCZ1234ABCD"}, {"hostname": "idrac-7HX2Q13"}, {"hostname": "openbmc"}, {"hostname": "XCC-7X06-J1"}],
)  # fmt: skip
def test_a_machine_that_is_registered_with_its_controllers_mac_is_told_so(called: dict[str, str]) -> None:
    own = seen(5, Stage.DISK_BOOTED, "172.30.0.21", **called)
    (found,) = (each for each in diagnose(case(own)) if each.gravity is not Gravity.HARMLESS)
    assert (found.rule, found.gravity) == ("ManagementController", Gravity.SUSPECT)
    assert found.cause.endswith(f"it calls itself {next(iter(called.values()))!r}.")
    assert f"`tinkbox hardware edit {MAC} --add-mac MAC --remove-mac {MAC} --force`" in found.remedy


def test_a_system_with_another_name_or_that_booted_from_the_network_is_no_controller() -> None:
    own = seen(500, Stage.DISK_BOOTED, "172.30.0.21", hostname="ilo-1")
    for other in ("pilot3", "ilona-pc", "ilonaschmidt"):
        assert not list(management_controller(case(seen(5, Stage.DISK_BOOTED, hostname=other))))
    assert not list(management_controller(case(*osie_boot(0), own))), "its firmware asks with that MAC"
    assert not list(management_controller(case(own, ticket=False)))
