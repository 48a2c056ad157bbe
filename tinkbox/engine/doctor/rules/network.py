"""The doctor's rules about addresses: who gives them, which ones, and whether the network lets the question through."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network
from itertools import takewhile

from tinkbox.engine.doctor.case import FETCHED_BY_HTTP, MOST_NAMED, Case, Finding, line, moment, number, of, some, text
from tinkbox.engine.doctor.rules.loader import IPXE
from tinkbox.engine.timeline.sighting_rules import ended_at, is_its_own
from tinkbox.engine.timeline.stalls import MOVED
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Gravity, Rival, is_impossible
from tinkbox.model.documents.field_names import spelled
from tinkbox.model.duration import show_duration
from tinkbox.model.hardware import Form
from tinkbox.model.limits import NEARLY, HeldBack, Limit
from tinkbox.model.sightings import SENT_ALONE, Sighting
from tinkbox.model.text import counted, natural, quoted
from tinkbox.model.vitals import MOST_TIMES, TaggedQuestion

# Firmware repeats a DISCOVER after 4 s at the earliest (RFC 2131 §4.1), some after 1 or 2: one that is lost may be chance.
LOST_SECONDS = 6
# Before it hears anything that is sent to it alone; our ARP answer comes before all else.
_BEFORE_REPLIES_ALONE = (
    Stage.DISCOVER,
    Stage.IGNORED,
    Stage.OFFERED,
    Stage.REQUESTED,
    Stage.LEASED,
    Stage.LOADER_REQUESTED,
    Stage.LOADER_FAILED,
)
# Of firmware that got an address, and went no further.
_ADDRESS_ALONE = (Stage.DISCOVER, Stage.IGNORED, Stage.OFFERED, Stage.REQUESTED, Stage.LEASED)
# A program that gets our answer asks once, and a question may get lost; what it asks for then comes within a moment.
_ASKED_IN_VAIN = 3
_GOES_ON_WITHIN = timedelta(seconds=10)
# Spanning tree keeps a port shut for 30 s; firmware gives up after a minute, and more is a clock and not a delay.
MOST_SECONDS = 120
# Firmware that is offered an address takes it within a few seconds.
OFFERED_FOR = timedelta(seconds=15)
_ASKS_ANEW = timedelta(minutes=2)
_TAGGED_LATELY = timedelta(minutes=10)
# Who asks with a tag is looked at every few seconds, so what is noted then was asked before; an interface of the VLAN hears it at once.
_LOOKED_AT = timedelta(seconds=15)
_LOADING = (
    Stage.BOOT_SERVER,
    Stage.LOADER_REQUESTED,
    Stage.LOADER,
    Stage.LOADER_FAILED,
    Stage.SCRIPT,
    Stage.SCRIPT_REFUSED,
)
_ADDRESSES = "addresses"  # the subject of what is told of their giver, in whichever mode
# What shows that a machine has its address of us, or boots from here.
_FROM_HERE = (
    Stage.LEASED,
    *FETCHED_BY_HTTP,
    Stage.SESSION,
    Stage.WORKER,
)
# What no machine fetches, or does, whom our answers do not reach.
_FETCHED = (
    Stage.LOADER,
    *FETCHED_BY_HTTP,
    Stage.FIRMWARE,
    Stage.SESSION,
    Stage.WORKER,
)


def _set_mode(mode: str) -> str:
    """How the operator changes who gives addresses, as part of a remedy."""
    return f"set `dhcp: {{mode: {mode}}}` in tinkbox.yaml and restart tinkbox (`systemctl restart tinkbox`)"


def edit_machine(case: Case, flags: str = "") -> str:
    """The command that changes the machine's hardware document, without flags in an editor.

    A workflow that is not over knows the machine by its address, and is in the way without force.
    """
    return f"`tinkbox hardware edit MACHINE{flags}{' --force' if case.waited_since is not None else ''}`"


def reserve_address(case: Case) -> str:
    """The command that gives a known machine another address, behind the words that say so.

    Flags change no document of v1alpha2, and of others the first card alone where there are several.
    """
    card = case.interface
    if card is not None and (card.form is Form.V1ALPHA2 or card.place > 0):
        return f"{edit_machine(case)} ({spelled(card, 'dhcp.ip.address')})"
    return edit_machine(case, " --address IP")


def tells_mac(interface: str, address: IPv4Address) -> str:
    """The commands that tell on the appliance's host who has an address: not every host has arping."""
    return f"`arping -c 2 -I {interface} {address}`, or `ping -c 1 {address}; ip neigh show {address}`"


def other_server(case: Case) -> Iterator[Finding]:
    """Another server gives addresses where we are to give them."""
    yield from _forged(case)
    if not case.gives_addresses:
        return
    # Of a boot beside that server nothing follows for today, when addresses are ours to give.
    taken = [each for each in _chosen(case) if _address(each, "address") is not None and not _is_over(case, each)]
    offering = [each for each in case.rivals or () if each.offered is not None and not _is_forged(case, each)]
    doubted = [each for each in offering if case.in_touch(each.mac)]
    if doubted:
        yield _in_their_name(case, doubted)
    giving = [each for each in offering if each not in doubted]
    if not taken and not giving:
        return
    servers = {text(each, "server") for each in taken} | {str(each.server) for each in giving}
    who = some([_called(case, each, giving) for each in sorted(servers, key=natural)])
    evidence = [*(_taken(each) for each in taken), *_answers(case, giving)]
    where = f"; its packets come from {_macs(case, giving)} ({some(_interfaces(giving))})" if giving else ""
    silent = [each for each in taken if _is_unheard(case, each)]
    grave = (
        giving if case.mac is None else [each for each in taken if each not in silent and not _is_doubted(case, each)]
    )
    if not giving and taken == silent:
        yield _not_heard_by_us(case, taken, who)
        return
    yield Finding(
        # What took its address elsewhere does not boot; a machine that took ours was lucky this time.
        gravity=Gravity.FAULT if grave else Gravity.SUSPECT,
        cause=f"Another DHCP server, {who}, gives addresses to the machines that boot here, and the faster one wins."
        if giving
        else f"The machine accepted an address of another DHCP server, {who}, at {ended_at(taken[-1]):%H:%M:%S} UTC: the "
        "faster one wins.",
        evidence=tuple(evidence),
        remedy=f"Stop that server, or take its port out of this network{where}: on the switch, the table of MAC "
        f"addresses names the port. If it is the network's own, {_set_mode('proxy')}: it then goes on giving the addresses.",
    )


