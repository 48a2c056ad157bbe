"""The doctor's rules about this host's network, and about what else uses the appliance's address or place (`model.host_vitals`)."""

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from shlex import quote
from typing import Final

from tinkbox.engine.doctor.case import REACHING, Case, Duty, Finding, Stops, moment
from tinkbox.engine.doctor.rules.network import SEVERAL_PORTS, tells_mac, whose
from tinkbox.model.command_lines import about
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import MOST_APPLIANCES, HostVitals, StrayRoute
from tinkbox.model.text import counted
from tinkbox.model.vitals import Attachment

# Bytes: what firmware, its loaders and our TFTP take for granted of an Ethernet.
_MTU: Final = 1500
_NAMED_APPLIANCES: Final = 4
_NAMED_MACS: Final = 3  # the newest


def _host(case: Case) -> HostVitals:
    return case.vitals.host if case.vitals and case.vitals.host else HostVitals()


def address_taken(case: Case) -> Iterator[Finding]:
    """Another host that has the appliance's address."""
    answered: dict[tuple[str, IPv4Address], list[MacAddress]] = {}
    for each in _host(case).taken:
        answered.setdefault((each.interface, each.address), []).append(each.mac)
    for (interface, address), macs in answered.items():
        newest, others = macs[-1], len(macs) - 1
        known = [each for each in macs if each in case.hosts]
        doubted = all(case.in_touch(each) for each in macs)
        who = (
            f"Another host ({case.named(newest)}) has"
            if not others
            else f"Other hosts ({case.named(newest)} and {counted(others, 'other')}) have"
        )
        yield Finding(
            gravity=Gravity.SUSPECT if doubted else Gravity.FAULT,
            cause=f"{who} the appliance's address {address} on {interface}: machines reach now one, now the other.",
            evidence=(
                *(f"{moment(case.now)} {mac} answered ARP for {address} on {interface}" for mac in macs[-_NAMED_MACS:]),
                *(
                    [f"{len(macs)} MACs answered it one after the other, and one host can answer with many"]
                    if others
                    else []
                ),
                *(whose(case, each) for each in known[-_NAMED_MACS:]),
            ),
            remedy=(
                f"See whether {case.named(newest)} has {address}, and give it another one. Else another host sends in its name. "
                f"{SEVERAL_PORTS} "
                if doubted
                else f"Find the host and give it another address: the switch's table of MAC addresses names the port of {newest}. "
            )
            # A host that asks for its own address by ping asks itself.
            + f"`arping -D -c 2 -I {interface} {address}` (Debian's package iputils-arping) shows whether it still answers.",
            subject=f"{interface} {address}",
            stops=None if doubted else Stops(duties=REACHING, interface=interface),
        )


def reserved_here(case: Case) -> Iterator[Finding]:
    """An address that is reserved for a machine, and that this host itself has."""
    for each in _host(case).held:
        name = case.hosts[str(each.address)].name if str(each.address) in case.hosts else ""
        machine = name or "a machine"
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"This host itself has {each.address} on {each.interface}, which is reserved for {machine}: what it sends to the machine, it gets "
            "itself.",
            evidence=(f"{moment(case.now)} `ip addr show {each.interface}` has {each.address}/{each.prefix}",),
            remedy=f"`ip addr del {each.address}/{each.prefix} dev {each.interface}`, and where this host's network is configured. If this host is "
            + about(
                "to keep it, give the machine another address (`tinkbox hardware edit MACHINE --address IP`).",
                machine=quote(name) if name and "`" not in name else "",
            ),
            subject=f"{each.interface} {each.address}",
            stops=Stops(duties=REACHING - {Duty.DHCP}, to=frozenset({IPv4Network(each.address)})),
        )


def other_appliance(case: Case) -> Iterator[Finding]:
    """Another tinkbox on a provisioning network."""
    if case.mac is not None:
        return
    # In one finding, whose subject stays: anybody can send the mark by which appliances know each other, and with many names.
    found = _host(case).appliances
    if not found:
        return
    shown = dict.fromkeys([*found[:_NAMED_APPLIANCES], *{each.interface: each for each in found}.values()])
    ours = [each for each in shown if each.mac in case.hosts]
    # One that is told in the name of a machine of ours, or that did not answer any more, is the least likely of them.
    first = min(found, key=lambda each: (each.mac in case.hosts, each.unanswered is not None))
    silent = [each for each in found if each.unanswered is not None]
    serves = (
        "serves"
        if len(silent) < len(found)
        else f"was heard at {moment(max(each.at for each in found))} and not since: it served"
    )
    also = " with the same address" if first.address == case.address else ""
    see = (
        f"`arping -c 2 -I {first.interface} {first.address}` (Debian's package iputils-arping)"
        if case.is_own(first.address)
        else tells_mac(first.interface, first.address)
    )
    crowded = [each for each, number in Counter(each.interface for each in found).items() if number > MOST_APPLIANCES]
    number = f"{'at least ' if crowded else ''}{counted(len(found) - 1, 'other')}"
    more = f", and {number} like it" if len(found) > 1 else ""
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"Another tinkbox, at {first.address} (MAC {case.named(first.mac)}), {serves} this network too{also}{more}.",
        evidence=(
            *(
                f"{moment(each.at)} {each.mac} at {each.address} asked on {each.interface} who else answers DHCP, or answered our question"
                for each in shown
            ),
            *(
                f"{moment(each.unanswered)} {each.mac} did not answer our question; when it does not answer the next one either, this is over"
                for each in shown
                if each.unanswered is not None
            ),
            *(whose(case, each) for each in dict.fromkeys(each.mac for each in ours)),
            *(
                f"more than {MOST_APPLIANCES} were heard on {each}, so not all of them are counted; the first and the newest are named"
                for each in crowded
            ),
            "that is how appliances know each other, and any host on the network can send it",
        ),
        remedy=f"Two appliances on one network answer the same machines. See whether there is one: {see}. Stop one of them "
        "(`systemctl stop tinkbox`), or take its interface out of this network. To "
        "move to another host, stop the old one first.",
        subject="appliances",
    )


