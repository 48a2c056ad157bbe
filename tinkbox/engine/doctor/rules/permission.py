"""The doctor's rules about who may boot: machines that ask, and that we do not answer with good reason."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from tinkbox.engine.doctor.case import Case, Finding, Lent, in_touch_anyway, line, moment, of, text
from tinkbox.engine.doctor.rules.loader import FIRMWARE, SCRIPTED, architecture
from tinkbox.engine.doctor.rules.network import edit_machine, reserve_address, strange_relay
from tinkbox.engine.doctor.rules.pairing import is_paired
from tinkbox.engine.doctor.rules.silence import WORKING, at_second_host, is_at_its_own, let_in_since, second_host
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.model.boot import DECISIONS, INSTALLED, Asker, Silence, Stage
from tinkbox.model.diagnosis import MAY_NOT_BOOT, Gravity
from tinkbox.model.documents.field_names import forbids_pxe, permitting_pxe, spelled
from tinkbox.model.journal import SHOWN, summary
from tinkbox.model.session import TicketRefusal
from tinkbox.model.sightings import STARTED_ELSEWHERE, Sighting
from tinkbox.model.text import quoted

_BOOT_AGAIN = "Boot the machine again, or give its worker a new credential (`tinkbox hardware credential {mac}`)."
_CREDENTIAL = "`tinkbox hardware credential"
_WHO = "another host of the network asked for it, or two workers were started with one credential"
# What a refused boot ticket means, and what to do, by why it was refused.
TICKETS: Mapping[str, tuple[str, str]] = {
    TicketRefusal.USED: (
        f"The boot ticket of this machine was used twice: {_WHO}.",
        (
            "Compare the addresses and MACs. If the first is not this machine's, somebody works in its name: take that host "
            "off the network, or it asks again; then `tinkbox hardware credential --rotate {mac}` ends what it has, and boot "
            "the machine again. If both are yours, end one, and start the other with a new credential "
            "(`tinkbox hardware credential {mac}`)."
        ),
    ),
    TicketRefusal.ELSEWHERE: (
        "Another host used this machine's credential: its address or MAC is not the machine's.",
        (
            "Find the host by its MAC and take it off the network; then `tinkbox hardware credential --rotate {mac}` makes void "
            "what it has, and boot the machine again. If it is the machine, with a card that its hardware document does not name: add that card."
        ),
    ),
    TicketRefusal.VOID: (
        (
            "The worker on this machine was refused: its credentials were revoked since, its hardware was pushed, a newer "
            "credential was used, or another host booted in its name and works as this machine now."
        ),
        (
            "Look at the exchanges on its timeline (`tinkbox hardware get {mac}`). If one is not this machine's, take that host "
            "off the network, then `tinkbox hardware credential --rotate {mac}`; boot the machine again."
        ),
    ),
    TicketRefusal.NO_TPM: (
        "The machine showed no TPM, and it has to show one: its TPM is off or unusable, or another host booted in its name.",
        (
            "Switch the TPM 2.0 on in its firmware, build an OSIE of this version, and boot the machine again. If the machine "
            "has no TPM: `tinkbox hardware tpm {mac} --forget` where tinkbox.yaml has `tpm: first`, and a credential by hand "
            "(`tinkbox hardware credential {mac}`) where it has `tpm: accepted`."
        ),
    ),
    TicketRefusal.OTHER_TPM: (
        "The machine showed another TPM than before: its board or its TPM was replaced, or another host booted in its name.",
        "If it was replaced: `tinkbox hardware tpm {mac} --accept {tpm}`. If not, find that host and take it off the network.",
    ),
    TicketRefusal.NEW_TPM: (
        (
            "The machine showed a TPM that nobody accepted yet: it was switched on or replaced, or another host booted in its "
            "name."
        ),
        (
            "If it is the machine: `tinkbox hardware tpm {mac} --accept {tpm}`. It goes on by itself within two minutes. If "
            "not, find that host and take it off the network."
        ),
    ),
    TicketRefusal.UNPROVEN_TPM: (
        "A host showed the TPM of a machine, and could not prove that it has it.",
        "Find the host by its address and MAC. If it is the machine, boot it again; if not, take that host off the network.",
    ),
    TicketRefusal.BOOT_OVER: (
        (
            "The machine was seen booting again, so its action that reboots it counts as done, but the worker of the boot "
            "before is still there. It had been silent for some seconds, or another host asked to boot in its name."
        ),
        (
            "See whether the action did what it was to do, then reboot the machine: its workflow goes on in the next boot. "
            "If the machine had not rebooted, find the host that uses its MAC."
        ),
    ),
    TicketRefusal.UNREADABLE: (
        (
            "A worker at this machine's address showed a boot ticket that this appliance cannot read: it was damaged, another appliance "
            "made it, or this appliance's boot.key was lost or replaced since."
        ),
        (
            "Boot the machine again: it gets another ticket. A worker that you started by hand needs a credential of this appliance "
            "(`tinkbox hardware credential {mac}`). If other machines are refused as well, boot.key in the data folder is another "
            "than before: put the former one back, or boot them again too."
        ),
    ),
    TicketRefusal.OLD_WORKER: (
        "The worker on this machine is of an earlier release, which does not know boot tickets.",
        "Build the OSIE of this version (`tinkbox osie build`) and boot the machine again.",
    ),
}
_BOOTED = (Stage.WORKER, Stage.LOCAL_DISK, Stage.DISK_BOOTED, *INSTALLED)
_ARM32 = frozenset({10, 18, 21})  # RFC 4578 §2.1 and the registry that followed it
_NOT_ARM32 = (
    "tinkbox boots machines with 64-bit processors. If this one's can do 64 bits, switch its firmware to 64-bit UEFI, or install that of its "
    "maker for arm64; else it cannot be booted from here."
)
SEVERAL_TPMS = (
    "Several TPMs were shown in this machine's name, and none of them is accepted: another host boots in its name.",
    (
        "Accept none of them before the machine itself says which one is its own (docs/security.md has the commands): then "
        "`tinkbox hardware tpm {mac} --accept SHA256`. Find the other host, and take it off the network."
    ),
)
TWO_HOSTS = (
    "Two hosts have the address {address}: {who} answered for it beside this machine.",
    (
        "Find the host with the MAC {other} (your switch knows its port) and take {address} off it, or give one of the two another "
        "address. The machine's worker goes on by itself then. A host that takes the address on purpose looks the same: if that "
        "one is not yours, `tinkbox hardware credential --rotate {mac}` makes void what it may have."
    ),
)
TWO_HOSTS_ONCE = (
    "Two hosts had the address {address} at {at}: {who} answered for it beside this machine.",
    TWO_HOSTS[1],
)
MOST_TPMS = 5

# Whatever came afterwards, a person wants to know of these.
ALARMS = frozenset(
    {
        TicketRefusal.USED,
        TicketRefusal.ELSEWHERE,
        TicketRefusal.BOOT_OVER,
        TicketRefusal.OLD_WORKER,
        TicketRefusal.NO_TPM,
        TicketRefusal.OTHER_TPM,
        TicketRefusal.NEW_TPM,
        TicketRefusal.UNPROVEN_TPM,
    }
)
TOLD_FOR = timedelta(days=1)
# What another host did by DHCP in a machine's name, and what to think of first.
IN_ITS_NAME: Mapping[Stage, tuple[str, str]] = {
    Stage.STILL_THERE: (
        "A host asked to boot in this machine's name while the machine itself was running an action that reboots it.",
        "If the action runs a DHCP client of its own, nothing is wrong. If not",
    ),
    Stage.ADDRESS_KEPT: (
        "A host gave this machine's address back in its name, while the machine itself was using the address.",
        "The machine keeps its address. Still",
    ),
}


def history_lost(case: Case) -> Iterator[Finding]:
    """The store was put back to an earlier day, and the machine's worker remembers more."""
    if case.lost_work is not None:
        entries = case.lost_work.history.entries
        workflows = dict.fromkeys(each.workflow_id for each in entries)
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The appliance's store does not know what the machine did, as it was put back to an earlier day or is a new one: the "
            "machine waits until a person decides.",
            evidence=(summary(entries), *(f"workflow {quoted(each)}" for each in [*workflows][:SHOWN])),
            remedy=f"Decide: {case.lost_work.hint}.",
        )


