"""The appliance's life: everything that can fail for the operator's reasons fails before anything is served."""

import asyncio
import fcntl
import gc
import logging
import os
import shlex
import shutil
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence, Set
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox import __version__
from tinkbox.api import long_answers
from tinkbox.api.access import bearer_only
from tinkbox.api.auditing import record_changes
from tinkbox.api.tokens import examine_tokens, told_before
from tinkbox.appliance import (
    BOOT_KEY,
    BOOT_KEY_REMEDY,
    REGISTRY,
    STORE,
    Appliance,
    Part,
    examine_issuer,
    room_on_disk,
    told_systems,
)
from tinkbox.boot.http.loaders import load_loaders
from tinkbox.boot.network.neighbours import most_neighbours
from tinkbox.certificates import Certificates, Door
from tinkbox.certificates.kept_files import FORGET
from tinkbox.certificates.own_certificate import foreign_names
from tinkbox.certificates.unreadable_names import unreadable_names_untold
from tinkbox.data_folder import (
    broken_osie,
    missing_registry,
    missing_store,
    osie_at_a_glance,
    refuse_emptied_store,
    shut_away,
)
from tinkbox.door.answers.answers import Answers, limit_answers
from tinkbox.door.answers.other_door import leads_to_other_door, leads_to_registry
from tinkbox.door.answers.server_name import tell_no_versions
from tinkbox.door.connections.connections import (
    MAX_HEAD,
    MAX_HEADERS,
    READ_AHEAD,
    Admission,
    ConnectionRoom,
    Connections,
    watch_heads,
)
from tinkbox.door.connections.encryption import Encryption, HandshakeTurns
from tinkbox.door.connections.local_socket import LocalSocket
from tinkbox.door.connections.proven_hosts import ProvenHosts
from tinkbox.door.last_room import keep_last_room
from tinkbox.door.open_files import raise_open_files, tell_used_up
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.auditing import keep_audit, refused_attempts
from tinkbox.door.requests.bodies import Bodies, limit_bodies
from tinkbox.door.requests.lasting import end_with_door
from tinkbox.door.requests.live_requests import end_with_token
from tinkbox.door.requests.paths import add_routes
from tinkbox.door.requests.pressure import Pressure
from tinkbox.engine.audit.at_rest import damage_of as audit_damage
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.audit.delivery import examine_syslog
from tinkbox.engine.audit.head import KEY as AUDIT_KEY
from tinkbox.engine.audit.head import KEY_REMEDY as AUDIT_KEY_REMEDY
from tinkbox.engine.audit.head import HeadFile
from tinkbox.engine.secrets.key import CREDENTIAL, KEY_FILE, SecretKey, key_source
from tinkbox.engine.templates.rendering_process import render_confined
from tinkbox.engine.wakeups import Wakeups
from tinkbox.freed_memory import give_back_freed_memory
from tinkbox.host_users import group_name, group_number, may_give_to, user_name
from tinkbox.hosting.volumes import real_folders
from tinkbox.installed_unit import UNIT, InstalledUnit, is_closed, is_hidden
from tinkbox.listening import Listening, Sockets, bound, own_names, tried
from tinkbox.model.audit import COMMAND, Act, Did, Kind
from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.images.references import ALGORITHMS
from tinkbox.model.limits import (
    ANSWER_BYTES,
    BODY_BYTES,
    IMAGE_CONNECTIONS,
    NODE_CONNECTIONS,
    OPERATOR_CONNECTIONS,
    SOCKET_CONNECTIONS,
    Limit,
    Limits,
    Room,
    fitted,
    open_files,
)
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted
from tinkbox.model.token_mask import TokenMask
from tinkbox.oidc.issuer_keys import fetched_keys
from tinkbox.osie.image import images as osie_images
from tinkbox.private_files import (
    FILE,
    Layout,
    as_user,
    examine_private,
    is_systems,
    make_private,
    refuse_other_than,
    stored_secret,
)
from tinkbox.refused_writes import RefusedWrites
from tinkbox.registry.blobs.one_file_system import refuse_other_file_systems
from tinkbox.runtime import EngineAway
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.serving_unit import (
    KEYS,
    OWN_USER,
    given_by_init,
    lost_credentials,
    new_owner,
    no_user,
    only_the_unit_reads,
    reader,
    refuse_root,
    refuse_unreachable,
    serving_unit,
)
from tinkbox.settings import CONFIG, contradictions
from tinkbox.settings.all_settings import Settings
from tinkbox.settings.doors import GROUP, HTTPS_PORT, NO_GROUP
from tinkbox.settings.environment import (
    AUTHORITY_KEY,
    authority_key,
    credentials_folder,
    default_data,
    supervisor_socket,
)
from tinkbox.store.database import Store, audit_in, kept_secret_of, known_authority_of
from tinkbox.store.database import examine as examine_store
from tinkbox.store.integrity import damage_at_start
from tinkbox.store.sqlite_errors import damaged_in_use
from tinkbox.vitals.ipv4_addresses import own_addresses
from tinkbox.vitals.run_mark import RunMark
from tinkbox.wire.operator_door import LOCK

