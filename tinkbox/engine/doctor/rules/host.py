"""The doctor's rules about this host's network, and about what else uses the appliance's address or place (`model.host_vitals`)."""

from collections.abc import Iterator
from typing import Final

from tinkbox.engine.doctor.case import Case, Finding, moment
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.host_vitals import HostVitals
from tinkbox.model.text import counted

# Bytes: what firmware, its loaders and our TFTP take for granted of an Ethernet.
_MTU: Final = 1500
_MOST_APPLIANCES: Final = 4  # that are named


def _host(case: Case) -> HostVitals:
    return case.vitals.host if case.vitals and case.vitals.host else HostVitals()


def address_taken(case: Case) -> Iterator[Finding]:
    """Another host that has the appliance's address."""
    for each in _host(case).taken:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"Another host ({each.mac}) has the appliance's address {each.address} on {each.interface}: machines reach now one, now "
            "the other.",
            evidence=(f"{moment(case.now)} {each.mac} answered ARP for {each.address} on {each.interface}",),
            remedy=f"Find the host and give it another address: the switch's table of MAC addresses names the port of {each.mac}, and "
            f"`arping -D -c 2 -I {each.interface} {each.address}` shows whether it still answers.",
            subject=f"{each.interface} {each.address}",
        )


def other_appliance(case: Case) -> Iterator[Finding]:
    """Another tinkbox on a provisioning network."""
    if case.mac is not None:
        return
    # In one finding, whose subject stays: anybody can send the mark by which appliances know each other, and with many names.
    found = _host(case).appliances
    if not found:
        return
    first = found[0]
    also = " with the same address" if first.address == case.address else ""
    more = f", and {counted(len(found) - 1, 'other')} like it" if len(found) > 1 else ""
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"Another tinkbox, at {first.address} (MAC {first.mac}), serves this network too{also}{more}.",
        evidence=(
            *(
                f"{moment(each.at)} {each.mac} at {each.address} asked on {each.interface} who else answers DHCP, or answered our question"
                for each in found[:_MOST_APPLIANCES]
            ),
            "that is how appliances know each other, and any host on the network can send it",
        ),
        remedy="Two appliances on one network answer the same machines. See whether there is one: `arping -I "
        f"{first.interface} {first.address}`. Stop one of them (`systemctl stop tinkbox`), or take its interface out of this network. To "
        "move to another host, stop the old one first.",
        subject="appliances",
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
                cause=f"{subnet.network} is not on the interface {link.interface} any more, and machines get addresses there: they "
                "cannot be reached.",
                evidence=(
                    f"{moment(case.now)} networks of {link.interface}: {has or 'none'}; tinkbox serves {subnet.network}",
                ),
                remedy=f"`ip addr add {ours.address}/{subnet.network.prefixlen} dev {link.interface}` gives the network back; "
                f"`ip -br addr show {link.interface}` shows what else to take away. Write it where this host's network is configured. If "
                "the network was changed on purpose, `systemctl restart tinkbox`.",
                subject=f"{link.interface} {subnet.network}",
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


def replies_refused(case: Case) -> Iterator[Finding]:
    """Replies to machines that this host does not let out."""
    for each in _host(case).refused_replies:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"This host does not let {each.what} replies out on {each.interface}, most likely by its own firewall: machines get no "
            "answer.",
            evidence=(
                (
                    f"{moment(each.since)} to {moment(case.now)} {counted(each.times, 'time')} the kernel refused a reply "
                    f"({each.error}), the last one to {each.to}"
                ),
            ),
            remedy="`sudo iptables -S OUTPUT` and `sudo nft list ruleset` show the rules for what goes out. Take the one away that drops it, "
            f"or put one before it: `sudo iptables -I OUTPUT -o {each.interface} -j ACCEPT`.",
            subject=f"{each.interface} {each.what}",
        )


def database_gone(case: Case) -> Iterator[Finding]:
    """A database whose file was deleted or replaced while it is open."""
    lost = _host(case).database
    if lost is None:
        return
    what = "replaced by another file" if lost.replaced else "deleted"
    kept = " && ".join(f"sudo cp {at} {lost.path}.rescued{ending}" for ending, at in lost.open_files)
    back = " && ".join(f"sudo mv {lost.path}.rescued{ending} {lost.path}{ending}" for ending, _ in lost.open_files)
    rescue = (
        f"Do not stop tinkbox before this: `{kept}` copies what is open. Then `sudo systemctl stop tinkbox`, `{back}`, give them to "
        f"tinkbox's user (`sudo chown --reference={lost.path.rpartition('/')[0]} {lost.path}*`), and `sudo systemctl start tinkbox`."
        if lost.open_files and not lost.replaced
        else "If the new file is the right one, `systemctl restart tinkbox` uses it; else put back the one that was there."
    )
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The database's file was {what} while tinkbox runs: nothing is written any more, so that nothing is lost unseen.",
        evidence=(
            f"{moment(case.now)} {lost.path} {'is another file than the open one' if lost.replaced else 'is not there'}",
        ),
        remedy=rescue,
    )
