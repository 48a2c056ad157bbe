"""What a reader of machine lists gathers: machines, problems, and what is left out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Network
from typing import Final

from tinkbox.model.discovery import host_name
from tinkbox.model.errors import Invalid, Problem, TooLarge
from tinkbox.model.labels import Labels, parse_labels
from tinkbox.model.machine_lists import MOST_LISTED, ListedMachine, listed_machine, parse_address, routed
from tinkbox.model.notes import MAX_NOTE
from tinkbox.model.text import condensed, counted, quoted

TAGGED: Final = "yes"  # the value of a label that is a tag elsewhere
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_LONGEST: Final = 63
_MOST_NAMED: Final = 5
_USUAL_PREFIX: Final = 24
MAX_PATH: Final = 4096
# What may stand behind the first dot of a host's name: labels (RFC 1123 §2.1), the last of which begins with a letter, unlike
# those of v1.15 and 1.14-library.
_DOMAIN: Final = re.compile(r"(?:[A-Za-z0-9_-]+\.)*[A-Za-z][A-Za-z0-9_-]*")
_SHORT_MAC: Final = re.compile(r"[0-9A-Fa-f]{1,2}(?::[0-9A-Fa-f]{1,2}){5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a list says.

    `problems` are what is wrong with it, `left_out` what it has that is no machine to import, `changed` what is taken
    otherwise than it is written.
    """

    machines: tuple[ListedMachine, ...] = ()
    problems: tuple[Problem, ...] = ()
    left_out: tuple[Problem, ...] = ()
    changed: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network that a DHCP server's configuration describes, and the router that it tells there."""

    network: IPv4Network
    router: str = ""


class Unread(StrEnum):
    """What a DHCP server tells its hosts that is not taken from its list: what that is, and where it is said here."""

    DNS = (
        "its DNS servers are not read: machines get those of `dhcp.name_servers` in tinkbox.yaml, or of `name_servers` in "
        "their hardware document"
    )
    NTP = "its NTP servers are not read: write them into the hardware documents of the machines, as `time_servers`"


@dataclass(slots=True)
class Gathered:
    """A list while it is read, at the time `now`; `file` names it where several are read at once, which are `files`.

    `networks` are those that it describes, for the addresses of all files; `written` are the names of machines that are
    taken otherwise, and `strays` the routers that they are told though these are on other networks, by the place of the
    machine.  `labelled` are the texts of labels that are taken otherwise, each with what is taken.
    """

    now: datetime
    file: str = ""
    files: Sequence[str] = ()
    networks: list[Network] = field(default_factory=list)
    written: dict[tuple[int, str], str] = field(default_factory=dict)
    strays: dict[tuple[int, str], str] = field(default_factory=dict)
    labelled: dict[str, str] = field(default_factory=dict)
    unread: set[Unread] = field(default_factory=set)
    machines: list[ListedMachine] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    changed: list[Problem] = field(default_factory=list)

    def add(
        self,
        *,
        macs: Iterable[str],
        name: str = "",
        foreign: str = "",
        address: str = "",
        gateway: str = "",
        routers: Iterable[str] = (),
        stray: str = "",
        labels: Labels | None = None,
        notes: Iterable[str] = (),
        line: int = 0,
        key: str = "",
    ) -> None:
        """Take a machine in, or note what is wrong with it.  Raises TooLarge for one too many.

        `foreign` is a name as another program has it, instead of `name`; `routers` are as `ListedMachine` has them.
        `stray` is the router that it is told though that is on another network.
        """
        where = self._key(key)
        if stray:
            self.strays[line, where] = stray
        name = name or own_name(foreign)
        if foreign and name != foreign.strip().lower():
            self.written[line, where] = foreign.strip()
        try:
            checked = parse_labels(labels or {})
            machine = listed_machine(
                macs=macs,
                name=name,
                address=address,
                gateway=gateway,
                routers=routers,
                labels=checked,
                notes=notes,
                line=line,
                key=where,
            )
        except Invalid as error:
            found = error.problems or [Problem(text=str(error))]
            self.problems += [Problem(text=each.text, line=line or None, key=where) for each in found]
            return
        if len(self.machines) >= MOST_LISTED:
            raise TooLarge(f"the list has more than {MOST_LISTED} machines: split it over several files")
        self.machines.append(machine)

    def wrong(self, text: str, line: int = 0, key: str = "") -> None:
        self.problems.append(Problem(text=text, line=line or None, key=self._key(key)))

    def leave_out(self, text: str, line: int = 0, key: str = "") -> None:
        self.left_out.append(Problem(text=text, line=line or None, key=self._key(key)))

    def include(self, path: str, line: int, *, is_folder: bool = False) -> None:
        """Tell of a file, or of a folder of them, that the list includes, unless it is among those that are read."""
        place = -2 if is_folder else -1
        if path.rstrip("/").split("/")[-1] not in (each.split("/")[place:][0] for each in self.files):
            too = "the files there" if is_folder else "that file"
            self.leave_out(f"it includes {quoted(path, MAX_PATH)}: name {too} too", line)

    def labels(self, values: Mapping[str, str], tags: Iterable[str] = ()) -> dict[str, str]:
        """Labels of another program's fields, those with values, and of its tags."""
        named = {key: value for key, value in values.items() if value.strip()}
        tagged = [each for each in tags if each.strip()]
        own = {each: own_label(each) for each in (*named, *named.values(), *tagged)}
        self.labelled |= {each: label for each, label in own.items() if label != each.strip()}
        found = {own[key]: own[value] for key, value in named.items()} | dict.fromkeys(
            map(own.__getitem__, tagged), TAGGED
        )
        return {key: value for key, value in found.items() if key and value}

    def leave_unread(self, what: Unread, line: int = 0, key: str = "") -> None:
        """Tell, once for a file, of something that is not read."""
        if what not in self.unread:
            self.unread.add(what)
            self.change(what, line, key)

    def change(self, text: str, line: int = 0, key: str = "") -> None:
        self.changed.append(Problem(text=text, line=line or None, key=self._key(key)))

    def is_over(self, end: float) -> bool:
        """Whether a lease that ends then, in seconds since 1970, is no more."""
        return end <= self.now.timestamp()

    def _key(self, key: str) -> str:
        return " ".join(each for each in (self.file, key) if each)


