"""The doctor's rules about the appliance itself, by what it measured of itself (`model.vitals`)."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import PurePath
from typing import Final

from tinkbox.engine.doctor.case import REACHING, Case, Duty, Finding, Stops, moment, some
from tinkbox.engine.doctor.rules.engine import own_engine_remedy, what_is_wrong
from tinkbox.model.audit import Hindrance
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.duration import show_duration
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted, one_line, quoted
from tinkbox.model.vitals import AGREES, MISSING, Attachment, DamagedFile, Memory, Unheard, firewalld_opens

# Lines of evidence of one finding; the rest is counted.
_MOST: Final = 8
_UNCLEAN_TOLD_FOR: Final = timedelta(hours=1)
_LONGEST: Final = 300  # letters of what others say
# Less available memory is little, of a host with much of it and with little; half of it is a fault.
_LITTLE_MEMORY: Final = 256 << 20
_LITTLE_SHARE: Final = 20
_DESCRIPTION: Final = "osie.json"
_KERNEL_AND_RAMDISK: Final = frozenset({"vmlinuz", "initramfs"})
_FAR_OFF: Final = timedelta(minutes=5)
_AUDIT_TOLD_FOR: Final = timedelta(days=7)
# So long a place may take no line, as while its server is restarted.
_UNSENT_AFTER: Final = timedelta(minutes=1)


def _attachments(case: Case) -> tuple[Attachment, ...]:
    return case.vitals.attachments if case.vitals else ()


def interface_gone(case: Case) -> Iterator[Finding]:
    """A provisioning interface that the host does not have any more."""
    for each in _attachments(case):
        if not each.present:
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The appliance's interface {each.interface} is gone: no machine on it can reach the appliance.",
                evidence=(f"{moment(case.now)} there is no interface {each.interface}",),
                remedy=f"`ip link` shows which interfaces there are. Plug the card in again or create {each.interface} anew with "
                f"{each.address}/{each.prefix}, then `systemctl restart tinkbox`: what listens on an interface is lost with it. If it has another "
                "name now, write that under `interface:` in tinkbox.yaml first.",
                subject=each.interface,
                stops=Stops(duties=REACHING, interface=each.interface),
            )


def interface_recreated(case: Case) -> Iterator[Finding]:
    """A provisioning interface that was deleted and created again: sockets stay bound to the one that is gone."""
    for each in _attachments(case):
        if each.recreated:
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The appliance's interface {each.interface} was created anew: what listens there for DHCP, TFTP, PXE, DNS and syslog is bound to "
                "the old one, and hears no machine.",
                evidence=(
                    f"{moment(case.now)} {each.interface} has number {each.index} in `ip link`, and tinkbox listens on {each.bound}",
                ),
                remedy=f"`systemctl restart tinkbox`, when `ip -br addr show {each.interface}` shows {each.address} and its ports or cable "
                "are back. Netplan, ifup and the reload of a driver create interfaces anew.",
                subject=each.interface,
                stops=Stops(duties=REACHING - {Duty.HTTP, Duty.HTTPS}, interface=each.interface),
            )


def interface_down(case: Case) -> Iterator[Finding]:
    """A provisioning interface that is switched off."""
    for each in _attachments(case):
        if each.present and not each.up:
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The appliance's interface {each.interface} is down: no machine on it can reach the appliance.",
                evidence=(f"{moment(case.now)} {each.interface} is there, and is not up",),
                remedy=f"`ip link set {each.interface} up`; `ip -br addr show {each.interface}` must then show {each.address}.",
                subject=each.interface,
                stops=Stops(duties=REACHING, interface=each.interface),
            )


def interface_is_port(case: Case) -> Iterator[Finding]:
    """A provisioning interface that is a port of a bridge or bond: what comes in on it comes in on that."""
    for each in _attachments(case):
        if not each.present or not each.master:
            continue
        lab, over, address = each.interface, each.master, f"{each.address}/{each.prefix}"
        holders = [name for name, has in ((lab, each.addresses), (over, each.master_has)) if each.address in has]
        move = [f"ip addr del {address} dev {lab}"] * (lab in holders) + [f"ip addr add {address} dev {over}"] * (
            over not in holders
        )
        back = [f"ip addr del {address} dev {over}"] * (over in holders) + [f"ip addr add {address} dev {lab}"] * (
            lab not in holders
        )
        first = f"`{'` and `'.join(move)}`, then " if move else ""
        then = f", then `{'` and `'.join(back)}`" if back else ""
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The appliance's interface {lab} is a port of {over}: what machines send reaches {over}, not {lab}, so tinkbox does not hear "
            "them.",
            evidence=(
                f"{moment(case.now)} `ip link show {lab}` says master {over}",
                f"{moment(case.now)} {address} is on {' and '.join(holders) or 'neither of them'}",
            ),
            remedy=f"If {lab} is not meant to be a port: `ip link set {lab} nomaster`{then}. If it is: {first}write `interface: {over}` in place of "
            f"{lab} in tinkbox.yaml, and `systemctl restart tinkbox`. Write it where this host's network is configured, too.",
            subject=lab,
            stops=Stops(duties=REACHING, interface=lab),
        )


def address_missing(case: Case) -> Iterator[Finding]:
    """A provisioning interface without the address that machines know."""
    for each in _attachments(case):
        # On a port of a bridge or bond the address alone would mend nothing.
        if each.present and not each.master and each.address not in each.addresses:
            has = ", ".join(map(str, sorted(each.addresses))) or "none"
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The appliance's interface {each.interface} lost the address {each.address}, by which machines know it.",
                evidence=(f"{moment(case.now)} addresses of {each.interface}: {has}",),
                remedy=f"Give it back: `ip addr add {each.address}/{each.prefix} dev {each.interface}`, and see "
                "what took it away: NetworkManager, networkd, a DHCP client on that interface. If the address was changed on purpose, "
                "`systemctl restart tinkbox`.",
                subject=each.interface,
                stops=Stops(duties=REACHING, interface=each.interface),
            )


def arp_silent(case: Case) -> Iterator[Finding]:
    """A provisioning interface on which the host answers no ARP: what is sent to all arrives, and nothing that is sent to us."""
    for each in _attachments(case):
        if each.silent_arp:
            name = each.silent_arp.split()[0] if each.silent_arp.startswith("net.") else ""
            mend = (
                f"`sysctl -w {name}=0`, and take it out of /etc/sysctl.d"
                if name
                else f"`ip link set {each.interface} arp on`"
            )
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"This host answers no ARP on {each.interface}: machines get an address, and reach neither TFTP nor HTTP.",
                evidence=(f"{moment(case.now)} {each.silent_arp}",),
                remedy=f"{mend}. Load balancers (LVS) and VPNs set that.",
                subject=each.interface,
                stops=Stops(duties=REACHING - {Duty.DHCP}, interface=each.interface),
            )


def no_carrier(case: Case) -> Iterator[Finding]:
    """A provisioning interface without a link."""
    for each in _attachments(case):
        if each.present and each.up and each.carrier is False:
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause=f"The appliance's interface {each.interface} has no link: nothing is plugged in, or what is plugged in is off.",
                evidence=(
                    f"{moment(case.now)} {each.interface} is up, and it has no carrier, or it is a bridge without a port that has one",
                ),
                remedy=f"Check the cable and the switch port; for a bridge, `ip link show master {each.interface}` must list a port "
                "that has a link. A cable straight to one machine has no link while that machine is off.",
                subject=each.interface,
                stops=Stops(duties=REACHING, interface=each.interface),
            )


def port_unheard(case: Case) -> Iterator[Finding]:
    """What machines send to a port comes as far as this host, and not to us."""
    if case.mac is not None:
        # Told of a machine that was seen to ask in vain, whatever was seen of its boots before.
        yield from (each.found for each in case.faults if case.is_unheard(each.stops))
        return
    vitals = case.vitals
    if vitals is None:
        return
    shut = [each for each in vitals.shut_ports if each.protocol == "udp" and not each.behind]
    explained = {(each.interface, each.port) for each in shut}
    ports = {each.interface for each in _attachments(case) if each.master}  # InterfaceIsPort
    changed = vitals.filters_changed_at
    for each in vitals.unheard:
        # What came before the rules were others says nothing of those that are.
        if (each.interface, each.port) in explained or (changed is not None and each.until <= changed):
            continue
        if each.interface in ports:
            continue
        yield _of_some(case, each) if each.others_at is not None else _of_all(case, each)


def _of_all(case: Case, unheard: Unheard) -> Finding:
    """Nothing at all is delivered."""
    interface, port = unheard.interface, unheard.port
    alone = len(unheard.macs) == 1
    what = f"{_askers(case, unheard)} sends on {interface}" if alone else f"machines on {interface} send"
    # What one table of nft accepts, iptables' among them, another one drops all the same.
    one = f" Where one {_names(unheard)}, take that away: it drops what other rules let through. Else" if alone else ""
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"The appliance's host drops what {what} to UDP port {port} before tinkbox gets it: most likely its own firewall.",
        evidence=(
            _came_in(case, unheard),
            "nothing was delivered to tinkbox since, which listens there",
            *(
                ["no other machine asked there meanwhile: whether what others send gets through is not known"]
                if alone
                else []
            ),
        ),
        remedy=f"{_the_rules(interface)}{one} `iptables -I INPUT -i {interface} -p udp "
        f"--dport {port} -j ACCEPT` opens the port; with ufw `ufw allow in on {interface} to any port {port} proto "
        f"udp`, with firewalld `{firewalld_opens(interface, port, 'udp')}`. Open UDP 69 and TCP 80 as well.",
        subject=f"{interface} udp {port}",
        stops=_only_of(unheard),
    )


def _of_some(case: Case, unheard: Unheard) -> Finding:
    """What some machines send is not delivered, and what others send is."""
    interface, port, who = unheard.interface, unheard.port, _askers(case, unheard)
    assert unheard.others_at is not None
    sends = "sends" if len(unheard.macs) == 1 else "send"
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"The appliance's host drops what {who} {sends} on {interface} to UDP port {port} before tinkbox gets it, and lets through "
        "what other machines send there: most likely by a rule of its own firewall.",
        evidence=(
            _came_in(case, unheard),
            "none of them was delivered to tinkbox, which listens there",
            f"{moment(unheard.others_at)} what another machine sent there was delivered",
        ),
        remedy=f"{_the_rules(interface)} Take the one away that {_names(unheard)}, or that drops what it sends for another reason.",
        subject=f"{interface} udp {port}",
        stops=_only_of(unheard),
    )


def _the_rules(interface: str) -> str:
    return f"`nft list ruleset`, `iptables-save`, `ebtables-save` and `tc filter show dev {interface} ingress` show the rules."


def _names(unheard: Unheard) -> str:
    return f"names {some([*unheard.macs])} (`ether saddr`, `--mac-source`)"


def _askers(case: Case, unheard: Unheard) -> str:
    return some([case.named(each) for each in unheard.macs])


def _came_in(case: Case, unheard: Unheard) -> str:
    return (
        f"{moment(unheard.since)} to {moment(unheard.until)} {unheard.frames} packets for port {unheard.port} came in on {unheard.interface}, "
        f"from {_askers(case, unheard)}"
    )


def _only_of(unheard: Unheard) -> Stops:
    """A machine that did not ask is not stopped by this, nor one that was heard since."""
    return Stops(duties=frozenset({Duty.DHCP}), unheard=unheard.macs, since=unheard.since)


def unclean_end(case: Case) -> Iterator[Finding]:
    """The appliance before this one was not told to end; told for an hour."""
    before = case.vitals.unclean_end if case.vitals else None
    if before is None or case.now - case.since > _UNCLEAN_TOLD_FOR:
        return
    if before.host_booted:
        cause = "its host went down with it: power that failed, a reset, or a kernel that crashed"
        remedy = (
            "`journalctl -b -1 -n 50` shows what the host said last; `last -x | head` when it went down and came up."
        )
    else:
        cause = (
            "something ended it while its host ran on: most likely the kernel for lack of memory, a defect, or a person"
        )
        remedy = (
            "`journalctl -k | grep -iE 'oom|killed process'` shows whether the kernel ended it for memory: give the host more, or end "
            "what need not run there. `journalctl -u tinkbox -n 100` shows what it said last."
        )
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"tinkbox ended without being told to before its last start: {cause}.",
        evidence=(
            f"{moment(before.alive_at)} it gave its last sign of life, of which there is one every half a minute",
            f"{moment(case.since)} tinkbox was started, and found the mark of one that runs",
        ),
        remedy=f"{remedy} This is told for an hour.",
    )


def memory_low(case: Case) -> Iterator[Finding]:
    """A host that has hardly any memory left."""
    memory = case.vitals.memory if case.vitals else None
    if memory is None or memory.available >= _little(memory):
        return
    yield Finding(
        gravity=Gravity.FAULT if memory.available < _little(memory) // 2 else Gravity.SUSPECT,
        cause="This host has hardly any memory left: the kernel may soon end tinkbox or what else runs here.",
        evidence=(f"{moment(case.now)} {show_size(memory.available)} of {show_size(memory.total)} are available",),
        remedy="`ps aux --sort=-rss | head` shows what has it. End what need not run here, or give the host more.",
    )


def _little(memory: Memory) -> int:
    return min(_LITTLE_MEMORY, memory.total // _LITTLE_SHARE)


def clock_jumped(case: Case) -> Iterator[Finding]:
    """The appliance's clock was set while it ran."""
    jump = case.vitals.clock.jump if case.vitals and case.vitals.clock else None
    if jump is None:
        return
    direction = "forward" if jump.by > timedelta() else "back"
    span = show_duration(jump.by.total_seconds())
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The appliance's clock was set {direction} by {span}: ages and durations across that moment are wrong by as much.",
        evidence=(f"{moment(jump.at)} by the clock as it is now, it was {span} {direction} from one look to the next",),
        remedy="`timedatectl` shows whether the time is right and who keeps it; `timedatectl set-ntp true` has it kept. What machines do "
        "from now on is shown with the new time; deadlines are counted by it too.",
    )


