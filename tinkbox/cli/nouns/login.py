"""`tinkbox login`: which box the commands speak to, whom they trust there, and with which token."""

import argparse
import ssl
import sys
from typing import Final

from tinkbox.cli.flags import carry_out, filled
from tinkbox.cli.output.printable import clean
from tinkbox.cli.terminal.questions import Questions, ask_unseen
from tinkbox.model.errors import Forbidden, Invalid
from tinkbox.settings.boxes import KeptBox, box_url, read_boxes, write_boxes

STORY: Final = """\
Have the commands speak to a box over HTTPS: it shows the fingerprint of the
box's authority, asks whether that is the right one, and keeps it with a token.
`tinkbox authority` on the box prints the right fingerprint.
The token is typed, or read from standard input. Then nobody is asked, so name
the fingerprint: tinkbox login box --fingerprint SHA256:... < token."""
SECONDS: Final = 10.0
_OPERATORS: Final = (
    "It is none that a box makes: either it signed the operator's certificate (tls.certificate), or this is not the box"
)
_ALONE: Final = (
    "It is no authority, but a certificate itself: either the operator's (tls.certificate), or this is not the box. After each renewal it is another one, and "
    "`tinkbox login` asks again. That ends once the file of tls.certificate goes on to the authority that signed it"
)
_TRUST_IT: Final = (
    "have this host trust it (its list of authorities, or SSL_CERT_FILE=FILE), and log in without --fingerprint"
)
_MOST_OF_TOKEN: Final = 4096


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description = STORY
    noun.add_argument(
        "url", metavar="URL", nargs="?", type=filled, help="operator door of the box, such as https://box:7080"
    )
    noun.add_argument(
        "--fingerprint",
        type=filled,
        metavar="SHA256",
        help="fingerprint that the authority must have; then nothing is asked",
    )
    noun.add_argument(
        "--oidc", action="store_true", help="log in with an account of the company: confirm a code in a browser"
    )
    noun.add_argument("--list", action="store_true", help="the boxes that are kept, and which one commands speak to")
    carry_out(noun, login)


def login(chosen: argparse.Namespace) -> None:
    if chosen.list:
        _show_kept()
        return
    if not chosen.url:
        chosen.usage_error("name the box, such as https://box:7080")
    url = box_url(chosen.url)
    kept = read_boxes().boxes.get(url)
    authority = trusted_authority(url, kept.authority if kept else None, chosen.fingerprint)
    keep(url, authority, _token_by_issuer(url, authority) if chosen.oidc else _token(url, kept.token if kept else ""))


def trusted_authority(url: str, kept: str | None, expected: str | None) -> str:
    """The authority (PEM) of a box that a person trusts; empty where this host trusts the box anyway.

    `kept` is the one that was accepted before, empty: this host trusted the box, None: no login is kept of it; `expected` is the
    fingerprint that it must have, as typed.  Raises Unreachable where the box shows another, Invalid where a person does not trust it, or cannot be asked.
    """
    from tinkbox.client.operator.box_certificates import (
        changed_authority,
        distrusted,
        fingerprint_of,
        is_surely_unknown,
        is_unknown,
        shown_authority,
        verify,
    )
    from tinkbox.client.refusals import Unreachable, Untrusted
    from tinkbox.wire.authority import read_fingerprint

    wanted = read_fingerprint(expected) if expected else ""
    try:
        if not wanted or (kept and fingerprint_of(kept) == wanted):
            try:
                if kept or not is_surely_unknown(shown_authority(url, SECONDS)):
                    verify(url, kept or "", SECONDS)
                    return kept or ""
            except ssl.SSLCertVerificationError as error:
                if kept and fingerprint_of(shown_authority(url, SECONDS, fingerprint_of(kept))) == fingerprint_of(kept):
                    raise Untrusted(distrusted(url, url, kept, error, SECONDS)) from None
                if not kept and not is_unknown(error):
                    raise Untrusted(distrusted(url, url, kept, error, SECONDS)) from None
        shown = shown_authority(url, SECONDS, wanted)
        if wanted and fingerprint_of(shown) != wanted:
            raise Untrusted(_other_than_named(url, wanted, shown))
        if kept is not None and not wanted and not Questions(yes=False).can_ask:
            raise Untrusted(changed_authority(url, url, kept, shown))
        known_here = bool(kept) and not wanted and _is_trusted_here(url, shown)
        try:
            verify(url, shown, SECONDS)
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(distrusted(url, url, shown, error, SECONDS)) from None
    except (OSError, ValueError) as error:
        raise Unreachable(_unreached(url, error)) from None
    if kept is not None and not wanted:
        _have_change_trusted(url, kept, shown, known_here=known_here)
        return "" if known_here else shown
    if not wanted:
        _have_trusted(url, shown)
    return shown