_log = logging.getLogger(__name__)
# For an appliance on this host to take a connection in.
ANSWER_SECONDS = 5.0
# For which a check waits for each answer of what other hosts serve.
ELSEWHERE_SECONDS = 5.0
_LATER = f" for root, and with `-o {OWN_USER}` for {UNIT}, once `tinkbox init` made that user"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_UCRED = struct.Struct("3i")  # unix(7), SO_PEERCRED: pid, uid, gid
# What everybody is served is left as it is, whoever put it there, and so is what containers write.
_SECRETS_KEYS = (KEY_FILE, str(Path(KEY_FILE).with_suffix(".new")))
_NEW_BOOT_KEY = str(Path(BOOT_KEY).with_suffix(".new"))  # while it is made
_DATA = Layout(
    private=(
        "tinkbox.sqlite*",
        "operator.*",
        "audit.*",
        BOOT_KEY,
        _NEW_BOOT_KEY,
        *_SECRETS_KEYS,
        LOCK,
        "people",
        "recordings",
        "registry",
        "services",
        "tls",
    ),
    files=(
        *(f"{STORE}{each}" for each in ("", "-journal", "-wal", "-shm")),
        "operator.token",
        "operator.new",
        "audit.head",
        "audit.key",
        "audit.new",
        BOOT_KEY,
        _NEW_BOOT_KEY,
        *_SECRETS_KEYS,
        LOCK,
        "people/*",
        "tls/*",
        "registry/known-repositories",
        "registry/promised",
        "registry/verified",
    ),
    folders=(
        "people",
        "recordings",
        "registry",
        "services",
        "tls",
        "registry/blobs",
        "registry/incoming",
        "registry/repositories",
        *(f"registry/blobs/{each}" for each in ALGORITHMS),
    ),
    unfollowed=("registry/blobs", "registry/repositories"),
    sockets=("operator.sock",),
    shared=("osie", "raspberrypi", "cache", "services/*/workflow"),
)
Say = Callable[[str], None]
# For the requests that do not last; aiohttp waits so long twice, for their end and for that of what is cancelled.
GRACE_SECONDS = 1.0
# For which a thread that computes keeps Python from the one that answers; 5 ms is Python's own choice.
SWITCH_SECONDS = 0.0005
# Open files that no limit counts: database, logs, sockets for datagrams, engine, and connections that wait to be admitted.
OTHER_FILES = 512
# By the setting `dhcp.mode`; the place is for the interface.
_DHCP = {
    "reservation": "reservations on {}",
    "pool": "reservations and a pool on {}",
    "proxy": "beside the DHCP server of {}, for booting only",
    "off": "off: `tinkbox doctor` prints what your DHCP server has to say",
}


async def serve(settings: Settings, say: Say, mask: TokenMask) -> None:
    """Run the appliance until SIGTERM or SIGINT; `mask`, which the log has as well, is told of the tokens that there are.

    Raises what kept it from starting, as one line with the remedy; a part that crashes or returns
    ends the process, so that its supervisor starts it again.
    """
    stop = _told_to_stop()
    give_back_freed_memory()
    sys.setswitchinterval(SWITCH_SECONDS)
    group = _operators(settings)
    with _only_one(settings.data, group) as mark, bound(settings, group) as sockets, unreadable_names_untold():
        _refuse_small_disk(settings)
        refuse_other_file_systems(settings.data / REGISTRY)
        settings = _with_real_folders(settings)
        refuse_emptied_store(settings.data)
        for line in (
            *missing_store(settings.data),
            *(
                f"wrong: {each}"
                for each in (*missing_registry(settings.data), *shut_away(settings.data), *_damaged_osie(settings.data))
            ),
        ):
            say(line)
        refused_writes = RefusedWrites(lambda: datetime.now(UTC))
        store = await Store.open(settings.data / STORE, refused_writes, say)
        if damage := await asyncio.to_thread(damage_at_start, settings.data / STORE):
            say(f"wrong: {damaged_in_use(settings.data / STORE, damage)}")
        try:
            await _run(settings, sockets, store, refused_writes, mark, stop, say, mask)
        finally:
            await store.close()