def clock_behind(case: Case) -> Iterator[Finding]:
    """The appliance's clock is earlier than what the appliance wrote down before."""
    newest = case.vitals.clock.newest if case.vitals and case.vitals.clock else None
    if newest is None or newest - case.now <= AGREES:
        return
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The appliance's clock is behind by {show_duration((newest - case.now).total_seconds())} at least.",
        evidence=(
            f"{moment(case.now)} is the time by the clock now",
            f"{moment(newest)} is the time of the last thing that was stored before tinkbox started",
        ),
        remedy="Set the clock: `timedatectl set-ntp true`, or `timedatectl set-time 'YYYY-MM-DD HH:MM:SS'`. A clock that starts years ago "
        "has an empty battery. If the stored time was the wrong one, this ends when the clock has passed it or tinkbox is restarted.",
    )


def clock_off(case: Case) -> Iterator[Finding]:
    """The appliance's clock differs from its time server's."""
    clock = case.vitals.clock if case.vitals else None
    if clock is None or clock.offset is None or not clock.is_off:
        return
    direction = "ahead of" if clock.offset > timedelta() else "behind"
    yield Finding(
        gravity=Gravity.FAULT if abs(clock.offset) >= _FAR_OFF else Gravity.SUSPECT,
        cause=f"The appliance's clock is {show_duration(clock.offset.total_seconds())} {direction} its time server: machines get their time "
        "from the appliance.",
        evidence=(f"{moment(clock.asked_at or case.now)} by the clock here, when {clock.source} was asked",),
        remedy="`timedatectl set-ntp true` has the clock kept, `timedatectl timesync-status` or `chronyc tracking` shows why it is not.",
    )


