"""What is learned of a machine's firmware from what is seen of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tinkbox.engine.machines.firmware_rules import Platform, Watched, learn, settled, teaches
from tinkbox.model.boot import Asker, Boot, Loader, Plan, Stage
from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.sightings import Fact, Sighting

MAC = MacAddress("08:00:27:00:00:01")
START = datetime(2026, 11, 21, 12, tzinfo=UTC)
BIOS, UEFI = 0, 7
Seen = tuple[float, Stage, dict[str, Fact]]


def asks(at: float, asker: Asker = Asker.PXE, architecture: int = UEFI) -> Seen:
    return at, Stage.DISCOVER, {"asker": asker.value, "architecture": architecture}


def system(at: float) -> Seen:
    return at, Stage.DISCOVER, {"asker": Asker.SYSTEM.value}


def fetched(at: float, name: str = "snponly.efi") -> Seen:
    return at, Stage.LOADER, {"name": name, "bytes": 1_000_000}


def told(at: float, way: LocalBoot | None = None) -> Seen:
    return at, Stage.LOCAL_DISK, {"way": way.value} if way else {}


def watch(*seen: Seen, known: Watched | None = None) -> Watched:
    sightings = (
        Sighting(mac=MAC, at=START + timedelta(seconds=at), stage=stage, facts=facts) for at, stage, facts in seen
    )
    return reduce(learn, sightings, known or Watched())


def plan(boot: Boot) -> Plan:
    return Plan(boot=boot, hardware_id="1", interface=Interface(mac=MAC))


SECURE = Watched(firmware_traits=FirmwareTraits(secure_boot=True), platform=Platform.UEFI)


@pytest.mark.parametrize("name", ["snponly.efi", "ipxe.efi"])
@pytest.mark.parametrize("again", [Asker.PXE, Asker.HTTP])
def test_firmware_that_comes_back_without_ipxe_asking_refused_it(name: str, again: Asker) -> None:
    known = watch(asks(0), fetched(5, name), asks(125, again))
    assert known.firmware_traits.secure_boot
    assert known.applied(plan(Boot.OSIE)).loader is Loader.GRUB


@pytest.mark.parametrize(
    "between",
    [
        [asks(7, Asker.IPXE)],
        [(7, Stage.SCRIPT, {})],
        [(7, Stage.DISCOVERY, {})],
    ],
)
def test_one_that_ran_was_not_refused(between: list[Seen]) -> None:
    assert not watch(asks(0), fetched(5), *between, asks(8)).firmware_traits.secure_boot


def test_firmware_that_waits_for_a_person_after_its_refusal_is_believed_whenever_it_is_back() -> None:
    assert watch(asks(0), fetched(5), asks(86_400)).firmware_traits.secure_boot


def test_firmware_whose_disk_was_reached_through_ipxe_is_believed_when_it_is_back_soon_or_again() -> None:
    known = Watched(firmware_traits=FirmwareTraits(local_boot=LocalBoot.EXIT, proven=True))
    assert watch(asks(0), fetched(5), asks(125), known=known).firmware_traits.secure_boot
    doubted = watch(asks(0), fetched(5), asks(126), known=known)
    assert doubted.firmware_traits == FirmwareTraits(local_boot=LocalBoot.EXIT)
    assert watch(fetched(130), asks(86_400), known=doubted).firmware_traits.secure_boot
    through_grub = Watched(firmware_traits=FirmwareTraits(local_boot=LocalBoot.GRUB, proven=True))
    assert watch(asks(0), fetched(5), asks(126), known=through_grub).firmware_traits.secure_boot


def test_a_bios_program_is_refused_for_other_reasons() -> None:
    assert not watch(asks(0, architecture=BIOS), fetched(5, "undionly.kpxe"), asks(9)).firmware_traits.secure_boot


def test_a_refusal_is_noted_once_and_stays() -> None:
    known = watch(asks(0), fetched(5), asks(9), (9.1, Stage.LOADER_REQUESTED, {"name": "shimx64.efi"}), asks(13))
    assert known.firmware_traits.secure_boot


@pytest.mark.parametrize("name", ["shimx64.efi", "grubx64.efi"])
def test_it_is_taken_back_when_the_signed_program_is_refused_as_well(name: str) -> None:
    assert not watch(asks(0), fetched(5, name), asks(9), known=SECURE).firmware_traits.secure_boot


def test_it_is_kept_when_grub_has_its_script() -> None:
    chain = [asks(0), fetched(5, "shimx64.efi"), fetched(6, "grubx64.efi")]
    assert watch(*chain, (7, Stage.SCRIPT, {}), asks(60), known=SECURE).firmware_traits.secure_boot
    assert not watch(*chain, asks(60), known=SECURE).firmware_traits.secure_boot


def test_grub_that_never_asked_for_its_script_is_given_up_whenever_the_machine_is_back() -> None:
    chain = [asks(0), fetched(5, "shimx64.efi"), fetched(6, "grubx64.efi")]
    assert not watch(*chain, asks(86_400), known=SECURE).firmware_traits.secure_boot


def test_firmware_that_asks_over_http_alone_is_not_left_without_any_program() -> None:
    """It may have been reset while iPXE waited for the switch: nothing signed can be told over HTTP."""
    learned = watch(asks(0, Asker.HTTP), fetched(5), asks(60, Asker.HTTP))
    assert learned.firmware_traits.secure_boot
    assert watch(
        asks(64, Asker.HTTP), asks(72, Asker.HTTP), asks(179, Asker.HTTP), known=learned
    ).firmware_traits.secure_boot
    assert not watch(asks(64, Asker.HTTP), asks(180, Asker.HTTP), known=learned).firmware_traits.secure_boot
    other_ways = [asks(64), asks(300, Asker.HTTP)], [(64, Stage.DISK_BOOTED, {}), asks(86_400, Asker.HTTP)]
    for between in other_ways:
        assert watch(*between, known=learned).firmware_traits.secure_boot


def test_it_is_taken_back_when_ipxe_is_seen_again() -> None:
    assert not watch(asks(0, Asker.IPXE), known=SECURE).firmware_traits.secure_boot


def test_a_plan_without_anything_learned_is_as_it_was() -> None:
    assert Watched().applied(plan(Boot.OSIE)) == plan(Boot.OSIE)
    assert Watched().applied(plan(Boot.LOCAL_DISK)) == plan(Boot.LOCAL_DISK)


@pytest.mark.parametrize(
    ("known", "way"),
    [
        (watch(asks(0, architecture=BIOS)), LocalBoot.SANBOOT),
        (watch(asks(0, architecture=UEFI)), LocalBoot.EXIT),
        (watch(asks(0, Asker.IPXE, BIOS)), LocalBoot.SANBOOT),
        (watch((0, Stage.SCRIPT, {"platform": "pcbios"})), LocalBoot.SANBOOT),
        (watch((0, Stage.SCRIPT, {"platform": "efi"})), LocalBoot.EXIT),
        (SECURE, LocalBoot.GRUB),
        (replace(SECURE, firmware_traits=FirmwareTraits(local_boot=LocalBoot.NO_FILE)), LocalBoot.NO_FILE),
        (watch(asks(0, Asker.RASPBERRY_PI, BIOS)), None),
        (watch(system(0)), None),
    ],
)
def test_the_first_way_to_the_disk_is_the_platforms(known: Watched, way: LocalBoot | None) -> None:
    assert known.applied(plan(Boot.LOCAL_DISK)).local_boot is way
    assert known.applied(plan(Boot.OSIE)).local_boot is None


@pytest.mark.parametrize(
    ("platform", "ways"),
    [
        (Platform.BIOS, [LocalBoot.SANBOOT, LocalBoot.EXIT, LocalBoot.NO_FILE, LocalBoot.SANBOOT]),
        (Platform.UEFI, [LocalBoot.EXIT, LocalBoot.GRUB, LocalBoot.NO_FILE, LocalBoot.EXIT]),
        (Platform.SECURE, [LocalBoot.GRUB, LocalBoot.NO_FILE, LocalBoot.EXIT, LocalBoot.GRUB]),
    ],
)
def test_the_ways_are_tried_in_turn(platform: Platform, ways: list[LocalBoot]) -> None:
    assert [ways[0], *map(platform.after, ways[:-1])] == ways


def test_a_way_that_is_none_of_the_platforms_is_followed_by_its_first() -> None:
    assert Platform.UEFI.after(LocalBoot.SANBOOT) is LocalBoot.EXIT


def test_a_machine_that_comes_back_tries_the_next_way() -> None:
    known = watch(asks(0), asks(3, Asker.IPXE), told(5), asks(600))
    assert (known.way, known.firmware_traits.proven, known.told) == (LocalBoot.GRUB, False, None)
    assert known.applied(plan(Boot.LOCAL_DISK)).loader is Loader.GRUB
    known = watch(asks(601), told(610), asks(700), known=known)
    assert known.way is LocalBoot.NO_FILE


def test_firmware_that_boots_over_http_alone_is_not_sent_to_grub() -> None:
    known = watch(asks(0, Asker.HTTP), asks(3, Asker.IPXE), told(5), asks(60, Asker.HTTP))
    assert known.way is LocalBoot.NO_FILE


def test_ipxe_in_rom_comes_back_as_ipxe() -> None:
    known = watch(asks(0, Asker.IPXE, BIOS), told(5), asks(9, Asker.IPXE, BIOS))
    assert known.way is LocalBoot.EXIT


def test_one_that_is_back_later_may_have_run_its_disk() -> None:
    known = watch(asks(0), told(5), asks(606))
    assert (known.way, known.told) == (LocalBoot.EXIT, None)


def test_firmware_that_tries_http_after_pxe_is_still_on_its_way() -> None:
    known = watch(asks(0), asks(3, Asker.IPXE), told(5), asks(6, Asker.HTTP), fetched(8), asks(9, Asker.IPXE), told(10))
    assert known.way is LocalBoot.EXIT
    assert watch(system(30), known=known).firmware_traits == FirmwareTraits(local_boot=LocalBoot.EXIT, proven=True)
    assert watch(asks(30), known=known).way is LocalBoot.GRUB


@pytest.mark.parametrize(
    "up",
    [
        (40, Stage.DISK_BOOTED, {"address": "172.30.0.11"}),
        system(40),
        (40, Stage.LEASED, {"boot": "nothing"}),
        (40, Stage.REQUESTED, {"boot": "nothing"}),
        (40, Stage.CLOUD_INIT, {"name": "init-network"}),
        (40, Stage.PHONED_HOME, {}),
    ],
)
def test_the_way_is_proven_when_the_disks_system_is_seen(up: Seen) -> None:
    known = watch(asks(0), told(5), up)
    assert (known.firmware_traits, known.told) == (FirmwareTraits(local_boot=LocalBoot.EXIT, proven=True), None)


def test_what_is_proven_is_the_way_that_was_told() -> None:
    known = watch(asks(0), told(5, LocalBoot.NO_FILE), system(9))
    assert known.firmware_traits.local_boot is LocalBoot.NO_FILE


def test_an_osie_that_asks_for_its_address_proves_nothing() -> None:
    known = watch(asks(0), (5, Stage.SCRIPT, {}), system(40))
    assert not known.firmware_traits.proven


def test_a_proven_way_may_fail_twice_in_a_row() -> None:
    proven = watch(asks(0), told(5), system(40))
    known = watch(asks(100), told(105), asks(120), told(125), asks(140), told(145), known=proven)
    assert (known.way, known.firmware_traits.proven) == (LocalBoot.EXIT, True)
    assert watch(asks(160), known=known).firmware_traits == FirmwareTraits(local_boot=LocalBoot.GRUB)
    known = watch(system(150), asks(200), told(205), asks(220), known=known)
    assert known.firmware_traits == FirmwareTraits(local_boot=LocalBoot.EXIT, proven=True)


OFFERED_NOTHING: Seen = (20, Stage.OFFERED, {"boot": "local disk", "file": ""})


def test_firmware_that_is_offered_no_file_may_ask_on_for_a_while() -> None:
    no_file = Watched(firmware_traits=FirmwareTraits(local_boot=LocalBoot.NO_FILE), platform=Platform.UEFI)
    known = watch(asks(19), OFFERED_NOTHING, asks(28), OFFERED_NOTHING, asks(139), known=no_file)
    assert known.told == (LocalBoot.NO_FILE, START + timedelta(seconds=20))
    assert known.way is LocalBoot.NO_FILE
    assert watch(asks(141), known=known).way is LocalBoot.EXIT
    assert watch(system(150), known=known).firmware_traits.proven


def test_an_offer_without_a_file_is_no_way_when_another_is_tried() -> None:
    assert watch(asks(0), OFFERED_NOTHING).told is None
    file: Seen = (20, Stage.OFFERED, {"boot": "local disk", "file": "snponly.efi"})
    no_file = Watched(firmware_traits=FirmwareTraits(local_boot=LocalBoot.NO_FILE), platform=Platform.UEFI)
    assert watch(file, known=no_file).told is None


def test_grub_that_is_refused_on_the_way_to_the_disk_is_a_way_that_failed() -> None:
    known = Watched(firmware_traits=FirmwareTraits(local_boot=LocalBoot.GRUB), platform=Platform.UEFI)
    known = watch(asks(0), fetched(5, "shimx64.efi"), asks(9), known=known)
    assert known.firmware_traits == FirmwareTraits(local_boot=LocalBoot.NO_FILE)


def test_grub_that_is_refused_is_one_failure_however_often_the_firmware_asks_then() -> None:
    known = Watched(firmware_traits=FirmwareTraits(local_boot=LocalBoot.GRUB), platform=Platform.UEFI)
    known = watch(asks(0), fetched(5, "shimx64.efi"), asks(9), asks(13), asks(21), known=known)
    assert known.way is LocalBoot.NO_FILE


def test_what_is_seen_on_the_way_does_not_hide_that_it_comes_back() -> None:
    on_the_way: list[Seen] = [(6, Stage.LEASED, {"boot": "local disk"}), (7, Stage.IGNORED, {}), (8, Stage.CLOCK, {})]
    assert watch(asks(0), told(5), *on_the_way, asks(60)).way is LocalBoot.GRUB


def test_a_boot_begins_with_the_last_that_asked_before_it_was_told() -> None:
    known = watch(asks(0), asks(5, Asker.HTTP), asks(8, Asker.IPXE), told(10), asks(60, Asker.HTTP))
    assert known.way is LocalBoot.NO_FILE


def test_without_any_dhcp_of_ours_the_script_alone_tells_that_it_is_back() -> None:
    efi: Seen = (0, Stage.LOCAL_DISK, {"platform": "efi"})
    known = watch(efi)
    assert known.told == (LocalBoot.EXIT, START)
    known = watch((60, *efi[1:]), known=known)
    assert known.told == (LocalBoot.GRUB, START + timedelta(seconds=60))


@pytest.mark.parametrize("stage", [Stage.KERNEL, Stage.LOADER, Stage.DISCOVER, Stage.OFFERED])
def test_what_says_nothing_changes_nothing(stage: Stage) -> None:
    assert watch((0, stage, {})) == Watched()


_ways = st.none() | st.sampled_from(LocalBoot)
_moments = st.integers(0, 1_000).map(lambda seconds: START + timedelta(seconds=seconds))
_firmware = st.builds(
    Watched,
    firmware_traits=st.builds(FirmwareTraits, secure_boot=st.booleans(), local_boot=_ways, proven=st.booleans()),
    platform=st.none() | st.sampled_from(Platform),
    began=st.none() | st.sampled_from(Asker),
    http_since=st.none() | _moments,
    started=st.none() | st.tuples(st.sampled_from(["snponly.efi", "shimx64.efi"]), _moments),
    told=st.none() | st.tuples(st.sampled_from(LocalBoot), _moments),
    failures=st.integers(0, 3),
)
_facts = st.fixed_dictionaries(
    {},
    optional={
        "asker": st.sampled_from([each.value for each in Asker]),
        "architecture": st.sampled_from([0, 7]),
        "boot": st.sampled_from([each.value for each in Boot]),
        "file": st.sampled_from(["", "snponly.efi"]),
        "name": st.sampled_from(["snponly.efi", "shimx64.efi", "kernel"]),
        "platform": st.sampled_from(["pcbios", "efi"]),
        "way": st.sampled_from([each.value for each in LocalBoot]),
    },
)


@given(known=_firmware, stage=st.sampled_from(Stage), facts=_facts, at=_moments)
@settings(max_examples=1000)
def test_sighting_that_teaches_nothing_changes_nothing_that_is_known(
    known: Watched, stage: Stage, facts: dict[str, Fact], at: datetime
) -> None:
    assume(not teaches(stage, facts))
    assert learn(known, Sighting(mac=MAC, at=at, stage=stage, facts=facts)) == known


_settled = _firmware.map(lambda known: replace(known, started=None, told=None, http_since=None))


@given(known=_settled, stage=st.sampled_from(Stage), facts=_facts, at=_moments, later=_moments)
@settings(max_examples=1000)
def test_of_what_is_settled_a_sighting_teaches_nothing_later_that_it_does_not_teach_now(
    known: Watched, stage: Stage, facts: dict[str, Fact], at: datetime, later: datetime
) -> None:
    assert settled(known)
    assume(learn(known, Sighting(mac=MAC, at=at, stage=stage, facts=facts)) == known)
    assert learn(known, Sighting(mac=MAC, at=later, stage=stage, facts=facts)) == known