async def _run(
    settings: Settings,
    sockets: Sockets,
    store: Store,
    refused_writes: RefusedWrites,
    mark: RunMark,
    stop: asyncio.Event,
    say: Say,
    mask: TokenMask,
) -> None:
    known = await store.read(lambda tables: tables.authority.known())
    certificates = await asyncio.to_thread(_certificates, settings, sockets, known)
    if certificates.fingerprint != known:
        await store.write(lambda tables: tables.authority.keep(certificates.fingerprint))
    with _usable(settings.data):
        limits = _limits(settings, say)
        appliance = Appliance(settings, sockets, store, limits, refused_writes, certificates, mark.unclean, mask)
    appliance.open_files.begin()
    for problem in await appliance.load():
        say(f"wrong: {problem}")
    for line in await appliance.take_in_tokens():
        say(line)
    # Most of what stands by now stays to the end: to look through it for garbage stops everything for 60 ms and more.
    gc.collect()
    gc.freeze()
    pulls, proven = appliance.image_routes(), ProvenHosts(time.monotonic)
    operated = appliance.operator_routes()  # the same at both listeners, for a ticket of one is good at the other
    async with (
        appliance.docker,
        appliance.proxy as proxy,
        aclosing(_Doors(settings, appliance, certificates)) as doors,
    ):
        await doors.open(
            sockets.operator_local,
            SOCKET_CONNECTIONS,
            operated,
            [record_changes],
            in_need=True,
            address="http://localhost",
        )
        await doors.open(
            sockets.operator,
            OPERATOR_CONNECTIONS,
            operated,
            [
                leads_to_registry(sockets.networks[0].https_registry or sockets.networks[0].registry),
                bearer_only(appliance.tokens.bearer, appliance.refused_tokens, proven),
                record_changes,
            ],
            known=proven.knows,
            in_need=True,
            address=f"https://{settings.operator.listen}",
            encrypts_as=Door.OPERATOR,
        )
        await doors.open(
            sockets.images, IMAGE_CONNECTIONS, pulls, [], by_user=True, address=_plain_address(sockets.images)
        )
        pressure = Pressure()
        leads = leads_to_other_door(operated, str(settings.operator.listen))
        for each in sockets.networks:
            guards = [
                pressure.guard(but="/boot/"), proxy.middleware, appliance.traffic.counted(),
                keep_last_room(appliance.free, refused_writes),
                leads,
            ]  # fmt: skip
            addresses = " or ".join(filter(None, [each.url, each.https_url]))
            await doors.open(each.node, NODE_CONNECTIONS, appliance.node_routes(each), guards, address=addresses)
            if each.node_tls is not None:
                await doors.open(
                    each.node_tls,
                    NODE_CONNECTIONS,
                    appliance.node_routes(each),
                    guards,
                    address=each.https_url,
                    encrypts_as=Door.NODE,
                )
            for compatible in each.compatible:
                await doors.open(
                    compatible,
                    NODE_CONNECTIONS,
                    appliance.compatible_routes(),
                    [pressure.guard(but="/boot/"), appliance.traffic.counted(), leads],
                    address=_plain_address(compatible),
                )
        for line in (
            *contradictions.lowered(settings),
            *_unanswered(settings, sockets),
            *_warnings(settings, sockets),
            *(f"wrong: {each}" for each in (*certificates.refused, *certificates.problems)),
            *(f"warning: {each}" for each in certificates.warnings),
            *_tree(settings, sockets, certificates.fingerprint, certificates.own),
        ):
            say(line)
        _tell_supervisor(supervisor_socket())

        async def save() -> None:
            mark.end()  # whatever becomes of it from here on, it was told to
            await appliance.save()

        mark.begin()
        await _keep_running(
            [pressure.run, mark.run, appliance.open_files.run, certificates.run, *doors.parts, *appliance.parts()],
            save,
            stop,
        )


def _certificates(settings: Settings, sockets: Sockets, known: str) -> Certificates:
    """What the doors show in TLS; made at the first start, which takes a second or two.  `known` is the authority so far."""
    names = own_names(settings, sockets, socket.gethostname(), own_addresses())
    return Certificates.open(
        settings.data, names, settings.tls.own, datetime.now(UTC),
        authority_key=authority_key(), known=known, program=_named(settings.data),
    )  # fmt: skip


class Forgotten(NamedTuple):
    """The fingerprint of an authority, empty: none was known, and the file by which the unit has its key as a credential, None: it has not."""

    known: str
    credential: Path | None


async def forget_authority(data: Path, say: Say) -> Forgotten:
    """Have the next start take the authority that is in the folder, or make one where none is; returns the one that is forgotten.

    The audit has it, and who runs this.  Raises NotFound for a folder without a store, Conflict where an appliance runs,
    Unavailable where nothing can be written.
    """
    try:
        is_there = (data / STORE).exists()
    except OSError as error:
        raise Unavailable(f"cannot look into {data}: {error.strerror}: type this as root, or as its owner") from None
    if not is_there:
        raise NotFound(f"{data} has no appliance: name its data folder with --data")
    _refuse_other_than_owner(data)
    with as_user(data), _only_one(data, None):
        store = await Store.open(data / STORE)
        try:
            known = await store.read(lambda tables: tables.authority.known())
            if known:
                await _forget_recorded(store, HeadFile(data), known, say)
        finally:
            await store.close()
    unit = serving_unit(data)
    return Forgotten(known, unit.credentials.get(AUTHORITY_KEY) if unit else None)


def _refuse_other_than_owner(data: Path) -> None:
    """Raise Denied for a user who comes into the folder, as a member of its group does, and whose it is not."""
    owner = data.stat().st_uid
    if os.geteuid() not in (0, owner):
        raise Denied(
            f"{data} belongs to the user {user_name(owner)}: only root and {user_name(owner)} may do this. Type it with sudo"
        )


async def _forget_recorded(store: Store, head: HeadFile, known: str, say: Say) -> None:
    """Forget the authority between two lines of the audit, as the appliance does what it is asked."""
    audit = Audit(store, Wakeups(), lambda: datetime.now(UTC), time.monotonic, head)
    for problem in await audit.load():
        say(f"wrong: {problem}")
    act = Act(kind=Kind.ASKED, who=user_name(os.getuid()), how=COMMAND, what=FORGET, object=known)
    asked = await audit.begin(act)
    await store.write(lambda tables: tables.authority.forget())
    await audit.end(replace(act, status=HTTPStatus.OK, did=[Did("authority forgotten", known)]), asked)
    await audit.save()


def _plain_address(listening: socket.socket) -> str:
    host, port = listening.getsockname()
    return f"http://{host}:{port}"


def _tell_supervisor(place: str) -> None:
    """That we serve (sd_notify(3)); what was started behind us waits for that."""
    if not place:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        try:
            supervisor.sendto(b"READY=1", "\0" + place[1:] if place.startswith("@") else place)
        except OSError as error:
            _log.warning("cannot tell the supervisor at %s that we serve: %s", place, error.strerror)