def osie_damaged(case: Case) -> Iterator[Finding]:
    """Files of an OSIE that are missing, or are not what was built."""
    files = case.vitals.damaged_osie if case.vitals else ()
    for folder in dict.fromkeys(str(PurePath(each.path).parent) for each in files):
        own = [each for each in files if str(PurePath(each.path).parent) == folder]
        names = ", ".join(PurePath(each.path).name for each in own)
        architecture = PurePath(folder).name
        if [PurePath(each.path).name for each in own] == [_DESCRIPTION]:
            yield _undescribed(case, own[0], architecture)
            continue
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The OSIE for {architecture} is damaged ({names}): machines that boot it stop, or do what it was not built for.",
            evidence=tuple(f"{moment(case.now)} {each.path}: {each.how}" for each in own[:_MOST]),
            remedy=f"Put {folder} back from where it was moved to, or copy it from a backup or from another appliance. If you have no "
            "copy, build it again: `tinkbox osie build`, which needs the internet."
            if _is_gone(own)
            else "Build it again: `tinkbox osie build`, which needs the internet, or copy that folder back from a backup or another "
            "appliance. If it breaks again, look at the disk: `dmesg | grep -i error`.",
            subject=folder,
            stops=Stops(duties=frozenset({Duty.OSIE}), architecture=architecture),
        )