def not_known(case: Case) -> Iterator[Finding]:
    """Nobody told us of this machine."""
    asked = of(case.last, Stage.DISCOVER, Stage.IGNORED, Stage.SCRIPT_REFUSED)
    firmware = any(text(each, "asker") != Asker.SYSTEM for each in of(case.last, Stage.DISCOVER))
    netboots = firmware or of(case.last, Stage.SCRIPT_REFUSED)
    if case.mac is None or case.interface is not None or not netboots or case.discovers or is_paired(case):
        return
    if case.mac in case.own_macs:
        return  # as SameMac says
    discovering = "set `unknown_machines: discover` in tinkbox.yaml"
    if case.mode not in ("pool", "proxy"):
        discovering += ", with `dhcp.mode: pool` or `proxy`, which that needs,"
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause="The machine asks to boot, and nobody told tinkbox of it, so it is not answered.",
        evidence=tuple(map(line, asked[-2:])),
        remedy=f"If it is to be installed: type `tinkbox hardware add {case.mac} --name NAME`, or {discovering} and boot it again. "
        "If you added it with a wrong MAC: cancel and delete the workflow that waits for that (`tinkbox workflow cancel WORKFLOW`, "
        "`tinkbox workflow delete WORKFLOW`), then `tinkbox hardware delete NAME`, and add it again with this MAC.",
    )