class _Doors:
    """What is served over HTTP.  `parts` take the connections in."""

    def __init__(self, settings: Settings, appliance: Appliance, certificates: Certificates) -> None:
        self._certificates, self._refused_handshakes = certificates, appliance.refused_handshakes
        self._deadlines = settings.limits
        self._limits = appliance.limits
        self._host_at, self._known = appliance.host_at, appliance.is_known
        self._bodies = Bodies(
            ledger=self._limits.of(BODY_BYTES),
            host_at=self._host_at,
            known=self._known,
            seconds=settings.limits.body.total_seconds(),
        )
        self._answers = Answers(
            ledger=self._limits.of(ANSWER_BYTES), known=self._known, seconds=settings.limits.answer.total_seconds()
        )
        self._long_answers = long_answers.queue()
        self._live_requests = appliance.live_requests
        self._pace = appliance.pace
        self._audit = appliance.engine.audit
        self._open_files = appliance.open_files
        self._rooms: dict[str, ConnectionRoom] = {}
        tell_no_versions()
        self._runners: list[web.AppRunner] = []
        self.parts: list[Part] = []

    async def open(
        self,
        listening: socket.socket | LocalSocket,
        limit: Limit,
        routes: Sequence[web.RouteDef],
        guards: Sequence[Middleware],
        *,
        address: str,
        by_user: bool = False,
        known: Callable[[str], bool] | None = None,
        in_need: bool = False,
        encrypts_as: Door | None = None,
    ) -> None:
        """Serve `routes` there.  `known` tells which hosts have what is kept of the limit: known machines, where nobody says.

        `in_need` and `address` are as in `Admission`.  With `encrypts_as` the door speaks HTTPS alone.
        """
        # Uploads are streamed and bounded where they are read, so aiohttp's own limit is off.
        application = web.Application(
            middlewares=[watch_heads, refusals_become_problems, refused_attempts, *guards], client_max_size=0
        )
        add_routes(application, routes)
        keep_audit(application, self._audit)
        end_with_door(application)
        end_with_token(application, self._live_requests)
        tell_used_up(application, self._open_files)
        limit_bodies(application, self._bodies)
        limit_answers(application, self._answers)
        long_answers.take_turns(application, self._long_answers)
        # A handler runs to its end even when its client is gone: what it committed must also reach our memory.
        # What is passed on to a service must reach it as it came.
        runner = web.AppRunner(
            application,
            access_log=None,
            shutdown_timeout=GRACE_SECONDS,
            auto_decompress=False,
            max_headers=MAX_HEADERS,
            # A longer head comes to no parser, whose refusal would show a part of it.
            max_line_size=MAX_HEAD,
            max_field_size=MAX_HEAD,
            read_bufsize=READ_AHEAD,
            keepalive_timeout=self._deadlines.idle.total_seconds(),
        )
        await runner.setup()
        self._runners.append(runner)
        server = runner.server
        assert server is not None
        admission = Admission(
            room=self._rooms.setdefault(
                limit.name, ConnectionRoom(Room(ledger=self._limits.of(limit), known=known or self._known))
            ),
            host_at=self._host_at,
            head_seconds=self._deadlines.head.total_seconds(),
            answer_seconds=self._deadlines.answer.total_seconds(),
            pace=self._pace,
            by_user=by_user,
            open_files=self._open_files,
            in_need=in_need,
            encryption=self._encryption(encrypts_as, known or self._known) if encrypts_as else None,
            address=address,
        )

        def accept(at: socket.socket) -> Coroutine[Any, Any, NoReturn]:
            return Connections(at, server, admission).accept()

        serve = partial(accept, listening) if isinstance(listening, socket.socket) else partial(listening.serve, accept)
        self.parts.append(serve)

    def _encryption(self, door: Door, known: Callable[[str], bool]) -> Encryption:
        return Encryption(
            context=self._certificates.server_context(door),
            turns=HandshakeTurns(known, time.monotonic),
            refused=self._refused_handshakes,
            seconds=self._deadlines.head.total_seconds(),
        )

    async def aclose(self) -> None:
        """Close all of them at once."""
        async with asyncio.TaskGroup() as closing:
            for each in self._runners:
                closing.create_task(each.cleanup())


def _limits(settings: Settings, say: Say) -> Limits:
    """The limits, lowered where this host lets us open fewer files than they would take."""
    chosen = settings.limits.holdings
    wanted = open_files(chosen) + OTHER_FILES
    allowed = raise_open_files(wanted)
    if allowed < wanted:
        say(
            f"limits of connections are lowered: this host allows {allowed} open files, they need {wanted}. "
            "Set LimitNOFILE= in the unit or raise `ulimit -Hn`"
        )
    return Limits(fitted(chosen, allowed - OTHER_FILES), time.monotonic, _say_held_back)


def _say_held_back(limit: Limit, holder: str) -> None:
    _log.warning(
        "%s is held back by limits.%s: who else is, and what to do, says `tinkbox doctor` for ten minutes",
        holder,
        limit.name,
        extra={"action": f"limits.{limit.name}", "holder": holder},
    )


def _told_to_stop() -> asyncio.Event:
    """Set by SIGTERM and SIGINT, from the very start on."""
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    return stop


