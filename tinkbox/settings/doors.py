"""The sections `operator` and `node`: the two doors, and what else is asked at the node door's address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tinkbox.model.access import OPERATOR, Right
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.tokens import NAME
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, section, setting
from tinkbox.settings.oidc import Oidc, check_oidc

GROUP, NO_GROUP = "tinkbox", "off"
HTTPS_PORT = 443
_GROUP = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to listen over TCP."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@reader("`ADDRESS:PORT`")
def endpoint(value: Any, default: Endpoint) -> Endpoint:
    """Without an address before the colon it is the default's."""
    found = readers.written(value)
    if not found:
        return default
    host, colon, number = found.rpartition(":")
    if not colon or not re.fullmatch(r"[0-9]{1,5}", number) or not 0 < int(number) <= readers.MAX_PORT:
        raise Invalid(f"expected ADDRESS:PORT, not {found!r}")
    return Endpoint(host or default.host, int(number))


@reader(f"names, each with a list of rights: {', '.join(f'`{each}`' for each in Right)}")
def rights_by_name(value: Any, _: Mapping[str, frozenset[Right]]) -> Mapping[str, frozenset[Right]]:
    """Raises Invalid with a problem for each wrong name."""
    if not isinstance(value, dict):
        raise Invalid(f"expected names with rights, such as {{anna: [look, attach]}}, not {value!r}")
    problems: list[Problem] = []
    for person, rights in value.items():
        if not isinstance(person, str) or not NAME.fullmatch(person) or person == OPERATOR:
            text = "a name is letters, digits and . _ @ - in between, and not operator"
            problems.append(Problem(key=str(person), text=text))
        elif not isinstance(rights, list) or not rights or not all(each in list(Right) for each in rights):
            problems.append(Problem(key=person, text=f"expected a list of {', '.join(Right)}, such as [look]"))
    if problems:
        raise Invalid("wrong names or rights", problems)
    return {person: frozenset(map(Right, rights)) for person, rights in value.items()}


@reader(f"a group's name, or `{NO_GROUP}`")
def group(value: Any, _: str) -> str:
    # YAML 1.1 reads a bare `off` as false.
    found = NO_GROUP if value is False else readers.written(value)
    if not _GROUP.fullmatch(found):
        raise Invalid(f"expected a group's name such as {GROUP}, or {NO_GROUP}, not {value!r}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The operator door."""

    listen: Endpoint = setting(
        Endpoint("127.0.0.1", 7080),
        endpoint,
        "TCP address of the operator door; the unix socket `operator.sock` in the data folder is always there as well",
    )
    group: str = setting(
        GROUP,
        group,
        "group of this host whose members may use `operator.sock` with all rights, and need neither root nor a token. The default "
        f"counts where the group exists. `{NO_GROUP}`: only root and the user that the appliance runs as",
    )
    people: Mapping[str, frozenset[Right]] = setting(
        {},
        rights_by_name,
        "does nothing any more: `tinkbox token` makes, lists and revokes tokens. The start takes over the tokens that an earlier "
        "release made for these people",
    )
    oidc: Oidc = section(Oidc, check_oidc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Ports at the address that machines know."""

    http_port: int = setting(
        80,
        readers.port(),
        "TCP port of the node door for firmware: boot files, and all else for machines of before there was HTTPS",
    )
    https_port: int = setting(
        HTTPS_PORT,
        readers.port(least=0),
        "TCP port of the node door over HTTPS: worker protocol, image registry, services; `0` turns it off, and machines "
        "speak plain HTTP. The default is left out where another process has that port",
    )
    tftp_port: int = setting(69, readers.port(), "UDP port of TFTP, which serves boot loaders")
    tftp_single_port: bool = setting(
        False,
        readers.switch,
        "whether the port of TFTP carries the transfers as well, instead of a port for each, where a filter that knows nothing "
        "of TFTP stands between; then an address can be made to receive what it never asked for",
    )
    dns_port: int = setting(53, readers.port(), "UDP and TCP port of DNS; it answers for the names of workflows only")
    syslog_port: int = setting(
        514, readers.port(least=0), "UDP port of syslog, which takes what booting machines log; `0` turns it off"
    )