def left_out(case: Case) -> Iterator[Finding]:
    """Unknown machines are let in, and there was no place for this one."""
    if not case.discovers:
        return
    for why, key in ((Silence.DISCOVERY_FULL, "discovery.quota"), (Silence.PORT_FULL, "discovery.port_quota")):
        for seen in _silences(case, why):
            if ended_at(seen) < case.since:
                continue  # the quota may have been another one
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause=f"As many unknown machines wait as {key} allows: this one was not let in.",
                evidence=(line(seen),),
                remedy="Accept or refuse those that wait (`tinkbox hardware discovered` lists them), or raise "
                f"{key} in tinkbox.yaml and start tinkbox again. Then boot this machine again.",
            )


def not_permitted(case: Case) -> Iterator[Finding]:
    """It is known, and has nothing to boot for."""
    asked = of(case.last, Stage.DISCOVER, Stage.IGNORED, Stage.SCRIPT_REFUSED)
    if case.interface is None:
        return
    # Who asks about a retired machine is told so, whatever it did before it was retired.
    silent = not asked or of(case.last, Stage.OFFERED, Stage.LEASED)
    barred = bool(case.barred) and case.worker_heard is None  # whatever was seen of it
    if (case.retired is None or case.surveyed) and silent and not barred:
        return
    if case.retired is not None:
        said = f": {quoted(case.retired.reason)}" if case.retired.reason else ""
        why = f"it was retired at {moment(case.retired.at)} by {quoted(case.retired.who)}{said}"
        remedy = f"To take it back into service type `tinkbox hardware return {case.mac or 'MAC'}`, then boot it again."
    elif not case.interface.dhcp and case.mode != "off":
        why = f"its hardware document says {spelled(case.interface, 'disableDhcp')}: true for this interface, so its questions for an address are not answered"
        remedy = f"Set {spelled(case.interface, 'disableDhcp')} to false in its hardware document: `tinkbox hardware edit MACHINE`. If another server gives it its address, "
        remedy += "that has to send it here to boot (docs/doctor.md has the lines)."
    elif case.interface.netboot.elsewhere:
        why = "its hardware document names another boot server, so it cannot boot from here"
        server, file = (spelled(case.interface, f"dhcp.{each}") for each in ("tftp_server_name", "boot_file_name"))
        remedy = f"If tinkbox is to boot it, take {server} and {file} out of its hardware document: "
        remedy += "`tinkbox hardware edit MACHINE`."
    elif not case.interface.allow_pxe:
        why = f"its hardware document {forbids_pxe(case.interface)}"
        remedy = f"{permitting_pxe(case.interface)}: `tinkbox hardware edit MACHINE`."
    elif (
        case.ticket
        and not case.interface.allow_workflow
        and not case.installed
        and not case.interface.netboot.has_script
    ):
        why = "its hardware document says allow_workflow: false, so its workflow does not boot here"
        remedy = "Set netboot.allow_workflow to true in its hardware document: `tinkbox hardware edit MACHINE`."
    elif not case.ticket and not case.installed and not case.interface.netboot.has_script:
        why = "no workflow waits for it, and none was ever carried out on it"
        devices = f'{{"device_1": "{case.interface.mac}"}}'
        remedy = (
            f"Install it (`tinkbox install debian-13 {case.interface.mac} --ssh-key FILE`), or create another workflow for it: "
            f"`tinkbox workflow create -t TEMPLATE -r '{devices}'`."
        )
    else:
        return
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"{MAY_NOT_BOOT}: {why}.",
        evidence=(*(line(each) for each in asked[-1:]), why),
        remedy=remedy,
    )