async def _keep_running(parts: Sequence[Part], save: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    """Run every part in one TaskGroup until `stop` is set; a part that ends by itself is a crash."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_for_ever(part)) for part in parts]
        await stop.wait()
        with suppress(Refusal):
            await save()
        for task in tasks:
            task.cancel()


async def _for_ever(part: Part) -> NoReturn:
    await part()
    msg = f"{part} returned, and it must not"
    raise RuntimeError(msg)


@contextmanager
def _only_one(data: Path, group: int | None) -> Iterator[RunMark]:
    """Make the data directory ours alone, for as long as we run; `group` may pass through it to the operator door's socket."""
    another = Conflict(f"another tinkbox serves {data}: stop it, or name another directory with --data")
    # First of all: of a folder that is in use another user is not told how to have it for himself.
    with suppress(OSError):
        if _is_served(data):
            raise another
    refuse_root(data)
    make_private(data, _DATA, passing=group)
    with _usable(data):
        lock = (data / LOCK).open("a+")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise another from None
        yield RunMark(lock, lambda: _BOOT_ID.read_text().strip())


def _operators(settings: Settings) -> int | None:
    """The group of `operator.group`, None without one; raises Unavailable for one that was chosen and cannot be had."""
    name = settings.operator.group
    if name == NO_GROUP:
        return None
    found = group_number(name)
    if found is not None and may_give_to(found):
        return found
    if name == GROUP:  # the default: this host has none, or another user runs this for themselves
        return None
    if found is None:
        raise Unavailable(
            f"operator.group: this host has no group {name}: `sudo groupadd --system {name}` makes it, or write `group: "
            f"{NO_GROUP}`"
        )
    me = user_name(os.geteuid())
    raise Unavailable(
        f"operator.group: {me}, who runs this, is not in the group {name}: `sudo usermod -aG {name} {me}`, or "
        f"`SupplementaryGroups={name}` in the unit, or write `group: {NO_GROUP}`"
    )


def _is_served(data: Path) -> bool:
    """Whether an appliance runs with this data directory; raises OSError where that cannot be seen."""
    refuse_other_than(FILE, data / LOCK)
    try:
        with (data / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


@contextmanager
def _usable(data: Path) -> Iterator[None]:
    """Raise Unavailable for what in the data directory cannot be used, such as a file in a folder's place."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"cannot use {error.filename or data}: {error.strerror}: move it away, or name another data "
            "directory with --data"
        ) from None


def _refuse_small_disk(settings: Settings) -> None:
    """Raise Invalid where the settings do not fit the data folder's disk, also before the folder is made."""
    place = next(each for each in (settings.data, *settings.data.parents) if each.exists())
    problems = list(contradictions.on_disk(settings, room_on_disk(place)))
    if problems:
        raise Invalid(f"the configuration does not fit this host: {counted(len(problems), 'problem')}", problems)


def _refuse_full_disk(data: Path) -> None:
    """Raise Unavailable where there is no room to work with: below it, what machines send is refused."""
    place = next(each for each in (data, *data.parents) if each.exists())
    free = shutil.disk_usage(place).free
    if free < LAST_ROOM:
        raise Unavailable(
            f"the disk of {data} has {show_size(free)} free, and below {show_size(LAST_ROOM)} machines cannot hand in what "
            "they did: free room there, or name a folder on another disk with `data`"
        )


def _with_real_folders(settings: Settings) -> Settings:
    """The settings with the folders of volumes as they are now; raises Unavailable or Conflict."""
    ours = {"the data folder": settings.data}
    if settings.docker.startswith("unix://"):
        ours["the container engine's socket"] = Path(settings.docker.removeprefix("unix://"))
    volumes = real_folders(settings.services.volumes, ours)
    return replace(settings, services=replace(settings.services, volumes=volumes))


def _examine_osie(data: Path, named: str, file: Path, *, needed: bool) -> None:
    """Raises Unavailable or Invalid where machines cannot boot what is there, or where it is `needed` and there is none.

    `named` is how a command that works with this folder begins, `file` is the configuration.
    """
    if not osie_images(data / "osie") and needed:
        config = "" if file == CONFIG else f" --config {shlex.quote(str(file))}"
        raise Unavailable(
            f"no OSIE is in {data}/osie, so no machine can be provisioned: `{named} osie build` makes one, "
            f"`{named} init{config}` brings that of a release"
        )


def _tree(
    settings: Settings, sockets: Sockets, authority: str = "", own: tuple[str, Set[str]] | None = None
) -> list[str]:
    """What is served where, for the operator who started it; `authority` is the fingerprint that people compare.

    `own` is that of the operator's, with the names that it is shown for.
    """
    try:
        built = osie_images(settings.data / "osie")
        damaged = any(True for _ in osie_at_a_glance(settings.data, _named(settings.data)))
        osie = "damaged" if damaged else "built" if built else f"not built yet: {_named(settings.data)} osie build"
        if plain := [each.architecture for each in built if not each.https]:
            osie += f"; for {' and '.join(plain)} of an earlier release, which asks over plain HTTP: {_named(settings.data)} osie build"
    except Refusal as refusal:
        osie = str(refusal)
    lines = [
        f"operator door   {settings.data}/operator.sock{_for_whom(settings)}",
        f"                https://{settings.operator.listen} with the token in operator.token",
        *([f"authority       {authority}"] if authority else []),
        *([f"                {own[0]} for {', '.join(sorted(own[1]))}"] if own else []),
    ]
    for each in sockets.networks:
        lines += _network(settings, each)
    lines += [
        f"services        WORKFLOW.{settings.services.domain}, hosted on {settings.docker}",
        f"OSIE            {osie}",
    ]
    branches = ["│  " if line.startswith(" ") else "├─ " for line in lines[:-1]]
    shown = [branch + line for branch, line in zip([*branches, "└─ "], lines, strict=True)]
    return [f"tinkbox {__version__}, data in {settings.data}", *shown]


def _named(data: Path) -> str:
    """How a command that works with this data folder begins."""
    return "tinkbox" if data == default_data() else f"tinkbox --data {shlex.quote(str(data))}"


def _damaged_osie(data: Path) -> list[str]:
    """What is wrong with the OSIEs' files without reading them; that there is no OSIE that can be used is told elsewhere."""
    with suppress(Refusal):
        return [*osie_at_a_glance(data, _named(data))]
    return []


def _for_whom(settings: Settings) -> str:
    """Who may use the operator door's socket besides its owner and root."""
    with suppress(Unavailable):
        group = _operators(settings)
        return "" if group is None else f" for the group {group_name(group)}"
    return ""


def _warnings(settings: Settings, sockets: Sockets) -> list[str]:
    """What works, and is dangerous."""
    networks = {each.interface.network for each in sockets.networks}
    return [*_exposed(settings, sockets), *_for_others(settings, sockets), *crowded(networks, most_neighbours())]


def _for_others(settings: Settings, sockets: Sockets) -> list[str]:
    """A warning where the operator's certificate has no name of this box; who renews it elsewhere may have put in another's."""
    host = socket.gethostname()
    with suppress(Unavailable):
        foreign = foreign_names(settings.tls.own, own_names(settings, sockets, host, own_addresses()), host)
        return [f"warning: {foreign}"] if foreign else []
    return []


def _unanswered(settings: Settings, sockets: Sockets) -> Iterator[str]:
    """Ports that nobody chose and somebody else has: of HTTPS, and of metadata as templates of the field ask for it."""
    for each in sockets.networks:
        if each.node_tls is None and settings.node.https_port == HTTPS_PORT != settings.node.http_port:
            ours = settings.operator.listen.port == HTTPS_PORT and _is_reached(settings, [each])
            by, way = (
                ("operator.listen", "Choose another port there") if ours else ("another process", "Stop that process")
            )
            yield (
                f"warning: {each.interface.address}:{HTTPS_PORT} is taken by {by}, so machines speak plain HTTP. {way}, or set "
                "node.https_port"
            )
        bound = {compatible.getsockname()[1] for compatible in each.compatible}
        for port in contradictions.metadata_ports(settings, [each.interface.address]):
            if port not in bound:
                yield (
                    f"warning: {each.interface.address}:{port} is taken by another process, so metadata is not answered there, where "
                    "some templates for Tinkerbell ask for it. Stop that process, or set metadata.ports"
                )


def _exposed(settings: Settings, sockets: Sockets) -> list[str]:
    """What machines can reach that is for people; a warning, since some hosts have one network only, and a token is asked for."""
    listen = settings.operator.listen
    others = [each for each in sockets.networks if not each.interface.address.is_loopback]
    if not _is_reached(settings, others):
        return []
    who = "every machine on the provisioning network, who may try tokens"
    return [f"warning: operator.listen {listen} is open to {who}: listen on 127.0.0.1, or on a network of people"]


def _is_reached(settings: Settings, networks: Sequence[Listening]) -> bool:
    """Whether the operator door listens at an address of these as well."""
    address = IPv4Address(socket.gethostbyname(settings.operator.listen.host))
    return address.is_unspecified or address in [each.interface.address for each in networks]


def crowded(networks: Collection[IPv4Network], most: int | None) -> list[str]:
    """A warning where networks have as many addresses as the kernel keeps neighbours, `most`, where it tells.

    One host can invent so many that no other is answered any more.
    """
    addresses = sum(each.num_addresses for each in networks if not each.is_loopback)
    if most is None or addresses < most:
        return []
    text = (
        f"warning: the kernel keeps {most} neighbours, and {', '.join(map(str, sorted(networks)))} have {addresses} addresses: "
        "a host that sends in the name of many keeps all machines from an answer. Install systemd/sysctl.conf (docs/security.md)"
    )
    return [text]


def _network(settings: Settings, at: Listening) -> list[str]:
    """What is served on one provisioning interface."""
    address = at.interface.address
    return [
        f"node door       {at.url}" + (f", {at.https_url}" if at.https_url else ""),
        f"images          {at.https_registry or at.registry}/NAME:TAG",
        f"DHCP            {_DHCP[settings.dhcp.mode].format(at.interface.name)}",
        f"TFTP            {address}:{settings.node.tftp_port}",
        f"names           {f'{address}:{settings.node.dns_port} answers DNS for workflows' if at.names else 'off'}",
        f"syslog          {f'{address}:{settings.node.syslog_port}' if at.syslog else 'off'}",
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What is wrong, each in a sentence with the way out: what keeps tinkbox from serving, and what it serves without, and tells."""

    refused: Sequence[str]
    borne: Sequence[str]

    @property
    def is_well(self) -> bool:
        return not self.refused and not self.borne


async def check(
    settings: Settings,
    say: Say,
    file: Path,
    *,
    draft: bool = False,
    osie_follows: bool = False,
    becomes: Path | None = None,
    follows: str = "",
) -> Checked:
    """Look at everything that serving needs, and say what is wrong and what to do.

    It changes nothing.  Root looks at the files as the user of the unit that serves the data folder does, without one as the
    folder's owner: that user must be able to read the configuration's `file` as well, unless it is a `draft`, which only its
    author may read yet, and which `becomes` another file.  Where a unit is installed after this, `follows` is its text, and a folder is
    judged as what becomes of it then.  Without an OSIE no machine can be provisioned, so it has to be there
    unless it follows.  What is a credential of the unit is not judged.  Beside an appliance that runs with the same folder its ports are left alone.  A Docker engine is not needed: without one everything works but hosted services.
    """
    wrong, later, borne, warnings = list[str](), list[str](), list[str](), list[str]()
    for line in contradictions.lowered(settings):
        say(line)
    with _noting(wrong):
        load_loaders()
    running, usable, issuers_ca = None, False, None
    named = _named(settings.data)
    unit = serving_unit(settings.data, becomes, follows)
    away, to = only_the_unit_reads(unit), new_owner(settings.data, unit)
    gives = bool(follows) and given_by_init(settings.data, unit)
    other = None if gives else reader(settings.data, unit)
    wrong += _wrong_with_unit(settings, unit, is_installed=becomes is None)
    warnings += lost_credentials(unit)
    with _noting(wrong), ExitStack() as rights:
        refuse_unreachable(settings.data, unit if follows else None)
        running = _running(settings.data)  # with the rights that we have: those of the user may not reach so far
        user = rights.enter_context(as_user(settings.data, other))
        if to is not None:
            say(f"systemd gives {settings.data}, with all in it, to the user {to.pw_name} when it starts {UNIT}")
        elif user:
            say(f"checked for the user {user}, {f'as which {UNIT} runs' if other else f'who owns {settings.data}'}")
        examine_private(settings.data, _DATA, None if to is None else to.pw_uid)
        usable = True
        with _noting(later if draft else wrong), as_user(settings.data, to or other):
            _refuse_unreadable(file)
        for look in (
            partial(_operators, settings), partial(_refuse_small_disk, settings), partial(_refuse_full_disk, settings.data), partial(_with_real_folders, settings),
            partial(refuse_other_file_systems, settings.data / REGISTRY),
            partial(refuse_emptied_store, settings.data), partial(examine_store, settings.data / STORE),
            partial(examine_tokens, settings.data, settings.operator.people),
            partial(stored_secret, settings.data / BOOT_KEY, remedy=BOOT_KEY_REMEDY),
            partial(stored_secret, settings.data / AUDIT_KEY, remedy=AUDIT_KEY_REMEDY),
            partial(told_systems, settings),
        ):  # fmt: skip
            with _noting(wrong):
                look()
        with _noting(wrong):
            issuers_ca = examine_issuer(settings)
        with _noting(wrong):
            own = Certificates.examine(
                settings.data, settings.tls.own, datetime.now(UTC), authority_key=authority_key(),
                known=known_authority_of(settings.data / STORE), program=named, is_kept_elsewhere=AUTHORITY_KEY in away,
            )  # fmt: skip
            borne += own.wrong
            warnings += own.warnings
        borne += _served_without(
            settings, file, unit, osie_follows=osie_follows, has_secrets_key=CREDENTIAL not in away
        )
        for name, place in away.items():
            say(
                f"{KEYS[name]} is the credential {name} of {UNIT} ({place}): only the service reads it, so it was not examined"
            )
        for line in (*missing_store(settings.data), *told_before(settings.data, settings.operator.people)):
            say(line)
    with _noting(wrong), tried(settings, running) as trial:
        if running is not None:
            say(f"tinkbox runs already with this data folder (pid {running}): its ports were not tried")
        for port in trial.unseen:
            say(f"{port} is in use, and only root sees by whom: it was not tried")
        unanswered = _unanswered(settings, trial.sockets) if running is None else ()
        for line in (
            *unanswered,
            *_warnings(settings, trial.sockets),
            *(_tree(settings, trial.sockets) if usable else []),
        ):
            say(line)
        _limits(settings, say)
    with _noting(wrong):
        await render_confined("", [])
    try:
        async with DockerRuntime(settings.docker) as engine:
            say(f"Docker engine {await engine.version()} at {settings.docker}")
    except EngineAway as error:
        say(f"{error}: workflow services cannot be hosted, everything else works")
    warnings += [*await _no_log_in(settings, issuers_ca), *await _no_syslog(settings)]
    for line in (
        *(f"warning: {each}" for each in warnings),
        *(f"before a unit uses it: {each}" for each in later),
        *(f"wrong: {each}" for each in dict.fromkeys([*wrong, *borne])),
    ):
        say(line)
    return Checked(refused=wrong, borne=borne)


async def _no_log_in(settings: Settings, ca_pem: str | None) -> list[str]:
    """Why no person can log in by `operator.oidc` now, whose authority is `ca_pem`, None: it cannot be read."""
    issuer = settings.operator.oidc.issuer
    if issuer and ca_pem is not None:
        try:
            await fetched_keys(issuer, ca_pem, ELSEWHERE_SECONDS)
        except Unavailable as error:
            return [f"operator.oidc: no person can log in with their company's account: {error}"]
    return []


async def _no_syslog(settings: Settings) -> list[str]:
    """Why the server of `audit.syslog` gets no lines of the audit now."""
    server = settings.audit.syslog
    if server is not None:
        try:
            await asyncio.to_thread(examine_syslog, server, ELSEWHERE_SECONDS)
        except OSError as error:
            why = error.strerror or str(error)
            return [
                f"audit.syslog: {server} takes no lines of the audit ({why}), so they wait: look at that server, its name, and the network to it"
            ]
    return []


def _served_without(
    settings: Settings, file: Path, unit: InstalledUnit | None, *, osie_follows: bool, has_secrets_key: bool
) -> list[str]:
    """What is wrong in the data folder, and stops no start; `file` is the configuration.

    Without `has_secrets_key` the key of secrets is where we cannot read it.
    """
    found, data, named = list[str](), settings.data, _named(settings.data)
    for look in (
        *([partial(_examine_secrets, data)] if has_secrets_key else []),
        partial(_examine_audit, data),
        partial(_examine_audit_file, settings, unit),
        partial(_examine_osie, data, named, file, needed=not osie_follows),
    ):
        with _noting(found):
            look()
    found += shut_away(data)
    found += missing_registry(data)
    if not osie_follows:
        with _noting(found):
            found += broken_osie(data, named)
    return found


def _examine_audit(data: Path) -> None:
    """Raise Unavailable for lines of the audit that are not as they were written."""
    problem = audit_in(data / STORE, lambda audit: audit_damage(audit, data))
    if problem:
        raise Unavailable(problem)


def _examine_audit_file(settings: Settings, unit: InstalledUnit | None) -> None:
    """Raise Unavailable where the lines of the audit cannot be added to the file of `audit.file`."""
    named = settings.audit.file
    path = Path(os.path.realpath(named))
    if named and path.is_dir():
        raise Unavailable(f"audit.file: {named} is a folder, and takes no lines of the audit: name a file in it")
    with as_user(settings.data, unit.user if unit else None):
        if not named or _takes_lines(path, unit):
            return
        me, folder = unit.user_name if unit and unit.user_name else user_name(os.geteuid()), path.parent
    # A folder that is there may be the system's: it is never to be given away.
    why, way = (
        (f"{me} may not write there", "Name a file in a folder of its own")
        if folder.is_dir()
        else (
            f"there is no folder {folder}",
            f"`install -d -m 750 -o {me} {folder}` makes that folder{_LATER if unit is None and os.geteuid() == 0 else ''}",
        )
    )
    raise Unavailable(
        f"audit.file: no line of the audit gets into {path}: {why}. {way}; `LogsDirectory=` in a drop-in of the unit makes one below /var/log"
    )


def _takes_lines(path: Path, unit: InstalledUnit | None) -> bool:
    """Whether the present user may write to a file or, where it is missing, to its folder, or the user of the unit will."""
    there = path if path.exists() else path.parent
    if unit is not None and unit.makes(path.parent):
        return True
    if unit is not None and unit.user_name and unit.user is None:  # a user that is made yet has nothing of its own
        return there.exists() and bool(there.stat().st_mode & stat.S_IWOTH)
    return os.access(there, os.W_OK, effective_ids=True)


def _examine_secrets(data: Path) -> None:
    """Raise Unavailable for secrets that the key does not open."""
    kept = kept_secret_of(data / STORE)
    if kept is not None:
        SecretKey(key_source(data, credentials_folder(), stored_secret)).open(kept.name, kept.content)


def written_folders(settings: Settings) -> list[Path]:
    """What an appliance with these settings writes to: the data folder, what links in it lead to, the folder of `audit.file`.

    In a folder of the system it is the file alone.
    """
    data = settings.data
    linked = [Path(os.path.realpath(data / each)) for each in _DATA.folders if (data / each).is_symlink()]
    audit = Path(os.path.realpath(settings.audit.file))
    named = [audit if is_systems(audit.parent) else audit.parent] if settings.audit.file else []
    return [*dict.fromkeys([data, *linked, *named])]


def _wrong_with_unit(settings: Settings, unit: InstalledUnit | None, *, is_installed: bool) -> Iterator[str]:
    """Why the unit that serves this data folder does not start; one that is not `is_installed` as it will be gets its user and its drop-in yet."""
    if unit is None:
        return
    folders = written_folders(settings)
    if hidden := unit.hidden(folders):
        yield is_hidden(hidden)
    if is_installed and (closed := unit.closed(folders)):
        yield is_closed(closed)
    if unit.user_name and unit.user is None and (is_installed or unit.user_name != OWN_USER):
        yield no_user(unit)


@contextmanager
def _noting(wrong: list[str]) -> Iterator[None]:
    """Note what is refused, and go on."""
    try:
        yield
    except Refusal as refusal:
        problems = refusal.problems if isinstance(refusal, Invalid) else ()
        wrong += [str(each) for each in problems] or [str(refusal)]


def _refuse_unreadable(file: Path) -> None:
    try:
        file.open().close()
    except FileNotFoundError:
        return
    except PermissionError:
        who = user_name(os.geteuid())
        raise Unavailable(f"the user {who} cannot read {file}: {_made_readable(file)}") from None
    except OSError as error:
        raise Unavailable(f"cannot read the configuration file {file}: {error.strerror}") from None


def _made_readable(file: Path) -> str:
    """What root types so that the present user can read a file."""
    for folder in reversed(file.absolute().parents):
        if not os.access(folder, os.X_OK, effective_ids=True):
            return f"`chmod o+x {folder}` lets everybody pass through that folder"
    group = group_name(os.getegid())
    return (
        f"`chmod 644 {file}` lets everybody read it, `chgrp {group} {file} && chmod 640 {file}` only the group {group}"
    )


def _running(data: Path) -> int | None:
    """The process of the appliance that serves this folder, None without one; raises Unavailable where it does not answer."""
    try:
        if not _is_served(data):
            return None
    except NotADirectoryError:  # which is told of the folder itself
        return None
    except OSError as error:
        raise Unavailable(
            f"cannot use the data directory {data}: {error.strerror}: check as root, or as its owner"
        ) from None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(ANSWER_SECONDS)
        try:
            asking.connect(str(data / "operator.sock"))
        except OSError:
            raise Unavailable(f"another tinkbox begins or ends to serve {data}: check again in a moment") from None
        pid, _, _ = _UCRED.unpack(asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return int(pid)