def listing(files: Iterable[Gathered], networks: Iterable[Network] = ()) -> Listing:
    """All of them.  A card, a name or an address that two machines have is wrong.

    An address without a prefix gets that of its network, with its router: of those that a file describes, else of these.
    The machine's own `routers` count before that.
    The router of these also counts where the list has the prefix and no router.
    """
    gathered, said = list(files), list(networks)
    described = [network for each in gathered for network in each.networks]
    machines: list[ListedMachine] = []
    strayed: list[Problem] = []
    for each in gathered:
        placed = [_placed(machine, described, said) for machine in each.machines]
        strayed += _strayed(each, placed)
        machines += placed
    written = {place: name for each in gathered for place, name in each.written.items()}
    return Listing(
        machines=tuple(machines),
        problems=(*(problem for each in gathered for problem in each.problems), *_twice(machines, written)),
        left_out=tuple(problem for each in gathered for problem in each.left_out),
        changed=(
            *(problem for each in gathered for problem in each.changed),
            *strayed,
            *(problem for each in gathered for problem in _relabelled(each)),
            *_renamed(machines, written),
        ),
    )


def _placed(machine: ListedMachine, described: Iterable[Network], said: Iterable[Network]) -> ListedMachine:
    if machine.address is None:
        return machine
    address = str(machine.address)
    around = within(address, said)
    if machine.prefix is None:
        found = within(address, described) or around
        return machine if found is None else _routed(replace(machine, prefix=found.network.prefixlen), found, around)
    return _routed(machine, around)


def _routed(machine: ListedMachine, *networks: Network | None) -> ListedMachine:
    """With the router of the first of these networks that is the machine's and has one, where it has none itself."""
    own = IPv4Network((machine.address, machine.prefix), strict=False)
    machine = routed(machine, own)
    routers = (each.router for each in networks if each is not None and each.network == own and is_address(each.router))
    return replace(machine, gateway=machine.gateway or next((parse_address(each)[0] for each in routers), None))


def _twice(machines: Iterable[ListedMachine], written: Mapping[tuple[int, str], str]) -> Iterator[Problem]:
    owners: dict[str, ListedMachine] = {}
    for machine in machines:
        name = f"the name {machine.name}" if machine.name else ""
        for claim in (*machine.macs, str(machine.address or ""), name):
            first = owners.setdefault(claim, machine) if claim else machine
            if first is not machine:
                place = f"line {first.line}" if first.line else first.key
                both = [written.get((each.line, each.key), each.name) for each in (machine, first)]
                why = ""
                if claim == name:
                    why = (
                        f", made of {shown(both[0])} here and of {shown(both[1])} there"
                        if both[0] != both[1]
                        else "; if both are cards of one machine, print the list with --as-csv and make one row of them, one MAC "
                        "in other_macs; else rename one"
                    )
                yield machine.problem(f"{claim} is listed twice: at {place} too{why}")