def no_address(case: Case) -> Iterator[Finding]:
    """It may boot, and there is no address to give it."""
    # What was seen before the appliance's start may be of another mode.
    if not case.gives_addresses or (case.interface is None and not case.discovers):
        return
    for seen in _silences(case, Silence.NO_ADDRESS):
        networks = tuple(f"a network that is configured: {each.network}" for each in case.subnets)
        asked_on = text(seen, "network")
        # What nobody knows gets an address when it is registered.
        reserve = f"Give it an address{f' of {asked_on}' if asked_on else ''}: " + (
            "`tinkbox hardware add MACHINE`" if case.interface is None else reserve_address(case)
        )
        relay = strange_relay(case)
        if relay:
            why, evidence = "it asks from a network that is not configured", (f"its relay is at {relay}", *networks)
            remedy = "Name the network behind that relay under dhcp.subnets in tinkbox.yaml."
        elif case.lent is not None:
            yield _is_lent(case, seen, case.lent)
            continue
        elif case.interface is not None and case.interface.address is not None:
            address = case.interface.address
            if not any(address in each.network for each in case.subnets):
                continue  # as AddressOutside says
            why = f"{address}, which is reserved for it, was lent to another machine when it asked"
            evidence = (f"{moment(case.now)} {address} is lent to no other machine",)
            remedy = "Boot the machine again: its address is free by now."
        elif case.mode == "pool" and ended_at(seen) < case.since:
            continue  # the pool may have been another one, or none
        elif case.mode != "pool":
            why, evidence = "none is reserved for it", (f"with dhcp.mode: {case.mode} only reserved ones are given",)
            remedy = f"{reserve}. Or have addresses lent: set `dhcp.mode: pool` in tinkbox.yaml and restart tinkbox."
        elif case.interface is None:
            why, evidence, remedy = _not_for_strangers(case, asked_on)
        else:
            pool = f"the pool of {asked_on}" if asked_on else "the pool"
            why, evidence = f"none of {pool} is free, and none is reserved for it", _pools(case, asked_on)
            remedy = f"{reserve}. Or give {_key(case, asked_on)} more room, or lower dhcp.lease; `tinkbox hardware leases` shows who has what."
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"There is no address for the machine: {why}.",
            evidence=(line(seen), *evidence),
            remedy=remedy,
        )
    for seen in _silences(case, Silence.UNFIT_ADDRESS):
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The address in its hardware document is none that a machine can have: the appliance's own, or the first "
            "or the last one of a network.",
            evidence=(line(seen), *(f"a network that is configured: {each.network}" for each in case.subnets)),
            remedy=f"Give it another one: {reserve_address(case)}. Then boot the machine.",
        )


def _not_for_strangers(case: Case, asked_on: str) -> tuple[str, tuple[str, ...], str]:
    """Why a machine that nobody knows has no address of a pool, the evidence, and what to do."""
    if case.claimants:
        return (
            "other hosts answer for those of the pool that are free",
            tuple(
                f"{moment(case.now)} {each.mac or 'hosts that cannot be told apart'} answered for {each.addresses} of the {each.size} "
                f"addresses of the pool of {each.network}"
                for each in case.claimants
            ),
            "`tinkbox doctor` says what to do about that host. Machines that you register are lent such addresses all the same.",
        )
    return (
        "unknown machines hold as much of the pool as they may, in all or at this one's relay port",
        _pools(case, asked_on),
        (
            "`tinkbox hardware leases` shows them: accept or register your machines, and take off the network what "
            f"invents others. If all are yours, give {_key(case, asked_on)} more room."
        ),
    )


