"""What the OSIE's scripts ask of the appliance and tell it: one request each, without a session.

Busybox knows no TLS, and a credential with an authority is for nothing else.
"""

import ssl
import urllib.request
from datetime import UTC, datetime
from http.client import HTTPException, HTTPResponse
from urllib.error import HTTPError, URLError
from urllib.parse import quote

from tinkbox.client.refusals import raise_refusal
from tinkbox.client.trust import ENDED, trusting, untrusted
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.wire.messages.worker import Credential

SECONDS = 20.0
MOST = 1 << 20  # bytes of an answer
_Request = urllib.request.Request


def fetched(credential: Credential, path: str) -> bytes:
    """What the credential's node door has at a path, such as `/boot/MAC/credential.cpio`.

    Raises Untrusted where something else answers, Unavailable where nothing does, Invalid for a path that is none or an
    answer above 1 MiB, and what the node door refuses as what that is.
    """
    if not path.startswith("/"):
        raise Invalid(f"{path!r} is no path: it begins with /")
    return _asked(credential, _Request(credential.server + path))


def complain(credential: Credential, part: str, why: bytes) -> None:
    """Tell the appliance what is wrong with a part of this machine's OSIE, in a line of text; raises as `fetched`."""
    _asked(credential, _Request(f"{credential.server}/worker/trouble?part={quote(part)}", data=why))


def _asked(credential: Credential, request: _Request) -> bytes:
    trusted = trusting(credential.authority) if credential.authority else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Nothing of the environment counts: neither a proxy nor what the host trusts.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted))
    try:
        with opener.open(request, timeout=SECONDS) as response:
            answer = _read(response)
    except HTTPError as refused:
        with refused:
            raise_refusal(refused.code, str(refused.reason), refused.read(MOST))
        raise Unavailable(f"the appliance at {credential.server} answers {refused.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLError) and not isinstance(reason, ENDED):
            raise untrusted(credential.server, reason, datetime.now(UTC)) from None
        raise Unavailable(f"the appliance at {credential.server} does not answer: {reason or error!r}") from None
    return answer


def _read(response: HTTPResponse) -> bytes:
    answer = response.read(MOST + 1)
    if len(answer) > MOST:
        raise Invalid(f"what the appliance has there is larger than {MOST >> 20} MiB")
    return answer
