"""The doctor's rules about this host's own firewall: what it drops on the way in and out, and what it diverts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Final

from tinkbox.engine.doctor.case import MOST_NAMED, Case, Duty, Finding, Stops, duties_of, moment, some
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.host_vitals import HostVitals, RefusedReplies
from tinkbox.model.text import counted
from tinkbox.model.vitals import ShutPort, TakenPort

_EVERYBODY: Final = "255.255.255.255"
# What machines load by these is more than one packet.
_FILES: Final = frozenset({"HTTP", "HTTPS", "TFTP"})
# These keep what is typed.
_KEEPING: Final = ("ufw", "firewalld")
# By what a rule drops a part, by what nft and iptables call that.
_LIMITS: Final = (
    ("by chance", re.compile(r"\bnumgen\b|--probability|--every")),
    ("by a quota of bytes", re.compile(r"\bquota\b")),
    ("by the number of connections", re.compile(r"\bct count\b|--connlimit")),
)
# Who makes chains that divert ports, by what these are called, and what shows for whom; with the port and the protocol in their places.
_PUBLISHERS: Final = (
    (
        re.compile("docker", re.IGNORECASE),
        "a container of Docker",
        "`docker ps --filter publish={port}/{protocol}` names the container",
    ),
    (
        re.compile("NETAVARK|CNI-"),
        "a container of Podman or Kubernetes",
        "`podman ps` or `crictl ps` names the container",
    ),
    (re.compile("KUBE-"), "a service of Kubernetes", "`kubectl get services -A` names the service"),
)


def _stops(case: Case, asked: Iterable[str], interface: str, behind: str = "") -> Stops | None:
    """What is stopped where what is asked by these names is; None: machines boot all the same.

    Port 4011 is for firmware that has its address of another server.
    """
    duties = duties_of(asked) - ({Duty.PXE} if case.gives_addresses else set())
    return Stops(duties=duties, interface=interface, behind=behind) if duties else None


def _gravity(stops: Stops | None) -> Gravity:
    return Gravity.FAULT if stops is not None else Gravity.SUSPECT


def _beside(stops: Stops | None) -> str:
    return "" if stops is not None else ", which no machine needs to boot"


def port_shut(case: Case) -> Iterator[Finding]:
    """Ports that this host's own firewall keeps machines from: those that one rule or policy shuts are told together."""
    for shut in _by_cause(case.vitals.shut_ports if case.vitals else ()):
        first = shut[0]
        stops = _stops(case, (each.asked for each in shut), first.interface, first.behind)
        yield Finding(
            gravity=_gravity(stops),
            cause=f"The appliance's own firewall drops what {_machines(first)} send to {_named(shut)}{_beside(stops)}.",
            evidence=(f"{moment(case.now)} {first.why}",),
            remedy=_letting(shut) + _showing(first),
            subject=" ".join(filter(None, (first.interface, first.behind, first.why))),
            stops=stops,
        )


def port_taken(case: Case) -> Iterator[Finding]:
    """Ports of which this host diverts all that machines send."""
    for each in case.vitals.taken_ports if case.vitals else ():
        publisher = next((known for known in _PUBLISHERS if known[0].search(each.chain)), None)
        by = f" ({publisher[1]} has that port)" if publisher else ""
        stops = _stops(case, [each.asked], each.interface)
        beside = f"{_beside(stops)}," if _beside(stops) else ""
        yield Finding(
            gravity=_gravity(stops),
            cause=f"What machines on {each.interface} send to {each.protocol.upper()} port {each.port} ({each.asked}){beside} does not reach "
            f"tinkbox: the appliance's host diverts it to {_target(each)}{by}.",
            evidence=(f"{moment(case.now)} {each.why}",),
            remedy=_giving_back(each, publisher[2].format(port=each.port, protocol=each.protocol) if publisher else ""),
            subject=f"{each.interface} {each.protocol} {each.port}",
            stops=stops,
        )


def _target(taken: TakenPort) -> str:
    address, _, port = taken.to.partition(":")
    if address and port:
        return taken.to
    return address or (f"its port {port}" if port else "another address")


def _giving_back(taken: TakenPort, names: str) -> str:
    if names:
        return (
            f"{names}. Have it publish another port, or that port on an address of this host alone that machines do not use, as "
            f"`-p 127.0.0.1:{taken.port}:{taken.port}/{taken.protocol}` does."
        )
    return f"`{taken.gives_back}` takes the rule away. It may come back with the next restart: take it away where your rules are kept."