def other_boot_server(case: Case) -> Iterator[Finding]:
    """Another server tells machines what to boot, where only the addresses are its business."""
    if case.mode == "off":
        return
    empty = [each for each in _chosen(case) if case.gives_addresses and _address(each, "address") is None]
    if empty and not _is_over(case, empty[-1]):
        silent = _is_unheard(case, empty[-1])
        yield Finding(
            gravity=Gravity.SUSPECT if silent else Gravity.FAULT,
            cause=f"The machine chose an offer of another server, {text(empty[-1], 'server')}, that names no address: a proxy DHCP.",
            evidence=(*map(line, empty[-3:]), *(_in_vain(case) if silent else ())),
            remedy="Stop that server's proxy DHCP (dnsmasq: `dhcp-range=…,proxy` and `pxe-service`), or take it out of this network. "
            "The addresses come from the appliance: leave `dhcp.mode` as it is.",
        )
        return
    others = [each for each in case.rivals or () if _leads_elsewhere(case, each)]
    vain, rivals = _took_no_file(case), _leading_elsewhere(case)
    if vain is not None and rivals:
        yield _boots_from_another(case, vain, rivals)
    elif others:
        sure = [each for each in others if not case.in_touch(each.mac)]
        who = some([_called(case, each, sure) for each in _servers(others)])
        yield Finding(
            gravity=Gravity.FAULT if case.mode == "proxy" and sure else Gravity.SUSPECT,
            cause=f"Another server, {who}, tells machines to boot something else.",
            evidence=tuple(_answers(case, others)),
            remedy=_leave_the_boot_file(others),
        )


def _leads_elsewhere(case: Case, rival: Rival) -> bool:
    """Whether a server tells machines to boot something else than we do."""
    beside = rival.offered is None or case.mode == "proxy"
    return rival.names_boot and beside and not case.is_own(rival.next_server) and not _is_forged(case, rival)


def _leading_elsewhere(case: Case) -> list[Rival]:
    """The servers that tell machines to boot something else, also where other servers are told of the appliance alone."""
    known = case.rivals if case.rivals is not None else case.question.booting if case.question is not None else ()
    return [each for each in known if _leads_elsewhere(case, each)]


def _leave_the_boot_file(rivals: Sequence[Rival]) -> str:
    return (
        f"Take the boot file (options 66 and 67, or `next-server` and `filename`) out of the configuration of "
        f"{some(_servers(rivals))}, or stop its proxy DHCP (dnsmasq: `dhcp-range=…,proxy` and `pxe-service`)."
    )


@dataclass(frozen=True, slots=True)
class _Vain:
    """What a machine was `offered` beside another server's address at its newest question, which it may have `accepted`, and nothing since."""

    offered: tuple[Sighting, ...]
    accepted: tuple[Sighting, ...]

    def waited(self, now: datetime) -> float:
        return (now - ended_at(self.offered[-1])).total_seconds()

    def evidence(self, now: datetime) -> Iterator[str]:
        yield from (line(_at_last(each)) for each in self.offered)
        yield from map(_taken, self.accepted)
        yield f"{moment(now)} no question since, {self.waited(now):.0f} s"


def _boots_from_another(case: Case, vain: _Vain, rivals: Sequence[Rival]) -> Finding:
    """A machine that did not ask for our boot file, where another server offers it one."""
    sure = [each for each in rivals if not case.in_touch(each.mac)]
    who = some([_called(case, each, sure) for each in _servers(rivals)])
    return Finding(
        gravity=Gravity.FAULT if sure and vain.accepted else Gravity.SUSPECT,
        cause=f"The machine did not ask for the boot file that we offered: another server, {who}, tells it to boot something else.",
        evidence=(*vain.evidence(case.now), *_answers(case, rivals)),
        remedy=f"{_leave_the_boot_file(rivals)} Then boot the machine again.",
    )


def nobody_gives_addresses(case: Case) -> Iterator[Finding]:
    """Addresses are another server's business, and there is none."""
    if case.mac is not None or case.gives_addresses or case.rivals is None:
        return
    if any(each.offered is not None for each in case.rivals):
        return
    in_vain = (
        f"{moment(case.now)} asked for an address in the name of a machine that does not exist: no offer",
        *map(heard, case.rivals),
    )
    if doubts := [*_gives_some_addresses(case)]:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"No DHCP server answers our own question, and with `dhcp.mode: {case.mode}` another server has to give addresses: it may "
            "answer only machines that it knows.",
            evidence=(*in_vain, *doubts),
            remedy="Nothing to do while your machines get their addresses: see that the server knows each of them. If they get none any "
            "more, start the network's DHCP server.",
            subject=_ADDRESSES,
        )
        return
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"Nobody gives addresses: with `dhcp.mode: {case.mode}` another server has to, and none answers.",
        evidence=in_vain,
        remedy="Start the network's DHCP server, or see whether it is full or answers only to machines that it knows; "
        f"or {_set_mode('reservation')}, and the addresses come from here.",
        subject=_ADDRESSES,
    )


def _gives_some_addresses(case: Case) -> Iterator[str]:
    """What shows that a server may give machines addresses that does not answer our own question, as evidence."""
    if case.addressed is not None:
        mac, at = case.addressed
        yield f"{moment(at)} {case.named(mac)} was seen with an address, and the appliance gives none"
    heard_of = case.vitals.host.appliances if case.vitals is not None and case.vitals.host is not None else ()
    for each in [one for one in heard_of if one.unanswered is None][:1]:
        yield f"{moment(each.at)} another tinkbox, {case.named(each.mac)} at {each.address}, was heard on {each.interface}: it may know these machines"


def not_directed_here(case: Case) -> Iterator[Finding]:
    """With `dhcp.mode: off` the other server has to send machines to us."""
    if case.mode != "off":
        return
    astray = [
        each
        for each in case.rivals or ()
        if each.offered is not None
        and (not each.boot_file or not (each.next_server is None or case.is_own(each.next_server)))
    ]
    if astray and not any(str(each) in astray[0].boot_file for each in (case.address, *case.own)):
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The DHCP server {astray[0].server} does not send machines here to boot.",
            evidence=tuple(map(heard, astray)),
            remedy="Give it the lines that `tinkbox doctor` shows for its kind of server.",
        )
        return
    again = [each for each in case.rivals or () if each.offered is not None and _gives_ipxe_itself(case, each)]
    if again:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The DHCP server {again[0].server} gives iPXE its own boot loader, {quoted(again[0].boot_file)}, again: machines load it "
            "again and again, and never ask for their boot script.",
            evidence=(
                *map(heard, again),
                *(
                    f"asked on {each.interface} as iPXE, it named {quoted(each.ipxe_file or '')} again"
                    for each in again
                ),
            ),
            remedy=f"The line for iPXE is missing in that server's configuration, or is overruled by a line that names the boot loader for every "
            f"machine (dnsmasq: `dhcp-boot=` without a tag). {LINES_FOR_IPXE}",
        )


