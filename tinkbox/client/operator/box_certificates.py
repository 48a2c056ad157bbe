"""Whether the box that answers is the one that is meant: by its authority, which `tinkbox login` keeps, or by those that this host trusts."""

import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from socket import create_connection
from typing import Any, Final
from urllib.parse import urlsplit

from tinkbox.model.errors import Unavailable
from tinkbox.model.text import one_line
from tinkbox.trusted_authorities import trusted_authorities, trusted_certificates
from tinkbox.wire.authority import fingerprint
from tinkbox.wire.authority import is_boxs_own as is_name_of_own

_PORT: Final = 443
_GOODBYE_SECONDS: Final = 2.0
NO_TLS: Final = "WRONG_VERSION_NUMBER"  # of OpenSSL: what answers begins with no record of TLS
# X509_V_ERR_… of OpenSSL.
_OUTDATED: Final = (9, 10)
_OTHER_NAME: Final = (62, 64)
_OTHER_PURPOSE: Final = 26
_NOT_PERMITTED: Final = (47, 48)
_UNKNOWN: Final = (7, 18, 19, 20, 21)
_MOST_OF_NAME: Final = 200  # characters


def trust_in(authority: str) -> ssl.SSLContext:
    """Trust in one authority (PEM) and no other; without one in all that this host trusts.

    Raises Unavailable for what is no certificate.
    """
    if not authority:
        return trusted_authorities()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The end of an operator's chain may be an authority between, which another one signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=authority)
    except (ssl.SSLError, ValueError):
        raise Unavailable(
            "the certificate that `tinkbox login` keeps of this box is damaged: `tinkbox logout` forgets it, then log in again"
        ) from None
    return context


def verify(url: str, authority: str, seconds: float, *, by_name: bool = True) -> None:
    """Shake hands with a box at the URL, and hang up; raises OSError, ssl.SSLError among them, where that fails.

    Not `by_name`: whatever host the certificate is for.
    """
    context = trust_in(authority)
    context.check_hostname = by_name
    host, port = _place(url)
    with create_connection((host, port), seconds) as plain:
        _end(context.wrap_socket(plain, server_hostname=host))


def shown_authority(url: str, seconds: float, sought: str = "") -> str:
    """The certificate (PEM) to which the chain that a box shows leads, of which nothing is proven; or the `sought` one, if it shows that.

    Clients care as little what else a box shows.  `sought` is a fingerprint.  It is sent no word.  Raises OSError, ssl.SSLError among them, where no handshake comes to an end.
    """
    shown = _shown_chain(url, seconds)
    return _of_fingerprint(shown.all, sought) or shown.path[-1]


@dataclass(frozen=True, slots=True)
class _Shown:
    """All that a box shows, in PEM, its own certificate first, and of that what leads from there to an authority by the names of each."""

    all: Sequence[str]
    path: Sequence[str]


def _shown_chain(url: str, seconds: float) -> _Shown:
    """Raises the same."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    host, port = _place(url)
    with create_connection((host, port), seconds) as plain:
        shown = context.wrap_socket(plain, server_hostname=host)
        # Python 3.13 has this without what the certificates tell, and before it has no public name.
        chain = shown._sslobj.get_unverified_chain()  # type: ignore[attr-defined]  # noqa: SLF001
        _end(shown)
    told = [each.get_info() for each in chain]
    pems = [each.public_bytes() for each in chain]
    return _Shown(pems, [pems[at] for at in _path(told, datetime.now(UTC).timestamp())])


def _path(told: Sequence[Mapping[str, Any]], now: float) -> list[int]:
    """Where those of a chain stand that lead from the first to an authority; of two of one name the one that is valid and lasts longer counts."""

    def lasts(at: int) -> tuple[bool, float]:
        begins, ends = (ssl.cert_time_to_seconds(told[at][each]) for each in ("notBefore", "notAfter"))
        return begins <= now < ends, ends

    found = [0]
    while told[found[-1]]["subject"] != (issuer := told[found[-1]]["issuer"]):
        signers = [at for at, each in enumerate(told) if at not in found and each["subject"] == issuer]
        if not signers:
            break
        found.append(max(signers, key=lasts))
    return found


def is_surely_unknown(authority: str) -> bool:
    """Whether an authority (PEM) signed itself and is none of those that this host trusts: to try it would tell the box of a refusal."""
    told = _names(authority)
    if told is None or told.get("subject") != told.get("issuer"):
        return False
    return ssl.PEM_cert_to_DER_cert(authority) not in trusted_certificates()


def is_boxs_own(authority: str) -> bool:
    """Whether what a box shows ends with an authority (PEM) as boxes make them, and not with one of its operator's; it proves nothing."""
    told = _names(authority)
    if told is None or told.get("subject") != told.get("issuer"):
        return False
    return any(key == "commonName" and is_name_of_own(value) for part in told["subject"] for key, value in part)


