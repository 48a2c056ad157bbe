"""`/authority.pem`: the certificate of the box's authority, for everybody.

Over plain HTTP it proves nothing: who takes it from here compares its fingerprint with what `tinkbox authority` prints on the box.
"""

from typing import Final

from aiohttp import web

PATH: Final = "/authority.pem"
# Browsers offer to import it.
_TYPE: Final = "application/x-x509-ca-cert"


def routes(certificate: str) -> list[web.RouteDef]:
    async def show(_: web.Request) -> web.Response:
        return web.Response(text=certificate, content_type=_TYPE)

    return [web.get(PATH, show)]