# What mends that iPXE is given itself again.
LINES_FOR_IPXE = (
    "Put the lines that `tinkbox doctor -o wide` prints for its kind of server in the place of its own: they tell iPXE (user class `iPXE`, "
    "option 77) from firmware, and give it the URL of its boot script."
)


def _gives_ipxe_itself(case: Case, rival: Rival) -> bool:
    """Whether a server sends machines here for iPXE, and tells iPXE the same."""
    ours = rival.boot_file in IPXE and case.is_own(rival.next_server)
    return ours and rival.ipxe_file == rival.boot_file and not _is_forged(case, rival)


def address_outside(case: Case) -> Iterator[Finding]:
    """An address from which a machine cannot reach us, or which its network does not know."""
    if not case.subnets:
        return
    networks = ", ".join(str(each.network) for each in case.subnets)
    reserved = case.interface.address if case.interface else None
    if reserved is not None and case.gives_addresses and not _inside(case, reserved):
        if _has_worked(case, reserved):
            return
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The address that is reserved for the machine, {reserved}, lies in none of our networks ({networks}).",
            evidence=(f"its hardware document says {spelled(case.interface, 'dhcp.ip.address')} {reserved}",),
            remedy=f"Give it an address of these: {reserve_address(case)}. Or name its network under dhcp.subnets in tinkbox.yaml.",
        )
        return
    yield from _appliance_outside(case)
    yield from _on_another_network(case)
    yield from _behind_strange_relay(case)
    yield from _behind_relay_of_another_network(case)
    for seen in of(case.last, Stage.OTHER_SERVER, Stage.LEASED)[-1:]:
        address = _address(seen, "address")
        if address is not None and not _inside(case, address) and not _has_worked(case, address):
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The machine has the address {address}, which lies in none of our networks ({networks}).",
                evidence=(_taken(seen) if seen.stage is Stage.OTHER_SERVER else line(seen),),
                remedy=f"See who gave it (`tinkbox doctor` without a MAC asks); if {address} is right, and a router leads "
                "here, name its network under dhcp.subnets in tinkbox.yaml.",
            )


def _has_worked(case: Case, address: IPv4Address) -> bool:
    """Whether the machine fetched something from here with an address after it was given that: our answers reach it there."""
    has: IPv4Address | None = None
    for each in case.sightings:
        if each.stage in (Stage.OTHER_SERVER, Stage.LEASED):
            has = _address(each, "address")
        elif has == address and each.stage in _FETCHED:
            return True
    return False


def _appliance_outside(case: Case) -> Iterator[Finding]:
    """A netmask with which the machine takes the appliance for a host of another network, to which it knows no way."""
    card = case.interface
    if card is None or card.address is None or card.netmask is None or not case.gives_addresses:
        return
    served = next((each.network for each in case.subnets if each.interface and card.address in each.network), None)
    own = IPv4Network(f"{card.address}/{card.netmask}", strict=False)
    routed = card.gateway is not None and card.gateway in own
    if served is None or case.address not in served or case.address in own or routed or of(case.last, *_LOADING):
        return
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The appliance {case.address} is not within {own}, the network of the machine's netmask {card.netmask}: the machine "
        "cannot reach it.",
        evidence=(
            f"its hardware document says {spelled(card, 'dhcp.ip.address')} {card.address} and netmask {card.netmask}",
            f"the network that is served here is {served}",
        ),
        remedy=f"Set {spelled(card, 'dhcp.ip.netmask').removeprefix('ip.')} to "
        f"{served.prefixlen if card.form is Form.V1ALPHA2 else served.netmask} in its hardware document: {edit_machine(case)}.",
    )


def _on_another_network(case: Case) -> Iterator[Finding]:
    """A machine that asks on one of our interfaces, and whose reserved address is of the network of another one."""
    given = [each for each in of(case.last, Stage.OFFERED, Stage.LEASED) if case.now - ended_at(each) >= OFFERED_FOR]
    if not given or case.relay or case.interface is None or of(case.last, *_LOADING):
        return
    address, server = _address(given[-1], "address"), _address(given[-1], "server")
    if address is None or server is None:
        return
    here = next((each for each in case.subnets if each.interface and server in each.network), None)
    there = next((each for each in case.subnets if each.interface and address in each.network), None)
    if here is None or there is None or here.interface == there.interface or address != case.interface.address:
        return
    joined = [{each.stops.interface, each.stops.beside} for each in case.faults if each.stops.beside]
    if {here.interface, there.interface} in joined:
        return  # it is plugged into both
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The machine asks on {here.interface} ({here.network}), and its reserved address {address} is of the network of "
        f"{there.interface} ({there.network}): with that it reaches nobody where it is plugged in.",
        evidence=(
            line(given[-1]),
            f"the appliance answered from {server}",
            f"its hardware document says {spelled(case.interface, 'dhcp.ip.address')} {address}",
        ),
        remedy=f"Plug it into the network of {there.interface}, or have its switch port carry that one's VLAN; or give it an address of "
        f"{here.network}: {reserve_address(case)}.",
    )


def strange_relay(case: Case) -> str:
    """The relay that its question came by, when that is in none of our networks; else empty."""
    relay = case.relay
    return "" if not relay or any(IPv4Address(relay) in each.network for each in case.subnets) else relay


def _behind_strange_relay(case: Case) -> Iterator[Finding]:
    """A machine that asks by a relay of a network that nobody configured, and gets no further with its reserved address."""
    relay = strange_relay(case)
    given = [each for each in of(case.last, Stage.OFFERED, Stage.LEASED) if case.now - each.at >= OFFERED_FOR]
    reserved = case.interface.address if case.interface is not None else None
    if not relay or not given or reserved is None or not case.gives_addresses or of(case.last, *_LOADING):
        return
    if case.relay_answers is False:
        return  # as RelayUnreached says
    if _has_worked(case, reserved):
        return
    own = next((str(each.network) for each in case.subnets if reserved in each.network), "")
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The machine asks by the relay {relay}, which lies in none of our networks, and its reserved address {reserved} is of {own}: "
        "with that it probably reaches nothing where it is plugged in.",
        evidence=(
            line(given[-1]),
            f"its relay is at {relay}",
            *(f"a network that is configured: {each.network}" for each in case.subnets),
        ),
        remedy=f"Name the network of {relay} under dhcp.subnets in tinkbox.yaml, start tinkbox again, and give the machine an address of that "
        f"network: {reserve_address(case)}. Or plug it into its own network.",
        subject=relay,
    )