def replies_refused(case: Case) -> Iterator[Finding]:
    """Replies to machines that this host does not let out: what its rules say, and what the kernel said when one was sent."""
    vitals = case.vitals
    told = (vitals.host or HostVitals()).refused_replies if vitals else ()
    refused = {(each.interface, each.what): each for each in told if not each.no_port}
    for ports in _by_cause(vitals.shut_replies if vitals else ()):
        first, whats = ports[0], sorted({each.asked for each in ports})
        at = [(first.interface, each) for each in whats if not first.behind]
        known = [refused.pop(each) for each in at if each in refused]
        stops = _stops(case, whats, first.interface, first.behind)
        yield Finding(
            gravity=_gravity(stops),
            cause=_kept_in(first, whats),
            evidence=(*(_times(case, each) for each in known), f"{moment(case.now)} {first.why}"),
            remedy=_letting(ports) + _showing(first),
            subject=" ".join(filter(None, (first.interface, first.behind, whats[0]))),
            stops=stops,
        )
    for each in refused.values():
        stops, to = _stops(case, [each.what], each.interface), _only_to(each)
        where, who = (f" to {some(to)}", "no machine there gets an") if to else ("", "machines get no")
        if stops is not None:
            stops = replace(stops, to=frozenset(map(IPv4Network, to)))
        yield Finding(
            gravity=_gravity(stops),
            cause=f"The appliance's host does not let {each.what} replies out on {each.interface}{where}, most likely by its own firewall: "
            f"{who} answer.",
            evidence=(_times(case, each), *(["no reply was sent to any other address since"] if to else [])),
            remedy="`iptables -S OUTPUT` and `nft list ruleset` show the rules for what goes out. Take the one away that drops it, or put one "
            "that accepts it before that, in the same table and chain: what another table accepts is dropped all the same. If it is gone, boot "
            "the machine again: this is told until a reply goes out.",
            subject=f"{each.interface} {each.what}",
            stops=stops,
        )
    yield from (_no_port(case, each) for each in told if each.no_port)


def firewall_limits(case: Case) -> Iterator[Finding]:
    """Rules that drop a part of what machines send to our ports or of what we reply, by a rate or by chance."""
    vitals = case.vitals
    for replies, told in ((True, vitals.limited_replies), (False, vitals.limited_ports)) if vitals else ():
        for limited in _by_cause(told):
            first = limited[0]
            stops = _stops(case, (each.asked for each in limited), first.interface, first.behind)
            if stops is None:  # a limit on syslog is usual
                continue
            whats = _listed(sorted({each.asked for each in limited}))
            sent = f"what {_machines(first)} send to {_named(limited)}"
            what = f"its {whats} replies to {_machines(first)}" if replies else sent
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause=f"The appliance's own firewall drops a part of {what}, {_limited_by(first.why)}: boots may stop, or take very long.",
                evidence=(f"{moment(case.now)} {first.why}",),
                remedy=f"`{first.shows}` shows the rule. Take it away, or have it spare these ports. {_letting(limited)}",
                subject=" ".join(filter(None, (first.interface, first.behind, first.why))),
                stops=stops,
            )


def _limited_by(rule: str) -> str:
    """By what a rule with a limit tells the part that is dropped."""
    return next((words for words, told in _LIMITS if told.search(rule)), "by a rate")


def _by_cause(shut: Iterable[ShutPort]) -> Iterable[list[ShutPort]]:
    """Those that one rule or policy shuts, for the same machines."""
    found: dict[tuple[object, ...], list[ShutPort]] = {}
    for each in shut:
        found.setdefault((each.interface, each.behind, each.above, each.firewall, each.why), []).append(each)
    return found.values()


def _machines(shut: ShutPort) -> str:
    return f"machines behind port {shut.behind} of {shut.interface}" if shut.behind else f"machines on {shut.interface}"


def _kept_in(first: ShutPort, whats: Sequence[str]) -> str:
    """That replies do not get out, and what that does to machines."""
    if first.above:
        get = "such packets never reach a machine, so its boot files stop short"
        if not {*whats} & _FILES:
            get = "machines get no answer"
        return f"The appliance's own firewall drops {_listed(whats)} packets of more than {first.above} bytes to {_machines(first)}: {get}."
    at = f"port {first.behind} of {first.interface}" if first.behind else first.interface
    who = "machines behind that port" if first.behind else "machines"
    return f"The appliance's host does not let {_listed(whats)} replies out on {at}: its own firewall drops them, so {who} get no answer."