def _is_gone(files: Sequence[DamagedFile]) -> bool:
    """Whether a whole OSIE is missing, and not some file of it: its folder was probably moved."""
    missing = {PurePath(each.path).name for each in files if each.how == MISSING}
    return missing >= _KERNEL_AND_RAMDISK and len(missing) == len(files)


def _undescribed(case: Case, missing: DamagedFile, architecture: str) -> Finding:
    """An OSIE whose files may be whole, which nobody can tell without its description; machines get them all the same."""
    return Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The OSIE for {architecture} has no {_DESCRIPTION}: whether its files are whole, and of which version, is not known.",
        evidence=(f"{moment(case.now)} {missing.path}: {missing.how}",),
        remedy=f"Put {missing.path} back from a backup of that folder, or build the OSIE again: `tinkbox osie build --architecture "
        f"{architecture}`.",
        subject=str(PurePath(missing.path).parent),
    )


def other_version(case: Case) -> Iterator[Finding]:
    """Programs of ours of another version."""
    for each in case.vitals.other_versions if case.vitals else ():
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"Of another version than the appliance is {each.what}: what one of the two can do, the other may not know.",
            evidence=(f"{moment(case.now)} it was made by tinkbox {each.version}",),
            remedy="Build the OSIE of this version, `tinkbox osie build`; machines have it when they boot the next time.",
            subject=each.what,
        )