def is_authority(shown: str) -> bool:
    """Whether a certificate (PEM) is an authority's, and not the one of a server alone."""
    return _names(shown) is not None


def what_is(shown: str) -> str:
    """What people are told that a certificate (PEM) is, which they are to trust."""
    return "authority" if is_authority(shown) else "certificate"


def _names(authority: str) -> dict[str, Any] | None:
    """Whom an authority (PEM) names as itself and as who signed it; None of what is no authority's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=authority)
        (told,) = context.get_ca_certs()
    except (ssl.SSLError, ValueError):
        return None
    return dict(told)


def _end(connection: ssl.SSLSocket) -> None:
    """End a connection as TLS does: one that is hung up before its tickets are read looks to the box like a refusal."""
    with connection, suppress(OSError, ValueError):
        connection.settimeout(_GOODBYE_SECONDS)
        connection.unwrap()


def fingerprint_of(authority: str) -> str:
    """Of a certificate in PEM."""
    return fingerprint(ssl.PEM_cert_to_DER_cert(authority))


def is_unknown(error: ssl.SSLCertVerificationError) -> bool:
    """Whether a certificate is not accepted for its authority, which is none that is trusted."""
    return error.verify_code in _UNKNOWN


def _is_of_known(error: ssl.SSLCertVerificationError) -> bool:
    """Whether a certificate is not accepted although an authority signed it that is trusted: for its names, its time or its purpose."""
    return error.verify_code in (*_OTHER_NAME, *_OUTDATED, *_NOT_PERMITTED, _OTHER_PURPOSE)


def distrusted(where: str, url: str, authority: str | None, error: ssl.SSLCertVerificationError, seconds: float) -> str:
    """What to say of a box whose certificate is not accepted, in lines: why, what was kept and is shown, what to type.

    `authority` (PEM) is the one that is kept of it, empty: those that this host trusts; None: nothing is kept.
    """
    if authority and _is_unproven(url, authority, error, seconds):
        return _other_or_forged(where, url, authority, error, seconds)
    what = f"{where} shows a certificate that is not valid ({error.verify_message})"
    if error.verify_code in _OTHER_NAME:
        return (
            f"{what}: write the host as the certificate names it. A box has a certificate for all its addresses, and for the "
            "names in tls.names of its tinkbox.yaml"
        )
    if error.verify_code in _OUTDATED:
        if between := _outdated_authority(url, seconds, datetime.now(UTC).timestamp()):
            return (
                f"{what}: {between}, by this host's clock. If `date` is right here, have who runs the box put the current certificate of that "
                "authority into the file of tls.certificate"
            )
        return (
            f"{what}: compare `date` here and on the box. A box renews its own certificate; one of tls.certificate is "
            "yours to renew"
        )
    if error.verify_code == _OTHER_PURPOSE:
        return (
            f"{what}: the certificate in tls.certificate of its tinkbox.yaml, or an authority behind it, is for another purpose, as for clients alone "
            "(its extended key usage lacks serverAuth), or for authorities (its key usage lacks digitalSignature). Have who runs the box get one that is made for a server; `tinkbox serve --check` there says "
            "which it is"
        )
    if error.verify_code in _NOT_PERMITTED:
        return (
            f"{what}: an authority behind the box's certificate may not sign for one of its names. Have who runs the box get a certificate without "
            "that name, or of another authority; `tinkbox serve --check` there says which name it is"
        )
    if not is_unknown(error):
        return (
            f"{what}, though it leads by name to an authority that this host trusts: the file of tls.certificate on the box is wrong, or "
            "somebody may be between you and the box. Nothing was sent.\n"
            "Have who runs the box type `tinkbox serve --check` there: it says what is wrong with the file.\n"
            "If it says nothing of it, another program may have answered you"
        )
    if authority is not None and (shown := _shown_by(url, seconds)):
        return changed_authority(where, url, authority, _end_of(shown, trusted_certificates()))
    return (
        f"{what}: `tinkbox login {url}` shows the fingerprint of its authority and keeps that. Or have this host trust the "
        "authority, whose file SSL_CERT_FILE may name"
    )


def speaks_no_tls(where: str) -> str:
    """What to say of a port on which something else is spoken than TLS."""
    return (
        f"{where} does not speak TLS: that is machines' metadata or another program, and not the operator door. It listens where "
        "operator.listen of the box's tinkbox.yaml says, which is 127.0.0.1:7080 unless it is set: write an address of the box there that this "
        "host reaches, such as 192.0.2.1:7080, restart tinkbox, and name that one. An appliance of an earlier release spoke http:// "
        "only; commands send it no token over a network, so update it first"
    )


def changed_authority(where: str, url: str, kept: str, shown: str) -> str:
    """What to say of a box that shows another authority (PEM) than the one that is kept (PEM; empty: those that this host trusts), in lines."""
    lines = (
        f"{another(where, kept, shown)} Nothing was sent.",
        f"accepted: {accepted(kept)}",
        f"now:      {fingerprint_of(shown)}",
        why_changed(kept, shown),
        f"Type `tinkbox authority` on the box: it prints the right one{printed_behind(shown)}.",
        "If that is what it shows now:",
        f"`tinkbox login {url} --fingerprint {fingerprint_of(shown)}` keeps the new one, and your token",
    )
    return "\n".join(filter(None, lines))


def another(where: str, kept: str, shown: str) -> str:
    """How it begins to be told that a box shows another (PEM) than the one that a person accepted."""
    if kept:
        return f"{where} shows another {what_is(shown)} than the one that you accepted, so somebody may be between you and the box."
    article = "an" if is_authority(shown) else "a"
    return (
        f"{where} shows {article} {what_is(shown)} that this host does not trust. When you logged in, this host trusted who signed the box's "
        "certificate, so somebody may be between you and the box."
    )


def accepted(kept: str) -> str:
    """What a person accepted: a fingerprint, or what this host trusts."""
    return fingerprint_of(kept) if kept else "a box trusted by this host"


def why_changed(kept: str, shown: str) -> str:
    """What may have had a box that showed what is kept (PEM; empty: trusted by this host) show another (PEM) since; empty: nothing is known."""
    if is_boxs_own(shown):
        return (
            ""
            if kept and is_boxs_own(kept)
            else "You accepted that of an operator's certificate, and this is called as a box's own authority: tls.certificate may have been taken "
            "out, or lost this name, or it cannot be used."
        )
    if not kept:
        return (
            "This host may trust fewer authorities than it did, as without the SSL_CERT_FILE of your login; or the operator's certificate was "
            "renewed by another authority, or lacks one in between since."
        )
    if is_boxs_own(kept):
        return (
            "You accepted a box's own authority, and this is none: the operator may have set tls.certificate since, for the name by which you "
            "ask. Asked by its address, the box still shows its own."
        )
    if not is_authority(kept):
        return (
            "You accepted a certificate itself, which is another one after each renewal. Once the file of tls.certificate goes on to the "
            "authority that signed it, that one is asked for, and stays."
        )
    return "It is none that a box makes: the operator's certificate may have been renewed by another authority."


def printed_behind(shown: str) -> str:
    """Where `tinkbox authority` prints what a box shows (PEM), to stand behind the words of that."""
    return "" if is_boxs_own(shown) else " behind the box's own"


def _is_unproven(url: str, authority: str, error: ssl.SSLCertVerificationError, seconds: float) -> bool:
    """Whether an error is of a certificate that the authority (PEM) may not have signed.

    OpenSSL looks at purposes and names first, then at signatures and times, and at last for which names an authority may sign.
    """
    if error.verify_code in (*_OUTDATED, *_NOT_PERMITTED):
        return False
    if not _is_of_known(error):
        return True
    try:
        if error.verify_code in _OTHER_NAME:
            verify(url, authority, seconds, by_name=False)
        else:
            _shown_chain(url, seconds)
    except ssl.SSLCertVerificationError as nameless:
        return not _is_of_known(nameless)
    except (ssl.SSLError, ConnectionResetError):  # it has a certificate, and not the key of that
        return True
    except (OSError, ValueError):
        return False
    return False


def _other_or_forged(where: str, url: str, kept: str, error: ssl.SSLCertVerificationError, seconds: float) -> str:
    """What to say of a box whose certificate does not lead to the authority (PEM) that is kept, whether it shows that or not."""
    shown, wanted = _shown_by(url, seconds), fingerprint_of(kept)
    if shown is not None and _of_fingerprint(shown.all, wanted) is None:
        return changed_authority(where, url, kept, shown.path[-1])
    begin = (
        f"{where} shows a certificate that does not lead to the {what_is(kept)} that it has to, so somebody may be between you and the box. "
        f"Nothing was sent.\nhas to lead to: {wanted}"
    )
    if shown is None:
        return f"{begin}\nNo handshake comes to an end that would show where it leads.\n`tinkbox authority` on the box prints the right one"
    if error.verify_code not in (*_UNKNOWN, *_OTHER_NAME):
        return (
            f"{begin}\nshown:          {fingerprint_of(shown.path[0])}\n"
            f"It shows the first as well, but its chain is refused ({error.verify_message}).\n"
            "`tinkbox serve --check` on the box tells whether the file of tls.certificate is the reason"
        )
    end = _end_of(shown, [ssl.PEM_cert_to_DER_cert(kept)])
    label, but = (
        ("shown:          ", "that one did not sign the second")
        if end == shown.path[0]
        else ("leads to:       ", "its own certificate leads to the second")
    )
    return (
        f"{begin}\n{label}{fingerprint_of(end)}\n"
        f"It shows the first as well, but {but}.\n"
        "Type `tinkbox authority` on the box. Only if that prints the second too, it is the box, and the file of tls.certificate in its tinkbox.yaml is wrong:\n"
        "the box's own has to stand first, and behind it the one that signed it, and so on"
    )


def _of_fingerprint(shown: Sequence[str], sought: str) -> str | None:
    """The certificate (PEM) of a fingerprint, of those that a box shows."""
    return next((each for each in shown if fingerprint_of(each) == sought), None)


def _end_of(shown: _Shown, trusted: Collection[bytes]) -> str:
    """Where what a box shows leads to (PEM), of which nothing is proven by those that are trusted (DER).

    To one of these it leads by its names alone, which anybody can write: then it is told by its own certificate.
    """
    is_forged = any(ssl.PEM_cert_to_DER_cert(each) in trusted for each in shown.path)
    return shown.path[0 if is_forged else -1]


def _shown_by(url: str, seconds: float) -> _Shown | None:
    """What a box shows; None: it cannot be seen."""
    try:
        return _shown_chain(url, seconds)
    except (OSError, ValueError):
        return None


def _outdated_authority(url: str, seconds: float, now: float) -> str:
    """Which authority behind a box's own certificate is not valid at `now` (seconds since 1970), and since when; empty: none, or it cannot be seen."""
    shown = _shown_by(url, seconds)
    for told in filter(None, map(_names, shown.path[1:] if shown is not None else ())):
        name = ", ".join(value for part in told["subject"] for _, value in part)
        if now >= ssl.cert_time_to_seconds(told["notAfter"]):
            return f"the authority {one_line(name, _MOST_OF_NAME)} behind the box's certificate ended on {told['notAfter']}"
        if now < ssl.cert_time_to_seconds(told["notBefore"]):
            return f"the authority {one_line(name, _MOST_OF_NAME)} behind the box's certificate begins on {told['notBefore']}"
    return ""


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORT
