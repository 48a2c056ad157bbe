"""The certificate authorities that this host trusts."""

import ssl
from pathlib import Path
from typing import Final

# Where distributions keep the authorities they trust, for an executable that was built on another one.
_AUTHORITIES: Final = ("/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem")


def trusted_authorities() -> ssl.SSLContext:
    """Those of this host; OpenSSL itself looks where the host that it was built on keeps them."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not paths.cafile and not paths.capath:
        for path in filter(lambda each: Path(each).is_file(), _AUTHORITIES):
            context.load_verify_locations(path)
            break
    return context
