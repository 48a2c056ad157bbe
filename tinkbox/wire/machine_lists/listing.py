"""What a reader of machine lists gathers: machines, problems, and what is left out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Final

from tinkbox.model.discovery import host_name
from tinkbox.model.errors import Invalid, Problem, TooLarge
from tinkbox.model.labels import Labels, parse_labels
from tinkbox.model.machine_lists import MOST_LISTED, ListedMachine, listed_machine
from tinkbox.model.notes import MAX_NOTE
from tinkbox.model.text import quoted

TAGGED: Final = "yes"  # the value of a label that is a tag elsewhere
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_LONGEST: Final = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a list says.  `problems` are what is wrong with it, `left_out` what it has that is no machine to import."""

    machines: tuple[ListedMachine, ...] = ()
    problems: tuple[Problem, ...] = ()
    left_out: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Gathered:
    """A list while it is read; `file` names it where several are read at once."""

    file: str = ""
    machines: list[ListedMachine] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)

    def add(
        self,
        *,
        macs: Iterable[str],
        name: str = "",
        address: str = "",
        gateway: str = "",
        labels: Labels | None = None,
        notes: Iterable[str] = (),
        line: int = 0,
        key: str = "",
    ) -> None:
        """Take a machine in, or note what is wrong with it.  Raises TooLarge for one too many."""
        where = self._key(key)
        try:
            checked = parse_labels(labels or {})
            machine = listed_machine(
                macs=macs,
                name=name,
                address=address,
                gateway=gateway,
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

    def _key(self, key: str) -> str:
        return " ".join(each for each in (self.file, key) if each)

    def listing(self) -> Listing:
        """All of it; a card that two machines of the list have is wrong."""
        owners: dict[str, ListedMachine] = {}
        for machine in self.machines:
            for mac in machine.macs:
                first = owners.setdefault(mac, machine)
                if first is not machine:
                    place = f"line {first.line}" if first.line else first.key
                    self.problems.append(machine.problem(f"{mac} is listed twice: at {place} too"))
        return Listing(machines=tuple(self.machines), problems=tuple(self.problems), left_out=tuple(self.left_out))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network that a DHCP server's configuration describes, and the router that it tells there."""

    network: IPv4Network
    router: str = ""


def within(address: str, networks: Iterable[Network]) -> tuple[str, str]:
    """An address with the prefix of its network, and the router of that; as it is and none where no network has it."""
    found = next((each for each in networks if _has(each.network, address)), None)
    return (f"{address}/{found.network.prefixlen}", found.router) if found else (address, "")


def _has(network: IPv4Network, address: str) -> bool:
    try:
        return IPv4Network(address).subnet_of(network)
    except ValueError:
        return False


def own_name(text: str) -> str:
    """A host name as tinkbox has it: without the domain, in small letters, digits and dashes; empty for an address."""
    first = text.strip().rstrip(".").partition(".")[0]
    return host_name(text if first.isdigit() else first)


def own_label(text: str) -> str:
    """A text as the key or the value of a label: what may not stand there becomes a dash; empty when nothing is left."""
    kept = "".join(letter if letter in _LETTERS else "-" for letter in text.strip())
    return kept.strip("-_.")[:_LONGEST].strip("-_.")


def own_labels(values: Mapping[str, str], tags: Iterable[str] = ()) -> dict[str, str]:
    """Labels of another program's fields, those with values, and of its tags."""
    found = {own_label(key): own_label(value) for key, value in values.items()}
    found |= {own_label(each): TAGGED for each in tags}
    return {key: value for key, value in found.items() if key and value}


def own_note(text: str) -> tuple[str, ...]:
    """A description as one line, if there is any."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:MAX_NOTE]
    return (line,) if line else ()


def shown(text: str) -> str:
    """A piece of a file in a message."""
    return quoted(text, 40)
