"""The `/v2/` part of the node door: OCI distribution-spec v1.1, pull, push, content discovery and content management.

Blobs are shared by all repositories, since whoever may read one repository may read them all: a mount needs no `from`, and a
blob that a manifest of any of them needs is not deleted.  A manifest is served as it was pushed, whatever `Accept` says.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from urllib.parse import urlencode

from aiohttp import web
from yarl import URL

from tinkbox.door.answers.blob_answers import BlobAnswer, wants_anew
from tinkbox.door.requests.auditing import Record, known_as, recorded, route_of
from tinkbox.door.requests.bodies import body_of, chunks_of, holder_of
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Caller
from tinkbox.model.audit import Changed, Did
from tinkbox.model.errors import Conflict, Denied, Forbidden, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.images.references import ALGORITHMS, DIGEST, TAG
from tinkbox.registry.blobs.uploads import Upload
from tinkbox.registry.manifests.manifests import MAX_MANIFEST, OCI_INDEX
from tinkbox.registry.mirrors.upstream_client import UpstreamFailed
from tinkbox.registry.mirrors.upstreams import Upstreams
from tinkbox.registry.mirrors.via import Via, read_via
from tinkbox.registry.protocol.errors import (
    ANONYMOUS,
    BLOB_CODES,
    PUSHING,
    answering,
    credential,
    operator_only,
    refusal_answer,
    refused,
    unsupported,
)
from tinkbox.registry.protocol.push_tokens import LIFETIME
from tinkbox.registry.protocol.pushers import Pushers, require_push
from tinkbox.registry.storage import ImageStore

MAX_PAGE = 1000
_RANGE = re.compile(r"(\d{1,19})-(\d{1,19})\Z", re.ASCII)
_BLOB = BLOB_CODES
_UPLOAD: dict[type[Refusal], str] = {NotFound: "BLOB_UPLOAD_UNKNOWN", Invalid: "DIGEST_INVALID"}
_MANIFEST: dict[type[Refusal], str] = {NotFound: "MANIFEST_UNKNOWN", Invalid: "MANIFEST_INVALID"}
_PUSHED: dict[type[Refusal], str] = {NotFound: "MANIFEST_BLOB_UNKNOWN", Invalid: "MANIFEST_INVALID"}
_LIST: dict[type[Refusal], str] = {Invalid: "PAGINATION_NUMBER_INVALID"}


def routes(
    store: ImageStore, upstreams: Upstreams, pushers: Pushers, refused: RefusedTokens, encrypted_at: str = ""
) -> list[web.RouteDef]:
    """The registry's routes.

    What `store` lacks may come from one of the `upstreams`.  Only `pushers` may write; tokens that are not valid are counted
    in `refused`.  Where the registry is `encrypted_at` a URL as well, no token is taken over plain HTTP but from this host.
    """
    door = _RegistryDoor(store, upstreams, pushers, refused, encrypted_at)
    uploads, upload = "/v2/{name:.+}/blobs/uploads/", "/v2/{name:.+}/blobs/uploads/{upload}"
    blob, manifest = "/v2/{name:.+}/blobs/{digest}", "/v2/{name:.+}/manifests/{selector}"
    referrers = "/v2/{name:.+}/referrers/{digest}"
    served = [
        web.get("/v2/", answering(door.ping, {})),
        web.get("/v2/token", answering(door.token, {})),
        web.get("/v2/_catalog", answering(door.catalog, _LIST)),
        web.get("/v2/{name:.+}/tags/list", answering(door.tags, _LIST)),
        web.post(uploads, answering(door.begin, _UPLOAD)),
        web.get(upload, answering(door.progress, _UPLOAD)),
        web.patch(upload, answering(door.append, _UPLOAD)),
        web.put(upload, answering(door.finish, _UPLOAD)),
        web.delete(upload, answering(door.cancel, _UPLOAD)),
        web.get(blob, answering(door.blob, _BLOB)),
        web.delete(blob, answering(door.delete_blob, _BLOB)),
        web.get(manifest, answering(door.manifest, _MANIFEST)),
        web.put(manifest, answering(door.push, _PUSHED)),
        web.delete(manifest, answering(door.delete, _MANIFEST)),
        web.get(referrers, answering(door.referrers, _BLOB)),
    ]
    return [*served, *_other_methods(served), web.route("*", "/v2/{rest:.*}", answering(door.elsewhere, {}))]


def _other_methods(served: Sequence[web.RouteDef]) -> Iterator[web.RouteDef]:
    """What answers the methods that these paths do not have."""
    for path in dict.fromkeys(each.path for each in served):
        methods = [each.method for each in served if each.path == path]
        yield web.route("*", path, answering(unsupported(methods), {}))


def _is_of_this_host(request: web.Request) -> bool:
    """Whether it crossed no wire: who asks an address of this host from this host has that address as well."""
    if request.remote is None or request.transport is None:
        return False
    own = request.transport.get_extra_info("sockname")
    return request.remote.startswith("127.") or (isinstance(own, tuple) and request.remote == own[0])


def _asked_at(request: web.Request) -> str:
    """Our address and port, by which a request came."""
    own = request.transport.get_extra_info("sockname") if request.transport is not None else None
    host, port = own[:2] if isinstance(own, tuple) else ("", 0)
    return str(URL.build(scheme="http", host=host, port=port).authority) if host else request.host


class _RegistryDoor:
    def __init__(
        self, store: ImageStore, upstreams: Upstreams, pushers: Pushers, refused: RefusedTokens, encrypted_at: str
    ) -> None:
        self._encrypted_at = encrypted_at
        self._store = store
        self._upstreams = upstreams
        self._pushers = pushers
        self._refused = refused

    async def ping(self, request: web.Request) -> web.Response:
        """Where others could read a token, clients are not asked for one: after a 200 they send none, and pulling needs none."""
        given, person = credential(request), self._identified(request)
        if self._is_exposed(request) and not given:
            return web.json_response({})
        if given != ANONYMOUS:
            self._refuse_plain(request)
            if person is None:
                raise Denied("fetch a token first: anybody gets one to pull with")
            require_push(person)
        return web.json_response({})

    async def token(self, request: web.Request) -> web.Response:
        """What clients ask for after the challenge; whoever shows no credential at all may pull.

        A token of ours gets no other: they end.
        """
        given = ANONYMOUS
        if "Authorization" in request.headers:
            self._identified(request)
            self._refuse_plain(request)
            person = operator_only(request, self._pushers.by_own_token, self._refused)
            given = self._pushers.push_token(person)
        return web.json_response({"token": given, "access_token": given, "expires_in": LIFETIME})

    async def catalog(self, request: web.Request) -> web.Response:
        return _page(request, "repositories", await self._store.repositories(), {})

    async def tags(self, request: web.Request) -> web.Response:
        tags = await self._store.tags(self._repository(request))
        return _page(request, "tags", tags, {"name": request.match_info["name"]})

    async def blob(self, request: web.Request) -> web.StreamResponse:
        digest = _blob(request)
        if request.method == "HEAD" and "Authorization" not in request.headers and not self._is_exposed(request):
            # containerd asks for all blobs first, and can answer a challenge no more when it sends the manifest.
            raise Denied("say who asks: fetch a token first, anybody gets one to pull with")
        # A push asks by HEAD what it need not send; who may not push keeps nothing from being deleted by asking.
        pushes = self._may_push(request)
        with _gone_if_damaged(request.method == "HEAD"):
            name, anew = self._repository(request), wants_anew(request)
            if pushes:
                path = await self._store.promise(digest, anew=anew)
            else:
                path = await self._upstreams.blob(name, digest, _via(request), anew=anew)
        headers = {"Docker-Content-Digest": digest, "Content-Type": "application/octet-stream"}
        return BlobAnswer(path, self._store, digest, partial(refusal_answer, codes=BLOB_CODES), headers)

    async def manifest(self, request: web.Request) -> web.Response:
        with _gone_if_damaged(request.method == "HEAD"):
            # What has another name here is still to be pushed.
            name, pushes = self._repository(request), self._may_push(request)
            selector, via = _selector(request), _via(request)
            found = await self._upstreams.manifest(name, selector, by_own_name=pushes, via=via)
        headers = {"Docker-Content-Digest": found.digest, "Content-Type": found.media_type}
        return web.Response(body=found.content, headers=headers)

    def _may_push(self, request: web.Request) -> bool:
        """Whether it asks what is here before a push, as far as can be seen."""
        person = self._pushers.by_any_token(credential(request)) if request.method == "HEAD" else None
        with suppress(Forbidden):  # who may only look
            return person is not None and bool(require_push(person))
        return False

    async def push(self, request: web.Request) -> web.Response:
        person = self._pusher(request)
        name, selector = self._repository(request), request.match_info["selector"]
        content = await body_of(request, MAX_MANIFEST)
        content_type, tags = request.headers.get("Content-Type", ""), request.query.getall("tag", [])
        async with self._recorded(request, person, f"{name}:{selector}") as record:
            before = self._store.digest(name, selector)
            with _forbidding():
                kept = await self._store.put_manifest(name, selector, content, content_type, tags, who=person.name)
            record.status = 201
            record.did.append(Did("image pushed", f"{name}:{selector}"))
            record.changed.append(Changed("image", f"{name}:{selector}", before, kept.digest))
        headers = {"Location": f"/v2/{name}/manifests/{kept.digest}", "Docker-Content-Digest": kept.digest}
        if kept.subject:
            headers["OCI-Subject"] = kept.subject
        if tags and kept.tags:
            headers["OCI-Tag"] = ", ".join(kept.tags)
        return web.Response(status=201, headers=headers)

    async def delete(self, request: web.Request) -> web.Response:
        person = self._pusher(request)
        name, selector = self._repository(request), _selector(request)
        async with self._recorded(request, person, f"{name}:{selector}", frees_room=True) as record:
            before = self._store.digest(name, selector)
            with _forbidding():
                await self._store.delete_manifest(name, selector, who=person.name)
            record.status = 202
            record.did.append(Did("image deleted", f"{name}:{selector}"))
            record.changed.append(Changed("image", f"{name}:{selector}", before, ""))
        return web.Response(status=202)

    async def delete_blob(self, request: web.Request) -> web.Response:
        person = self._pusher(request)
        digest = _blob(request)
        try:
            async with self._recorded(request, person, digest, frees_room=True) as record:
                await self._store.delete_blob(digest, who=person.name)
                record.did.append(Did("blob deleted", digest))
        except Conflict as error:
            return refused(405, "UNSUPPORTED", str(error), {"Allow": "GET, HEAD"})
        return web.Response(status=202)

    async def referrers(self, request: web.Request) -> web.Response:
        """The page behind `last`, of our own making; the filter is told only where it was asked for."""
        name, digest = self._repository(request), request.match_info["digest"]
        artifact_type, last = request.query.get("artifactType", ""), request.query.get("last", "")
        page = await self._store.referrers(name, digest, artifact_type, last)
        headers = {"Content-Type": OCI_INDEX}
        if artifact_type:
            headers["OCI-Filters-Applied"] = "artifactType"
        if page.last:
            query = {"artifactType": artifact_type, "last": page.last} if artifact_type else {"last": page.last}
            headers["Link"] = f'<{request.path}?{urlencode(query)}>; rel="next"'
        return web.Response(body=page.content, headers=headers)

    async def begin(self, request: web.Request) -> web.Response:
        """Start an upload; with `digest` the body is all of it; with `mount` it may be here already."""
        self._pusher(request)
        name, mount = self._repository(request), request.query.get("mount", "")
        if (algorithm := request.query.get("digest-algorithm", "sha256")) not in ALGORITHMS:
            raise Invalid(f"digests by {algorithm[:40]!r} are not known here, only by {' and '.join(ALGORITHMS)}")
        if DIGEST.match(mount) and await self._has(mount):
            return _created(name, mount)
        upload = self._store.uploads.begin(name, holder_of(request))
        if "digest" in request.query:
            try:
                async with upload.turn:
                    return await self._keep(upload, request)
            finally:  # its client does not know it
                self._store.uploads.end(upload)
        return _progress(upload, 202)

    async def progress(self, request: web.Request) -> web.Response:
        self._pusher(request)
        return _progress(self._upload(request), 204)

    async def append(self, request: web.Request) -> web.Response:
        self._pusher(request)
        async with self._turn(request) as upload:
            await self._store.uploads.append(upload, chunks_of(request), _start(request))
            return _progress(upload, 202)

    async def finish(self, request: web.Request) -> web.Response:
        self._pusher(request)
        async with self._turn(request) as upload:
            return await self._keep(upload, request)

    async def cancel(self, request: web.Request) -> web.Response:
        self._pusher(request)
        async with self._turn(request) as upload:
            self._store.uploads.end(upload)
        return web.Response(status=204)

    async def elsewhere(self, request: web.Request) -> web.Response:
        raise NotFound(f"the registry has no {request.method} {request.path[:200]}")

    def _repository(self, request: web.Request) -> str:
        """Where the name in the path is kept: templates look for `docker.io/alpine` at `docker.io/library/alpine`."""
        return self._store.repository(request.match_info["name"])

    def _pusher(self, request: web.Request) -> Caller:
        """Who pushes.  Who has a token already is not asked for another: `ctr` of containerd 1.6 would wait for ever."""
        if credential(request) == ANONYMOUS:
            raise Forbidden(f"the token is one to pull with, {PUSHING}")
        self._identified(request)
        self._refuse_plain(request)
        if self._is_exposed(request):  # nor is a token asked for that all could read
            raise Forbidden(f"pushes are taken encrypted alone: {self._encrypted_way(request)}")
        return operator_only(request, self._pushers.by_any_token, self._refused)

    def _identified(self, request: web.Request) -> Caller | None:
        """Who asks, None: nobody who is known; a refusal that follows tells it to the audit."""
        person = self._pushers.by_any_token(credential(request))
        if person is not None:
            known_as(request, person.name, person.means)
        return person

    def _refuse_plain(self, request: web.Request) -> None:
        """Raises Forbidden for a token that everybody on the wire could read; one of this host crosses no wire."""
        if credential(request) and self._is_exposed(request):
            raise Forbidden(
                f"a token in plain HTTP can be read on the wire: {self._encrypted_way(request)}; and revoke that token "
                "(`tinkbox token revoke NAME`)"
            )

    def _is_exposed(self, request: web.Request) -> bool:
        """Whether others can read what it says, and there is a way on which they cannot."""
        return bool(self._encrypted_at) and not request.secure and not _is_of_this_host(request)

    def _encrypted_way(self, request: web.Request) -> str:
        """How to push encrypted; who does not trust the authority yet gets it where they asked."""
        return (
            f"push to {self._encrypted_at}. Have your client trust its authority: it is at "
            f"{request.scheme}://{_asked_at(request)}/authority.pem, and `tinkbox authority` on the box prints the fingerprint to compare"
        )

    def _recorded(
        self, request: web.Request, person: Caller, named: str, *, frees_room: bool = False
    ) -> AbstractAsyncContextManager[Record]:
        """Do what is within between two lines of the audit (`door.requests.auditing.recorded`)."""
        return recorded(request, person.name, person.means, route_of(request), named, frees_room=frees_room)

    async def _has(self, digest: str) -> bool:
        try:
            with _gone_if_damaged():
                await self._store.promise(digest)
        except NotFound:
            return False
        return True

    async def _keep(self, upload: Upload, request: web.Request) -> web.Response:
        digest = request.query.get("digest", "")
        await self._store.uploads.append(upload, chunks_of(request), _start(request))
        await self._store.keep(upload, digest)
        return _created(upload.repository, digest)

    @asynccontextmanager
    async def _turn(self, request: web.Request) -> AsyncIterator[Upload]:
        async with self._upload(request).turn:
            yield self._upload(request)  # looked up again: it may have ended while we waited

    def _upload(self, request: web.Request) -> Upload:
        return self._store.uploads.get(self._repository(request), request.match_info["upload"])


def _selector(request: web.Request) -> str:
    """The tag or digest in the path; what is neither is not here, as the distribution-spec wants it ("Pulling manifests")."""
    selector = request.match_info["selector"]
    if not (TAG.match(selector) or DIGEST.match(selector)):
        raise NotFound(f"no manifest {selector[:140]!r}: it is neither a tag nor a digest")
    return selector


def _via(request: web.Request) -> Via:
    """The appliances that ask through one another for what is wanted."""
    return read_via(request.headers.getall("Via", []))


def _blob(request: web.Request) -> str:
    """The digest in the path; raises NotFound for what is none."""
    digest = request.match_info["digest"]
    if not DIGEST.match(digest):
        raise NotFound(f"no blob {digest[:140]!r}: it is not a sha256 or sha512 digest")
    return digest


def _start(request: web.Request) -> int | None:
    """Where a chunk begins by its Content-Range, which here has no unit and no total (distribution-spec, "PATCH")."""
    header = request.headers.get("Content-Range")
    if header is None:
        return None
    found = _RANGE.match(header)
    length = int(found[2]) - int(found[1]) + 1 if found else 0
    if not found or length < 1 or request.content_length not in (None, length):
        raise Conflict(f"bad Content-Range {header[:100]!r}: expected FIRST-LAST, of as many bytes as there are")
    return int(found[1])


@contextmanager
def _gone_if_damaged(asked: bool = True) -> Iterator[None]:
    """Where a push asks what it need not send, what is damaged is not here: so that it is sent, and heals."""
    try:
        yield
    except UpstreamFailed:  # is told as it is
        raise
    except Unavailable as error:
        if asked:
            raise NotFound(str(error)) from None
        raise


@contextmanager
def _forbidding() -> Iterator[None]:
    """A change that something stands against is forbidden in this protocol, whose conflicts are about uploads."""
    try:
        yield
    except Conflict as error:
        raise Forbidden(str(error)) from None


def _created(name: str, digest: str) -> web.Response:
    headers = {"Location": f"/v2/{name}/blobs/{digest}", "Docker-Content-Digest": digest}
    return web.Response(status=201, headers=headers)


def _progress(upload: Upload, status: int) -> web.Response:
    headers = {
        "Location": f"/v2/{upload.repository}/blobs/uploads/{upload.id}",
        "Range": f"0-{max(upload.staged.size - 1, 0)}",
        "Docker-Upload-UUID": upload.id,
    }
    return web.Response(status=status, headers=headers)


def _page(request: web.Request, key: str, names: Sequence[str], beside: dict[str, object]) -> web.Response:
    """`n` names after `last`, and a link to the next page (RFC 8288), both as the distribution-spec has it."""
    wanted, last = request.query.get("n", str(MAX_PAGE)), request.query.get("last", "")
    if not re.fullmatch(r"\d{1,9}", wanted, re.ASCII):
        raise Invalid("n is how many names to list")
    after = [name for name in names if name > last]
    page = after[: min(int(wanted), MAX_PAGE)]
    headers = {}
    if page and len(page) < len(after):
        headers["Link"] = f'<{request.path}?n={len(page)}&last={page[-1]}>; rel="next"'
    return web.json_response({**beside, key: page}, headers=headers)
