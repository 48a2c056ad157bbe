"""The certificate authorities that this host trusts."""

import ssl
from pathlib import Path
from typing import Final

# Where distributions keep the authorities they trust, for an executable that was built on another one.
_AUTHORITIES: Final = ("/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem")
_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


def trusted_authorities() -> ssl.SSLContext:
    """Those of this host; OpenSSL itself looks where the host that it was built on keeps them."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not paths.cafile and not paths.capath:
        for path in filter(lambda each: Path(each).is_file(), _AUTHORITIES):
            context.load_verify_locations(path)
            break
    return context


def trusted_certificates() -> list[bytes]:
    """The certificates of these authorities, in DER, in no order; of a folder as well, which OpenSSL reads only when it needs one."""
    found = trusted_authorities().get_ca_certs(binary_form=True)
    folder = ssl.get_default_verify_paths().capath
    for each in Path(folder).glob("*.[0-9]*") if folder is not None else ():
        found += _in_file(each)
    return found


def _in_file(path: Path) -> list[bytes]:
    """The certificates (DER) of a file; none where it cannot be read."""
    try:
        text = path.read_text(errors="replace")
        pieces = [f"{piece}{_END}" for piece in text.split(_END)[:-1]]
        return [ssl.PEM_cert_to_DER_cert(each[each.index(_BEGIN) :]) for each in pieces if _BEGIN in each]
    except (OSError, ValueError):
        return []