def _strayed(gathered: Gathered, machines: Sequence[ListedMachine]) -> Iterator[Problem]:
    """Which routers are not taken because they are on other networks than their hosts, which get none otherwise."""
    hosts: dict[str, list[ListedMachine]] = {}
    for before, machine in zip(gathered.machines, machines, strict=True):
        dropped = str(before.routers[0]) if before.routers and not machine.routers else ""
        stray = gathered.strays.get((machine.line, machine.key), dropped)
        if stray and machine.gateway is None and stray != str(machine.address):
            hosts.setdefault(stray, []).append(machine)
    for router, without in hosts.items():
        named = some([each.name or str(each.macs[0]) for each in without])
        text = (
            f"the router {router} is not taken for {counted(len(without), 'host')} of another network: {named}; a gateway is on "
            "the network of its machine: write one there, or say it with --network NETWORK,GATEWAY"
        )
        yield Problem(text=text, key=gathered.file)


def _relabelled(gathered: Gathered) -> Iterator[Problem]:
    """Which texts of labels are others here, in one line."""
    if gathered.labelled:
        told = [f"{shown(text)} {f'as {own}' if own else 'left out'}" for text, own in gathered.labelled.items()]
        yield Problem(text=f"{counted(len(told), 'label text')} taken otherwise: {some(told)}", key=gathered.file)


def _renamed(machines: Iterable[ListedMachine], written: Mapping[tuple[int, str], str]) -> Iterator[Problem]:
    """Which names are others here; those without a domain in one line, for all of a list have that at times."""
    cut: list[str] = []
    for machine in machines:
        name = written.get((machine.line, machine.key), "")
        if name and name.lower().partition(".")[0] == machine.name:
            cut.append(f"{shown(name)} as {machine.name}")
        elif name:
            yield machine.problem(
                f"{shown(name)} is imported {f'as {machine.name}' if machine.name else 'without a name'}"
            )
    if cut:
        yield Problem(text=f"{counted(len(cut), 'name')} without the domain: {some(cut)}")


def some(names: Sequence[str]) -> str:
    """The first few of many, and that there are more."""
    more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def within(address: str, networks: Iterable[Network]) -> Network | None:
    """The first of the networks that has an address; None: none has it, or it is no address."""
    if not is_address(address):
        return None
    parsed, _ = parse_address(address)
    return next((each for each in networks if parsed in each.network), None)


def parse_network(text: str) -> Network:
    """A network as a person says it: `172.30.0.0/24`, with a comma and its router behind it if there is one; raises Invalid."""
    written, _, router = (each.strip() for each in text.partition(","))
    if "/" not in written and is_address(written):
        such = IPv4Network((written, _USUAL_PREFIX), strict=False)
        raise Invalid(f"the network {written} has no prefix: write it behind, such as {such}")
    try:
        network = IPv4Network(written)
    except ValueError:
        raise Invalid(f"{shown(written)} is no network: write it as 172.30.0.0/24") from None
    found = Network(network=network, router=router)
    if router and not within(router, [found]):
        raise Invalid(f"the gateway {shown(router)} is no address of {network}")
    return found


def is_address(text: str) -> bool:
    """Whether this is an IPv4 address, with or without a prefix."""
    try:
        parse_address(text)
    except Invalid:
        return False
    return True


def whole_mac(text: str) -> str:
    """A MAC whose octets may lack their leading zeros, as `0:0:c0:5d:bd:95`, with all its digits; else as it is."""
    return ":".join(each.zfill(2) for each in text.split(":")) if _SHORT_MAC.fullmatch(text) else text


def own_name(text: str) -> str:
    """A host name as tinkbox has it: in small letters, digits and dashes, without what looks like a domain (`_DOMAIN`)."""
    first, _, rest = text.strip().rstrip(".").partition(".")
    return host_name(first if _DOMAIN.fullmatch(rest) and not first.isdigit() else text)


def own_label(text: str) -> str:
    """A text as the key or the value of a label: what may not stand there becomes a dash; empty when nothing is left."""
    kept = "".join(letter if letter in _LETTERS else "-" for letter in text.strip())
    return kept.strip("-_.")[:_LONGEST].strip("-_.")


def own_note(text: str) -> tuple[str, ...]:
    """A description as one line, if there is any."""
    line = condensed(text, 4 * MAX_NOTE)[:MAX_NOTE]
    return (line,) if line else ()


def shown(text: str) -> str:
    """A piece of a file in a message."""
    return quoted(text, 40)