def image_damaged(case: Case) -> Iterator[Finding]:
    """Images whose files are damaged on the appliance's disk."""
    images = case.vitals.damaged_images if case.vitals else ()
    if not images:
        return
    named = images[0].path if len(images) == 1 else f"{images[0].path} and {counted(len(images) - 1, 'other image')}"
    more = [f"and {len(images) - _MOST} more: `tinkbox image list`"] if len(images) > _MOST else []
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The registry's files of {named} are damaged: an action or a service that needs this cannot start.",
        evidence=(*(f"{moment(case.now)} {each.path}: {each.how}" for each in images[:_MOST]), *more),
        remedy=f"Push or load it again, such as `tinkbox image load FILE`, or delete what is not needed: `tinkbox image delete "
        f"{images[0].path}`. If more of them break, look at the disk: `dmesg | grep -i error`.",
    )


def registry_unusable(case: Case) -> Iterator[Finding]:
    """Folders of the registry that cannot be read, or repositories that are gone."""
    why = case.vitals.registry if case.vitals else ""
    if why:
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The registry's folders cannot be used as they are: images are missing, or cannot be read.",
            evidence=(f"{moment(case.now)} {why}",),
            remedy=f"Do what the registry says: {why.rstrip('.')}. Until then nothing is freed, and pulls of these images fail.",
            stops=Stops(duties=frozenset({Duty.REGISTRY})),
        )


def database_damaged(case: Case) -> Iterator[Finding]:
    """A database whose pages do not fit together."""
    why = case.vitals.database if case.vitals else ""
    if why:
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The database is damaged: what was stored may be lost, and tinkbox may stop at any time.",
            evidence=(f"{moment(case.now)} SQLite found: {why}",),
            remedy="`systemctl stop tinkbox`, copy the data folder, then put a backup of the data folder in its place, or rescue what can be "
            "read: `sqlite3 tinkbox.sqlite .recover | sqlite3 rescued.sqlite`. Look at the disk as well: `dmesg | grep -i error`.",
        )


def audit_broken(case: Case) -> Iterator[Finding]:
    """Lines of the audit that another program deleted or replaced, or whose key is lost."""
    broken = case.vitals.audit_broken if case.vitals else None
    if broken is None or case.now - broken.at >= _AUDIT_TOLD_FOR:
        return
    if broken.is_of_key:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"{broken.why}.",
            evidence=(f"{moment(broken.at)} line {broken.number} of the audit: {broken.why}",),
            remedy="If you did not delete that file, find out who did, and compare the lines with what was sent elsewhere. `tinkbox audit verify` still names an "
            f"earlier line that does not fit its digest; it fails at line {broken.number} in any case. `tinkbox audit verify --after {broken.number}` examines what came "
            "since.",
        )
    else:
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The audit is not as it was written: another program deleted, changed or added lines, or an older database or another audit.key was put in its "
            "place.",
            evidence=(f"{moment(broken.at)} line {broken.number} of the audit: {broken.why}",),
            remedy="`tinkbox audit verify` names the first line that is wrong. Find out who can write to the data folder, and compare with what was sent "
            f"elsewhere. `tinkbox audit verify --after {broken.number}` examines what came since. If you put an older database there yourself, nothing more is to be done.",
        )


