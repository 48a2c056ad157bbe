"""The doctor's rules about what belongs together: two MACs of one machine, and one MAC of two machines."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from shlex import quote
from uuid import UUID

from tinkbox.engine.doctor.case import Case, Finding, line, moment, number, of, text
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.model.alike_macs import likeness
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.command_lines import not_ours
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.sightings import Sighting
from tinkbox.model.text import quoted

# Two machines with one MAC that are on ask in turns within that; later a person may have changed something.
AT_ONCE = timedelta(hours=1)
# When only one of the two was seen for so long, it is over.
OVER_AFTER = timedelta(minutes=10)
MOST_NEAR = 3
_MOST_COMPARED = 60
_ASKED = (Stage.DISCOVER, Stage.IGNORED, Stage.SCRIPT_REFUSED)
# Firmware in a "dual" mode asks as a BIOS and as a UEFI in turns, so these are one.
_X86 = frozenset({0, 6, 7, 9, 15, 16})
_ARM = frozenset({10, 11, 18, 19, 21, 22, 41})
# What management controllers call themselves by DHCP as they are delivered: Dell, HPE, Supermicro and OpenBMC, Lenovo, Cisco, Fujitsu.
_CONTROLLER = re.compile(
    r"idrac|^ilo(?=[a-z]*\d)[a-z0-9]{8,}$|cpqrib|bmc\b|ipmi|^xcc-|^imm2?-|cimc|irmc", re.IGNORECASE
)
_FIRMWARE = frozenset({Asker.PXE.value, Asker.HTTP.value, Asker.U_BOOT.value, Asker.RASPBERRY_PI.value})


def wrong_mac(case: Case) -> Iterator[Finding]:
    """A machine that asks with a MAC that nobody told of, and one that is waited for in vain: they may be the same."""
    if case.mac is None:
        return
    for near in case.near[:MOST_NEAR]:
        how = likeness(case.mac, near.mac)
        if (how is None and not near.of_one_machine) or {case.mac, near.mac} & {*case.own_macs}:
            continue  # of this host's own MAC, `same_mac` tells
        known, unknown = (near.mac, case.mac) if case.interface is None else (case.mac, near.mac)
        sure = near.of_one_machine
        cause = (
            f"{near.key} asks by a network card that its hardware document does not name: {unknown}."
            if sure
            else f"The unknown machine {unknown} may be {near.key}, which is registered with {known}: {how}."
        )
        asked = of(case.last, *_ASKED)[-1:] if case.interface is None else ()
        edit = f"tinkbox hardware edit {quote(near.key)} --add-mac {unknown}"
        check = (
            f"First check that {unknown} is a card of {near.key}: on the machine's label, in its firmware's set-up, or in its "
            f"management controller. The command lets that card have {near.key}'s workflow, and any host can ask with a MAC like it."
        )
        mend = (
            f"Type `{edit} --force`, then boot it again. {check}"
            if sure
            else f"If it is: type `{edit} --remove-mac {known} --force`, or without `--remove-mac {known}` when it has both "
            f"cards; then boot it again. {check} If it is another machine: `tinkbox hardware add {unknown} --name NAME`."
        )
        yield Finding(
            gravity=Gravity.FAULT if sure else Gravity.SUSPECT,
            cause=cause,
            evidence=(
                *map(line, asked),
                *([f"{moment(near.seen_at)} {unknown} was seen last"] if near.seen_at is not None else []),
                f"a workflow waits for {near.key}, and nothing was seen of {known} since it was created",
                *([f"an inventory has both {known} and {unknown}"] if sure else []),
            ),
            remedy=mend,
            subject=near.mac,
        )


def management_controller(case: Case) -> Iterator[Finding]:
    """A machine that is registered with the MAC of its management controller, which never boots from the network."""
    if case.interface is None or not case.ticket or not (asked := of(case.sightings, Stage.DISK_BOOTED)):
        return
    called = _controllers_name(asked[-1])
    if not called or any(each.stage is not Stage.DISK_BOOTED for each in case.sightings):
        return
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The MAC {case.mac} is probably that of the machine's management controller (BMC), not of a card that boots: it calls itself "
        f"{quoted(called, 60)}.",
        evidence=(line(asked[-1]), "nothing but that was ever seen of this MAC: no firmware has asked to boot with it"),
        remedy="Look up the MAC of the network card that boots, on the machine's label or in the controller's inventory, and give the machine "
        f"that one: `tinkbox hardware edit MACHINE --add-mac MAC --remove-mac {case.mac} --force`. Then boot it from the network.",
    )


def is_called_controller(newest: Sighting | None) -> bool:
    """Whether what asked for an address calls itself as a management controller does."""
    return newest is not None and newest.stage is Stage.DISK_BOOTED and bool(_controllers_name(newest))


def _controllers_name(asked: Sighting) -> str:
    return next((name for fact in ("vendor_class", "hostname") if _CONTROLLER.search(name := text(asked, fact))), "")


def is_controller(case: Case) -> bool:
    """Whether what asks is likely no machine, but what manages one."""
    return any(True for _ in management_controller(case))


def same_mac(case: Case) -> Iterator[Finding]:
    """Two machines with one MAC: what asks with it is now the one and now the other."""
    if case.mac is None:
        return
    if case.mac in case.own_macs:
        yield from _our_mac(case, case.own_macs[case.mac])
        return
    asked = [each for each in of(case.sightings, Stage.DISCOVER) if case.now - ended_at(each) <= AT_ONCE]
    # What a boot loader tells of itself may differ from what its firmware does.
    firmware = [each for each in asked if text(each, "asker") in _FIRMWARE]
    loaders = [each for each in asked if text(each, "asker") == Asker.IPXE]
    for trait, what in ((_uuid, "UUID"), (_processor, "processor"), (_port, "switch port")):
        for group in (firmware, loaders):
            turns = _in_turns(group, trait, case.now)
            if turns and not (trait is _port and _relayed_twice(group)):
                # A person may have moved a cable to and fro.
                have, gravity = ("may have", Gravity.SUSPECT) if trait is _port else ("have", Gravity.FAULT)
                yield Finding(
                    gravity=gravity,
                    cause=f"Two machines {have} the MAC {case.mac}: what asks with it has now one {what}, now another.",
                    evidence=tuple(_told(each, f"{what} {not_ours(trait(each))}") for each in turns),
                    remedy=f"Find both: the switch's table of MAC addresses names their ports, one after the other (Cisco: `show mac "
                    f"address-table address {case.mac}`; Linux bridge: `bridge fdb show | grep {case.mac}`). If one is no machine of "
                    "yours, a host asks in this machine's name: take it off the network. If both are yours, give one of them another "
                    "MAC (of virtual machines in their definition, of a card by its maker's tool), then `tinkbox hardware add` it "
                    "with that. Until then let only one of them be on: they share one address and one workflow. This is over ten "
                    "minutes after only one of them asks.",
                )
                return


def _our_mac(case: Case, interface: str) -> Iterator[Finding]:
    """A machine that asks with the MAC of this host, or is registered with it."""
    asked = of(case.last, *_ASKED)[-2:]
    known = case.interface is not None
    if not asked and not known:
        return
    yield Finding(
        gravity=Gravity.FAULT if known else Gravity.SUSPECT,
        cause=f"{case.mac} is the MAC of this host's own interface {interface}: "
        + ("a machine asks with it too." if asked else "no machine can have it."),
        evidence=(f"{moment(case.now)} `ip link show {interface}` has {case.mac}", *map(line, asked)),
        remedy=(
            f"Two hosts with one MAC disturb each other. Find the machine (of a cloned virtual machine, in its definition), and give it a MAC of its "
            f"own, or another MAC to {interface}. "
            if asked
            else ""
        )
        + (
            "Register the machine with its own MAC: `tinkbox hardware edit MACHINE --add-mac MAC --remove-mac "
            f"{case.mac} --force`."
            if known
            else "Do not register it with this MAC."
        ),
        subject="own MAC",
    )


def _in_turns(asked: Sequence[Sighting], trait: Callable[[Sighting], str], now: datetime) -> tuple[Sighting, ...]:
    """The newest that show one, another, and the one again, oldest first; empty where nothing came back, or it is over.

    One that was repeated stands for all from its first to its last.  It is over as well when the newest question does not show the trait.
    """
    by_age = sorted(asked, key=ended_at)
    told = [each for each in by_age if trait(each)][-_MOST_COMPARED:]
    newest = {trait(each): ended_at(each) for each in told}
    if len(newest) < 2 or told[-1] is not by_age[-1] or now - sorted(newest.values())[-2] > OVER_AFTER:
        return ()
    for place in range(len(told) - 1, 0, -1):
        again = told[place]
        for second in (each for each in reversed(told[:place]) if trait(each) != trait(again)):
            if again.at < ended_at(second):
                return second, again
            first = next((each for each in reversed(told[:place]) if _came_before(each, second, again, trait)), None)
            if first is not None:
                return first, second, again
    return ()


def _came_before(first: Sighting, second: Sighting, again: Sighting, trait: Callable[[Sighting], str]) -> bool:
    """Whether it shows what `again` does, and was seen before the `second` was seen last."""
    return trait(first) == trait(again) and first.at < ended_at(second)


def _told(asked: Sighting, trait: str) -> str:
    """A question as evidence, when it came last, and since when it did."""
    ended = ended_at(asked)
    since = f", since {moment(asked.at)}" if ended - asked.at >= timedelta(seconds=1) else ""
    return f"{moment(ended)} asked with {trait}{since}"


def _relayed_twice(asked: Sequence[Sighting]) -> bool:
    """Whether one question came by two relays, as where two switches stand in for each other."""
    by_number: dict[int, set[str]] = {}
    for each in asked:
        by_number.setdefault(number(each, "xid") or 0, set()).add(_port(each))
    return any(len(ports) > 1 for asked_with, ports in by_number.items() if asked_with)


def _uuid(seen: Sighting) -> str:
    """As SMBIOS writes it; its first fields come in either order of bytes, of which one is taken."""
    try:
        told = UUID(text(seen, "uuid"))
    except ValueError:
        return ""
    return str(min(told, UUID(bytes=told.bytes_le)))


def _processor(seen: Sighting) -> str:
    told = number(seen, "architecture")
    return "x86" if told in _X86 else "ARM" if told in _ARM else ""


def _port(seen: Sighting) -> str:
    return " ".join(filter(None, (text(seen, "relay"), text(seen, "circuit"))))


def is_paired(case: Case) -> bool:
    """Whether an unknown machine is likely to be one that is waited for."""
    return any(True for _ in wrong_mac(case))
