"""One section of the configuration file: takes values out of it and notes what does not fit, each with its key."""

import difflib
import re
from collections.abc import Mapping
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from tinkbox.model.access import OPERATOR, Right
from tinkbox.model.duration import parse_duration, show_duration
from tinkbox.model.errors import Invalid, Problem

WORKFLOW_BITS = 28  # the prefix of the network that every workflow with services gets
MAX_COUNT = 10_000
MAX_LINK_BITS = 30  # a network with two addresses: for us, or a router, and for one machine
_PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_MAX_DOMAIN = 253 - 37  # RFC 1035 §2.3.4, and a workflow's id with its dot in front


class Section:
    """One mapping of the file.  Every method names a key that is known; `refuse_the_rest` comes last."""

    def __init__(self, entry: Any, key: str, problems: list[Problem]) -> None:
        self._entry: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
        self._key = key
        self._problems = problems
        self._known: list[str] = []
        if not isinstance(entry, dict):
            problems.append(Problem(key=key, text="expected keys with values"))

    def _take(self, name: str) -> Any:
        self._known.append(name)
        return self._entry.get(name)

    def refuse(self, name: str, text: str) -> None:
        """Note a problem with the value of a key, empty: with the section itself."""
        self._problems.append(Problem(key=f"{self._key}.{name}".strip("."), text=text))

    def section(self, name: str) -> "Section":
        value = self._take(name)
        return Section({} if value is None else value, f"{self._key}.{name}".strip("."), self._problems)

    def sections(self, name: str) -> "list[Section]":
        """Each entry of a list, as a section of its own."""
        value = self._take(name)
        if value is not None and not isinstance(value, list):
            self.refuse(name, "expected a list of keys with values")
            value = None
        key = f"{self._key}.{name}".strip(".")
        return [Section(entry, f"{key}[{at}]", self._problems) for at, entry in enumerate(value or [])]

    def text(self, name: str) -> str:
        value = self._take(name)
        if value is None or isinstance(value, str):
            return value or ""
        self.refuse(name, f"expected text, not {value!r}")
        return ""

    def mapping(self, name: str) -> dict[str, str]:
        """Texts by name."""
        value = self._take(name)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(each, str | int) for each in value.values()):
            self.refuse(name, f"expected names with texts, not {value!r}")
            return {}
        for key, each in value.items():
            # Such as 52:54:00:12:34:56, which YAML 1.1 takes for a count of seconds: what was written cannot be had back.
            if not isinstance(each, str):
                self.refuse(f"{name}.{key}", f"YAML reads it as the number {each!r}: put it in quotes")
        return {str(key): str(each) for key, each in value.items()}

    def count(self, name: str, default: int) -> int:
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_COUNT:
            self.refuse(name, f"expected a number between 1 and {MAX_COUNT}, not {value!r}")
            return default
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """One text, or a list of them."""
        value = self._take(name)
        listed = value if isinstance(value, list) else [] if value is None or value == "" else [value]
        if all(isinstance(each, str) and each for each in listed):
            return tuple(listed)
        self.refuse(name, f"expected text or a list of texts, not {value!r}")
        return ()

    def address(self, name: str) -> IPv4Address | None:
        value = self.text(name)
        try:
            return IPv4Address(value) if value else None
        except AddressValueError:
            self.refuse(name, f"invalid ip: {value!r}")
            return None

    def addresses(self, name: str) -> tuple[IPv4Address, ...]:
        value = self._take(name)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        try:
            return tuple(IPv4Address(str(each)) for each in listed)
        except AddressValueError:
            self.refuse(name, f"expected addresses such as [172.30.0.53], not {value!r}")
            return ()

    def address_range(self, name: str) -> tuple[IPv4Address, IPv4Address] | None:
        """The first and the last of some addresses."""
        value = self.text(name)
        first, _, last = (each.strip() for each in value.partition("-"))
        try:
            return (IPv4Address(first), IPv4Address(last)) if value else None
        except AddressValueError:
            self.refuse(name, f"expected FIRST-LAST such as 172.30.0.100-172.30.0.199, not {value!r}")
            return None

    def seconds(self, name: str, default: int, least: int) -> int:
        value = self._take(name)
        if value is None:
            return default
        try:
            seconds = parse_duration(str(value)) if isinstance(value, int | str) else 0
        except Invalid:
            seconds = 0
        if isinstance(value, bool) or not least <= seconds < 2**32:
            self.refuse(name, f"expected a time of at least {show_duration(least)} such as 1h, not {value!r}")
            return default
        return seconds

    def port(self, name: str, default: int, least: int = 1) -> int:
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 65_536:
            self.refuse(name, f"expected a port between {least} and 65535, not {value!r}")
            return default
        return value

    def endpoint(self, name: str, host: str, port: int) -> tuple[str, int]:
        value = self.text(name)
        if not value:
            return host, port
        chosen, colon, number = value.rpartition(":")
        if not colon or not re.fullmatch(r"[0-9]{1,5}", number) or not 0 < int(number) < 65_536:
            self.refuse(name, f"expected ADDRESS:PORT, not {value!r}")
            return host, port
        return chosen or host, int(number)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        # YAML 1.1 reads a bare `off` as false, and `on` as true.
        value = self._take(name)
        value = "off" if value is False else "on" if value is True else value
        if value is None or value in choices:
            return value or choices[0]
        self.refuse(name, f"expected {' or '.join(choices)}, not {value!r}")
        return choices[0]

    def name(self, name: str, default: str) -> str:
        value = self.text(name) or default
        if _NAME.fullmatch(value):
            return value
        self.refuse(name, f"a name is up to 63 letters, digits and . _ - in between, not {value!r}")
        return default

    def domain(self, name: str, default: str) -> str:
        """A domain in small letters, without a dot at its end."""
        value = (self.text(name) or default).lower().removesuffix(".")
        if not value or (_DOMAIN.fullmatch(value) and len(value) <= _MAX_DOMAIN):
            return value
        example = default or "lab.example"
        self.refuse(name, f"expected a domain such as {example}, at most {_MAX_DOMAIN} characters, not {value!r}")
        return default

    def folder(self, name: str) -> Path | None:
        value = self.text(name)
        if value and (not value.startswith("/") or ".." in Path(value).parts or "\0" in value):
            self.refuse(name, f"expected an absolute path without .., not {value!r}")
            return None
        return Path(value) if value else None

    def link(self, name: str) -> IPv4Network | None:
        """The network of machines that share a link."""
        value = self.text(name)
        try:
            network = IPv4Network(value, strict=False)
        except ValueError:
            self.refuse(name, f"expected an IPv4 network such as 172.31.0.0/24, not {value!r}")
            return None
        if str(network) == value and network.prefixlen <= MAX_LINK_BITS:
            return network
        whole = f"the network is {network}" if network.prefixlen <= MAX_LINK_BITS else "it has no room for machines"
        self.refuse(name, f"{value!r}: {whole}")
        return None

    def network(self, name: str, default: IPv4Network) -> IPv4Network:
        """Addresses to make the networks of workflows of."""
        value = self.text(name)
        try:
            network = IPv4Network(value) if value else default
        except ValueError:
            self.refuse(name, f"expected an IPv4 network such as {default}, not {value!r}")
            return default
        if network.prefixlen > WORKFLOW_BITS:
            self.refuse(name, f"{network} is too small: every workflow with services takes a /{WORKFLOW_BITS} of it")
            return default
        return network

    def people(self, name: str) -> dict[str, frozenset[Right]]:
        value = self._take(name)
        if value is not None and not isinstance(value, dict):
            self.refuse(name, f"expected names with rights, such as {{anna: [look, attach]}}, not {value!r}")
            return {}
        known: dict[str, frozenset[Right]] = {}
        for person, rights in (value or {}).items():
            key = f"{name}.{person}"
            if not isinstance(person, str) or not _PERSON.fullmatch(person) or person == OPERATOR:
                self.refuse(key, "a name is letters, digits and . _ @ - in between, and not operator")
            elif not isinstance(rights, list) or not rights or not all(each in list(Right) for each in rights):
                self.refuse(key, f"expected a list of {', '.join(Right)}, not {rights!r}")
            else:
                known[person] = frozenset(map(Right, rights))
        return known

    def refuse_the_rest(self) -> None:
        for name in self._entry:
            if name not in self._known:
                near = difflib.get_close_matches(str(name), self._known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(self._known)}"
                self.refuse(str(name), f"unknown key; {hint}")