def script_refused(case: Case) -> Iterator[Finding]:
    """It has an address, and its boot script is for another one."""
    refused = [each for each in of(case.last, Stage.SCRIPT_REFUSED) if text(each, "why") == Silence.ELSEWHERE]
    if not refused or of(case.last, *SCRIPTED):
        return
    address, own = text(refused[-1], "address"), text(refused[-1], "own")
    who = f"See who gave it {address} (`tinkbox doctor` without a MAC asks who else gives addresses)."
    if not own:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The machine has the address {address}, which the pool did not lend it, so it gets no boot script.",
            evidence=(line(refused[-1]),),
            remedy=who,
        )
        return
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The machine has the address {address}, and its boot script is only for {own}.",
        evidence=(line(refused[-1]), f"its hardware document says {spelled(case.interface, 'dhcp.ip.address')} {own}"),
        remedy=who
        if case.gives_addresses
        else f"Have the DHCP server give it {own}, or take {spelled(case.interface, 'dhcp.ip')} out of its hardware document ({edit_machine(case)}): its script is "
        "then for whichever address has its MAC.",
    )


def ticket_refused(case: Case) -> Iterator[Finding]:
    """A boot ticket came that counts for nothing; whoever shows up in the machine's name can make its last boot a new one."""
    exchanged = of(case.sightings, Stage.TICKET, Stage.SESSION)
    decided = of(case.sightings, *DECISIONS)
    told = [each for each in of(case.sightings, Stage.TICKET_REFUSED) if case.now - each.at <= TOLD_FOR]
    # Of the others a person knows, and did what is to be done.
    told = [each for each in told if not any(decision.at > each.at for decision in decided)]
    # However many MACs a second host answers with, it is told once.
    for (why, _), seen in {(text(each, "why"), bool(second_host(case, each))): each for each in told}.items():
        mended = any(each.stage is Stage.SESSION and each.at > seen.at for each in exchanged)
        if mended and why not in ALARMS:
            continue  # the worker got another by itself
        before = [each for each in exchanged if each.at <= seen.at]
        revoked = [each for each in decided if each.stage is Stage.REVOKED and each.at <= seen.at]
        if why == TicketRefusal.VOID and revoked and not any(each.at > revoked[-1].at for each in before):
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause="A person revoked the credentials of this machine, so the worker that was there was refused.",
                evidence=(line(revoked[-1]), f"{line(seen)}, at {text(seen, 'address')}"),
                remedy="Boot the machine again, or start its worker with a new credential: "
                f"`tinkbox hardware credential {case.mac or 'MAC'}` prints one.{_costs(case)}",
            )
            continue
        cause, remedy = TICKETS.get(why, (f"A boot ticket of this machine was refused: {why}.", _BOOT_AGAIN))
        if why == TicketRefusal.OLD_WORKER and (own := _own_worker_heard(case, seen)) is not None:
            yield _in_a_workers_name(case, seen, own, past=mended)
            continue
        tpms = {text(each, "tpm") for each in told if text(each, "why") == why} - {""}
        if len(tpms) > 1:
            cause, remedy = SEVERAL_TPMS
        # Its own worker came since, and began what the machine does now.
        over = mended and case.work is not None and seen.at < case.work.created_at
        # What may be a theft stays one, whoever is in touch.
        heard = None if why in ALARMS and not is_at_its_own(case, seen) else case.worker_heard
        refusal = f"{line(seen)}, at {text(seen, 'address')}"
        for_how_long = " This is told for a day, or until you have done so." if why in ALARMS else ""
        if other := second_host(case, seen):
            names = {
                "address": text(seen, "address"),
                "other": other,
                "who": case.named(other),
                "at": f"{ended_at(seen):%H:%M:%S} UTC",
                "mac": case.mac or "MAC",
            }
            over = let_in_since(case, seen) or _booted_since(case, seen)
            cause, remedy = (each.format_map(names) for each in (TWO_HOSTS_ONCE if over else TWO_HOSTS))
            refusal, for_how_long, heard = at_second_host(seen), " This is told for a day.", None
        yield Finding(
            gravity=Gravity.SUSPECT if over or heard else Gravity.FAULT,
            cause=cause,
            evidence=(
                *map(line, before[-2:]),
                refusal,
                *(f"shown: {each}" for each in sorted(tpms)[:MOST_TPMS]),
                *([f"{moment(heard)} its worker was in touch all the same"] if heard else []),
            ),
            remedy=remedy.format(mac=case.mac or "MAC", tpm=text(seen, "tpm") or "SHA256")
            + (_costs(case) if _CREDENTIAL in remedy else "")
            + for_how_long,
            past=over,
        )