def _behind_relay_of_another_network(case: Case) -> Iterator[Finding]:
    """A machine that asks by a relay of one of our networks, and whose reserved address is of another one: it was moved, mostly."""
    reserved = case.interface.address if case.interface is not None else None
    if not case.relay or reserved is None or not case.gives_addresses or of(case.last, *_LOADING):
        return
    # Relays may ask from an address towards us; none asks from a network behind a router for a machine that is plugged in here.
    here = next(
        (each.network for each in case.subnets if IPv4Address(case.relay) in each.network and not each.interface), None
    )
    there = next((each.network for each in case.subnets if reserved in each.network and each.interface), None)
    given = [each for each in of(case.last, Stage.OFFERED, Stage.LEASED) if case.now - each.at >= OFFERED_FOR]
    if here is None or there is None or not given or _has_worked(case, reserved):
        return
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The machine asks by the relay {case.relay} of {here}, and its reserved address {reserved} is of {there}: with that it "
        "reaches nobody where it is plugged in.",
        evidence=(
            line(given[-1]),
            f"its hardware document says {spelled(case.interface, 'dhcp.ip.address')} {reserved}",
        ),
        remedy=f"Give it an address of {here}, and the gateway there: {reserve_address(case)}. Or plug it into the network of {there} again.",
        subject=case.relay,
    )


def remembered_address(case: Case) -> Iterator[Finding]:
    """A refused address is how a machine that moved learns of it."""
    # It is refused before it asks for the first time.
    refused = [each for boot in case.boots[-2:] for each in of(boot, Stage.REFUSED)]
    leased = of(case.last, Stage.LEASED)
    if refused and leased and timedelta() <= leased[-1].at - refused[-1].at < _ASKS_ANEW:
        wanted = text(refused[-1], "wanted")
        yield Finding(
            gravity=Gravity.HARMLESS,
            cause=f"The machine remembered {wanted} of an earlier time or network, was told no, and asked anew.",
            evidence=(line(refused[-1]), line(leased[-1])),
            remedy="Nothing to do.",
        )


_GIVEN = (Stage.OFFERED, Stage.REQUESTED, Stage.LEASED)


def address_in_use(case: Case) -> Iterator[Finding]:
    """The machine found another host at its address: sure where that answers, for any host can say so in its name."""
    declined, address = _declined(case), declined_address(case)
    reserved = case.interface.address if case.interface is not None else None
    if address is not None and reserved is not None and reserved != address:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"The machine gave {address} back as in use; its hardware document has {reserved} by now, for which it did not ask yet.",
            evidence=tuple(map(line, declined)),
            remedy="Boot the machine again.",
        )
    elif address is not None and (case.conflict or declined[-1] in case.last):
        here = next((each.interface for each in case.subnets if each.interface and address in each.network), "")
        # Behind a relay the appliance's host hears nobody's ARP.
        shown = f"{tells_mac(here, address)} shows its MAC" if here else f"the router of {address} has its MAC"
        another = f", or give the machine another one: {reserve_address(case)}" if case.interface is not None else ""
        answers = {
            True: f"{moment(case.now)} another host answers ARP at {address}",
            False: f"{moment(case.now)} no other host answers ARP at {address}",
            None: f"whether another host answers at {address} is not known",
        }[case.conflict]
        yield Finding(
            gravity=Gravity.FAULT if case.conflict else Gravity.SUSPECT,
            cause=f"Another host uses {address}: the machine found it in use and gave it back."
            if case.conflict
            else f"The machine gave {address} back as in use by another host, or another host said so in its name.",
            evidence=(
                *map(line, declined),
                answers,
                *([] if case.conflict else ["any host on the network can send that in the machine's name"]),
            ),
            remedy=f"Find the other host ({shown}) and give it another address{another}.",
        )


def declined_address(case: Case) -> IPv4Address | None:
    """The address that was given back in the machine's name as in use."""
    declined = _declined(case)
    return _address(declined[-1], "address") if declined else None


def _declined(case: Case) -> tuple[Sighting, ...]:
    """When that was, in its last boot; where that has only asked for an address again, in the one before."""
    asks_again = all(each.stage in (Stage.DISCOVER, *_GIVEN) for each in case.last)
    before = case.boots[-2:-1] if asks_again else ()
    seen = [each for boot in (*before, case.last) for each in boot]
    declined = of(seen, Stage.DECLINED)
    if not declined:
        return ()
    address = text(declined[-1], "address")
    has_another = any(
        text(each, "address") not in ("", address) for each in of(seen[seen.index(declined[-1]) :], *_GIVEN)
    )
    return () if has_another else declined


def too_many_unknown(case: Case) -> Iterator[Finding]:
    """More unknown machines than are noted: a real one may be among those that are left out."""
    told = case.unnoted
    if case.mac is not None or told is None:
        return
    way = f"the relay {told.relay}" if told.relay else "a network of the appliance itself"
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"More unknown machines ask than are noted: {counted(told.times, 'time')} one was forgotten or went unnoted since "
        f"{moment(told.since)} UTC.",
        evidence=(f"{moment(told.newest)} the newest of them, {told.mac}, came by {way}",),
        remedy="A host probably invents MACs: the switch's table of MAC addresses shows many behind one port. Take that port off "
        "the network. Until then an unknown machine of yours may be missing in `tinkbox hardware list --seen`; register it "
        "(`tinkbox hardware add MAC --name NAME`), for known machines are always noted.",
    )


