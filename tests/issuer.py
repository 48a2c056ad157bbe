"""An issuer of OpenID Connect on loopback: discovery, keys, device flow, and every way in which one can be wrong.

Its tokens are signed by hand, with `cryptography` alone: what checks them is not what made them.
"""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

CLIENT = "tinkbox"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
RSA = rsa.generate_private_key(65537, 2048)
OTHER_RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED25519 = ed25519.Ed25519PrivateKey.generate()
PSS = padding.PSS(padding.MGF1(hashes.SHA256()), 32)


def encoded(content: bytes | Mapping[str, Any]) -> str:
    """Base64url without padding (RFC 7515, section 2), of an object its JSON."""
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8))


def rsa_jwk(key: rsa.RSAPrivateKey = RSA, kid: str = "rsa", **more: Any) -> dict[str, Any]:
    public = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": kid, "use": "sig", "n": number(public.n), "e": number(public.e), **more}


def ec_jwk() -> dict[str, Any]:
    public = EC.public_key().public_numbers()
    x, y = encoded(public.x.to_bytes(32)), encoded(public.y.to_bytes(32))
    return {"kty": "EC", "crv": "P-256", "kid": "ec", "x": x, "y": y}


def ed25519_jwk() -> dict[str, Any]:
    return {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encoded(ED25519.public_key().public_bytes_raw())}


KEYS = {"keys": [rsa_jwk(), ec_jwk(), ed25519_jwk()]}


def by_ec(text: bytes) -> bytes:
    r, s = decode_dss_signature(EC.sign(text, ec.ECDSA(hashes.SHA256())))
    return r.to_bytes(32) + s.to_bytes(32)


# By algorithm the key's name and what signs.
SIGNED: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "RS256": ("rsa", lambda text: RSA.sign(text, padding.PKCS1v15(), hashes.SHA256())),
    "PS256": ("rsa", lambda text: RSA.sign(text, PSS, hashes.SHA256())),
    "ES256": ("ec", by_ec),
    "EdDSA": ("ed", ED25519.sign),
}


def token(
    claims: Mapping[str, Any] | bytes,
    algorithm: str = "RS256",
    head: Mapping[str, Any] | None = None,
    sign: Callable[[bytes], bytes] | None = None,
) -> str:
    """A token of these claims; `head` adds to its head or takes from it, where a value is None."""
    kid, usual = SIGNED.get(algorithm, ("rsa", lambda _: b""))
    whole = {"alg": algorithm, "typ": "JWT", "kid": kid, **(head or {})}
    signed = f"{encoded({name: value for name, value in whole.items() if value is not None})}.{encoded(claims)}"
    return f"{signed}.{encoded((sign or usual)(signed.encode()))}"


@dataclass
class Issuer:
    """What it answers and what it was asked.

    `claims` are those of the next id token, besides `iss`, `aud`, `iat` and `exp`, for which `clock` tells seconds.  `answers` are of the
    token endpoint, one after the other, before it gives the id token: a name of an error, or a status.  `instead` answers a path
    in another way.
    """

    url: str
    clock: Callable[[], float]
    claims: dict[str, Any] = field(
        default_factory=lambda: {"sub": "4711", "preferred_username": "anna", "groups": ["lab"]}
    )
    keys: dict[str, Any] = field(default_factory=lambda: KEYS)
    answers: list[str | int] = field(default_factory=list)
    instead: dict[str, Callable[[web.Request], Any]] = field(default_factory=dict)
    discovery: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)

    def id_token(self, **more: Any) -> str:
        now = self.clock()
        standard = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300}
        return token({**standard, **self.claims, **more})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if request.path in self.instead:
            answer: web.StreamResponse = await self.instead[request.path](request)
            return answer
        if request.path == "/.well-known/openid-configuration":
            return web.json_response(
                {
                    "issuer": self.url,
                    "jwks_uri": f"{self.url}/keys",
                    "device_authorization_endpoint": f"{self.url}/device",
                    "token_endpoint": f"{self.url}/token",
                    **self.discovery,
                }
            )
        if request.path == "/keys":
            return web.json_response(self.keys)
        self.forms.append({name: str(value) for name, value in (await request.post()).items()})
        if request.path == "/device":
            return web.json_response(
                {
                    "device_code": "a-device-code",
                    "user_code": "WDJB-MJHT",
                    "verification_uri": f"{self.url}/confirm",
                    "verification_uri_complete": f"{self.url}/confirm?user_code=WDJB-MJHT",
                    "expires_in": 60,
                    "interval": 1,
                }
            )
        if request.path != "/token":
            raise web.HTTPNotFound
        if not self.answers:
            return web.json_response({"access_token": "x", "token_type": "Bearer", "id_token": self.id_token()})
        told = self.answers.pop(0)
        if isinstance(told, int):
            return web.Response(status=told, text="<html>")
        return web.json_response({"error": told, "error_description": "as told"}, status=400)


@asynccontextmanager
async def issuer(clock: Callable[[], float], tls: ssl.SSLContext | None = None) -> AsyncIterator[Issuer]:
    """One that listens on a port of its own, over HTTPS with `tls`."""
    served = Issuer(url="", clock=clock)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", served.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.05, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    served.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield served
    finally:
        await runner.cleanup()


async def hang(_: web.Request) -> web.Response:
    """Never answers."""
    await asyncio.Event().wait()
    return web.Response()
