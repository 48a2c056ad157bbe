"""The doctor's rules about the boot loader."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, answered, asked, case, failed, fetched, osie_boot, seen
from tinkbox.engine.doctor.case import Case, Finding
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.rules.loader import (
    ARM,
    BIOS,
    X86,
    made_for,
    missing_loader,
    secure_boot,
    silent_loader,
    size_probe,
    transfer_stopped,
    wrong_loader,
)
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.sightings import Sighting


@pytest.mark.parametrize(
    ("name", "architectures"),
    [
        ("undionly.kpxe", BIOS),
        ("boot/pxelinux.0", BIOS),
        ("snponly.efi", X86),
        ("shimx64.efi", X86),
        ("ipxe-arm64.efi", ARM),
        ("shimaa64.efi.signed", ARM),
        ("vmlinuz", frozenset()),
        ("efi", frozenset()),
    ],
)
def test_a_programs_name_says_what_runs_it(name: str, architectures: frozenset[int]) -> None:
    assert made_for(name) == architectures


@pytest.mark.parametrize(
    ("architecture", "name"), [(7, "undionly.kpxe"), (0, "snponly.efi"), (11, "snponly.efi"), (9, "ipxe-arm64.efi")]
)
def test_a_loader_for_other_firmware_is_a_fault(architecture: int, name: str) -> None:
    (found,) = wrong_loader(case(asked(0, architecture=architecture), fetched(2, name)))
    assert (found.gravity, name in found.cause) == (Gravity.FAULT, True)
    assert f"architecture {architecture}" in found.evidence[0]


def test_firmware_that_began_anew_after_a_wrong_loader_still_had_it() -> None:
    (found,) = wrong_loader(case(asked(0), fetched(2, "undionly.kpxe"), asked(9)))
    assert "BIOS" in found.evidence[-1]


def test_a_loader_that_fits_or_runs_is_right() -> None:
    assert not list(wrong_loader(case(asked(0), fetched(2))))
    assert not list(wrong_loader(case(seen(0, Stage.WORKER), fetched(2, "undionly.kpxe"))))
    assert not list(wrong_loader(case(asked(0), fetched(2, "undionly.kpxe"), seen(4, Stage.SCRIPT))))
    assert not list(wrong_loader(case(asked(0, architecture=31), fetched(2))))
    assert not list(wrong_loader(case(asked(0), fetched(2, "menu.cfg"))))
    assert not list(wrong_loader(case(asked(0, architecture=0), fetched(2), seen(4, Stage.SCRIPT))))
    assert not list(wrong_loader(case(fetched(2, "undionly.kpxe"))))
    assert not list(wrong_loader(case(asked(0), failed(2, "not found", 0, name="gpxe.0"))))


def test_a_file_that_is_not_served_is_named() -> None:
    (found,) = missing_loader(case(asked(0), failed(1, "not found", 0, name="pxelinux.0")))
    assert (found.gravity, "pxelinux.0" in found.cause) == (Gravity.FAULT, True)
    assert "probably another DHCP server" in found.cause
    name = "`tinkbox hardware delete m3`$(id).0"
    asks = [asked(0), replace(failed(1, "not found", 0, name=name), detail=f"{name}: not found")]
    (evil,) = missing_loader(case(*asks))
    assert "`" not in evil.cause + "".join(evil.evidence), "it would look like a command of ours"
    assert not list(missing_loader(case(asked(0), failed(1, "not found", 0, name="autoexec.ipxe"), fetched(2))))
    assert not list(missing_loader(case(asked(0), failed(1, "silence", 0))))


@pytest.mark.parametrize(("mode", "gravity"), [("reservation", Gravity.SUSPECT), ("off", Gravity.FAULT)])
@pytest.mark.parametrize(
    ("rule", "why"), [(missing_loader, "not found"), (transfer_stopped, "silence")], ids=["missing", "stopped"]
)
def test_a_question_by_tftp_alone_is_no_fault_where_machines_ask_for_addresses_first(
    rule: Callable[[Case], Iterator[Finding]], why: str, mode: str, gravity: Gravity
) -> None:
    (found,) = rule(case(failed(1, why, 0), mode=mode))
    assert found.gravity is gravity, "any host can send one"
    (found,) = rule(case(asked(0), failed(1, why, 0), mode=mode))
    assert found.gravity is Gravity.FAULT


@pytest.mark.parametrize(
    ("rule", "why"), [(missing_loader, "not found"), (transfer_stopped, "silence")], ids=["missing", "stopped"]
)
def test_a_host_that_is_no_machine_and_never_asked_for_an_address_is_no_boot(
    rule: Callable[[Case], Iterator[Finding]], why: str
) -> None:
    (found,) = rule(case(failed(1, why, 0), failed(31, why, 0), interface=None, ticket=False))
    assert found.gravity is Gravity.HARMLESS
    assert "monitoring" in found.cause
    assert "firewall" not in found.remedy
    later = case(failed(1, why, 0), interface=None, ticket=False, after=60)
    graver = {each.rule for each in diagnose(later) if each.gravity is not Gravity.HARMLESS}
    assert graver <= {"NotKnown"}, "it is not said to stand still, either"
    (found,) = rule(case(failed(1, why, 0), interface=None, mode="off"))
    assert found.gravity is Gravity.FAULT, "where another server gives addresses, no question for one comes here"
    (found,) = rule(case(asked(0), failed(1, why, 0), interface=None))
    assert found.gravity is Gravity.FAULT


@pytest.mark.parametrize(("name", "told"), [("gpxe.0 ", "'gpxe.0 '"), ("gpxe.0\ufffd", "'gpxe.0\ufffd'")])
def test_what_is_not_seen_of_a_name_is_shown(name: str, told: str) -> None:
    (found,) = missing_loader(case(asked(0), failed(1, "not found", 0, name=name)))
    assert told in found.cause


def test_of_many_files_that_are_not_served_the_newest_are_shown() -> None:
    (found,) = missing_loader(
        case(asked(0), *(failed(1 + each, "not found", 0, name=f"a{each}") for each in range(100)))
    )
    assert found.evidence[0] == "96 questions for other files before that"
    assert len(found.evidence) == 5


def test_a_raspberry_pi_without_its_firmwares_files_is_told_where_they_belong() -> None:
    asks = asked(0, Asker.RASPBERRY_PI, 0)
    story = [failed(1, "not found", 0, name="123/start4.elf"), failed(2, "not found", 0, name="config.txt")]
    (found,) = missing_loader(case(asks, *story))
    assert found.cause == (
        "The machine is a Raspberry Pi, and its firmware's own files are not there: it asks for '123/start4.elf' in vain."
    )
    assert "the folder `raspberrypi` of the data folder" in found.remedy


def test_firmware_of_32_bits_is_not_said_to_want_signatures() -> None:
    begun = [asked(0, architecture=6), *answered(1), fetched(3)]
    assert not list(wrong_loader(case(*begun, after=45))), "some 64-bit firmware calls itself so"
    for told in (case(*begun, after=46), case(*begun, asked(9, architecture=6))):
        (found,) = (each for each in diagnose(told) if each.gravity is Gravity.FAULT)
        assert found.rule == "WrongLoader"
        assert "UEFI for 32-bit x86, for which there is no boot loader here" in found.cause
    ran = seen(9, Stage.SCRIPT)
    assert not list(wrong_loader(case(*begun, ran, after=90)))


def test_answers_that_never_arrive_are_a_firewalls() -> None:
    (found,) = transfer_stopped(case(asked(0), failed(30, "silence", 0, heard=0)))
    assert found.gravity is Gravity.FAULT
    assert "probably none of them reaches the machine" in found.cause
    assert "firewall" in found.remedy


@pytest.mark.parametrize("story", [[*answered(1), seen(2, Stage.LOADER_REQUESTED)], answered(1)], ids=["noted", "lost"])
def test_a_transfer_that_the_appliances_own_restart_broke_off_blames_no_firewall(story: list[Sighting]) -> None:
    began = BEGIN + timedelta(seconds=5)
    silence = failed(30, "silence", 0, heard=0)
    assert not list(transfer_stopped(case(asked(0), *story, silence, since=began)))
    assert list(transfer_stopped(case(asked(0), *story, silence)))
    # It asked anew since, or failed again, or the start is long ago.
    again = replace(silence, facts={**silence.facts, "count": 2, "lasted": 40.0})
    assert list(transfer_stopped(case(asked(0), *story, again, since=began)))
    assert list(transfer_stopped(case(asked(0), *story, asked(20), silence, since=began)))
    assert list(transfer_stopped(case(asked(0), *story, silence, failed(70, "silence", 0, heard=0), since=began)))
    assert list(transfer_stopped(case(asked(0), *story, failed(300, "silence", 0, heard=0), since=began)))
    assert list(transfer_stopped(case(asked(6), failed(36, "silence", 0, heard=0), since=began)))


def test_whole_blocks_that_never_arrive_are_too_large_for_the_way() -> None:
    (found,) = transfer_stopped(case(asked(0), failed(30, "silence", 0, heard=1)))
    assert "packets of 1500" in found.cause
    assert "ping -M do -s 1472" in found.remedy
    assert any("acknowledged none of 171" in each for each in found.evidence)


@pytest.mark.parametrize(("block", "heard"), [(0, 0), (0, 1), (40, 1)])
def test_a_transfer_that_this_host_refused_to_send_is_blamed_on_no_network(block: int, heard: int) -> None:
    refused = failed(30, "silence", block, heard=heard, refused="Operation not permitted")
    (found,) = transfer_stopped(case(asked(0), refused))
    assert (found.gravity, found.cause) == (
        Gravity.FAULT,
        "This host itself refused to send the machine its boot loader: most likely its own firewall kept it in.",
    )
    assert found.evidence[-1] == (
        f"the kernel refused what was sent to it after block {block} of 171 (Operation not permitted)"
    )
    assert "MTU" not in found.cause + found.remedy
    assert found.remedy.endswith("If it is gone, boot the machine again.")


def test_a_transfer_that_stops_in_the_middle_tells_where() -> None:
    (found,) = transfer_stopped(case(asked(0), failed(30, "silence", 40, heard=1)))
    assert "stopped after block 40 of 171" in found.cause
    assert found.evidence == (
        "2026-11-21 03:00:30 did not get its boot loader: snponly.efi: nothing heard after block 40 of 171",
    )


def test_a_transfer_of_which_little_is_known_is_told_all_the_same() -> None:
    bare = seen(30, Stage.LOADER_FAILED, "it", name="x", why="silence")
    (found,) = transfer_stopped(case(asked(0), bare))
    assert "packets of 544" in found.cause
    (found,) = transfer_stopped(case(asked(0), failed(30, "silence", 5, heard=0)))
    assert "after block 5" in found.cause


def test_a_transfer_that_always_stops_at_one_block_is_stopped_by_a_rule() -> None:
    story = [asked(0), failed(30, "silence", 40), asked(60), failed(90, "gave up", 40)]
    (found,) = transfer_stopped(case(*story))
    assert "Each time" in found.cause
    assert len(found.evidence) == 2
    (found,) = transfer_stopped(case(*story[:3], failed(90, "silence", 41)))
    assert "Each time" not in found.cause


RANDOM = "Packets get lost on the way between the machine and the appliance, at random"


def test_blocks_that_were_sent_again_and_then_got_through_show_a_way_that_loses_packets() -> None:
    lossy = failed(30, "silence", 40, heard=1, retransmissions=19, recovered=6)
    (found,) = transfer_stopped(case(asked(0), lossy))
    assert (found.gravity, found.cause) == (
        Gravity.FAULT,
        f"{RANDOM}: the transfer of its boot loader stopped after block 40 of 171.",
    )
    assert found.evidence[-1] == (
        "2026-11-21 03:00:30 19 blocks had been sent again, and the transfer went on 6 times after that"
    )
    assert "firewall" not in found.cause + found.remedy
    assert [found.remedy.index(each) for each in ("cable", "port", "duplex")] == sorted(
        found.remedy.index(each) for each in ("cable", "port", "duplex")
    )
    (found,) = transfer_stopped(case(asked(0), lossy, asked(60), failed(90, "silence", 0, heard=1)))
    assert found.cause.startswith(RANDOM), "packets of that size got there before"


@pytest.mark.parametrize(
    ("first", "second", "is_random"), [(40, 120, True), (0, 90, True), (40, 40, False), (40, 46, False)]
)
def test_transfers_that_stop_at_different_blocks_are_stopped_by_chance(
    first: int, second: int, is_random: bool
) -> None:
    story = [asked(0), failed(30, "silence", first, heard=1), asked(60), failed(90, "silence", second, heard=1)]
    (found,) = transfer_stopped(case(*story))
    assert found.cause.startswith(RANDOM) == is_random
    (found,) = transfer_stopped(case(*story[:-1], failed(90, "gave up", second, heard=1)))
    assert not found.cause.startswith(RANDOM), "a machine may give up for reasons of its own"


def test_block_that_was_lost_once_and_what_this_host_refused_are_no_way_that_loses_packets() -> None:
    few = failed(30, "silence", 40, heard=1, retransmissions=8, recovered=2)
    refused = failed(30, "silence", 40, heard=1, recovered=9, refused="Operation not permitted")
    for each in (few, refused):
        (found,) = transfer_stopped(case(asked(0), each))
        assert not found.cause.startswith(RANDOM)


def test_a_transfer_that_was_repeated_with_success_is_no_fault() -> None:
    assert not list(transfer_stopped(case(asked(0), failed(30, "silence", 40), fetched(31))))
    assert not list(transfer_stopped(case(asked(0), failed(30, "probe", 0), fetched(31))))
    begun = seen(5, Stage.LOADER_REQUESTED, "snponly.efi", name="snponly.efi")
    by_http = fetched(20)
    assert not list(transfer_stopped(case(asked(0), begun, by_http, failed(30, "silence", 0))))
    assert list(transfer_stopped(case(asked(0), fetched(2), begun, failed(30, "silence", 0))))
    assert not list(transfer_stopped(case(asked(0), failed(30, "silence", 40), *osie_boot(60))))


def test_a_question_for_a_loader_while_one_runs_is_not_the_machines() -> None:
    flows = [each for each in osie_boot(0) if each.stage is not Stage.WORKER]
    assert not list(transfer_stopped(case(*flows, failed(60, "silence", 0, heard=0))))
    assert list(transfer_stopped(case(*flows, failed(60, "silence", 0, heard=0), mode="off")))
    by_grub = [asked(0), *answered(1), fetched(3, "grubx64.efi"), seen(5, Stage.SCRIPT, file="grub/grub.cfg")]
    assert list(transfer_stopped(case(*by_grub, failed(60, "silence", 900, name="osie/x86_64/vmlinuz"))))


def test_what_resets_look_like_is_no_sure_loss_and_what_came_whole_ends_what_stopped_before() -> None:
    resets = [asked(0), failed(15, "silence", 20), asked(60), failed(75, "silence", 90)]
    (found,) = transfer_stopped(case(*resets))
    assert (found.gravity, found.remedy.startswith("If nobody reset it")) == (Gravity.SUSPECT, True)
    came = [asked(0), failed(15, "silence", 20), fetched(20), asked(60), failed(75, "silence", 20)]
    (found,) = transfer_stopped(case(*came))
    assert len(found.evidence) == 1


def test_a_size_probe_is_harmless_once_the_file_arrived() -> None:
    (found,) = size_probe(case(asked(0), failed(1, "probe", 0), fetched(2)))
    assert found.gravity is Gravity.HARMLESS
    assert len(found.evidence) == 2
    assert len(list(size_probe(case(asked(0), failed(1, "probe", 0), fetched(2), asked(9))))) == 1
    assert not list(size_probe(case(asked(0), failed(1, "probe", 0))))
    assert not list(size_probe(case(asked(0), failed(1, "silence", 0), fetched(2))))


def test_a_whole_loader_that_never_ran_was_refused() -> None:
    (found,) = secure_boot(case(asked(0), *answered(1), fetched(2), asked(7)))
    assert (found.gravity, "Secure Boot" in found.cause) == (Gravity.FAULT, True)
    assert found.evidence[1] == "2026-11-21 03:00:07 it began anew, 5 s later"


def test_what_was_learned_already_is_no_fault_any_more() -> None:
    learned = FirmwareTraits(secure_boot=True)
    (found,) = secure_boot(case(asked(0), fetched(2), asked(7), firmware_traits=learned))
    assert found.gravity is Gravity.SUSPECT
    story = [asked(0), fetched(2), asked(7), *answered(8), fetched(9, "shimx64.efi"), seen(12, Stage.SCRIPT)]
    (found,) = secure_boot(case(*story, firmware_traits=learned))
    assert (found.gravity, found.evidence[-1]) == (Gravity.HARMLESS, "2026-11-21 03:00:12 fetched its boot script")


def test_a_refusal_stays_harmless_in_every_boot_after_one_that_ran() -> None:
    learned = FirmwareTraits(secure_boot=True)
    story = [asked(0), fetched(2), asked(7), *answered(8), fetched(9, "shimx64.efi"), seen(12, Stage.SCRIPT)]
    (found,) = secure_boot(case(*story, asked(600), firmware_traits=learned))
    assert (found.gravity, found.evidence[-1]) == (Gravity.HARMLESS, "2026-11-21 03:00:12 fetched its boot script")
    (found,) = secure_boot(case(*story, asked(600), fetched(602), asked(607), firmware_traits=learned))
    assert found.gravity is Gravity.SUSPECT


def test_firmware_that_refuses_the_signed_loader_too_is_told_apart() -> None:
    story = [asked(0), fetched(2), asked(7), fetched(9, "shimx64.efi"), asked(14)]
    (found,) = secure_boot(case(*story, firmware_traits=FirmwareTraits(secure_boot=True)))
    assert (found.gravity, "3rd Party" in found.remedy) == (Gravity.FAULT, True)


def test_a_loader_that_ran_or_cannot_have_been_refused() -> None:
    assert not list(secure_boot(case(*osie_boot(0), *osie_boot(300))))
    assert not list(secure_boot(case(asked(0, architecture=0), fetched(2), asked(7, architecture=0))))
    assert not list(secure_boot(case(asked(0), fetched(2, "undionly.kpxe"), asked(7))))
    assert not list(secure_boot(case(asked(0), fetched(2))))
    assert not list(secure_boot(case(asked(0), *answered(1), asked(9))))
    assert not list(secure_boot(case(asked(0), seen(1, Stage.SCRIPT), fetched(2), asked(9))))
    assert not list(secure_boot(case(asked(0), fetched(2), asked(2 + 300))))  # somebody pressed reset
    assert not list(secure_boot(case(asked(0), fetched(2), asked(4, Asker.IPXE), asked(7))))


def test_a_loader_of_which_nothing_was_heard() -> None:
    (found,) = silent_loader(case(asked(0), fetched(2), after=90))
    assert (found.gravity, "snponly.efi" in found.cause) == (Gravity.FAULT, True)
    assert "90 s" in found.evidence[1]
    assert not list(silent_loader(case(asked(0), fetched(2), after=45)))
    assert not list(silent_loader(case(asked(0), fetched(2), asked(5, Asker.IPXE), after=90)))
    assert not list(silent_loader(case(asked(0), after=90)))


def test_a_loader_of_which_only_a_question_came_since_is_not_said_to_be_silent() -> None:
    forged = [asked(second, Asker.HTTP) for second in (700, 1400)]
    (found,) = silent_loader(case(asked(0), *answered(1), fetched(2), *forged, after=20))
    assert found.cause == (
        "The machine has snponly.efi, and did not go on with it: only its question for an address came again."
    )
    assert "asked for an address again" in found.evidence[1]
    assert found.evidence[2].endswith("no word of the loader for 1418 s")


def test_a_host_that_only_fetched_a_file_is_no_machine_that_boots() -> None:
    """As monitoring does, that looks whether TFTP answers."""
    assert not list(silent_loader(case(fetched(2), after=90)))
    (stranger,) = diagnose(case(fetched(2), after=90, ticket=False, interface=None))
    assert stranger.gravity is Gravity.HARMLESS
    (known,) = diagnose(case(fetched(2), after=90))
    assert (known.rule, known.gravity) == ("Stalled", Gravity.SUSPECT), "a workflow waits for it"


@pytest.mark.parametrize(
    ("waited_for", "gravity"),
    [
        ({}, Gravity.FAULT),
        ({"ticket": False}, Gravity.SUSPECT),
        ({"ticket": False, "discovers": True}, Gravity.SUSPECT),
        ({"ticket": False, "interface": None}, Gravity.SUSPECT),
        ({"ticket": False, "interface": None, "discovers": True}, Gravity.FAULT),
    ],
)
def test_a_loader_of_a_machine_that_nobody_waits_for_is_suspect_at_most(
    waited_for: dict[str, bool | None], gravity: Gravity
) -> None:
    (found,) = silent_loader(case(asked(0), *answered(1), fetched(2), after=90, **waited_for))
    assert found.gravity is gravity