def answers_for_many(case: Case) -> Iterator[Finding]:
    """A host at whose word a pool would be empty."""
    if case.mac is not None:
        return
    for each in case.claimants:
        doubted = case.in_touch(each.mac)
        many = f"{each.addresses} of the {each.size} addresses of the pool of {each.network} in the last 10 minutes"
        yield Finding(
            gravity=Gravity.SUSPECT if doubted else Gravity.FAULT,
            cause=f"Packets with the MAC of {case.hosts[each.mac].name}, {each.mac}, answered for {many}."
            if doubted
            else f"One host answered for {many}: {case.named(each.mac)}."
            if each.mac
            else f"Hosts answered for {many}, with another MAC each time or behind a router.",
            evidence=(
                (
                    f"{moment(case.now - timedelta(seconds=each.seconds_ago))} {each.mac or 'hosts that cannot be told apart'} answered "
                    "last, for an address that was to be lent"
                ),
                *([whose(case, each.mac)] if each.mac in case.hosts else []),
            ),
            remedy="Known machines are lent such addresses all the same. "
            + (
                f"That machine is in touch, so another host probably sends with its MAC. {SEVERAL_PORTS}"
                if doubted
                else "A router that answers for others (proxy ARP) does so: switch that off on its interface here (Linux: "
                "`net.ipv4.conf.*.proxy_arp`; Cisco: `no ip proxy-arp`). If it is no router of yours, the switch's table of MAC addresses "
                "names its port: take it off this network. If the addresses are its own, take them out of dhcp.pool."
            ),
        )


def _took_no_file(case: Case) -> _Vain | None:
    """The newest question of firmware to which we offered a boot file, if none was asked for (mode proxy); None: there is none such.

    Firmware that asks again and again repeats itself: only what came last of each counts.
    """
    asked = [each for each in of(case.last, Stage.DISCOVER) if text(each, "asker") in (Asker.PXE, Asker.HTTP)]
    if case.mode != "proxy" or not asked or of(case.last, *_LOADING):
        return None
    offered = tuple(
        each for each in _offered_beside(case.last) if text(each, "file") and ended_at(each) >= ended_at(asked[-1])
    )
    if not offered:
        return None
    accepted = of(case.last, Stage.OTHER_SERVER, Stage.REQUESTED)
    vain = _Vain(offered, tuple(each for each in accepted if ended_at(each) >= ended_at(offered[-1])))
    return vain if vain.waited(case.now) > LOST_SECONDS else None


def proxy_ignored(case: Case) -> Iterator[Finding]:
    """Some firmware takes the address, and never the boot file that came in an offer beside it."""
    vain = _took_no_file(case)
    if vain is None or _leading_elsewhere(case):
        return  # as OtherBootServer says
    gave = "accepted the address of the other server" if vain.accepted else "accepted no address"
    yield Finding(
        gravity=Gravity.FAULT if vain.accepted else Gravity.SUSPECT,
        cause=f"Its firmware ignores proxy offers: it {gave}, and never asked for the boot file that we offered."
        if vain.accepted
        else "It took neither an address nor our boot file: nobody offered it an address, or it ignores proxy offers.",
        evidence=tuple(vain.evidence(case.now)),
        remedy=f"Let the server that gives the address name the boot file too: {_set_mode('off')}, and give that server the "
        f"lines that `tinkbox doctor` then shows. Or let the addresses come from here: {_set_mode('reservation')}, and stop that server.",
    )


def unheard_relay(case: Case) -> IPv4Address | None:
    """The relay of a machine that was offered an address again and again, and took none; None where there is none such."""
    offered = _only_offered(case)
    if not offered or case.now - offered[0].at < OFFERED_FOR:
        return None
    return IPv4Address(case.relay) if case.relay else None


def _only_offered(case: Case) -> Sequence[Sighting]:
    """What it was offered of late, oldest first, since it did anything but ask; empty where it never asked."""
    since = takewhile(lambda each: each.stage in (Stage.DISCOVER, Stage.OFFERED), reversed(case.sightings))
    late = tuple(reversed([*since]))
    return of(late, Stage.OFFERED) if of(late, Stage.DISCOVER) else ()


def relay_unreached(case: Case) -> Iterator[Finding]:
    """Replies that do not come to the relay by which a machine asks: the way back is another one."""
    relay = unheard_relay(case)
    if relay is None or case.relay_answers is not False or any(each.rule == "NoRoute" for each in case.faults):
        return
    offered = _only_offered(case)
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"What the appliance sends to the DHCP relay {relay} does not seem to arrive: the machine behind it takes no offer, and "
        "the relay answers no ping.",
        evidence=(
            *dict.fromkeys(line(each) for each in (offered[0], offered[-1])),
            f"{moment(case.now)} the relay {relay} was asked by ping: it did not answer",
        ),
        remedy=f"`ip route get {relay}` on this host must lead to the router behind which the relay is: if it leads elsewhere, add "
        f"the route (`ip route add NETWORK via ROUTER`). Then see that nothing between drops UDP port 67 to {relay}.",
        subject=str(relay),
    )


def asked_in_vlan(case: Case) -> TaggedQuestion | None:
    """The newest question that the machine asked in a VLAN, if nothing came of it without a tag since; None: there is none such.

    Where the VLAN has an interface of its own here, the same question was heard there.  Of a system it is noted only when it begins,
    and one may put the tag there itself; with mode off no question is noted.  There the other has to be longer ago.
    """
    heard = max((ended_at(each) for each in case.sightings if is_its_own(each.stage, each.facts)), default=None)
    for each in sorted(case.tagged, key=lambda each: (each.by_system, -each.at.timestamp())):
        apart = _TAGGED_LATELY if each.by_system or case.mode == "off" else _LOOKED_AT
        if each.mac == case.mac and case.now - each.at <= _TAGGED_LATELY and (heard is None or heard < each.at - apart):
            return each
    return None


def asks_in_vlan(case: Case) -> Iterator[Finding]:
    """A machine that is waited for, and whose questions come in tagged: its switch port, or ours, is in another VLAN than we think."""
    asked = asked_in_vlan(case)
    if asked is None or not case.ticket:
        return
    here, number_ = asked.interface, asked.vlan_id
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The machine's questions come in on {here} tagged for VLAN {number_}, and the appliance takes only what comes untagged there.",
        evidence=(f"{moment(asked.at)} {asked.mac} asked for an address, with the tag of VLAN {number_}, on {here}",),
        remedy=f"On the switch, let VLAN {number_} leave the appliance's port untagged (an access port, or the native VLAN of a trunk), or put the "
        f"machine's port into the VLAN that does. To serve VLAN {number_} tagged: `ip link add link {here} name {here}.{number_} type vlan id "
        f"{number_}`, give that an address, and name it under `interface` in tinkbox.yaml.",
        subject=here,
    )


