"""The doctor's rule about the registries from which the appliance fetches what it lacks."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from tinkbox.engine.doctor.case import Case, Duty, Finding, Stops, moment
from tinkbox.model.command_lines import not_ours
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.images.mirrors import MirrorFault, MirrorTrouble
from tinkbox.model.text import one_line

_LONGEST: Final = 300
# What is wrong, as the middle of a sentence, and what to do, where {name} is the mirror's host and {look} asks it by hand.
_FAULTS: Final[Mapping[MirrorFault, tuple[str, str]]] = {
    MirrorFault.NAME: (
        "cannot be found: its name has no address",
        (
            "`getent hosts {name}` must print one. If it does not, check /etc/resolv.conf, and whether the DNS server named there is up. If the "
            "name is wrong, correct it under `registry.mirrors` in tinkbox.yaml, then `systemctl restart tinkbox`."
        ),
    ),
    MirrorFault.REFUSED: (
        "refuses connections",
        (
            "Its host answers, and nothing listens on that port: start the registry there, or correct its URL under `registry.mirrors` in "
            "tinkbox.yaml, then `systemctl restart tinkbox`."
        ),
    ),
    MirrorFault.UNREACHABLE: (
        "cannot be reached: nobody answers at its address, or this host has no way there",
        (
            "`ip route get $(getent hosts {name} | cut -d' ' -f1)` shows the way that is taken: where it names a gateway, mend the route, the link "
            "or the gateway; else the registry's host is off, or has another address."
        ),
    ),
    MirrorFault.NO_TLS: (
        "does not speak TLS there",
        (
            "If it is meant to be asked without TLS, write `http://` in its URL under `registry.mirrors` in tinkbox.yaml, else the port where it "
            "speaks TLS; then `systemctl restart tinkbox`."
        ),
    ),
    MirrorFault.OTHER_TLS: (
        "does not agree on TLS with this host",
        (
            "`{look}` shows why. It must offer TLS 1.2 or 1.3 to clients without a certificate of their own: look at its TLS settings and its log."
        ),
    ),
    MirrorFault.CERTIFICATE: (
        "shows a certificate that is not accepted",
        (
            "`{look}` shows why. An authority of your own goes as PEM into a file of /usr/local/share/ca-certificates whose name ends in .crt; then "
            "`update-ca-certificates` and `systemctl restart tinkbox`. A clock that is wrong makes certificates invalid too."
        ),
    ),
    MirrorFault.SILENT: (
        "does not answer",
        (
            "`{look}` shows how far one comes from this host: look at the registry, at firewalls on the way, and at `https_proxy`, if "
            "tinkbox has one."
        ),
    ),
    MirrorFault.LOGIN: (
        "does not take tinkbox's login",
        (
            "Correct `username` under `registry.mirrors` in tinkbox.yaml, then `systemctl restart tinkbox`, or the password in its "
            "`password_file`, which is read anew each time."
        ),
    ),
    MirrorFault.LIMIT: (
        "refuses because it was asked too often",
        (
            "Wait, or give it a `username` and `password_file` under `registry.mirrors` in tinkbox.yaml, then `systemctl restart tinkbox`: "
            "registries let those with a login ask more often."
        ),
    ),
    MirrorFault.ANSWER: (
        "does not answer as a registry does",
        (
            "`{look}` shows what it answers: look at the log of that registry. If its URL is wrong, correct it under `registry.mirrors` in "
            "tinkbox.yaml, then `systemctl restart tinkbox`."
        ),
    ),
    MirrorFault.NO_REGISTRY: (
        "answers, but not as a registry",
        (
            "`{look}` shows what it answers. Another web server listens on that port, or a login page stands before the registry: correct the "
            "URL under `registry.mirrors` in tinkbox.yaml, then `systemctl restart tinkbox`, or let tinkbox past that page."
        ),
    ),
}


def mirror_away(case: Case) -> Iterator[Finding]:
    """A mirror of which nothing comes: a fault where a pull failed for that, and it is away still."""
    for each in case.vitals.mirrors if case.vitals else ():
        parts = urlsplit(each.url)
        wrong, remedy = _FAULTS[each.fault]
        look = f"curl -v {parts.scheme}://{parts.netloc}/v2/"
        yield Finding(
            gravity=Gravity.FAULT if each.looked and each.pulled_at else Gravity.SUSPECT,
            cause=f"The mirror of {each.host}, {parts.netloc}, {wrong}: images of {each.host} that are not kept here cannot be fetched.",
            evidence=tuple(_seen(each)),
            remedy=f"{remedy.format(name=parts.hostname, look=look)} Images that are kept here are served meanwhile; with "
            "`registry.offline: true` no mirror is asked.",
            subject=each.host,
            stops=Stops(duties=frozenset({Duty.REGISTRY}), registry=each.host, since=each.since),
        )


def _seen(trouble: MirrorTrouble) -> Iterator[str]:
    yield f"{moment(trouble.at)} {not_ours(one_line(trouble.why, _LONGEST))}"
    if trouble.since != trouble.at:
        yield f"{moment(trouble.since)} it failed first, and every time since"
    if trouble.pulled_at is not None:
        yield f"{moment(trouble.pulled_at)} what a machine asked for did not come"
    if not trouble.looked:
        yield "the registry itself answers, when it is asked for nothing in particular"
