"""Whether clients that trust a root alone find their way from it to a server's certificate, by what the server shows."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, ExtensionOID

from tinkbox.certificates.issuing import called, encoded_key, is_signed_by, shown_name
from tinkbox.certificates.signing_rights import exceeded
from tinkbox.model.text import one_line

_MOST: Final = 300  # characters of a URL
# What renews certificates (ACME's clients, cert-manager) does so with a third of their life left, or with half of a short one's:
# with less than a quarter it did not.
_LATE: Final = 4
_ENDS_SOON: Final = timedelta(days=14)  # at most
_PURPOSES: Final = {
    ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth",
    ExtendedKeyUsageOID.CODE_SIGNING: "codeSigning",
    ExtendedKeyUsageOID.EMAIL_PROTECTION: "emailProtection",
    ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE: "anyExtendedKeyUsage",
}
# What a client must not take without knowing it (RFC 5280 §4.2), and what OpenSSL knows of that.
_KNOWN_CRITICAL: Final = frozenset(
    {
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.CRL_DISTRIBUTION_POINTS,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.INHIBIT_ANY_POLICY,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.NAME_CONSTRAINTS,
        ExtensionOID.OCSP_NO_CHECK,
        ExtensionOID.POLICY_CONSTRAINTS,
        ExtensionOID.POLICY_MAPPINGS,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        x509.ObjectIdentifier("1.3.6.1.5.5.7.1.7"),  # addresses and numbers of autonomous systems (RFC 3779)
        x509.ObjectIdentifier("1.3.6.1.5.5.7.1.8"),
        x509.ObjectIdentifier("2.16.840.1.113730.1.1"),  # the purposes that Netscape had
    }
)


@dataclass(frozen=True, slots=True)
class Chain:
    """The certificates of a file, the server's first, as they stand there; `trusted` are the authorities of this host, in DER."""

    path: Path
    certificates: Sequence[x509.Certificate]
    trusted: Sequence[bytes]

    def followed(self, now: datetime) -> list[x509.Certificate]:
        """Those that clients need, the server's first, each signed by the one behind it.

        They need none behind one that an authority of this host signed, unless the chain shows that authority itself.
        """
        shown = {each.public_bytes(Encoding.DER) for each in self.certificates}
        return self._followed([each for each in self.trusted if each not in shown], now)

    def end(self, now: datetime) -> x509.Certificate:
        """The last one to which the server's leads, whatever this host trusts, as `tinkbox login` finds it."""
        return self._followed((), now)[-1]

    def refusal(self, now: datetime) -> str:
        """Why every client refuses it, with the way out; empty: none is known to."""
        needed = self.followed(now)
        return (
            self._unfit(needed)
            or self._without_usage(needed[0])
            or self._not_understood(needed, roots=False)
            or self._without_right(needed, roots=False)
            or self._outdated(needed, now)
        )

    def warnings(self, now: datetime) -> list[str]:
        """What some clients refuse, and what will be refused soon, each with the way out."""
        needed = self.followed(now)
        found = (
            self._repeated(now) or self._broken_link(),
            self._root_outdated(needed, now)
            or self._not_understood(needed, roots=True)
            or self._without_right(needed, roots=True),
            self._soon_outdated(needed, now),
        )
        return [each for each in found if each]

    def _followed(self, others: Sequence[bytes], now: datetime) -> list[x509.Certificate]:
        """Where two have the same key, as of an authority that was renewed, the one that is valid, may sign and lasts longer counts."""
        found = [self.certificates[0]]
        while not is_signed_by(found[-1], found[-1]) and not _is_of_one(found[-1], others):
            signers = [each for each in self.certificates if each not in found and is_signed_by(found[-1], each)]
            if not signers:
                break
            found.append(
                max(signers, key=lambda each: (_is_valid(each, now), not exceeded([*found, each]), _end(each)))
            )
        return found

    def _called(self, certificate: x509.Certificate) -> str:
        """One of them by its place in the file and its name."""
        return f"certificate {self.certificates.index(certificate) + 1}, {called(certificate)}"

    def _outdated(self, needed: Sequence[x509.Certificate], now: datetime) -> str:
        """What to say where an authority in between is not valid now; empty: all are."""
        for server, each in pairwise(needed):
            who = f"tls.certificate: in {self.path} {self._called(each)}, which signed {called(server)},"
            if is_signed_by(each, each) or _is_valid(each, now):
                continue
            if now >= _end(each):
                return f"{who} expired on {_end(each):%Y-%m-%d}, so clients refuse the box: {self._current_chain(server, each)}"
            return (
                f"{who} is not valid before {each.not_valid_before_utc:%Y-%m-%d %H:%M} UTC, and here it is {now:%Y-%m-%d %H:%M}, so clients "
                f"refuse the box: set this host's clock right (`date -u`), or {self._current_chain(server, each)}"
            )
        return ""

    def _root_outdated(self, needed: Sequence[x509.Certificate], now: datetime) -> str:
        root = needed[-1]
        if len(needed) == 1 or not is_signed_by(root, root) or _is_valid(root, now):
            return ""
        when = (
            f"expired on {_end(root):%Y-%m-%d}"
            if now >= _end(root)
            else f"is not valid before {root.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        )
        return (
            f"tls.certificate: in {self.path} {self._called(root)}, which is a root, {when}, so clients refuse the box{_unless_newer(root)}: "
            f"{self._current_chain(needed[-2], root)}"
        )

    def _soon_outdated(self, needed: Sequence[x509.Certificate], now: datetime) -> str:
        """The same of one that ends soon, and before the server's: the renewal of that would bring another chain."""
        for server, each in pairwise(needed):
            if now < _end(each) < _end(needed[0]) and ends_soon(each.not_valid_before_utc, _end(each), now):
                return (
                    f"tls.certificate: in {self.path} {self._called(each)}, which signed {called(server)}, expires on "
                    f"{_end(each):%Y-%m-%d %H:%M} UTC, and clients refuse the box from then on{_unless_newer(each)}: {self._current_chain(server, each)}"
                )
        return ""

    def _unfit(self, needed: Sequence[x509.Certificate]) -> str:
        """What to say where one that clients need is not for servers (RFC 5280 §4.2.1.12); empty: all are.

        OpenSSL takes `anyExtendedKeyUsage` for no server's certificate, and wants it of authorities in between as well.
        """
        for at, each in enumerate(needed):
            try:
                purposes = list(each.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
            except (x509.ExtensionNotFound, ValueError):
                continue
            if ExtendedKeyUsageOID.SERVER_AUTH in purposes or (at > 0 and is_signed_by(each, each)):
                continue
            has = ", ".join(_PURPOSES.get(purpose, purpose.dotted_string) for purpose in purposes)
            lacks = (
                f"is not for servers, so clients refuse the box: its extended key usage is {has}, and lacks serverAuth"
            )
            if at == 0:
                return f"tls.certificate: {self.path} begins with {called(each)}, which {lacks}. Have a certificate made for a server"
            signed = called(needed[at - 1])
            return f"tls.certificate: in {self.path} {self._called(each)}, which signed {signed}, {lacks}. Have one made by an authority for servers"
        return ""

    def _without_usage(self, leaf: x509.Certificate) -> str:
        """What to say of a server's certificate whose key may do nothing of a handshake (RFC 5280 §4.2.1.3); empty: it may, or says nothing.

        OpenSSL wants one of the three, and Go none.  Browsers want the first, as TLS 1.3 does.
        """
        try:
            usage = leaf.extensions.get_extension_for_class(x509.KeyUsage).value
        except (x509.ExtensionNotFound, ValueError):
            return ""
        if usage.digital_signature or usage.key_encipherment or usage.key_agreement:
            return ""
        return (
            f"tls.certificate: {self.path} begins with {called(leaf)}, which is not for servers, so clients refuse the box: its key usage lacks "
            "digitalSignature. Have a certificate made for a server"
        )

    def _not_understood(self, needed: Sequence[x509.Certificate], *, roots: bool) -> str:
        """What to say where a root, or one of the others, has a critical extension that clients do not know; empty: none has."""
        for at, each in enumerate(needed):
            if (at > 0 and is_signed_by(each, each)) == roots and (strange := _unknown_critical(each)):
                return (
                    f"tls.certificate: in {self.path} {self._called(each)}, has a critical extension that clients do not know, {strange}, so "
                    f"clients refuse the box{_unless_newer(each) if roots else ''}: have one made without it, or with it not critical"
                )
        return ""

    def _without_right(self, needed: Sequence[x509.Certificate], *, roots: bool) -> str:
        """What to say where an authority signed what it may not sign, a root or one in between; empty: of none that is known."""
        for at, each in enumerate(needed[1:], 1):
            if is_signed_by(each, each) == roots and (why := exceeded(needed[: at + 1])):
                return (
                    f"tls.certificate: in {self.path} {self._called(each)}, which signed {called(needed[at - 1])}, {why}, so clients refuse the "
                    f"box{_unless_newer(each)}: have a certificate made by an authority that may sign it, and name the file with the chain of that"
                )
        return ""

    def _current_chain(self, certificate: x509.Certificate, outdated: x509.Certificate) -> str:
        """Where to get another certificate of who signed one, in the place of the one that is there."""
        issuer, place = shown_name(certificate.issuer), self.certificates.index(outdated) + 1
        return (
            f"get the current certificate of {issuer}{_found_at(certificate)} from who issued yours, and put it in the place of certificate {place}. "
            "If there is none, renew yours"
        )

    def _repeated(self, now: datetime) -> str:
        """What to say of an authority of which the file has a certificate too many, as an expired one beside the current; empty: of none."""
        needed = self._followed((), now)
        for at, each in enumerate(self.certificates):
            first = self.certificates.index(each)
            same = next((one for one in needed if _is_same(one, each)), None)
            if same is None or (same == each and first == at):
                continue
            kept = self.certificates.index(same)
            what = f"tls.certificate: in {self.path} certificate {at + 1}, {called(each)}"
            if same == each:
                return f"{what}, is certificate {kept + 1} once more: take out certificate {at + 1}"
            beside = f"for certificate {kept + 1} has the same name and key, and ends on {_end(same):%Y-%m-%d}"
            if not _is_valid(each, now):
                when = "expired on" if now >= _end(each) else "is not valid before"
                day = _end(each) if now >= _end(each) else each.not_valid_before_utc
                # GnuTLS takes the first one with the name of the signer; OpenSSL and Go take one that is valid.
                refused = ", so clients that use GnuTLS, such as wget, refuse the box" if at < kept else ""
                return (
                    f"{what}, {when} {day:%Y-%m-%d}{refused}. It is not needed, {beside}: take out certificate {at + 1}"
                )
            # Signed by another authority, it may lead to a root that is the only one that some clients know.
            if each.issuer == same.issuer:
                return (
                    f"{what}, ends on {_end(each):%Y-%m-%d}. It is not needed, {beside}: take out certificate {at + 1}"
                )
        return ""

    def _broken_link(self) -> str:
        """What may keep clients from believing the chain; empty: nothing is known.

        Roots need not be shown (RFC 8446 §4.4.2), and a firm's is often on no list of this host: of a chain that goes on behind the
        server's certificate its end is not judged.
        """
        chain, path = self.certificates, self.path
        for at, each in enumerate(chain[:-1]):
            if not is_signed_by(each, chain[at + 1]):
                return self._unlinked(at)
        server = chain[0]
        if len(chain) > 1 or is_signed_by(server, server) or _is_of_one(server, self.trusted):
            return ""
        issuer = shown_name(server.issuer)
        return (
            f"tls.certificate: {path} holds the certificate of {called(server)} alone. {issuer} signed it, and this host trusts no such authority. If "
            f"{issuer} is an authority in between (an intermediate), clients that trust only the root refuse the box: append the certificate of "
            f"{issuer}{_found_at(server)} with `cat {path} intermediate.pem > fullchain.pem`, and name that file. If it is the root, append that likewise"
        )

    def _unlinked(self, at: int) -> str:
        """What to say of a certificate that the one behind it did not sign."""
        chain = self.certificates
        each, behind = chain[at], chain[at + 1]
        what = f"tls.certificate: in {self.path} certificate {at + 2}, {called(behind)}, did not sign the one before it, {called(each)}"
        signer = next((one for one in chain if one is not each and is_signed_by(each, one)), None)
        if signer is not None:
            return f"{what}, and some clients refuse that order: put {self._called(signer)}, directly behind it"
        if is_signed_by(each, each):
            return f"{what}, which is a root: take out what stands behind it"
        issuer = shown_name(each.issuer)
        if _is_of_one(each, self.trusted):
            return f"{what}, nor has to: this host trusts {issuer}, which did. Take out certificate {at + 2}"
        if at > 0:
            return (
                f"{what}: take out certificate {at + 2}, unless {issuer} is an authority in between (an intermediate) as well. Then clients "
                f"that trust only the root refuse the box: put the certificate of {issuer}{_found_at(each)} between the two"
            )
        return (
            f"{what}, so clients that trust only a root refuse the box: put the certificate of {issuer}{_found_at(each)} between the two, or "
            "take out what signed none of the others"
        )


def ends_soon(begins: datetime, ends: datetime, now: datetime) -> bool:
    """Whether what renews a certificate is late with it."""
    return ends - now < min(_ENDS_SOON, (ends - begins) / _LATE)


def _unknown_critical(certificate: x509.Certificate) -> str:
    try:
        found = [each.oid for each in certificate.extensions if each.critical]
    except ValueError:  # nobody can read them
        return ""
    return ", ".join(each.dotted_string for each in found if each not in _KNOWN_CRITICAL)


def _end(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_after_utc


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < _end(certificate)


def _unless_newer(each: x509.Certificate) -> str:
    """Of a root clients have a copy of their own, which may be a newer one."""
    return ", unless they trust a newer certificate of this root" if is_signed_by(each, each) else ""


def _is_same(one: x509.Certificate, other: x509.Certificate) -> bool:
    """Whether both are of the same server or authority: by name and key."""
    return one.subject == other.subject and encoded_key(one.public_key()) == encoded_key(other.public_key())


def _is_of_one(server: x509.Certificate, authorities: Sequence[bytes]) -> bool:
    """Whether one of these authorities signed it."""
    issuer = server.issuer.public_bytes()
    for each in authorities:
        # Lists of hosts have certificates that are not as they should be; those are not even read.
        with suppress(ValueError):
            if issuer in each and is_signed_by(server, x509.load_der_x509_certificate(each)):
                return True
    return False


def _found_at(certificate: x509.Certificate) -> str:
    """Where a certificate says that its issuer's is to be had (RFC 5280 §4.2.2.1), to stand behind that one's name; empty: nowhere."""
    try:
        told = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (x509.ExtensionNotFound, ValueError):
        return ""
    places = (
        one_line(str(each.access_location.value), _MOST)
        for each in told
        if each.access_method == AuthorityInformationAccessOID.CA_ISSUERS
        and isinstance(each.access_location, x509.UniformResourceIdentifier)
    )
    place = next((each for each in places if each.startswith(("http://", "https://"))), "")
    # Without a colon: what stands behind the last one of a warning is the way out (`engine.doctor.rules.encryption`).
    made = "`openssl x509 -inform der -in FILE -out intermediate.pem` makes PEM of that"
    return f" (it is to be had at {place}, in DER; {made})" if place else ""