def arp_unanswered(case: Case) -> Iterator[Finding]:
    """Firmware that has its address, and asks again and again who has ours: what it needs to send us anything does not reach it.

    A running system asks that whenever it has forgotten the answer.
    """
    asked = case.arp_questions.get(case.mac) if case.mac is not None else None
    leased, by = of(case.last, Stage.LEASED), of(case.last, Stage.DISCOVER)
    if asked is None or not (leased and by) or any(each.stage not in _ADDRESS_ALONE for each in case.last):
        return
    since = [each for each in asked.times if each >= leased[0].at]
    if (
        text(by[-1], "asker") in ("", Asker.SYSTEM)
        or text(leased[-1], "address") != str(asked.asker)
        or len(since) < _ASKED_IN_VAIN
        or case.now - since[_ASKED_IN_VAIN - 1] < _GOES_ON_WITHIN
    ):
        return
    here, address = asked.interface, asked.address
    mac = next((each for each, name in case.own_macs.items() if name == here), "")
    times = f"{'at least ' if len(since) == MOST_TIMES else ''}{len(since)} times"
    seen = f"{moment(since[0])} to {moment(since[-1])} {asked.mac} asked all hosts on {here} by ARP, {times}, who has {address}"
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The machine has its address, and asks by ARP who has {address}, {times} since: our answers do not reach it.",
        evidence=(
            line(leased[-1]),
            f"{seen}; nothing else came from it since it has its address",
        ),
        remedy="If a switch on the way inspects ARP (dynamic ARP inspection, IP source guard), make the appliance's port a trusted one there, or "
        f"give the switch a static entry for {address}{f' with the MAC {mac}' if mac else ''}. If none does: `tcpdump -eni {here} arp` shows "
        "whether this host answers. If it does not, look for a filter of ARP here: `nft list ruleset` (tables of the families arp, bridge and "
        "netdev), `arptables -L`, `ebtables -L`.",
        subject=here,
    )


def misses_transfers(case: Case) -> bool:
    """Whether it acknowledged nothing of its newest transfer, which failed: what came to it before may have been before the way changed."""
    transfers = of(case.last, Stage.LOADER, Stage.LOADER_REQUESTED, Stage.LOADER_FAILED)
    newest = max(reversed(transfers), key=ended_at, default=None)
    return newest is not None and newest.stage is Stage.LOADER_FAILED and number(newest, "heard") == 0


def hears_nothing(case: Case) -> bool:
    """Whether nothing shows that what is sent to the machine alone arrives, and it stands where it needs that."""
    if not case.last or any(each.stage not in _BEFORE_REPLIES_ALONE for each in case.last):
        return False
    newest = max(reversed(case.last), key=ended_at)  # the newest question counts, also where it repeats an earlier one
    given = of(case.last, Stage.REQUESTED, Stage.LEASED)
    offered = [each for each in of(case.last, Stage.OFFERED) if number(each, SENT_ALONE)]
    if any(ended_at(each) >= offer.at for offer in offered for each in given):
        return False  # it took an offer that no other machine heard
    if newest.stage is Stage.LOADER_FAILED:
        return number(newest, "heard") == 0
    if newest.stage is Stage.LOADER_REQUESTED:
        return not number(newest, MOVED)
    return newest.stage in (Stage.REQUESTED, Stage.LEASED) or (newest.stage is Stage.OFFERED and newest in offered)


def sent_elsewhere(case: Case) -> Iterator[Finding]:
    """A machine that stands still, and for which a bridge of this host has a static entry: what is sent to it alone goes to that port."""
    entry = case.static_port
    if entry is None or not hears_nothing(case):
        return
    bridge, port = entry.bridge, entry.port
    takes_away = f"`bridge fdb del {case.mac} dev {port} master static`"
    evidence = (
        f"{moment(case.now)} `bridge fdb get {case.mac} br {bridge}` names {port}, and says static",
        *map(line, case.last[-1:]),
    )
    if entry.unused:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The bridge {bridge} of this host has a static entry, which sends what is for the machine alone to the port {port}, and "
            f"the machine is not there: {entry.unused}.",
            evidence=evidence,
            remedy=f"{takes_away} takes the entry away: see also what makes it. Then boot the machine again.",
            subject=bridge,
        )
        return
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The bridge {bridge} of this host has a static entry, which sends what is for the machine alone to the port {port}, and "
        "nothing shows that this arrives.",
        evidence=evidence,
        remedy=f"`bridge fdb show br {bridge}` shows the entries. If the machine is not behind {port}: {takes_away}, and boot it again. "
        "If it is, the entry is right, and what else is told of the machine counts.",
        subject=bridge,
    )


def wrong_neighbour(case: Case) -> Iterator[Finding]:
    """A machine that hears nothing, and another MAC for its address in this host's ARP table, which no answer of the machine changes."""
    if case.static_neighbour is not None and (hears_nothing(case) or misses_transfers(case)):
        address, interface, mac = case.static_neighbour
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"This host's ARP table has {mac} for the machine's address {address}, permanently: what is sent to {case.mac} there does not "
            "reach it.",
            evidence=(
                f"{moment(case.now)} `ip neigh show {address} dev {interface}` names {mac}, and says PERMANENT",
                *map(line, case.last[-1:]),
            ),
            remedy=f"`ip neigh del {address} dev {interface}` takes the entry away: see also what makes it, such as a unit of systemd or "
            "/etc/ethers. Then boot the machine again.",
            subject=str(address),
        )


_FEW_LOST = 12  # seconds


def spanning_tree(case: Case) -> Iterator[Finding]:
    """The first questions of a boot were lost before one reached us: the switch's port was not open yet."""
    late = [(first, lost) for boot in case.boots for first in _first_questions(boot) if (lost := _lost(case, first))]
    if not late or late[-1][0] not in case.last:
        return
    booted = of(case.last, Stage.LEASED, Stage.OTHER_SERVER, *_LOADING)
    # Ports of spanning tree open after 30 s, or 15; a question or two may get lost anywhere.
    few = max(lost for _, lost in late) < _FEW_LOST
    why = (
        "packets get lost on the way, or the switch opens its port late"
        if few
        else "the switch opens its port late, as spanning tree does"
    )
    cable = "Look at the cable and at the duplex and the error counters of its switch port, above all where later questions are repeated as well. "
    yield Finding(
        gravity=Gravity.SUSPECT if booted else Gravity.FAULT,
        cause=f"The machine's first questions did not get through: {why}.",
        evidence=tuple(
            f"{moment(first.at)} the first question that arrived said that it had been asking for {lost} s"
            for first, lost in late[-4:]
        ),
        remedy=f"{cable if few else ''}On the switch, make the machine's port an edge port (Cisco: `spanning-tree portfast`; Juniper: `set "
        "protocols rstp interface X edge`; Linux bridge: forward_delay 0), and switch energy-efficient Ethernet and "
        "negotiation of trunks off there.",
    )