def worker_elsewhere(case: Case) -> Iterator[Finding]:
    """A worker was started with a credential by hand on a host that is not the machine, as far as that is seen."""
    began, decided = of(case.sightings, Stage.SESSION), of(case.sightings, *DECISIONS)
    if not began or case.now - began[-1].at > TOLD_FOR or any(each.at > began[-1].at for each in decided):
        return
    if other := text(began[-1], STARTED_ELSEWHERE):
        mac = case.mac or "MAC"
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"The worker that works as this machine was started by hand on another host: {other} is not the machine.",
            evidence=(line(began[-1]),),
            remedy=f"If you started it there, nothing is wrong; if {other} is the machine, add that card or address to its document. Else "
            f"`tinkbox hardware credential {mac} --rotate` ends it, and `tinkbox audit list --object {mac}` shows who read the credential."
            f"{_costs(case)} This is told for a day.",
        )


def _own_worker_heard(case: Case, refused: Sighting) -> datetime | None:
    """When the machine's own worker was heard of, now or after a ticket was refused; None: it was not.

    That one exchanged its ticket, as no worker of an earlier release does.
    """
    contact = case.work.contact if case.work is not None else None
    if case.worker_heard is not None or (contact is not None and contact > ended_at(refused)):
        return contact
    return max((each.at for each in of(case.sightings, Stage.SESSION) if each.at > ended_at(refused)), default=None)


def _in_a_workers_name(case: Case, refused: Sighting, heard: datetime, *, past: bool) -> Finding:
    """A ticket that was shown as workers of an earlier release do, beside the machine's own worker, which knows boot tickets."""
    address, mac = text(refused, "address"), text(refused, "neighbour")
    at_its_own = is_at_its_own(case, refused)
    strange = "" if at_its_own else ", which is not the machine's address"
    find = f"find the host at {address}{f' (by ARP {mac})' if mac else ''}, and take it off the network."
    return Finding(
        gravity=Gravity.SUSPECT,
        cause=f"A boot ticket of this machine was shown from {address}{strange}, in the way of a worker of an earlier release. The machine's "
        "own worker knows boot tickets, so another host may have sent this in its name.",
        evidence=(f"{line(refused)}, at {address}", in_touch_anyway(heard)),
        remedy="The appliance refused it, and the machine goes on: do not boot it for this. "
        + (
            f"If you started a second worker on the machine, end that one. Else {find}"
            if at_its_own
            else find.capitalize()
        )
        + " This is told for a day.",
        past=past,
    )


def _booted_since(case: Case, refused: Sighting) -> bool:
    """Whether the machine began another boot after it was refused: its worker then is another one."""
    return any(
        each.at > ended_at(refused) and text(each, "asker") != Asker.SYSTEM
        for each in of(case.sightings, Stage.DISCOVER)
    )


def _costs(case: Case) -> str:
    """What a new credential, or a boot, does to the action that runs on the machine, as a sentence; empty where none does."""
    work = case.work
    if work is None or work.action_state not in WORKING:
        return ""
    return (
        f" {work.action} runs on the machine now: a boot, and another worker (also one with a new credential), each end it as WorkerLost, "
        f"and `tinkbox workflow retry {work.id[:8]}` repeats it, if that is safe. Let it end first where you can."
    )


def asked_in_its_name(case: Case) -> Iterator[Finding]:
    """A host spoke DHCP with the machine's MAC while the machine itself was there."""
    for stage, (cause, first) in IN_ITS_NAME.items():
        seen = [each for each in of(case.sightings, stage) if case.now - each.at <= TOLD_FOR]
        if seen:
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause=cause,
                evidence=tuple(map(line, seen[-2:])),
                remedy=f"{first}, find the host that uses this machine's MAC (your switch knows its port) and take it off the "
                "network. This is told for a day.",
            )


