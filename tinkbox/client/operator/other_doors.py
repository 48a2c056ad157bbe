"""What answers where an operator door should: an appliance's door for machines, or TLS."""

import ssl
from contextlib import suppress
from socket import create_connection
from typing import Final
from urllib.parse import urlsplit

from tinkbox.wire.operator_door import OperatorDoor, read_operator_door

_SECONDS: Final = 3.0
_PORT: Final = 80


def operator_door_advice(asked: str, door: OperatorDoor, variable: str, token_place: str) -> str:
    """What to type instead of `asked`, the URL of an appliance's door for machines.

    `door` is that appliance's `operator.listen`.  `variable` is what names an appliance, a variable or a flag;
    `token_place` still needs a token, if it is not empty.
    """
    asked_host = urlsplit(asked if "://" in asked else f"//{asked}").hostname or ""
    there = read_operator_door(f"{asked_host}:{door.port}")
    machines = f"{asked} is the appliance's door for machines"
    if door.is_loopback and not (there is not None and there.is_loopback):
        return (
            f"{machines}. Commands go to its operator door, {door}, which only its own host reaches: type them on "
            "that host, where they need no URL, or set operator.listen in its tinkbox.yaml to an address that this host "
            "reaches"
        )
    typed = f"https://{there if door.is_unspecified and there is not None else door}"
    token = f", and a token in {token_place}" if token_place else ""
    between = " " if variable.startswith("-") or " " in variable else "="
    return f"{machines}. Commands go to its operator door: `{variable}{between}{typed}`{token}"


def speaks_tls(url: str) -> bool:
    """Whether a handshake of TLS comes to its end at the host and port of a URL; it waits for a few seconds at most."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Nothing is sent there.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        place = urlsplit(url)
        host = place.hostname or ""
        with (
            create_connection((host, place.port or _PORT), _SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host) as reached,
        ):
            with suppress(OSError, ValueError):
                reached.unwrap()  # who hangs up looks to a box like one that refuses its certificate
            return True
    except (OSError, ValueError):
        return False