def heard(rival: Rival) -> str:
    """What a server answered, as evidence."""
    mac = f"{rival.mac}, a virtual machine of {rival.virtual}" if rival.virtual else rival.mac
    offer = f"offered {rival.offered}" if rival.offered else "offered no address"
    boot = f", and to boot {quoted(rival.boot_file)}" if rival.boot_file else ""
    if rival.pxe and not rival.boot_file:
        boot = ", and says that it is a PXE boot server, which names its file to machines that ask it on port 4011"
    where = f" from {rival.next_server}" if rival.boot_file and rival.next_server else ""
    return f"asked on {rival.interface}, the DHCP server {rival.server} (MAC {mac}) {offer}{boot}{where}"


def _chosen(case: Case) -> tuple[Sighting, ...]:
    """The offers of other servers that the machine chose, where the addresses were ours to give, and did not boot from here since."""
    if _offered_beside(case.last):
        return ()
    here = max(map(ended_at, of(case.last, *_FROM_HERE)), default=None)
    return tuple(each for each in of(case.last, Stage.OTHER_SERVER) if here is None or ended_at(each) >= here)


def _is_over(case: Case, chosen: Sighting) -> bool:
    """Whether nothing follows for today from what a machine chose: the server does not answer us, and the machine boots or need not."""
    if not _is_unheard(case, chosen):
        return False
    if case.worker_heard is not None and case.worker_heard > ended_at(chosen):
        return True
    if case.interface is None:
        return not case.discovers
    return not (case.ticket or case.interface.netboot.has_script)


def _is_unheard(case: Case, chosen: Sighting) -> bool:
    """Whether the network was asked for other servers after the machine chose one, and none offered us such a thing."""
    asked = case.question
    if asked is None or asked.at <= ended_at(chosen):
        return False
    return not (asked.offered if _address(chosen, "address") is not None else asked.answered)


def _in_vain(case: Case) -> Iterator[str]:
    """That the network was asked for such a server in vain, as evidence."""
    if case.question is not None:
        yield f"{moment(case.question.at)} the network was asked for other DHCP servers: no such server answered"


def _not_heard_by_us(case: Case, taken: Sequence[Sighting], who: str) -> Finding:
    """An address of a server that does not answer our own question: what the machine itself accepted is known all the same."""
    return Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The machine accepted an address of another DHCP server, {who}, at {ended_at(taken[-1]):%H:%M:%S} UTC, and did not boot from "
        "here: that server answers this machine and not us, or it is gone.",
        evidence=(*map(_taken, taken), *_in_vain(case)),
        remedy=f"Look for a DHCP server at {who}. If it knows this machine (dnsmasq: `dhcp-host={case.mac}`), take the machine out of its "
        f"list or stop it. If it is the network's own, {_set_mode('proxy')}: it then goes on giving the addresses. "
        "If it is gone, boot the machine again.",
    )


def _is_doubted(case: Case, chosen: Sighting) -> bool:
    """Whether a server that a machine is said to have chosen is likelier one that somebody names who forges its question."""
    server = _address(chosen, "server")
    return server is None or is_impossible(server) or case.in_touch(str(server))


def _is_forged(case: Case, rival: Rival) -> bool:
    """Whether an answer is of no server that could be stopped: it is in our own name, or of a server that cannot be."""
    return rival.looped or rival.impossible or case.is_own(rival.server)


def _forged(case: Case) -> Iterator[Finding]:
    """Answers of no server: each of the appliance's own name and of an impossible one in one finding, whose subject stays."""
    rivals = case.rivals or ()
    if looped := [each for each in rivals if each.looped]:
        macs = _macs(case, looped)
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"Answers of a DHCP server come in with the appliance's own MAC, {macs}: the network loops packets back, or a host "
            "forges them.",
            evidence=tuple(_answers(case, looped)),
            remedy="Look for a loop: a cable between two ports of a switch, or two switches that are connected twice, without spanning "
            "tree. Look for a second DHCP server on this host: `ss -ulnp 'sport = :67'`. If there is neither, a host forges the "
            "answers: the switch's log of MAC addresses that move names its port.",
            subject="own MAC",
        )
    if impossible := [each for each in rivals if each.impossible and not each.looped]:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"A host forges answers of a DHCP server: it calls itself {some(_servers(impossible))}, which no host can have as its "
            "address.",
            evidence=tuple(_answers(case, impossible)),
            remedy=f"The packets come from {_macs(case, impossible)}, which may be forged as well: on the switch, the table of MAC "
            "addresses names the port.",
            subject="no host's address",
        )
    if forging := [each for each in rivals if case.is_own(each.server) and not each.looped]:
        yield _in_our_name(case, forging)


def _in_our_name(case: Case, forging: Sequence[Rival]) -> Finding:
    """Another host that answers DHCP and calls itself by the appliance's address."""
    macs = _macs(case, forging)
    doubted = all(case.in_touch(each.mac) for each in forging)
    find = f"Find the switch port of {macs} (on the switch, the table of MAC addresses names it) and take that host off the network."
    return Finding(
        gravity=Gravity.SUSPECT if doubted else Gravity.FAULT,
        cause=f"Another host answers DHCP and uses the appliance's own address, {some(_servers(forging))}, as its server: the host with MAC {macs}.",
        evidence=tuple(_answers(case, forging)),
        remedy=f"{SEVERAL_PORTS if doubted else find} Do not stop the appliance. It is likelier a host that forges answers than a server "
        "that someone set up.",
        subject="in our name",
    )


def _called(case: Case, server: str, rivals: Sequence[Rival]) -> str:
    """A server by its address; one that calls itself by the address of a machine that is in touch by its own MAC."""
    liars = sorted({each.mac for each in rivals if str(each.server) == server and not case.in_touch(each.mac)})
    if case.in_touch(server) and liars:
        return f"{some(liars)}, which calls itself {server}"
    return case.named(server)


