"""The values of a hardware document, one at a time: what they have to be, and what is told where they are not."""

import re
from collections.abc import Callable, Collection, Mapping
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    NetmaskValueError,
    ip_address,
)
from typing import Any, Final, TypeVar

from tinkbox.model.errors import Invalid, Problem, Remarks
from tinkbox.model.hardware import DEFAULT_ARCHITECTURE, MacAddress, Route, is_of_card
from tinkbox.model.spelling import meant
from tinkbox.model.text import can_be_shown, quoted, shortened, spelled

MAX_LEASE_SECONDS = 2**32 - 1  # RFC 2132 §9.2
MAX_TEXT_BYTES = 253
MAX_ADDRESSES = 8
MAX_ROUTES = 16
MAX_VLAN = 4094
# As Linux calls them, and what else documents call them.
ARCHITECTURES: Final[Mapping[str, str]] = {
    "x86_64": "x86_64", "x86-64": "x86_64", "amd64": "x86_64", "x64": "x86_64",
    "aarch64": "aarch64", "arm64": "aarch64",
}  # fmt: skip
# It stands in paths.
_ARCHITECTURE: Final = re.compile(r"[a-z0-9_-]{1,32}\Z")
_PATH: Final = re.compile(r"[/\\]|\.\.")
# RFC 952 and RFC 1123 §2.1.
_HOST_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*\.?\Z", re.IGNORECASE
)
_VLANS: Final = re.compile(r"[0-9]{1,4}(?:,[0-9]{1,4})*\Z", re.ASCII)
_MOST_NOTES: Final = 100  # about one document
_ONLY_METADATA: Final = "is not among what DHCP tells, which has IPv4 addresses: only the installed system is told it"
_ARCHITECTURES: Final = f"known are {', '.join(dict.fromkeys(ARCHITECTURES.values()))}"
_Value = TypeVar("_Value")


class Findings:
    """What is wrong in a document, and what there is to say of it otherwise.

    Of a `given` one more is refused than of a stored one, of which nothing is told: it was when it was given.
    """

    def __init__(self, *, given: bool) -> None:
        self.given = given
        self.problems: list[Problem] = []
        self._ignored: list[Problem] = []
        self._notes: list[Problem] = []

    @property
    def is_full(self) -> bool:
        """Whether no more is told of the document."""
        return not self.given or len(self._ignored) + len(self._notes) >= _MOST_NOTES

    def ignore(self, problem: Problem) -> None:
        if not self.is_full:
            self._ignored.append(problem)

    def note(self, problem: Problem) -> None:
        if not self.is_full:
            self._notes.append(problem)

    @property
    def remarks(self) -> Remarks:
        return Remarks(ignored=tuple(self._ignored), notes=tuple(self._notes))


