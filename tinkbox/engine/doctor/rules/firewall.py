"""The doctor's rule about the rules of this host's own firewall."""

from collections.abc import Iterator, Sequence

from tinkbox.engine.doctor.case import Case, Finding, moment
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.vitals import ShutPort

# These keep what is typed.
_KEEPING = ("ufw", "firewalld")


def port_shut(case: Case) -> Iterator[Finding]:
    """Ports that this host's own firewall keeps machines from: those that one rule or policy shuts are told together."""
    by_cause: dict[tuple[str, str, str], list[ShutPort]] = {}
    for each in case.vitals.shut_ports if case.vitals else ():
        by_cause.setdefault((each.interface, each.firewall, each.why), []).append(each)
    for (interface, firewall, why), shut in by_cause.items():
        lasts = "" if firewall in _KEEPING else " It lasts until the next restart: add it where your rules are kept."
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"This host's own firewall drops what machines on {interface} send to {_named(shut)}.",
            evidence=(f"{moment(case.now)} {why}",),
            remedy=f"`{_opening(shut)}`{'.' if not lasts else ' lets them through.'}{lasts}",
            subject=f"{interface} {why}",
        )


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
        ports = " and ".join(filter(None, (", ".join(each[:-1]), each[-1])))
        groups.append(f"{protocol.upper()} port{'s' if len(each) > 1 else ''} {ports}")
    return " and ".join(groups)


def _opening(shut: Sequence[ShutPort]) -> str:
    """One line that opens all of them."""
    commands = dict.fromkeys(_joint(those) for those in _by_protocol(shut).values())
    return " && ".join(commands)


def _joint(shut: Sequence[ShutPort]) -> str:
    """The command for the first one, made to open all these of one protocol."""
    first = shut[0]
    if len(shut) == 1:
        return first.opens
    numbers = [str(each.port) for each in shut]
    spellings = {
        "iptables": (f"--dport {first.port} ", f"-m multiport --dports {','.join(numbers)} "),
        "nft": (f" dport {first.port} ", f" dport {{ {', '.join(numbers)} }} "),
        "ufw": (f" port {first.port} ", f" port {','.join(numbers)} "),
        "firewalld": (
            f"--add-port={first.port}/{first.protocol}",
            " ".join(f"--add-port={each}/{first.protocol}" for each in numbers),
        ),
    }
    one, all_ = spellings.get(first.firewall, ("", ""))
    if one and one in first.opens:
        return first.opens.replace(one, all_, 1)
    return " && ".join(each.opens for each in shut)