def _showing(first: ShutPort) -> str:
    """What shows the rule, and which machines are concerned, where that cannot be seen by the rule itself."""
    shows = f" `{first.shows}` shows the rule." if first.shows and (first.above or first.behind) else ""
    return shows + (f" `bridge fdb show brport {first.behind}` lists MACs behind that port." if first.behind else "")


def _no_port(case: Case, refused: RefusedReplies) -> Finding:
    stops = _stops(case, [refused.what], refused.interface)
    return Finding(
        gravity=_gravity(stops),
        cause=f"The appliance's host has no UDP port left from which {refused.what} could answer on {refused.interface}: machines get no answer.",
        evidence=(_times(case, refused),),
        remedy="`sysctl net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports` shows the ports that the kernel gives, and those of them that "
        "it keeps back; `ss -uanp` shows who has them. `sysctl -w net.ipv4.ip_local_port_range='32768 60999'` gives as many as is usual: set "
        "it in /etc/sysctl.d as well. With `node.tftp_single_port: on` no other port than 69 is needed.",
        subject=f"{refused.interface} {refused.what} ports",
        stops=stops,
    )


def _only_to(refused: RefusedReplies) -> tuple[str, ...]:
    """The addresses to which alone replies were refused, as far as is known; empty: they are many, or all that there are."""
    to = refused.targets or (refused.to,)
    return () if _EVERYBODY in to or len(to) > MOST_NAMED else to


def _times(case: Case, refused: RefusedReplies) -> str:
    return (
        f"{moment(refused.since)} to {moment(refused.until or case.now)} {counted(refused.times, 'time')} the kernel refused a reply ({refused.error}), "
        f"the last one to {refused.to}"
    )


def _letting(shut: Sequence[ShutPort]) -> str:
    """What lets the packets of these ports through, and for how long."""
    if shut[0].firewall in _KEEPING:
        return f"`{_opening(shut)}`."
    return f"`{_opening(shut)}` lets them through. It lasts until the next restart: add it where your rules are kept."


def _by_protocol(shut: Sequence[ShutPort]) -> dict[str, list[ShutPort]]:
    found: dict[str, list[ShutPort]] = {}
    for each in sorted(shut, key=lambda each: (each.protocol != "udp", each.port)):
        found.setdefault(each.protocol, []).append(each)
    return found


def _named(shut: Sequence[ShutPort]) -> str:
    """The ports: `UDP ports 67 (DHCP) and 69 (TFTP) and TCP port 80 (HTTP)`."""
    groups = []
    for protocol, those in _by_protocol(shut).items():
        each = [f"{one.port} ({one.asked})" if one.asked else str(one.port) for one in those]
        groups.append(f"{protocol.upper()} port{'s' if len(each) > 1 else ''} {_listed(each)}")
    return " and ".join(groups)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _opening(shut: Sequence[ShutPort]) -> str:
    """One line that opens all of them."""
    commands = dict.fromkeys(_joint(those) for those in _by_protocol(shut).values())
    return " && ".join(commands)


def _joint(shut: Sequence[ShutPort]) -> str:
    """The command for the first one, made to open all these of one protocol."""
    first = shut[0]
    # Replies by TFTP come from any port: what lets these out lets all others out as well.
    every = next((each for each in shut if not re.search(rf"port[ =]{each.port}\b", each.opens)), None)
    if len(shut) == 1 or every:
        return (every or first).opens
    numbers = [str(each.port) for each in shut]
    spellings = {
        "iptables": (r"--([ds]port) \d+ ", rf"-m multiport --\1s {','.join(numbers)} "),
        "nft": (r" ([ds]port) \d+ ", rf" \1 {{ {', '.join(numbers)} }} "),
        "ufw": (r" port \d+ ", f" port {','.join(numbers)} "),
        "firewalld": (r"--add-port=\d+/\w+", " ".join(f"--add-port={each}/{first.protocol}" for each in numbers)),
    }
    if first.firewall in spellings:
        joint, made = re.subn(*spellings[first.firewall], first.opens, count=1)
        if made:
            return joint
    return " && ".join(each.opens for each in shut)