def no_program(case: Case) -> Iterator[Finding]:
    """Firmware for which there is no boot loader, or which does not say that it wants one."""
    silent = of(case.last, Stage.DISCOVER)[-1:]
    # Any host can ask so in its name: that hides no boot that came further, and stands still there.
    is_its_newest = case.last == case.furthest or of(case.furthest, *_BOOTED)
    if silent and _asks_for_no_program(silent[-1]) and case.ticket and is_its_newest:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause="The machine's firmware asks for an address alone: it tells its architecture (option 93), and not that it boots from the "
            "network (option 60: PXEClient or HTTPClient), so it is offered no boot loader.",
            evidence=(line(silent[-1]),),
            remedy="Choose network boot (PXE or HTTP boot, IPv4) in its firmware's boot menu. If a boot loader of its own asks, such as U-Boot, "
            "have it send PXEClient as its vendor class (option 60).",
        )
    for seen in _silences(case, Silence.NO_PROGRAM):
        asked = architecture(case.last)
        if case.firmware_traits.secure_boot:
            yield from _unsigned(case, seen)
            return
        kind = "of an unknown kind" if asked is None else FIRMWARE.get(asked, "of a kind that nobody has registered")
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"There is no boot loader for this machine's firmware, {kind}.",
            evidence=(line(seen), f"it asks as architecture {asked}"),
            remedy=_NOT_ARM32
            if asked in _ARM32
            else "Switch its firmware to BIOS (legacy) or 64-bit UEFI boot, or boot it from a USB stick with iPXE.",
        )


def _asks_for_no_program(asked: Sighting) -> bool:
    return text(asked, "asker") == Asker.SYSTEM and "architecture" in asked.facts


def _is_lent(case: Case, seen: Sighting, lent: Lent) -> Finding:
    """The machine's own address is lent to another one."""
    holder = f"{lent.name} ({lent.mac})" if lent.name else f"an unknown machine ({lent.mac})"
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"The address that is reserved for the machine, {lent.address}, is lent to {holder}.",
        evidence=(
            line(seen),
            f"its hardware document says {spelled(case.interface, 'dhcp.ip.address')} {lent.address}",
            f"the pool lent {lent.address} to {lent.mac} until {moment(lent.until)}",
        ),
        remedy=f"Boot the machine again after {moment(lent.until)}: by then the address is free. It is free sooner when {lent.mac} "
        f"is restarted or asks for more time. Or reserve another: {reserve_address(case)}.",
    )


def _pools(case: Case, asked_on: str) -> tuple[str, ...]:
    """What is lent on the network that a machine asks on, or where that is not known on all."""
    return tuple(
        f"{each.network} lends " + (f"{each.pool[0]}-{each.pool[1]}" if each.pool else "nothing: it has no pool")
        for each in case.subnets
        if asked_on in ("", str(each.network))
    )


def _key(case: Case, asked_on: str) -> str:
    """The setting that has the pool of a network."""
    first = str(case.subnets[0].network) if case.subnets else ""
    return "dhcp.pool" if asked_on in ("", first) else f"the pool of {asked_on} under dhcp.subnets"


def _unsigned(case: Case, seen: Sighting) -> Iterator[Finding]:
    """There are signed loaders for PXE, and none for HTTP boot, which firmware tries next."""
    other = [each for each in of(case.sightings, Stage.DISCOVER) if text(each, "asker") == Asker.PXE]
    yield Finding(
        gravity=Gravity.HARMLESS if other else Gravity.SUSPECT,
        cause="Its firmware wants signed boot loaders, and over HTTP there is none: it boots by PXE.",
        evidence=(line(seen), *map(line, other[-1:])),
        remedy="Nothing to do, if PXE (IPv4) is among its boot devices: else put it there, or switch Secure Boot off.",
    )


def _silences(case: Case, why: Silence) -> tuple[Sighting, ...]:
    """The newest of those, when the machine was not answered since."""
    found = [each for each in of(case.last, Stage.IGNORED) if text(each, "why") == why]
    answered = of(case.last, Stage.OFFERED, Stage.LEASED)
    return tuple(found[-1:]) if found and not any(each.at > found[-1].at for each in answered) else ()
