"""TLS to the appliance of a credential: what is trusted, and what it means that it was refused.

Only the credential's authority counts, whatever the host trusts otherwise.  Which names a certificate is for is checked as
RFC 9110 §4.3.4 says, addresses among them.
"""

import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.text import one_line

# A connection that ends in the middle, as when the appliance is restarted, says nothing of who was at its other end.
ENDED = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
# Of `X509_V_ERR_*` in OpenSSL's x509_vfy.h.
_NOT_YET, _EXPIRED, _OTHER_NAME, _OTHER_ADDRESS = 9, 10, 62, 64
_OTHER_AUTHORITY = frozenset({2, 18, 19, 20, 21, 7, 24})
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"})
_MOST = 200
_SECONDS: Final = 5.0


class Untrusted(Unavailable):
    """What answers at the appliance's address cannot prove that it is the appliance, so nothing is said to it.

    It may pass: another host may be in its place for a while.
    """


def trusting(authority: str) -> ssl.SSLContext:
    """A client's context that trusts these certificates in PEM alone; TLS 1.2 (RFC 5246) or later.

    Raises Invalid when there is none among them.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cadata=authority)
    except (ssl.SSLError, ValueError, TypeError):
        raise Invalid(
            "the credential's authority is no certificate in PEM: make a new credential with `tinkbox hardware credential MAC`"
        ) from None
    return context


def tell_distrust(context: ssl.SSLContext, server: str) -> None:
    """Shake hands with the node door at a URL once more, to have it told why its certificate is refused.

    OpenSSL sends the alert (RFC 8446 §6.2) over a socket that blocks; asyncio closes the connection before it is sent.
    """
    url = urlsplit(server)
    with (
        suppress(OSError, ValueError),
        socket.create_connection((url.hostname or "", url.port or 443), _SECONDS) as plain,
    ):
        context.wrap_socket(plain, server_hostname=url.hostname).close()


def untrusted(server: str, error: ssl.SSLError, now: datetime) -> Untrusted:
    """What it means that TLS with the node door at a URL failed, with the way out; `now` is by this machine's clock."""
    clock = f"this machine's clock shows {now.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if not isinstance(error, ssl.SSLCertVerificationError):
        told = one_line(error.reason or str(error), _MOST)
        why = "it does not speak TLS" if error.reason in _NO_TLS else f"TLS with it fails ({told})"
        way = "See what listens on that port: it is node.https_port of the appliance's tinkbox.yaml"
    elif error.verify_code in _OTHER_AUTHORITY:
        why = "its certificate is not of the authority that this machine was given"
        way = (
            "Another host answers at that address, or the appliance has a new authority since. "
            "If it is yours, boot this machine again from the network"
        )
    elif error.verify_code == _EXPIRED:
        why = f"its certificate has expired, and {clock}"
        way = "If that is the time, see on the appliance with `tinkbox doctor` why its certificate was not renewed"
    elif error.verify_code == _NOT_YET:
        why = f"its certificate is not valid yet, and {clock}"
        way = "Set the clock of this machine, or of the appliance, right"
    elif error.verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
        why = "its certificate is not for that name or address"
        way = "See that the appliance has that address, and restart it if it got the address since it was started"
    else:
        why = f"its certificate is refused ({one_line(error.verify_message, _MOST)})"
        way = "See with `tinkbox doctor` on the appliance what is wrong with its certificate"
    return Untrusted(f"the appliance at {server} is not trusted: {why}. {way}")
