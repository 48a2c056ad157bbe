"""Log-in by the device flow (RFC 8628): a person confirms a code in a browser anywhere, and the box gives a token for it."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tinkbox.client.issuer import IssuerClient, told
from tinkbox.client.operator import Operator
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.wire.oidc import DEVICE_GRANT, DeviceCode, IssuerDocument, Polling, check_url, parse_device_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a box gives to somebody who logged in; `expires` is a time as the box tells it (RFC 3339)."""

    value: str
    name: str
    rights: tuple[str, ...]
    expires: str


async def sign_in(
    operator: Operator,
    show: Callable[[DeviceCode], None],
    tls_of: Callable[[str], ssl.SSLContext],
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> Token:
    """Log in at the issuer that a box names, and then at the box.

    `show` tells a person where to confirm which code.  `tls_of` makes what believes an authority (PEM), or, of an empty one, those of
    the host.  Raises NotFound when the box has no issuer, Forbidden when somebody said no or has no rights, Denied when the box does
    not believe the issuer, Unavailable when the code is too old or nobody answers, and Invalid.
    """
    offer = await operator.logins.offer()
    check_url(offer.issuer)
    tls = await asyncio.to_thread(tls_of, offer.ca)
    async with IssuerClient(offer.issuer, tls) as issuer:
        places = await issuer.discovery()
        if not (places.device_authorization_endpoint and places.token_endpoint):
            raise Invalid(
                f"the issuer {offer.issuer} has no device flow (RFC 8628): use a token (`tinkbox token create`)"
            )
        asked = {"client_id": offer.client_id, "scope": " ".join(offer.scopes)}
        reply = await issuer.post(places.device_authorization_endpoint, asked)
        if reply.status != 200:
            raise Invalid(f"the issuer {offer.issuer} begins no log-in: {told(reply)}")
        code = parse_device_code(reply.document)
        show(code)
        id_token = await _confirmed(issuer, places, offer.client_id, code, wait, monotonic)
    made = await operator.logins.log_in(id_token)
    return Token(
        value=str(made["token"]),
        name=str(made["name"]),
        rights=tuple(map(str, made["rights"])),
        expires=str(made["expires"]),
    )


async def _confirmed(
    issuer: IssuerClient,
    places: IssuerDocument,
    client_id: str,
    code: DeviceCode,
    wait: Callable[[float], Awaitable[None]],
    monotonic: Callable[[], float],
) -> str:
    """The id token, as soon as a person confirmed the code."""
    form = {"grant_type": DEVICE_GRANT, "device_code": code.device_code, "client_id": client_id}
    polling = Polling(code, monotonic())
    while True:
        await wait(max(0.0, polling.next_at - monotonic()))
        try:
            reply = await issuer.post(places.token_endpoint, form)
        except Unavailable:
            polling.unanswered(monotonic())
            continue
        if id_token := polling.answered(reply.status, reply.document, monotonic()):
            return id_token