def same_network(case: Case) -> Iterator[Finding]:
    """Two provisioning interfaces that are plugged into one network."""
    for each in _host(case).joined:
        one, other = each.interfaces
        sure = each.own_at is not None
        asked = (
            [f"{moment(each.at)} one question of {case.named(each.mac)} came in on {one} and on {other}"]
            if each.at and each.mac
            else []
        )
        own = (
            [
                f"{moment(each.own_at)} the appliance's own question for other DHCP servers, sent on one of the two, came in on the other"
            ]
            if each.own_at is not None
            else []
        )
        yield Finding(
            gravity=Gravity.FAULT if sure else Gravity.SUSPECT,
            cause=f"The appliance's interfaces {one} and {other} are plugged into one network: it answers each machine there twice, and a "
            "machine may take the answer that is meant for the other network.",
            evidence=(*own, *asked),
            remedy=f"Unplug {one} or {other}, or have the switch keep their ports apart: a VLAN for each. If it is to be one network, name only one "
            "of the two under `interface:` in tinkbox.yaml, and `systemctl restart tinkbox`.",
            subject=f"{one} {other}",
            stops=Stops(duties=REACHING, interface=one, beside=other) if sure else None,
        )


def netmask_changed(case: Case) -> Iterator[Finding]:
    """A provisioning interface that leads to a part of our network only."""
    attached = {each.interface: each for each in case.vitals.attachments} if case.vitals else {}
    for link in _host(case).links:
        ours = attached.get(link.interface)
        if ours is None or ours.address not in ours.addresses:
            continue  # which is told as that
        for subnet in case.subnets:
            if subnet.interface != link.interface or any(subnet.network.subnet_of(each) for each in link.networks):
                continue
            has = ", ".join(map(str, sorted(link.networks)))
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"{subnet.network} is not on the appliance's interface {link.interface} any more, and machines get addresses there: they "
                "cannot be reached.",
                evidence=(
                    f"{moment(case.now)} networks of {link.interface}: {has or 'none'}; tinkbox serves {subnet.network}",
                ),
                remedy=f"`ip addr add {ours.address}/{subnet.network.prefixlen} dev {link.interface}` gives the network back; "
                f"`ip -br addr show {link.interface}` shows what else to take away. Write it where this host's network is configured. If "
                "the network was changed on purpose, `systemctl restart tinkbox`.",
                subject=f"{link.interface} {subnet.network}",
                stops=Stops(duties=REACHING, interface=link.interface),
            )


def leads_elsewhere(case: Case) -> Iterator[Finding]:
    """Routes that lead what is for machines on an interface to another one: told by where they lead."""
    whole = {each.interface for each in case.vitals.attachments if _is_whole(case, each)} if case.vitals else set[str]()
    found: dict[tuple[str, str, str], list[StrayRoute]] = {}
    for each in _host(case).stray_routes:
        if each.interface in whole:
            found.setdefault((each.interface, str(each.network), each.through or each.why), []).append(each)
    for (interface, network, there), strays in found.items():
        first, others = strays[0], len(strays) - 1
        where = f"leave through {first.through}" if first.through else "go nowhere"
        more = f" and to {others} more address{'es' if others > 1 else ''} in {network}" if others else ""
        twin = f": {first.through} has an address in {network} too" if first.twin else ""
        way = first.route or (f"dev {first.through}" if first.through else first.why)
        yield Finding(
            gravity=Gravity.SUSPECT if first.twin and not first.refused else Gravity.FAULT,
            cause=f"Replies to {first.address}{more} {where}, not through {interface}, where the machine is{twin}.",
            evidence=(
                f"{moment(case.now)} `ip route get {first.address} from {first.ours}`: {way}",
                *(
                    [
                        f"this host drops what {first.address} sends on {interface}: its reverse path filtering is strict (rp_filter)"
                    ]
                    if first.refused
                    else []
                ),
            ),
            remedy=_back(first),
            subject=f"{interface} {network} {there}",
            stops=Stops(
                duties=frozenset({Duty.TFTP, Duty.HTTP}),
                interface=interface,
                to=frozenset(network for each in strays for network in each.among),
            ),
        )


