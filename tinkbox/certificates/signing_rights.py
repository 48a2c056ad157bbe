"""Whether an authority may sign what it signed (RFC 5280 §4.2.1.3, §4.2.1.9, §4.2.1.10), as far as all clients agree on that."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import TypeVar

from cryptography import x509

Extension = TypeVar("Extension", bound=x509.ExtensionType)


def exceeded(chain: Sequence[x509.Certificate]) -> str:
    """What the last certificate of a chain may not do of what it did, to stand behind its name; empty: nothing is known.

    The first one is the server's, and each was signed by the one behind it.
    """
    authority = chain[-1]
    try:
        basic = _extension(authority, x509.BasicConstraints)
        usage = _extension(authority, x509.KeyUsage)
        constraints = _extension(authority, x509.NameConstraints)
        names = _extension(chain[0], x509.SubjectAlternativeName)
    except ValueError:  # nobody can read them
        return ""
    return (
        _no_authority(authority, basic, usage)
        or _too_far(chain, basic)
        or (_foreign_name(names, constraints) if names is not None and constraints is not None else "")
    )


def _no_authority(authority: x509.Certificate, basic: x509.BasicConstraints | None, usage: x509.KeyUsage | None) -> str:
    if basic is not None and not basic.ca:
        return "may sign no certificates, for its basic constraints are CA:FALSE"
    # OpenSSL takes a root without basic constraints if its key usage has keyCertSign, or if it is of version 1.
    is_root = authority.issuer == authority.subject
    if basic is None and not (is_root and (usage is not None or authority.version is x509.Version.v1)):
        return "may sign no certificates, for it has no basic constraints"
    if usage is not None and not usage.key_cert_sign:
        return "may sign no certificates, for its key usage lacks keyCertSign"
    return ""


def _too_far(chain: Sequence[x509.Certificate], basic: x509.BasicConstraints | None) -> str:
    if basic is None or basic.path_length is None:
        return ""
    between = sum(each.issuer != each.subject for each in chain[1:-1])
    if between <= basic.path_length:
        return ""
    return f"may have at most {basic.path_length} others below it (its path length), and has {between}"


def _foreign_name(names: x509.SubjectAlternativeName, constraints: x509.NameConstraints) -> str:
    """Names of other kinds, such as those of people and mailboxes, are not judged."""
    for name in names:
        if not isinstance(name, x509.DNSName | x509.IPAddress):
            continue
        permitted = [each for each in constraints.permitted_subtrees or () if type(each) is type(name)]
        excluded = constraints.excluded_subtrees or ()
        if (permitted and not any(_is_within(name, each) for each in permitted)) or any(
            _is_within(name, each) for each in excluded
        ):
            return f"may not sign for {name.value}, which the certificate is for (its name constraints)"
    return ""


def _is_within(name: x509.DNSName | x509.IPAddress, tree: x509.GeneralName) -> bool:
    """Whether a name is within a tree of names; OpenSSL and Go take one that begins with a dot for the names below it alone."""
    if isinstance(name, x509.IPAddress):
        return isinstance(tree.value, IPv4Network | IPv6Network) and name.value in tree.value
    if not isinstance(tree, x509.DNSName):
        return False
    host, base = name.value.lower(), tree.value.lower()
    return not base or host == base or host.endswith(f".{base.removeprefix('.')}")


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    """Raises ValueError for extensions that cannot be read."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