def _is_trusted_here(url: str, shown: str) -> bool:
    """Whether this host trusts a box that shows this (PEM) without anything that is kept."""
    from tinkbox.client.operator.box_certificates import is_surely_unknown, verify

    if is_surely_unknown(shown):
        return False
    try:
        verify(url, "", SECONDS)
    except ssl.SSLCertVerificationError:
        return False
    return True


def _other_than_named(url: str, wanted: str, shown: str) -> str:
    from tinkbox.client.operator.box_certificates import fingerprint_of, is_boxs_own, what_is

    own = (
        ""
        if is_boxs_own(shown)
        else f".\n{_operators(shown)}.\nWhere you named the authority that signed the one shown, {_TRUST_IT}.\nThe box's own is shown to who asks "
        "by an address"
    )
    return (
        f"{url} shows another {what_is(shown)} than the one you named, so somebody may be between you and the box. Nothing was sent.\n"
        f"named: {wanted}\n"
        f"shown: {fingerprint_of(shown)}\n"
        f"`tinkbox authority` on the box prints the right one{own}"
    )


def _operators(shown: str) -> str:
    """What to say of a certificate (PEM) that is none of a box's own authority."""
    from tinkbox.client.operator.box_certificates import is_authority

    return _OPERATORS if is_authority(shown) else _ALONE


def keep(url: str, authority: str, token: str) -> None:
    """See that the box takes a token, and keep all three; from then on commands speak to it.

    Raises the box's refusal, Denied for a token that is none.
    """
    from tinkbox.client.operator import Operator
    from tinkbox.client.operator.connection import LOGIN
    from tinkbox.client.operator.quick_connection import QuickConnection, answer_of

    async def look() -> None:
        async with Operator(QuickConnection(url=url, token=token, variable=LOGIN, authority=authority)) as operator:
            try:
                await operator.authority()
            except Forbidden:  # a token that may not look, such as one for pushes, is a token
                return

    answer_of(look())
    path = write_boxes(read_boxes().with_box(url, KeptBox(authority, token)))
    print(clean(f"Logged in to {url}. Commands speak to it from now on (kept in {path}); `tinkbox logout` ends that."))


def _have_trusted(url: str, shown: str) -> None:
    """Ask whether an authority (PEM) is the right one."""
    from tinkbox.client.operator.box_certificates import fingerprint_of, is_boxs_own, printed_behind, what_is

    questions, found, what, own = Questions(yes=False), fingerprint_of(shown), what_is(shown), is_boxs_own(shown)
    if not questions.can_ask:
        other = "" if own else f". {_operators(shown)}; if this host should know it, {_TRUST_IT}"
        raise Invalid(
            f"nobody is there to say whether {found}, which {url} shows, is the right {what}: compare it with what `tinkbox "
            f"authority` prints on the box{printed_behind(shown)}, and type `tinkbox login {url} --fingerprint` with that one behind it{other}"
        )
    print(clean(f"{url} shows {'an' if what == 'authority' else 'a'} {what} that this host does not know:"))
    print(clean(f"  {found}"))
    if own:
        print("`tinkbox authority` on the box prints the right one, and so does `tinkbox serve` when it starts.")
    else:
        print(f"{_operators(shown)}. `tinkbox authority` on the box prints it behind the box's own.")
        print(f"If this host should know it, say no, and {_TRUST_IT}.")
    if not questions.agreed("Is it the same?", proposed=False):
        raise Invalid("you did not say yes, so nothing was sent and nothing is kept")


