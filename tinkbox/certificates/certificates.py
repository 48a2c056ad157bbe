"""The certificates that the doors show: who asks by a name of the operator's own certificate gets that, all others the box's.

Machines ask by address and trust the box's authority alone, so that no certificate of an operator, with the names and keys
that its authority likes, can keep them from booting.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tinkbox.certificates.contexts import Contexts, Door, server_contexts, show
from tinkbox.certificates.issuing import Authority, is_due, new_key, signed, usable
from tinkbox.certificates.kept_files import KeptFiles, Leaf
from tinkbox.certificates.own_certificate import OwnCertificate, Remarks, change_of, read_own
from tinkbox.model.command_lines import PROGRAM
from tinkbox.model.errors import Unavailable
from tinkbox.wire.authority import fingerprint

LOOK_EVERY: Final = 60.0  # seconds
_ENDS_SOON: Final = timedelta(days=365)
_EARLIER: Final = "the one of before"
_BOXS: Final = "the box's own"
_log = logging.getLogger(__name__)
Own = tuple[Path, Path]


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _remarks(own: OwnCertificate, now: datetime) -> Remarks:
    problem = own.problem(now)
    return Remarks(wrong=[problem]) if problem else Remarks(warnings=own.warnings(now))


class Certificates:
    """See the module; `open` makes one.

    `authority_pem` is the certificate of the box's authority, `fingerprint` its SHA-256 as people compare it.
    """

    def __init__(
        self,
        files: KeptFiles,
        authority: Authority,
        names: Sequence[str],
        own: Own | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._files, self._authority, self._names, self._own_files = files, authority, names, own
        self._clock = clock
        self._own: OwnCertificate | None = None
        self._not_renewed = self._own_problem = ""
        self._contexts = self._shown = server_contexts()
        for door, context in self._contexts.items():
            context.sni_callback = partial(self._choose, door)
        self._loaded: x509.Certificate | None = None  # by which what is shown is told from what the files hold
        self.authority_pem = authority.certificate.public_bytes(Encoding.PEM).decode()
        self.fingerprint = fingerprint(authority.certificate.public_bytes(Encoding.DER))

    @classmethod
    def open(
        cls,
        data: Path,
        names: Sequence[str],
        own: Own | None,
        now: datetime,
        *,
        authority_key: Path | None = None,
        known: str = "",
        program: str = PROGRAM,
        clock: Callable[[], datetime] = _utc_now,
    ) -> "Certificates":
        """Read what is below `data`/tls, and make what is missing; it takes up to a second or two of a processor.

        `names` are all names and addresses of the box; those that no certificate can have are left out.  `own` is the operator's certificate (a chain) and its key.  `authority_key` is where the
        authority's key is, if not below `data`.  `known` is the fingerprint of the authority that the box had so far, empty: none;
        `program` begins a command to this box.  `now` is the moment of the opening, `clock` tells those that follow.

        Raises Unavailable, with the remedy, for a lost, damaged or other authority, and for files below `data` that cannot be read or
        written.  A certificate of the operator that cannot be shown is one of the `problems`: machines boot without it.
        """
        files = KeptFiles(data, authority_key, known, program)
        wanted = usable(names) or ["tinkbox"]
        found = files.authority()
        authority = files.keep_authority(found) if found else files.make_authority()
        made = cls(files, authority, wanted, own, clock)
        made._begin_with_own()
        leaf = files.leaf()
        if leaf is None or is_due(leaf.certificate, authority, wanted, now):
            leaf = made._renew(now)
        made._load(leaf, made._contexts)
        return made

    @staticmethod
    def examine(
        data: Path,
        own: Own | None,
        now: datetime,
        *,
        authority_key: Path | None = None,
        known: str = "",
        program: str = PROGRAM,
        is_kept_elsewhere: bool = False,
    ) -> Remarks:
        """Raise what `open` would raise of files that are there; write nothing.

        Gives what is to be said of the operator's.  An authority whose key `is_kept_elsewhere`, where we cannot read it, is not judged.
        """
        if not is_kept_elsewhere:
            KeptFiles(data, authority_key, known, program).authority()
        if own is None:
            return Remarks()
        try:
            return _remarks(read_own(*own), now)
        except Unavailable as error:
            return Remarks(wrong=[f"{error}. Until then {_BOXS} is shown"])

    def _begin_with_own(self) -> None:
        try:
            self._read_own_again()
        except Unavailable as error:
            self._own_problem = self._told("", f"{error}. Until then {_BOXS} is shown")

    @property
    def own(self) -> tuple[str, frozenset[str]] | None:
        """The fingerprint of what the operator's chain leads to, and the names that it is shown for; None: none is shown."""
        return (self._own.authority(self._clock()), self._own.names) if self._own is not None else None

    @property
    def refused(self) -> list[str]:
        """Why every client refuses a certificate that is shown, each in a sentence with the way out."""
        now = self._clock()
        return [*self._remarks(now).wrong, *filter(None, [self._not_renewed_in_time(now)])]

    @property
    def problems(self) -> list[str]:
        """What else is wrong with certificates that are shown all the same, in the same way."""
        now = self._clock()
        not_renewed = "" if self._not_renewed_in_time(now) else self._not_renewed
        return [each for each in (self._own_problem, not_renewed, self._authority_ends(now)) if each]

    @property
    def warnings(self) -> Sequence[str]:
        """What is no error of the operator's yet, in the same way."""
        return () if self._own_problem else self._remarks(self._clock()).warnings

    def _not_renewed_in_time(self, now: datetime) -> str:
        if not self._not_renewed or self._loaded is None or now < self._loaded.not_valid_after_utc:
            return ""
        ends = self._loaded.not_valid_after_utc
        return f"the box's certificate expired on {ends:%Y-%m-%d}, so machines and other clients refuse it; {self._not_renewed}"

    def _remarks(self, now: datetime) -> Remarks:
        return Remarks() if self._own is None else _remarks(self._own, now)

    def server_context(self, door: Door) -> ssl.SSLContext:
        """For a door of this kind: always the same object.  A renewed certificate is shown from its next connection on."""
        return self._contexts[door]

    async def run(self) -> NoReturn:
        """Renew in time, and read the operator's files again when they changed."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self.look()

    async def look(self) -> None:
        """Do once what `run` does again and again."""
        self._not_renewed = await self._tried(
            self._renew_in_time, "the box's certificate was not renewed", self._not_renewed, _EARLIER
        )
        self._own_problem = await self._tried(
            self._read_own_again, "the operator's certificate was not read again", self._own_problem,
            _BOXS if self._own is None else _EARLIER,
        )  # fmt: skip

    async def _tried(self, step: Callable[[], None], failed: str, before: str, shown: str) -> str:
        """Why a step did not work, which was `before` why; empty: it did.  `shown` is what is shown meanwhile.

        Whatever the operator's files, the disk and the descriptors do to it, the next look tries again: what is shown stays good.
        """
        try:
            await asyncio.to_thread(step)
        except Unavailable as error:
            return self._told(before, f"{failed}: {error}. Until then {shown} is shown")
        except Exception as error:
            why = ": ".join(each for each in (type(error).__name__, str(error)) if each)
            problem = f"{failed}: {why}: it is tried again every minute. Until then {shown} is shown"
            if problem != before:
                _log.exception("%s", problem)
            return problem
        return ""

    def _renew_in_time(self) -> None:
        now, leaf = self._clock(), self._files.leaf()
        if leaf is None or is_due(leaf.certificate, self._authority, self._names, now):
            leaf = self._renew(now)
            _log.info("made a new certificate for %s", ", ".join(self._names))
        if leaf.certificate != self._loaded:
            self._load(leaf, server_contexts())

    def _renew(self, now: datetime) -> Leaf:
        key = new_key()
        leaf = Leaf(key, signed(self._authority, key.public_key(), self._names, now), self._authority.certificate)
        self._files.keep_leaf(leaf)
        return leaf

    def _load(self, leaf: Leaf, contexts: Contexts) -> None:
        """Show what the file holds; loading into the contexts that are shown now could end with half of it."""
        try:
            show(contexts, self._files.server)
        except (ssl.SSLError, OSError) as error:
            raise Unavailable(f"cannot use {self._files.server}: {error}: delete it, and it is made anew") from None
        self._shown, self._loaded = contexts, leaf.certificate

    def _read_own_again(self) -> None:
        if self._own_files is None:
            return
        if self._own is None or change_of(*self._own_files) != self._own.change:
            self._own = read_own(*self._own_files)
            _log.info("read %s again: it ends on %s", self._own.path, self._own.ends.date())

    def _told(self, before: str, problem: str) -> str:
        """Log a problem once."""
        if problem != before:
            _log.warning("%s", problem)
        return problem

    def _authority_ends(self, now: datetime) -> str:
        ends = self._authority.certificate.not_valid_after_utc
        if ends - now >= _ENDS_SOON:
            return ""
        return f"the box's authority ends on {ends:%Y-%m-%d}, and all that trusts it with it: see docs/operating.md"

    def _choose(
        self, door: Door, connection: ssl.SSLObject | ssl.SSLSocket, host: str | None, context: ssl.SSLContext
    ) -> None:
        """Show the operator's certificate to who asks by a name of it, and to all others the box's newest."""
        own = self._own
        chosen = (own.contexts if host and own is not None and own.is_for(host) else self._shown)[door]
        if chosen is not context:
            connection.context = chosen
