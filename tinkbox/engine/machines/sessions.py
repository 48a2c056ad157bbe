"""Sessions: a boot ticket is exchanged once for one, and a worker shows its session with every request.

Rule 1: one ticket for each boot. It is repeated until it is exchanged, then none is given before the machine boots again. After a
restart of ours the timeline tells whether it did.
Rule 2: a ticket is exchanged once. The same worker may repeat the exchange: its answer may have been lost, its process may
have been started again, the appliance's store may have been put back to a day before it.
Rule 3: a session belongs to one boot, one address and one process of the worker, the newest. On a network of ours each request
is compared with the MAC that the kernel has for its address: it has to be the machine's, or that of the host that began it.
Rule 4: a machine that once showed a TPM shows the same one in each boot, and proves that it has it.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn, Protocol

from tinkbox.engine.machines.boot_tickets import BootTicket, Kind, Seal, is_ticket
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.machines.tpm_challenges import challenge, fingerprint, is_proof
from tinkbox.engine.rules import tpm
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Conflict, Denied, Forbidden, Invalid, TooMany, Unavailable
from tinkbox.model.given_credential import GivenCredential
from tinkbox.model.hardware import MacAddress
from tinkbox.model.rates import Buckets, Rate
from tinkbox.model.session import BOOTED, Session, TicketRefusal, TpmRule, is_later
from tinkbox.model.sightings import OTHER_HOST, STARTED_ELSEWHERE, Fact
from tinkbox.store.database import Store, Tables
from tinkbox.wire.messages.session import Challenge, Opening

# Each costs half a millisecond; a boot needs one.
CHALLENGES = Rate(burst=10, a_second=0.2)
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Near:
    """What can be seen of the hosts of our networks, by their IPv4 addresses.

    `neighbours` gives the MAC that the kernel has for one; `attached` tells whether one is of a network of ours, where it has
    to have one; `is_at` tells whether a machine has it, for all that is known; `other_host` gives who is seen there instead
    of a machine, empty: nobody.  `at` gives the MAC of the machine that has one by its document or its lease, or by what is seen there.
    """

    neighbours: Callable[[str], MacAddress | None]
    attached: Callable[[str], bool]
    is_at: Callable[[MacAddress, str], bool]
    other_host: Callable[[MacAddress, str], str]
    at: Callable[[str], MacAddress | None]


class Saw(Protocol):
    """Notes what was seen of a machine, known or not: `BootProgress`."""

    def __call__(self, mac: MacAddress | None, stage: Stage, detail: str = "", **facts: Fact) -> None: ...


class Sessions:
    """Who works on which machine.  A holder is the id of a machine in `known`, or the MAC of one that nobody knows."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        seal: Seal,
        known: KnownMachines,
        near: Near,
        saw: Saw,
        boots_from: Callable[[str], MacAddress | None],
        is_let_in: Callable[[MacAddress], bool],
        tpm_rule: TpmRule,
        began_to_boot: Callable[[str], datetime | None],
    ) -> None:
        """`saw` notes what is told of a machine; `boots_from` gives the MAC that a known one's timeline is kept under, None: it has none.

        `is_let_in` tells whether one that nobody knows may tell what it is; `began_to_boot` when a holder's newest boot began,
        None: not known.
        """
        self._store = store
        self._clock = clock
        self._seal = seal
        self._known = known
        self._near = near
        self._saw = saw
        self._boots_from = boots_from
        self._is_let_in = is_let_in
        self._tpm_rule = tpm_rule
        self._began_to_boot = began_to_boot
        self._by_holder: dict[str, Session] = {}
        self._by_secret: dict[str, Session] = {}
        # Of the boot that goes on; None: its ticket was exchanged.
        self._given: dict[str, BootTicket | None] = {}
        # Serials of the newest tickets that are on the timeline as given to the machine, and as given to another host.
        self._told: dict[str, dict[bool, int]] = {}
        self._last = 0  # the serial of the newest ticket
        self._challenges = Buckets(CHALLENGES, REMEMBERED)

    async def load(self) -> None:
        """Fill the picture in memory; once, before anything is served."""
        for session in await self._store.read(lambda tables: tables.sessions.all()):
            self._take(session)
            if session.serial and not session.over and not self._booted_since(session):
                self._given[session.holder] = None

    # What booting machines and people ask.

    def boots(self, holder: str) -> None:
        """A machine boots: it may have a ticket again."""
        self._given.pop(holder, None)

    def ticket(self, kind: Kind, holder: str, address: str) -> str:
        """A ticket of a boot for a holder, which asks at an IPv4 address.  Raises Conflict by rule 1."""
        given = self._given.get(holder)
        if given is None and holder in self._given:
            raise Conflict("this machine exchanged its boot ticket already: it gets another when it boots again")
        if given is None or given.address != address:
            given = self._given[holder] = self._new(kind, holder, address)
        self._tell_given(given)
        return self._seal.sealed(given)

    def _tell_given(self, ticket: BootTicket) -> None:
        """Note to whom a ticket was given: once to the machine, and once to others, who may ask as often as they like."""
        mac, address = self._mac(ticket.holder), ticket.address
        other = self._near.other_host(mac, address) if mac else ""
        told = self._told.setdefault(ticket.holder, {})
        if told.get(bool(other)) == ticket.serial:
            return
        told[bool(other)] = ticket.serial
        facts: dict[str, Fact] = {"address": address, "neighbour": str(self._near.neighbours(address) or "")}
        if other:
            facts[OTHER_HOST] = other
        self._saw(mac, Stage.TICKET, f"at {address}" + (f", by another host, {other}" if other else ""), **facts)

    def _booted_since(self, session: Session) -> bool:
        """Whether the timeline tells of a boot after the exchange."""
        began = self._began_to_boot(session.holder)
        return began is not None and began > session.begun_at

    def _new(self, kind: Kind, holder: str, address: str) -> BootTicket:
        session = self._by_holder.get(holder)
        before = max(session.serial, session.voided) if session else 0
        # However the clock is set.
        self._last = max(self._now(), before + 1, self._last + 1)
        return BootTicket(kind=kind, holder=holder, address=address, serial=self._last)

    # What workers ask.

    async def exchange(self, text: str, opening: Opening, address: str) -> str | Challenge:
        """Exchange a boot ticket that came from an IPv4 address for a session; returns its holder.

        Returns a challenge for a TPM that is shown without a proof; nothing was exchanged then.
        Raises Denied for what is no ticket of ours, Forbidden for one that counts for nothing: the timeline says why.
        Raises Unavailable while it cannot be seen which host of our networks asks.
        """
        ticket = self._seal.opened(text)
        if ticket is None:
            self._tell_unreadable(address)
            raise Denied(f"this is no boot ticket of this appliance: {_AGAIN}")
        shown, proven = "", True
        if opening.tpm is not None and ticket.kind is not Kind.BY_HAND and self._tpm_rule is not TpmRule.OFF:
            if not opening.tpm.proof:
                if not self._challenges.take(ticket.holder, self._clock().timestamp()):
                    raise TooMany("this machine asked for too many challenges: it has to ask again in a moment")
                return challenge(self._seal, ticket, opening, opening.tpm)
            proven = is_proof(self._seal, ticket, opening, opening.tpm)
            shown = fingerprint(opening.tpm.endorsement_key) if proven else ""
        try:
            session = await self._store.write(
                lambda tables: self._exchanged(tables, ticket, opening, address, shown, proven=proven)
            )
        except _Refused as refused:
            told: dict[str, Fact] = {"tpm": shown, "no_tpm": opening.no_tpm}
            self._refuse(ticket.holder, refused.why, address, **{name: each for name, each in told.items() if each})
        began_anew = session.secret not in self._by_secret
        self._take(session)
        self._given[session.holder] = None
        if began_anew:
            seen = self._near.neighbours(address)
            detail = f"from {address}" + (f" ({seen})" if seen else "") + (f", TPM {shown[:SHORT]}" if shown else "")
            other = self._other_than(session.holder, address) if ticket.kind is Kind.BY_HAND else ""
            detail += ", which is not the machine" if other else ""
            facts = {
                **({STARTED_ELSEWHERE: other} if other else {}),
                **({"tpm": shown} if shown else {}),
                "address": address,
                "neighbour": str(seen or ""),
                "kind": ticket.kind.value,
                "boot_id": opening.boot_id,
            }
            self._saw(self._mac(session.holder), Stage.SESSION, detail, **facts)
        return session.holder

    def authenticate(self, text: str, instance: str, address: str) -> str:
        """The holder of the session that a worker's process shows from an address.

        Raises Denied when there is none so called, or it is an earlier process's, Forbidden when it is a later process's, or
        another address's.  Raises Unavailable when another host has the address: the machine may have it back in a moment.
        """
        # Looked up by its hash, so that the time it takes says nothing about the secrets there are.
        session = self._by_secret.get(digest(text))
        if session is None:
            self._tell_old_worker(text, address)
            raise Denied("this is no session of a machine known here: its boot ticket has to be exchanged")
        if session.instance != instance:
            _check_later(instance, session.instance)
            # The store was put back to a day when this process had not begun.
            raise Denied("the session is an earlier process's: the boot ticket has to be exchanged again")
        if session.address != address:
            self._move(session, address)
        else:
            self._compare(session, address)
        return session.holder

    def of(self, holder: str) -> Session | None:
        """What a holder's newest session is, ended or not."""
        return self._by_holder.get(holder)

    def boot_of(self, holder: str) -> str:
        """The boot id of a holder's session; empty: it has none, or of a boot that is not known."""
        session = self._by_holder.get(holder)
        return session.boot_id if session else ""

    # What follows from what people do, within their use-cases; `refresh` follows the commit.

    def void(self, tables: Tables, holder: str) -> None:
        """Let no ticket count that was not exchanged yet."""
        tables.sessions.void(holder, max(self._now(), self._last), self._clock())

    def end_boot(self, tables: Tables, holder: str, boot_id: str) -> None:
        """End the session of a boot that is over; another boot's goes on.  No ticket begins another in this boot."""
        if any(each.boot_id == boot_id for each in tables.sessions.some([holder])):
            tables.sessions.end([holder], BOOTED)

    async def over(self, *holders: str) -> None:
        """Take over what `end_boot` ended: the next boot has a ticket, and this one none."""
        for session in await self._store.look(lambda tables: tables.sessions.some(holders)):
            self._take(session)

    async def refresh(self, *holders: str) -> None:
        """Take over what was just committed about these: a boot whose ticket became void may have another."""
        stored = {each.holder: each for each in await self._store.look(lambda tables: tables.sessions.some(holders))}
        before = {each: self._by_holder[each].secret for each in holders if each in self._by_holder}
        exchanged = {secret for each, secret in before.items() if each in self._given and self._given[each] is None}
        self.forget(holders)
        for holder, session in stored.items():
            self._take(session)
            if session.secret in exchanged and not session.over:
                self._given[holder] = None

    async def give(self, holder: str, who: str) -> str:
        """A ticket for a worker that a person starts by hand; it is kept who has it."""
        ticket = self._new(Kind.BY_HAND, holder, "")
        given = GivenCredential(hardware_id=holder, who=who, serial=ticket.serial, at=self._clock())
        await self._store.write(lambda tables: tables.given_credentials.put(given))
        return self._seal.sealed(ticket)

    async def given_to(self, who: str) -> list[GivenCredential]:
        """The credentials that a person was given and that count still, the oldest first."""
        return await self._store.read(lambda tables: tables.given_credentials.counting(who))

    async def revoke(self, holders: Sequence[str], who: str) -> None:
        """End the sessions of these machines, and every ticket, for a person."""

        def use_case(tables: Tables) -> None:
            for each in holders:
                self.void(tables, each)
            tables.sessions.end(holders)
            tables.given_credentials.forget(holders)

        await self._store.write(use_case)
        await self.refresh(*holders)
        for each in holders:
            self._saw(self._mac(each), Stage.REVOKED, f"by {who}", who=who)

    async def accept_tpm(self, holder: str, fingerprint: str, who: str) -> None:
        """Have a machine show the TPM of this fingerprint from its next boot on; empty: none was accepted."""
        await self._store.write(lambda tables: tables.sessions.accept_tpm(holder, fingerprint, self._clock()))
        await self.refresh(holder)
        said = fingerprint[:SHORT] or "none yet: the next one that it shows"
        self._saw(self._mac(holder), Stage.TPM_DECIDED, f"{said}, by {who}", tpm=fingerprint, who=who)

    def forget(self, holders: Iterable[str]) -> None:
        """Forget those that are gone."""
        for holder in holders:
            self._given.pop(holder, None)
            self._told.pop(holder, None)
            gone = self._by_holder.pop(holder, None)
            if gone is not None:
                self._by_secret.pop(gone.secret, None)

    # The rules.

    def _exchanged(
        self, tables: Tables, ticket: BootTicket, opening: Opening, address: str, shown: str, *, proven: bool
    ) -> Session:
        secret, now = digest(opening.secret), self._clock()
        own = tables.sessions.of_secret(secret)
        if own is not None:
            return self._again(tables, own, ticket, opening, address)
        found = tables.sessions.some([ticket.holder])
        before = found[0] if found else None
        if ticket.kind is Kind.DISCOVERY and self._known.holder(MacAddress(ticket.holder)):
            raise _Refused(TicketRefusal.KNOWN_NOW)
        if not self._is_there(ticket):
            raise Denied("the machine of this boot ticket is known no more: boot it again")
        if before is not None and before.secret == BOOTED and before.boot_id == opening.boot_id:
            raise _Refused(TicketRefusal.BOOT_OVER)
        if before is not None and ticket.serial == before.serial and not before.over:
            raise _Refused(TicketRefusal.USED)
        if before is not None and ticket.serial <= max(before.serial, before.voided):
            raise _Refused(TicketRefusal.VOID)
        if not self._is_from(ticket, address):
            raise _Refused(TicketRefusal.ELSEWHERE)
        if not proven:
            raise _Refused(TicketRefusal.UNPROVEN_TPM)
        accepted, without = (before.tpm_accepted, before.without_tpm) if before else ("", False)
        if ticket.kind is Kind.BOOT:
            refusal = tpm.refusal(self._tpm_rule, accepted, shown, without=without)
            if refusal is not None:
                raise _Refused(refusal)
            accepted, without = accepted or shown, without or bool(opening.no_tpm)
        session = Session(
            holder=ticket.holder,
            secret=secret,
            serial=ticket.serial,
            voided=before.voided if before else 0,
            boot_id=opening.boot_id,
            address=address,
            instance=opening.instance,
            begun_at=now,
            tpm=shown,
            tpm_accepted=accepted,
            without_tpm=without,
            neighbour=str(self._near.neighbours(address) or ""),
        )
        tables.sessions.put(session)
        return session

    def _again(self, tables: Tables, own: Session, ticket: BootTicket, opening: Opening, address: str) -> Session:
        """The session of a worker that exchanges the same ticket once more: its newest process is the one that counts."""
        if own.serial != ticket.serial:
            raise _Refused(TicketRefusal.USED)
        if own.boot_id != opening.boot_id:
            raise _Refused(TicketRefusal.OTHER_BOOT)
        if own.address != address and not self._neighbour_is(own.holder, address):
            raise _Refused(TicketRefusal.ELSEWHERE)
        if self._is_another(own, self._near.neighbours(address)):
            raise _Refused(TicketRefusal.ELSEWHERE)
        if own.instance != opening.instance:
            _check_later(opening.instance, own.instance)
        session = replace(own, instance=opening.instance, address=address)
        if session != own:
            tables.sessions.put(session)
        return session

    def _is_there(self, ticket: BootTicket) -> bool:
        if ticket.kind is Kind.DISCOVERY:
            return self._is_let_in(MacAddress(ticket.holder))
        return self._known.get(ticket.holder) is not None

    def _is_from(self, ticket: BootTicket, address: str) -> bool:
        """Whether who asks from an address may be the machine that a ticket is for, as far as we see it."""
        if ticket.kind is Kind.BY_HAND:
            return True
        if self._near.neighbours(address) is not None:
            return self._neighbour_is(ticket.holder, address)
        if self._near.attached(address):
            # Who asks can have the kernel lose sight of it, by not answering ARP: that must not count as being behind a router.
            raise Unavailable(
                f"the host at {address} does not answer ARP now, so nobody knows which it is: it has to ask again"
            )
        return address == ticket.address or any(self._near.is_at(each, address) for each in self._cards(ticket.holder))

    def _other_than(self, holder: str, address: str) -> str:
        """The host at an address, where it is seen not to be the machine: its MAC, behind a router its address; else empty."""
        seen = self._near.neighbours(address)
        if seen is not None:
            return "" if seen in self._cards(holder) else str(seen)
        is_unseen = self._near.attached(address) or address.startswith("127.")
        return "" if is_unseen or any(self._near.is_at(each, address) for each in self._cards(holder)) else address

    def _neighbour_is(self, holder: str, address: str) -> bool:
        """Whether the host at an address of our networks has a card of the holder's."""
        return self._near.neighbours(address) in self._cards(holder)

    def _move(self, session: Session, address: str) -> None:
        """Follow a machine to another address.  Raises Forbidden when it is not that machine."""
        if session.address and not self._neighbour_is(session.holder, address) and not self._began_at(session, address):
            self._refuse(session.holder, TicketRefusal.ELSEWHERE, address)
        self._take(replace(session, address=address))

    def _began_at(self, session: Session, address: str) -> bool:
        """Whether it is the host that the session began on, by its MAC as it is seen: a machine's document may tell none."""
        return bool(session.neighbour) and session.neighbour == self._near.neighbours(address)

    def _compare(self, session: Session, address: str) -> None:
        """Whether the host at its address is still that of the session; who is not seen there now is not doubted.

        Raises Unavailable for another host, and notes it.  Forged ARP gives the machine's own requests another MAC as well:
        its worker asks again then, and goes on when the kernel knows better.
        """
        seen = self._near.neighbours(address)
        if self._is_another(session, seen):
            self._tell_refusal(session.holder, TicketRefusal.ELSEWHERE, address)
            raise Unavailable(
                f"the host at {address} has the MAC {seen}, which is not that of the machine with this session: "
                "it is answered when its MAC is seen there again; see `tinkbox doctor MAC`"
            )
        if seen is not None and not session.neighbour:
            self._take(replace(session, neighbour=str(seen)))

    def _is_another(self, session: Session, seen: MacAddress | None) -> bool:
        """Whether the host that is seen is none of the machine's cards, and not the one that the session began on."""
        if seen is None or seen in self._cards(session.holder):
            return False
        return bool(session.neighbour) and session.neighbour != seen

    def _tell_old_worker(self, text: str, address: str) -> None:
        ticket = self._seal.opened(text) if is_ticket(text) else None
        if ticket is not None:
            why = TicketRefusal.OLD_WORKER if self._is_from(ticket, address) else TicketRefusal.ELSEWHERE
            self._refuse(ticket.holder, why, address)

    def _tell_unreadable(self, address: str) -> None:
        """Note what is no ticket of ours on the timeline of the known machine that has an address: what it says itself counts for nothing."""
        mac = self._near.at(address)
        holder = self._known.holder(mac) if mac else ""
        if mac is not None and holder:
            other = self._near.other_host(mac, address)
            facts: dict[str, Fact] = {OTHER_HOST: other} if other else {}
            self._note_refusal(mac, holder, TicketRefusal.UNREADABLE, address, facts)

    def _refuse(self, holder: str, why: TicketRefusal, address: str, **more: Fact) -> NoReturn:
        """Note on the timeline why a ticket or a session was refused, and raise Forbidden."""
        self._tell_refusal(holder, why, address, **more)
        raise Forbidden(f"the boot ticket of {holder} was refused: {why}; {WAYS_OUT[why]}")

    def _tell_refusal(self, holder: str, why: TicketRefusal, address: str, **more: Fact) -> None:
        self._note_refusal(self._mac(holder), holder, why, address, more)

    def _note_refusal(
        self, mac: MacAddress | None, holder: str, why: TicketRefusal, address: str, more: Mapping[str, Fact]
    ) -> None:
        seen = self._near.neighbours(address)
        session = self._by_holder.get(holder)
        # A host can have as many addresses as it likes: by its MAC what it does again is told once, and counted.
        who = f"from the host {seen}" if seen else f"from {address}"
        facts: dict[str, Fact] = {"why": why.value, "address": address, "neighbour": str(seen or ""), **more}
        if session is not None and not session.over:
            facts[OTHER_HOST] = str(seen or address)
        if session is not None and session.serial:
            facts |= {"exchanged_at": session.begun_at.isoformat(timespec="seconds"), "exchanged_from": session.address}
        self._saw(mac, Stage.TICKET_REFUSED, f"{why}, {who}", **facts)

    def _mac(self, holder: str) -> MacAddress | None:
        try:
            return MacAddress(holder)
        except Invalid:
            return self._boots_from(holder)

    def _cards(self, holder: str) -> list[MacAddress]:
        record = self._known.get(holder)
        return [each.mac for each in record.hardware.interfaces] if record else [MacAddress(holder)]

    def _take(self, session: Session) -> None:
        before = self._by_holder.get(session.holder)
        if before is not None:
            self._by_secret.pop(before.secret, None)
        self._by_holder[session.holder] = session
        if not session.over:
            self._by_secret[session.secret] = session

    def _now(self) -> int:
        """In microseconds."""
        return int(self._clock().timestamp() * 1_000_000)