def audit_unguarded(case: Case) -> Iterator[Finding]:
    """Parts of the database that are missing or not ours, and lines of the audit that these keep out."""
    vitals = case.vitals
    found = vitals.audit_unguarded if vitals else None
    waiting = vitals.audit_unwritten if vitals else None
    if waiting is not None and waiting.hindrance is not Hindrance.TRIGGER:
        waiting = None  # what is wrong with the disk is told of the disk
    evidence = list[str]()
    if found is not None:
        names = ", ".join(quoted(each) for each in found.parts[:_MOST])
        evidence.append(f"{moment(found.since)} missing, or not as tinkbox made them: {names}")
    if waiting is not None:
        evidence.append(f"{moment(waiting.since)} since then {counted(waiting.number, 'line')} could not be written")
    if evidence:
        yield Finding(
            gravity=Gravity.FAULT,
            cause="Another program put triggers into the database, or changed what keeps the audit: changes, and lines of the audit, may be kept out.",
            evidence=tuple(evidence),
            remedy="`sqlite3 tinkbox.sqlite .schema` in the data folder shows them. Take out a trigger that is not tinkbox's with `DROP TRIGGER`: lines that wait are "
            "written a few seconds later. `systemctl restart tinkbox` takes it out as well, and mends the rest, but lines that wait are lost: a line "
            "says how many. What was revoked, deleted or changed meanwhile may not be so after that: look at it again. Find out who can write to the data folder.",
        )


def audit_unsent(case: Case) -> Iterator[Finding]:
    """Places that do not take the lines of the audit."""
    for each in case.vitals.audit_unsent if case.vitals else ():
        if each.since is not None and case.now - each.since >= _UNSENT_AFTER:
            waiting = counted(each.waiting, "line")
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The audit is not sent to {each.place}: {waiting} {'waits' if each.waiting == 1 else 'wait'}.",
                evidence=(f"{moment(each.since)} since then: {each.problem}",),
                remedy="Mend that place, or change `audit` in tinkbox.yaml and restart tinkbox. Nothing is lost meanwhile: the lines stay in the database, and "
                "are sent as soon as the place takes them. `tinkbox audit verify` tells how far each place is.",
                subject=each.place,
            )


def secrets_unreadable(case: Case) -> Iterator[Finding]:
    """Secrets whose key is missing or another one."""
    why = case.vitals.secrets if case.vitals else ""
    if why:
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The key of secrets is missing, or is another one: workflows that ask for a secret are refused or fail, at the latest after the next start.",
            evidence=(f"{moment(case.now)} {why}",),
            remedy="Put the key back from its backup; nothing has to be started again. Where it is a credential of systemd now (`systemctl cat tinkbox`), restart tinkbox. Where it is neither, delete the secrets and set them anew (`tinkbox secret list`).",
        )


def operator_socket_gone(case: Case) -> Iterator[Finding]:
    """The operator door's unix socket was deleted, and could not be made anew: commands on this host reach nothing."""
    vitals = case.vitals
    if vitals is None or not vitals.operator_socket:
        return
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause="The file operator.sock is gone from the data folder and cannot be made anew: commands on this host do not reach the appliance.",
        evidence=(f"{moment(case.now)} {vitals.operator_socket}",),
        remedy="Mend what keeps the file from being made, which `tinkbox doctor` shows; it is then made anew within seconds. Until then TINKBOX_SERVER and TINKBOX_TOKEN reach "
        "the operator door by TCP.",
    )


def engine_away(case: Case) -> Iterator[Finding]:
    """No container engine where services of workflows run on the appliance."""
    trouble = case.vitals.engine if case.vitals else None
    if trouble is not None:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"{what_is_wrong(trouble)}: services of workflows that run on the appliance are down.",
            evidence=(f"{moment(case.now)} {one_line(trouble.why, _LONGEST)}",),
            remedy=own_engine_remedy(trouble),
            stops=Stops(duties=frozenset({Duty.ENGINE})),
        )
