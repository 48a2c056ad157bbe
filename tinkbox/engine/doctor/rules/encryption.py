"""The doctor's rules about TLS: certificates that the doors show, and hosts that do not take them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from tinkbox.engine.doctor.case import Case, Finding, moment
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.text import counted
from tinkbox.model.vitals import HandshakeTrouble, RefusedHandshake

# As limits that held somebody back are told.
_TOLD_FOR: Final = timedelta(minutes=10)
# A client that does not take a certificate tries again; some say nothing when they hang up, as probes of ports do.
_HUNG_UP: Final = 3
# Who tries so many versions and ciphers, and some that come through beside them, scans the port.
_SCAN: Final = 5
_SCANNED_WITHIN: Final = timedelta(minutes=1)
_CAUSES: Final = {
    HandshakeTrouble.AUTHORITY: "does not trust this box's certificate: it knows another authority, or none.",
    HandshakeTrouble.EXPIRED: "takes this box's certificate for expired: most likely its clock is wrong.",
    HandshakeTrouble.NOTHING_IN_COMMON: "cannot speak the TLS that this box does, 1.3, or 1.2 with ECDHE and AES-GCM.",
    HandshakeTrouble.HUNG_UP: "began {times} to speak TLS and hung up without a word: it only looks whether the port is open, as probes "
    "do, or it does not trust this box's certificate.",
}
_TRUST: Final = (
    "`tinkbox authority` on the box prints the certificate to trust, with its fingerprint. A machine gets it anew when it boots "
    "from the network; a worker by hand with the credential of `tinkbox hardware credential MACHINE`; commands by `tinkbox login`; "
    "a Docker engine in /etc/docker/certs.d/ADDRESS/ca.crt. Who asks by a name of tls.certificate has to trust the authority that "
    "signed that."
)
_REMEDIES: Final = {
    HandshakeTrouble.AUTHORITY: _TRUST,
    HandshakeTrouble.HUNG_UP: f"If nothing fails there, it is a probe and harmless. Else: {_TRUST}",
    HandshakeTrouble.EXPIRED: "Look at the clock there (`date`). The box's own ends on no sooner day than `openssl s_client -connect "
    "ADDRESS:443 </dev/null` shows.",
    HandshakeTrouble.NOTHING_IN_COMMON: "Use a newer version of the program there, or let it use ECDHE with AES-GCM. A machine whose "
    "firmware is the reason boots over plain HTTP.",
}


def certificate_trouble(case: Case) -> Iterator[Finding]:
    """A certificate that every client refuses, that ends, or was not renewed, and a chain that some clients cannot follow."""
    if case.vitals is None:
        return
    for gravity, told in (
        (Gravity.FAULT, case.vitals.refused_certificates),
        (Gravity.SUSPECT, case.vitals.certificates),
    ):
        for each in told:
            # The way out stands behind the last colon; a setting that is named first stays as it is written.
            cause, _, remedy = each.rpartition(": ")
            yield Finding(
                gravity=gravity,
                cause=f"{cause if cause.startswith('tls.') else _begun(cause)}.",
                evidence=(f"{moment(case.now)} {each}",),
                remedy=f"{_begun(remedy)}.",
            )


def certificate_refused(case: Case) -> Iterator[Finding]:
    """A host that does not take the certificate that it is shown; of one that did so at several doors the newest."""
    newest = {each.host: each for each in case.refused_handshakes if case.now - each.at < _TOLD_FOR and _is_told(each)}
    for each in newest.values():
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"{case.named(each.host)} {_CAUSES[each.why].format(times=counted(each.times, 'time'))}",
            evidence=(
                f"{moment(each.at)} a handshake of {each.host} at {each.door} came to nothing ({each.words}), {counted(each.times, 'time')} so far",
            ),
            remedy=_REMEDIES[each.why],
            subject=each.host,
        )


def _begun(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _is_told(refused: RefusedHandshake) -> bool:
    if refused.came_through is not None and refused.came_through > refused.at:  # since then it takes the certificate
        return False
    if refused.why is HandshakeTrouble.HUNG_UP:
        return refused.times >= _HUNG_UP
    return refused.why in _CAUSES and not _is_scan(refused)


def _is_scan(refused: RefusedHandshake) -> bool:
    return (
        refused.why is HandshakeTrouble.NOTHING_IN_COMMON
        and refused.times >= _SCAN
        and refused.came_through is not None
        and abs(refused.at - refused.came_through) < _SCANNED_WITHIN
    )
