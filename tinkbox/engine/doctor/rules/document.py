"""The doctor's rules about hardware documents that name no gateway or name server, or one which is not there."""

import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from tinkbox.engine.doctor.case import Case, Finding, Work, moment, some
from tinkbox.engine.doctor.rules.work import failed_to_fetch, grave_failure, has_failed, once_more, told_lately
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.text import one_line, quoted

_LONGEST: Final = 300
# As the C library, Go, curl, busybox and Python word it.
_NO_NAME: Final = re.compile(
    r"name resolution|name or service not known|not resolve|no such host|bad address|server misbehaving|unknown host"
    r"|nodename nor servname|no address associated",
    re.IGNORECASE,
)
_NO_GATEWAY: Final = re.compile(r"network is unreachable|net unreachable|enetunreach", re.IGNORECASE)
_REFUSED: Final = re.compile(r"connection refused|econnrefused", re.IGNORECASE)
_AT_PORT: Final = re.compile(r"\b(\d{1,3}(?:\.\d{1,3}){3})(?::| port |, port )(\d{1,5})\b")
_NO_WAY: Final = re.compile(
    r"no route to host|host is unreachable|network is unreachable|ehostunreach|enetunreach|timed? ?out", re.IGNORECASE
)


def gateway_away(case: Case) -> Iterator[Finding]:
    """The gateway of a document at which nobody answers, or that is not named, after an action reached nothing that lies behind one."""
    work = case.work
    if work is None or work.way is None:
        return
    if work.way.gateway is None:
        yield from _unnamed(case, work, "gateway", "what is in other networks cannot be reached", _NO_GATEWAY)
    if work.way.forwards is False:
        yield from _not_forwarded(case, work)
    if work.way.gateway not in work.way.silent or not misses_way(work):
        return
    what, so = "the gateway", "what lies behind it cannot be reached"
    yield from _away(case, work, work.way.gateway, what, so, "{edit} --gateway IP`")


def name_server_away(case: Case) -> Iterator[Finding]:
    """A name server of a document at which nobody answers, or that is not named, after an action could not resolve a name."""
    work = case.work
    if work is None or work.way is None or not _said(work, _NO_NAME):
        return
    if not work.way.name_servers:
        yield from _unnamed(case, work, "name server", "it can resolve no name of your network", _NO_NAME)
    for each in work.way.name_servers:
        if each in work.way.silent:
            yield from _away(case, work, each, "a name server", "it resolves no name", "{edit}`, which opens it")


def misses_way(work: Work) -> bool:
    """Whether the words of a failed action tell of a host that cannot be reached, or of a name that cannot be resolved."""
    return has_failed(work) and bool(_said(work, _NO_WAY, _NO_NAME))


def refused_at(work: Work) -> tuple[IPv4Address, int] | None:
    """Where an action's question was refused, by its own words; None where they do not say that."""
    # A registry that does not answer was asked by the engine, and has words of its own.
    if not has_failed(work) or failed_to_fetch(work) or not _said(work, _REFUSED):
        return None
    for each in reversed(_said(work, _AT_PORT)):
        for address, port in _AT_PORT.findall(each):
            with suppress(ValueError):
                if 0 < int(port) < 1 << 16:
                    return IPv4Address(address), int(port)
    return None


def refused_here(case: Case) -> Iterator[Finding]:
    """A server on the appliance's own host that a machine asked, and that does not listen where it was asked."""
    work = case.work
    if work is None or work.way is None or work.way.refused is None or work.ended_at is None:
        return
    address, port, at = work.way.refused
    if at & {address, IPv4Address(0), IPv6Address(0)} or (case.surveyed and not told_lately(case, work)):
        return
    where = some(sorted(map(str, at)))
    said = _said(work, _REFUSED, _AT_PORT)
    yield Finding(
        gravity=grave_failure(case, work),
        # That nothing listens there is measured; that it was asked there is what the action says alone.
        cause=f"{work.action} asked {address} for port {port}, as its output says, which is this host, and "
        + (f"what listens on that port here does so at {where} alone." if at else "nothing listens on that port here."),
        evidence=(
            f"{moment(case.now)} `ss -ltn 'sport = :{port}'` shows that port at {where or 'no address'}",
            *(
                f"{moment(work.ended_at)} {work.action} said {quoted(each, _LONGEST)}"
                for each in said
                if not any(each in other and each != other for other in said)
            ),
        ),
        remedy=(
            f"Have that server listen at {address} or at 0.0.0.0: many listen at 127.0.0.1 alone as they are delivered. "
            if at
            else "Start the server. "
        )
        + f"{once_more(work)} If the port is wrong, correct it in the template, and make a new workflow of that: a retry keeps the old text.",
        subject=f"{address}:{port}",
    )


def _away(case: Case, work: Work, address: IPv4Address, what: str, so: str, mends: str) -> Iterator[Finding]:
    if work.ended_at is None or (case.surveyed and not told_lately(case, work)):
        return
    machine = work.called or work.machine or work.hardware_id
    yield Finding(
        gravity=grave_failure(case, work),
        cause=f"Nobody answers at {address}, {what} that the hardware document of {machine} names: {so}.",
        evidence=(
            f"{moment(case.now)} the machine's network was asked by ARP who has {address}: nobody answered",
            *(
                f"{moment(work.ended_at)} {work.action} said {quoted(each, _LONGEST)}"
                for each in _said(work, _NO_WAY, _NO_NAME)[:2]
            ),
        ),
        remedy=f"`tinkbox hardware get {work.hardware_id}` shows what it names. Correct it with "
        + mends.format(edit=f"`tinkbox hardware edit {work.hardware_id}")
        + f", or switch on what should be there. {once_more(work)}",
        subject=str(address),
    )


def _not_forwarded(case: Case, work: Work) -> Iterator[Finding]:
    """A gateway that is the host of the appliance, which passes nothing on."""
    told = _said(work, _NO_WAY)
    if work.way is None or not told or work.ended_at is None or (case.surveyed and not told_lately(case, work)):
        return
    machine = work.called or work.machine or work.hardware_id
    yield Finding(
        gravity=Gravity.SUSPECT,  # a lab of one network needs no router, and a server there may be slow
        cause=f"The gateway that the hardware document of {machine} names, {work.way.gateway}, is the appliance's own host, which forwards "
        "nothing: what is in other networks cannot be reached.",
        evidence=(
            f"{moment(case.now)} `net.ipv4.ip_forward` is off there",
            *(f"{moment(work.ended_at)} {work.action} said {quoted(each, _LONGEST)}" for each in told[:2]),
        ),
        remedy="Name the network's router instead (`tinkbox hardware edit MACHINE --gateway IP`; `dhcp.gateway` in tinkbox.yaml is what new "
        "machines get). Or let this host be the router: `sysctl -w net.ipv4.ip_forward=1`, a rule that masquerades where other networks know no way "
        "back, and read what docs/security.md says of hosts that forward.",
        subject="forwarding",
    )


def _unnamed(case: Case, work: Work, what: str, so: str, words: re.Pattern[str]) -> Iterator[Finding]:
    """What a machine is not told with its address, where an action's words speak of it."""
    told = _said(work, words)
    if work.way is None or not work.way.reserved or not case.gives_addresses or not told or work.ended_at is None:
        return
    if case.surveyed and not told_lately(case, work):
        return
    machine = work.called or work.machine or work.hardware_id
    key = "gateway" if what == "gateway" else "name_servers"
    yield Finding(
        gravity=grave_failure(case, work),
        cause=f"The machine was told no {what}: the hardware document of {machine} names none, so {so}.",
        evidence=(
            f"{moment(case.now)} its hardware document has an address, and no {key} beside it",
            *(f"{moment(work.ended_at)} {work.action} said {quoted(each, _LONGEST)}" for each in told[:2]),
        ),
        remedy=f"Name it in its hardware document (`tinkbox hardware edit {work.hardware_id}`; {key} beside its address), boot the machine "
        f"anew. {once_more(work)} An action that needs no {'other network' if what == 'gateway' else 'name'} can "
        "use the appliance's own address.",
    )


def _said(work: Work, *words: re.Pattern[str]) -> list[str]:
    """What the action said and printed of this, each once."""
    lines = (one_line(each, _LONGEST) for each in (work.message, *work.tail))
    return list(dict.fromkeys(each for each in lines if any(word.search(each) for word in words)))