def no_route(case: Case) -> Iterator[Finding]:
    """A network behind a relay to which this host has no route."""
    if case.vitals is None or not all(each.up and each.address in each.addresses for each in case.vitals.attachments):
        return  # the route may have gone with that, which is told
    interfaces = [each.interface for each in case.vitals.attachments]
    device = interfaces[0] if len(interfaces) == 1 else "INTERFACE"
    for each in _host(case).unrouted:
        first, others = each.addresses[0], len(each.addresses) - 1
        more = f" and {others} more address{'es' if others > 1 else ''}" if others else ""
        to = str(each.network) if each.whole else f"{first}{more} of {each.network}"
        subnet = next((one for one in case.subnets if one.network == each.network), None)
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"This host has no route to {to}, which it serves behind a relay: what it replies to machines there goes nowhere.",
            evidence=(
                f"{moment(case.now)} `ip route get {first}`: {each.why}",
                *(
                    f"this host drops what comes from there on {name}, as reverse path filtering is on (rp_filter): often the relay's own questions too"
                    for name in each.filtering
                ),
            ),
            remedy=f"`ip route add {each.network} via ROUTER dev {device}`, and where this host's network is configured. ROUTER is the address that the "
            "router to that network has on a network of this host; most often the router is the relay"
            + (f", which has {subnet.gateway} on the machines' side" if subnet is not None and subnet.gateway else "")
            + ".",
            subject=str(each.network),
            stops=Stops(
                duties=REACHING,
                to=frozenset({each.network}) if each.whole else frozenset(map(IPv4Network, each.addresses)),
            ),
        )


def _is_whole(case: Case, attached: Attachment) -> bool:
    """Whether an interface is as it should be: else the routes are gone as well, and that is told as what is wrong."""
    subnets = [each.network for each in case.subnets if each.interface == attached.interface]
    networks = [each for link in _host(case).links if link.interface == attached.interface for each in link.networks]
    return (
        attached.up
        and attached.carrier is not False
        and attached.address in attached.addresses
        and all(any(one.subnet_of(each) for each in networks) for one in subnets)
    )


def _back(stray: StrayRoute) -> str:
    """What leads it back to its interface."""
    if stray.twin:
        return (
            f"If {stray.through} is plugged into another network, give it an address of another one; `ip -br addr show {stray.through}` "
            f"shows what it has. If both are plugged into the same network, take the address of {stray.through} away, or replies go out "
            "by the wrong one."
        )
    named = f"`ip route get {stray.address} from {stray.ours}` shows the way, "
    if not stray.route or stray.route.startswith("default"):
        return f"{named}`ip rule` and `ip route show table all` show what leads there: take that away."
    return (
        f"{named}`ip route del {stray.route}` takes it back. Whatever made the route (a VPN, a network of containers, this host's network "
        f"configuration) makes it again: have that use other addresses than {stray.network}."
    )


def mtu_small(case: Case) -> Iterator[Finding]:
    """A provisioning interface whose packets are smaller than those of an Ethernet."""
    for each in _host(case).links:
        if 0 < each.mtu < _MTU:
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause=f"The MTU of {each.interface} is {each.mtu}, below {_MTU}: larger packets of machines are lost, and boot loaders may "
                "not arrive.",
                evidence=(f"{moment(case.now)} {each.interface} sends and takes packets of {each.mtu} bytes at most",),
                remedy=f"`ip link set {each.interface} mtu {_MTU}`, and where this host's network is configured. If the network carries no "
                "more, set the same MTU for machines on its switches or tunnels.",
                subject=each.interface,
            )


def database_gone(case: Case) -> Iterator[Finding]:
    """A database whose file was deleted or replaced while it is open."""
    lost = _host(case).database
    if lost is None:
        return
    what = "replaced by another file" if lost.replaced else "deleted"
    kept = " && ".join(f"cp {at} {lost.path}.rescued{ending}" for ending, at in lost.open_files)
    back = " && ".join(f"mv {lost.path}.rescued{ending} {lost.path}{ending}" for ending, _ in lost.open_files)
    rescue = (
        f"Do not stop tinkbox before this: `{kept}` copies what is open. Then `systemctl stop tinkbox`, `{back}`, give them to "
        f"tinkbox's user (`chown --reference={lost.path.rpartition('/')[0]} {lost.path}*`), and `systemctl start tinkbox`."
        if lost.open_files and not lost.replaced
        else "If the new file is the right one, `systemctl restart tinkbox` uses it; else put back the one that was there."
    )
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The file of the appliance's database was {what} while tinkbox runs: nothing is written any more, so that nothing is lost unseen.",
        evidence=(
            f"{moment(case.now)} {lost.path} {'is another file than the open one' if lost.replaced else 'is not there'}",
        ),
        remedy=rescue,
        stops=Stops(duties=frozenset({Duty.STORE})),
    )
