"""`/v1/workflows/KEY/shells` and `/v1/shells`: shells in held containers, and their recordings.

Who may attach gets a ticket for a session, and with it, once, a WebSocket, which a browser can give no token.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from aiohttp import web

from tinkbox.api.access import TICKETED, by_itself, caller, keeping_to_scope, needing, require_if_known, ticketed
from tinkbox.api.answers import WEB_SOCKET, Json, Media, answered
from tinkbox.api.auditing import recorded_attachment, recorded_reading
from tinkbox.api.changes import log_change
from tinkbox.api.following import Followers
from tinkbox.api.json_values import Identity, Time
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import is_number, key_of, read_object, takes
from tinkbox.api.scopes import Scopes
from tinkbox.door.answers.frames import carry, expect_websocket
from tinkbox.door.requests.live_requests import note_token
from tinkbox.engine.shells.shells import Listed, Opened, Shells
from tinkbox.model.access import Caller, Right
from tinkbox.model.errors import Invalid
from tinkbox.model.shells import Mode
from tinkbox.wire.messages.breakpoints import MAX_WORDS, wish_from_document
from tinkbox.wire.messages.json_fields import flag, member, text

ASCIICAST = "application/x-asciicast"


class OpeningWish(TypedDict, total=False):
    tty: bool
    command: list[str]
    user: str
    folder: str
    environment: dict[str, str]
    term: str
    rows: int
    columns: int
    record_input: bool
    mode: Mode
    session: str


class OpenedDocument(Identity):
    ticket: str
    fresh: bool


class PersonDocument(TypedDict):
    who: str
    driver: bool


class RecordingDocument(TypedDict):
    sha256: str
    bytes: int


class SessionDocument(Identity):
    workflow_id: str
    attempt: str
    who: str
    driver: str
    people: list[PersonDocument]
    tty: bool
    command: list[str]
    user: str
    folder: str
    record_input: bool
    opened_at: Time
    ended_at: Time | None
    exit_code: int | None
    reason: str
    message: str
    recording: RecordingDocument


def routes(shells: Shells, followers: Followers, scopes: Scopes) -> list[web.RouteDef]:
    door = _ShellDoor(shells, followers, scopes)
    guarded = needing(
        Right.ATTACH,
        *keeping_to_scope(
            scopes.workflow,
            web.post("/v1/workflows/{key}/shells", door.open),
            web.get("/v1/workflows/{key}/shells", door.show),
        ),
        *keeping_to_scope(by_itself, web.get("/v1/shells/{id}/recording", door.recording)),
    )
    return [*guarded, *ticketed(web.get(TICKETED, door.attach))]


class _ShellDoor:
    def __init__(self, shells: Shells, followers: Followers, scopes: Scopes) -> None:
        self._shells = shells
        self._scopes = scopes
        self._followers = followers

    @takes(body=OpeningWish)
    async def open(self, request: web.Request) -> Json[OpenedDocument]:
        """Open a shell or run a command, as `model.shells.ShellWish` has it; with `session`, or to `view`, one that is there."""
        opened = await self._opened(key_of(request), caller(request), await read_object(request))
        if opened.fresh:
            log_change(request, "shell opened", opened.id)
        status = 201 if opened.fresh else 200
        return answered({"id": opened.id, "ticket": opened.ticket, "fresh": opened.fresh}, status)

    async def show(self, request: web.Request) -> Json[list[SessionDocument]]:
        """The sessions of a workflow."""
        return answered([_document(each) for each in await self._shells.listed(key_of(request))])

    @takes(
        Parameter("ticket", may_be_empty=True),
        Parameter("mode", Mode),
        Parameter("after", int, about="bytes of the output that are known already"),
    )
    async def attach(self, request: web.Request) -> Annotated[web.StreamResponse, WEB_SOCKET]:
        """A session's WebSocket, with its `ticket`; its messages are in docs/breakpoints.md."""
        expect_websocket(request)
        asked, after = request.query, request.query.get("after", "0")
        if not is_number(after):
            raise Invalid("after is how much of the output is known already, in bytes")
        mode = member({"mode": asked.get("mode", Mode.DRIVE)}, "mode", Mode)
        session_id, ticket = request.match_info["id"], asked.get("ticket", "")
        asker = self._shells.invited(session_id, ticket)
        require_if_known(request, asker.name, Right.ATTACH)
        note_token(request, asker.token)
        if asker.scope is not None:  # labels may have changed since; from here on their changes end the request
            await self._scopes.workflow_of(asker, await self._shells.workflow_of(session_id))
        async with recorded_attachment(request, asker.name, session_id):
            with self._followers.place(request, asker.name):
                async with self._shells.attached(session_id, ticket, mode, int(after)) as seat:
                    return await carry(request, seat)

    @recorded_reading
    async def recording(self, request: web.Request) -> Annotated[web.Response, Media((ASCIICAST,))]:
        """A session's recording, as asciicast."""
        key, person = request.match_info["id"], caller(request)
        if person.scope is not None:
            await self._scopes.shell(person, key, self._shells.workflow_of)
        content = await self._shells.recording(key)
        return web.Response(body=content, headers={"Content-Type": ASCIICAST, "Cache-Control": "no-store"})

    async def _opened(self, key: str, asker: Caller, document: Mapping[str, Any]) -> Opened:
        session = text(document, "session", "")
        if session or member({"mode": Mode.DRIVE, **document}, "mode", Mode) is Mode.VIEW:
            return await self._shells.join(key, asker, session)
        words = document.get("command")
        if isinstance(words, list) and len(words) > MAX_WORDS:
            raise Invalid(f"a command has at most {MAX_WORDS} words, not {len(words)}")
        wish = wish_from_document({"tty": True, **document, "id": ""})
        return await self._shells.open(key, wish, asker, record_input=flag(document, "record_input"))


def _document(listed: Listed) -> SessionDocument:
    session, end = listed.session, listed.session.end
    return {
        "id": session.id,
        "workflow_id": session.workflow_id,
        "attempt": session.attempt,
        "who": session.who,
        "driver": session.driver,
        "people": [{"who": who, "driver": driver} for who, driver in listed.people],
        "tty": session.wish.tty,
        "command": list(session.wish.command),
        "user": session.wish.user,
        "folder": session.wish.folder,
        "record_input": session.record_input,
        "opened_at": session.opened_at.isoformat(),
        "ended_at": session.ended_at.isoformat() if session.ended_at is not None else None,
        "exit_code": end.exit_code if end is not None else None,
        "reason": end.reason if end is not None else "",
        "message": end.message if end is not None else "",
        "recording": {"sha256": session.digest, "bytes": session.size},
    }