def _have_change_trusted(url: str, kept: str, shown: str, *, known_here: bool) -> None:
    """Ask whether what a box shows (PEM) is right, which is another than the one that is kept (PEM; empty: it was trusted by this host).

    `known_here`: this host trusts it anyway, and what is kept from then on is no certificate.
    """
    from tinkbox.client.operator.box_certificates import accepted, another, fingerprint_of, printed_behind, why_changed

    print(clean(another(url, kept, shown)))
    print(clean(f"  accepted: {accepted(kept)}"))
    print(clean(f"  now:      {fingerprint_of(shown)}"))
    if why := why_changed(kept, shown):
        print(why)
    if known_here:
        print(
            "This host trusts who signed it. If you say yes, it is trusted as any other site, and no fingerprint is kept."
        )
    print(f"`tinkbox authority` on the box prints the right one{printed_behind(shown)}.")
    if not kept:
        print(f"If this host should know it, say no, and {_TRUST_IT}.")
    if not Questions(yes=False).agreed("Is it the same?", proposed=False):
        raise Invalid(
            "you did not say yes, so nothing was sent, and what was kept stays: until the box shows that again, commands to it are refused"
        )


def _token_by_issuer(url: str, authority: str) -> str:
    """What the box gives to who confirms a code at the issuer that it believes."""
    from tinkbox.cli.device_login import token_by_issuer
    from tinkbox.client.operator.connection import LOGIN
    from tinkbox.client.operator.lasting_connection import LastingConnection

    return token_by_issuer(LastingConnection(url=url, variable=LOGIN, authority=authority))


def _token(url: str, kept: str) -> str:
    """What is typed, or comes on standard input; the one that is kept where nothing does."""
    if sys.stdin is not None and sys.stdin.isatty():
        empty = " (empty: the one that is kept)" if kept else ""
        given = ask_unseen(f"Token for {url}{empty}: ")
    else:
        given = sys.stdin.readline(_MOST_OF_TOKEN) if sys.stdin is not None else ""
    token = given.strip() or kept
    if not token:
        raise Invalid(
            "no token came on standard input: pipe one in, or type it at a terminal. `tinkbox token create NAME --right look` "
            "on the box makes one"
        )
    return token


def _show_kept() -> None:
    from tinkbox.client.operator.box_certificates import fingerprint_of, is_authority

    kept = read_boxes()
    if not kept.boxes:
        print("You are logged in to no box: tinkbox login https://box:7080", file=sys.stderr)
    for url, box in kept.boxes.items():
        trust = fingerprint_of(box.authority) if box.authority else "trusted by this host"
        if box.authority and not is_authority(box.authority):
            trust += "  (its certificate itself, until that is renewed)"
        print(clean(f"{'*' if url == kept.current else ' '} {url}  {trust}"))


def _unreached(url: str, error: Exception) -> str:
    why = (error.strerror if isinstance(error, OSError) else "") or str(error)
    if isinstance(error, ssl.SSLError):
        from tinkbox.client.operator.box_certificates import NO_TLS, speaks_no_tls

        if error.reason == NO_TLS:
            return speaks_no_tls(url)
        return (
            f"no handshake of TLS comes to an end at {url} ({error.reason or why}): name the operator door, as `tinkbox serve` "
            "prints it when it starts"
        )
    return (
        f"no box answers at {url} ({why}): is `tinkbox serve` running there, and is operator.listen of its tinkbox.yaml an "
        "address that this host reaches?"
    )