class Reader:
    """Takes typed values out of one JSON object and notes what does not fit."""

    def __init__(self, entry: Any, key: str, found: Findings) -> None:
        self._entry = entry if isinstance(entry, dict) else {}
        self._key = key
        self.found = found
        if entry is not None and not isinstance(entry, dict):
            self.refuse("", "expected an object")

    def refuse(self, name: str, text: str) -> None:
        self.found.problems.append(self._problem(name, text))

    def ignore(self, name: str, text: str) -> None:
        """Tell what is wrong and left out, or replaced."""
        self.found.ignore(self._problem(name, text))

    def note(self, name: str, text: str) -> None:
        self.found.note(self._problem(name, text))

    def _problem(self, name: str, text: str) -> Problem:
        return Problem(text=text, key=f"{self._key}.{name}" if name else self._key)

    def note_unknown(self, known: Collection[str]) -> None:
        """Tell of keys that nothing reads, and which one was probably meant."""
        for name in (each for each in self._entry if each not in known):
            if self.found.is_full:
                return
            shown = shortened(name, 60)
            self.ignore(shown, f"unknown key {shown} is ignored; {meant(name, known)}")

    def inner(self, name: str) -> "Reader":
        return Reader(self._entry.get(name), f"{self._key}.{name}" if self._key else name, self.found)

    def inner_list(self, name: str) -> list["Reader"]:
        entries = self._entry.get(name) or []
        if not isinstance(entries, list):
            self.refuse(name, "expected a list")
            return []
        return [Reader(each, f"{self._key}.{name}[{at}]", self.found) for at, each in enumerate(entries)]

    def told(self, name: str) -> "Reader":
        """As `inner`, where earlier releases did not look: of a stored document what is no object is as if it were not there."""
        entry = self._entry.get(name)
        is_read = self.found.given or isinstance(entry, dict)
        return Reader(entry if is_read else None, f"{self._key}.{name}", self.found)

    def checked(self, name: str, check: Callable[[Any], _Value], default: _Value) -> _Value:
        """What `check` makes of a value; what it raises Invalid for is refused, and of a stored document left out."""
        value = self._entry.get(name)
        if value is None or value in ("", []):
            return default
        try:
            return check(value)
        except Invalid as error:
            if self.found.given:
                self.refuse(name, str(error))
            return default

    def text(self, name: str, default: str = "") -> str:
        value = self._entry.get(name)
        if value is None or value == "":
            return default
        if not isinstance(value, str):
            self.refuse(name, f"expected text, not {value!r}")
            return default
        # What goes into a DHCP option; JSON can also name halves of characters, which are no text.
        if len(value.encode(errors="replace")) > MAX_TEXT_BYTES or not value.isprintable():
            self.refuse(name, f"expected at most {MAX_TEXT_BYTES} bytes of printable text")
            return default
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._entry.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(name, f"expected true or false, not {value!r}")
            return default
        return value

    def says(self, name: str) -> bool:
        """Whether it says anything of it."""
        return self._entry.get(name) is not None

    def is_true(self, name: str) -> bool:
        """Whether it says true; it may say anything."""
        return self._entry.get(name) is True

    def seconds(self, name: str, default: int) -> int:
        value = self._entry.get(name) or default
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(name, f"expected seconds between 1 and {MAX_LEASE_SECONDS}, not {value!r}")
            return default
        if not 0 < value <= MAX_LEASE_SECONDS:
            self.ignore(name, f"expected seconds between 1 and {MAX_LEASE_SECONDS}: {default} are given instead")
            return default
        return value

    def mac(self, name: str) -> MacAddress | None:
        """None: it tells none that a network card can have."""
        value = self.text(name)
        if not value:
            return None
        try:
            found = MacAddress(value)
        except Invalid as error:
            self.refuse(name, str(error))
            return None
        if is_of_card(found):
            return found
        self.ignore(name, f"{found} is the address of no network card: this interface counts as one without a MAC")
        return None

    def address(self, name: str) -> IPv4Address | IPv6Address | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return ip_address(value)
        except ValueError:
            self.refuse(name, f"invalid ip: {value!r}")
            return None

    def address4(self, name: str) -> IPv4Address | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return IPv4Address(value)
        except AddressValueError:
            self.refuse(name, f"invalid ip: {value!r}")
            return None

    def prefix6(self, name: str) -> int | None:
        """The length of a prefix of IPv6: `64`, `/64`, or as a mask."""
        value = self.text(name).removeprefix("/")
        if not value:
            return None
        try:
            if ":" not in value:
                return IPv6Network(f"::/{value}").prefixlen
            length = int(IPv6Address(value)).bit_count()
            if IPv6Network((0, length)).netmask == IPv6Address(value):
                return length
        except ValueError:
            pass
        self.refuse(name, f"invalid prefix of IPv6: {value!r} (expected a length, like 64)")
        return None

    def name_servers(self, name: str) -> tuple[IPv4Address | IPv6Address, ...]:
        found = []
        for value in self._servers(name):
            try:
                server = ip_address(value)
            except ValueError:
                self.ignore(name, f"{quoted(value)} is no IP address, which a name server needs: left out")
                continue
            found.append(server)
            if isinstance(server, IPv6Address):
                self.note(name, f"{server} {_ONLY_METADATA}")
        return tuple(found)

    def time_servers(self, name: str) -> tuple[IPv4Address | IPv6Address | str, ...]:
        found: list[IPv4Address | IPv6Address | str] = []
        for value in self._servers(name):
            try:
                server: IPv4Address | IPv6Address | str = ip_address(value)
            except ValueError:
                server = value
            if isinstance(server, str) and not is_host_name(server):
                self.ignore(name, f"{quoted(value)} is neither an address nor a name of a host: left out")
                continue
            found.append(server)
            if not isinstance(server, IPv4Address):
                self.note(name, f"{server} {_ONLY_METADATA}")
        return tuple(found)

    def _servers(self, name: str) -> list[str]:
        values = self._entry.get(name) or []
        if not isinstance(values, list):
            self.refuse(name, "expected a list of addresses")
            return []
        if wrong := [each for each in values if not isinstance(each, str)]:
            self.refuse(name, f"invalid ip: {wrong[0]!r}")
            return []
        if len(values) > MAX_ADDRESSES:
            self.ignore(name, f"{len(values)} servers: only the first {MAX_ADDRESSES} are used")
        return values[:MAX_ADDRESSES]

    def hostname(self, name: str) -> str:
        value = self.text(name)
        if self.found.given and not can_be_shown(value):
            self.refuse(name, f"{spelled(value)} may only have letters that can be shown")
        elif value and not is_host_name(value):
            self.note(
                name, f"{quoted(value)} is no name of a host (letters, digits and dashes): systems may not take it"
            )
        return value

    def architecture(self, name: str) -> str:
        """As Linux calls it; empty: it tells none that could be one."""
        value = self.text(name)
        lowered = value.strip().lower()
        if not lowered or lowered in ARCHITECTURES:
            return ARCHITECTURES.get(lowered, "")
        if _ARCHITECTURE.match(lowered):
            self.note(name, f"there is no OSIE for {value}, so this machine cannot boot it: {_ARCHITECTURES}")
            return lowered
        if self.found.given and _PATH.search(value):
            self.refuse(name, f"{spelled(value)} is no architecture: {_ARCHITECTURES}")
        else:
            self.ignore(
                name, f"{quoted(value)} is no architecture, so {DEFAULT_ARCHITECTURE} stands for it: {_ARCHITECTURES}"
            )
        return ""

    def vlan(self, name: str) -> int | None:
        """A number in text or as a number, as Tinkerbell's documents have it; 0 is no VLAN (IEEE 802.1Q).

        Tinkerbell takes numbers up to 4096 as well, and several of them.
        """
        value = self._entry.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, str | int) and not isinstance(value, bool) and _VLANS.match(str(value)):
            if str(value).isdigit() and int(value) <= MAX_VLAN:
                return int(value) or None
            self.ignore(name, f"expected one VLAN between 0 and {MAX_VLAN}, so {value} is left out")
            return None
        self.refuse(name, f"expected a VLAN between 0 and {MAX_VLAN}, not {value!r}")
        return None

    def routes(self, name: str) -> tuple[Route, ...]:
        entries = self.inner_list(name)
        if len(entries) > MAX_ROUTES:
            self.ignore(name, f"{len(entries)} routes: only the first {MAX_ROUTES} are used")
        return tuple(route for each in entries[:MAX_ROUTES] if (route := each.route()) is not None)

    def route(self) -> Route | None:
        destination, router = self.text("destination_descriptor"), self.address4("router")
        try:
            network = IPv4Network(destination, strict=False)
        except ValueError:
            self.refuse("destination_descriptor", f"expected a network, like 10.0.0.0/8, not {destination!r}")
            return None
        if router is None:
            self.refuse("router", "a route needs its router")
            return None
        return Route(network=network, router=router)


def is_host_name(text: str) -> bool:
    """Whether a host can be called so, with or without its domain (RFC 1123 §2.1)."""
    return _HOST_NAME.match(text) is not None


def is_netmask(mask: IPv4Address) -> bool:
    """Ones, then zeros; the library takes the inverse for one as well."""
    try:
        return IPv4Network(f"0.0.0.0/{mask}").netmask == mask
    except NetmaskValueError:
        return False