def _in_their_name(case: Case, doubted: Sequence[Rival]) -> Finding:
    """Offers in the name of machines whose workers are in touch."""
    names = some(sorted({case.hosts[each.mac].name for each in doubted}, key=natural))
    return Finding(
        gravity=Gravity.SUSPECT,
        cause=f"Packets in the name of {names} offer addresses to the machines that boot here.",
        evidence=tuple(_answers(case, doubted)),
        remedy=f"See whether a DHCP server runs on {names}, and stop it. Else another host sends in that name. {SEVERAL_PORTS}",
        subject="in a machine's name",
    )


# What is sent with a machine's MAC moves that between ports, as the machine goes on sending from its own.
SEVERAL_PORTS = (
    "On the switch, look for a MAC address that moves between two ports: the host at the other port forges the packets."
)


def _answers(case: Case, rivals: Sequence[Rival]) -> Iterator[str]:
    """What some servers answered, as evidence, and whose MACs and addresses are those of machines of ours."""
    told = sorted(rivals, key=lambda each: (each.server, each.mac))
    yield from map(heard, told[:MOST_NAMED])
    if len(told) > MOST_NAMED:
        yield f"{counted(len(told) - MOST_NAMED, 'more answer')}; one host can answer in the name of many"
    shown = dict.fromkeys(each for rival in told for each in (rival.mac, str(rival.server)) if each in case.hosts)
    yield from (whose(case, each) for each in [*shown][:MOST_NAMED])


def whose(case: Case, shown: str) -> str:
    """Which machine of ours has a MAC or an address, as evidence."""
    host = case.hosts[shown]
    touch = ", whose worker is in touch" if host.in_touch else ""
    return f"{shown} is that of machine {host.name}{touch}; any host on the network can send in its name"


def _servers(rivals: Sequence[Rival]) -> list[str]:
    return [str(each) for each in sorted({each.server for each in rivals})]


def _macs(case: Case, rivals: Sequence[Rival]) -> str:
    return some([case.named(each) for each in sorted({each.mac for each in rivals})])


def _interfaces(rivals: Sequence[Rival]) -> list[str]:
    return sorted({each.interface for each in rivals})


def seconds_asked(seen: Sighting) -> int:
    """For how long the machine had been asking (RFC 2131's `secs`) when this DISCOVER was sent."""
    secs = number(seen, "secs") or 0
    # Some firmware sends the low byte first: 12 s arrive as 3072.
    return secs >> 8 if secs > 0xFF and not secs & 0xFF else secs


def _offered_beside(boot: Sequence[Sighting]) -> tuple[Sighting, ...]:
    """What the machine was offered while another server gave it its address (mode proxy)."""
    return tuple(each for each in of(boot, Stage.OFFERED) if text(each, "mode") == "proxy")


def _first_questions(boot: tuple[Sighting, ...]) -> Iterator[Sighting]:
    """Of firmware and of each loader: when one takes over, the link goes down and up again."""
    askers = set()
    for seen in of(boot, Stage.DISCOVER):
        asker = text(seen, "asker")
        if asker not in askers:
            askers.add(asker)
            yield seen


def _lost(case: Case, first: Sighting) -> int:
    """The seconds that a first question was late for the network's reasons; 0: it was not."""
    secs = seconds_asked(first)
    if not LOST_SECONDS <= secs <= MOST_SECONDS:
        return 0
    # Else it is we who were not there, or did not hear.
    ours = max(each for each in (case.since, case.deaf_at) if each is not None)
    return secs if (first.at - ours).total_seconds() > secs else 0


def _at_last(seen: Sighting) -> Sighting:
    """The same with the time at which it was seen last."""
    return replace(seen, at=ended_at(seen))


def _taken(seen: Sighting) -> str:
    if _address(seen, "address") is None:
        return line(_at_last(seen))  # a proxy hears that an address was accepted, and not which
    return f"{moment(ended_at(seen))} accepted {text(seen, 'address')} of the DHCP server {text(seen, 'server')}"


def _inside(case: Case, address: IPv4Address) -> bool:
    return any(address in each.network for each in case.subnets)


def _address(seen: Sighting, fact: str) -> IPv4Address | None:
    """The address that a fact is; None also for 0.0.0.0, by which earlier releases said that there is none."""
    try:
        address = IPv4Address(text(seen, fact))
    except ValueError:
        return None
    return None if address.is_unspecified else address


def held_back(case: Case) -> Iterator[Finding]:
    """Somebody who was refused, or limits of which little is left."""
    for each in case.limits:
        limit = each.limit
        for one in each.held_back:
            cause, gravity, size = _why_held_back(limit, each.used, one)
            known = one.holder in case.hosts
            doubted = case.in_touch(one.holder)
            times = f"it was refused {counted(one.refused, 'time')}, the last time {show_duration(one.seconds_ago)} ago"
            yield Finding(
                gravity=Gravity.SUSPECT if doubted else gravity,
                cause=f"{case.named(one.holder)} {cause}.",
                evidence=(
                    f"{moment(case.now)} {times}; the limit is of {limit.about}",
                    *([whose(case, one.holder)] if known else []),
                ),
                remedy="See what runs there. A machine that boots or works, or a person at a terminal, never comes close to this "
                "limit; a program that tries what tinkbox bears does, and takes no harm. If it needs more, "
                f"raise {limit.key}.{size} in the configuration and start tinkbox again.",
            )
        if case.mac is None and each.scarce:
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause=f"All together take {limit.counted(each.used)} of {limit.shown(limit.all)}: soon some are refused.",
                evidence=(
                    f"{moment(case.now)} {each.refused} were refused since the start; the limit is of {limit.about}",
                ),
                remedy=f"If these are your machines, raise {limit.key}.all in the configuration and start tinkbox "
                "again; if not, take who floods off the network.",
            )


def _why_held_back(limit: Limit, used: int, one: HeldBack) -> tuple[str, Gravity, str]:
    """What is the matter with a holder, how grave that is, and which size of the limit would have to be raised."""
    if one.held > limit.each * NEARLY:
        has = f"it has {limit.counted(one.held)} of {limit.shown(limit.each)}"
        return f"is held back: {has}", Gravity.FAULT, "each"
    if used >= limit.all * NEARLY:
        return f"is held back: all may have {limit.shown(limit.all)} together", Gravity.FAULT, "all"
    if used >= limit.for_strangers * NEARLY:
        all_ = limit.shown(limit.for_strangers)
        return f"is held back: all whom nobody knows may have {all_} together", Gravity.FAULT, "all"
    return f"was held back: it has {limit.shown(one.held)} now", Gravity.SUSPECT, "each"