SHORT = 16  # letters of a fingerprint, where it only has to be told from another
_AGAIN = "boot this machine again, or make a new credential (`tinkbox hardware credential MAC`)"
WAYS_OUT = {
    TicketRefusal.USED: f"if another worker was started on purpose, end that one; else {_AGAIN} "
    "and see `tinkbox doctor MAC`",
    TicketRefusal.VOID: _AGAIN,
    TicketRefusal.ELSEWHERE: _AGAIN,
    TicketRefusal.OTHER_BOOT: _AGAIN,
    TicketRefusal.BOOT_OVER: "boot this machine again: it goes on with its next action then; a worker that is to go on in this boot needs "
    "`tinkbox hardware credential --rotate MAC`; see `tinkbox doctor MAC`",
    TicketRefusal.KNOWN_NOW: "boot this machine again",
    TicketRefusal.NO_TPM: "switch the TPM 2.0 on in the machine's firmware, or see `tinkbox doctor MAC`",
    TicketRefusal.OTHER_TPM: "if it was replaced, `tinkbox hardware tpm MAC --accept SHA256`; see `tinkbox doctor MAC`",
    TicketRefusal.NEW_TPM: "`tinkbox hardware tpm MAC --accept SHA256`, which `tinkbox doctor MAC` has",
    TicketRefusal.UNPROVEN_TPM: f"{_AGAIN}, and see `tinkbox doctor MAC`",
    TicketRefusal.OLD_WORKER: "build the OSIE of this version (`tinkbox osie build`) and boot the machine again",
}


class _Refused(Forbidden):
    """A ticket counts for nothing, within the use-case that found it out."""

    def __init__(self, why: TicketRefusal) -> None:
        super().__init__(why.value)
        self.why = why


def _check_later(instance: str, other: str) -> None:
    """Raises Forbidden for a process that was not started later than the other."""
    if not is_later(instance, other):
        raise Forbidden("another process of this worker was started since, and works on: this one is to end")


def digest(secret: str) -> str:
    """The SHA-256 of what a worker shows, in hex."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
