"""The worker's loop: ask for work, do it, report until somebody listens."""

import asyncio
import logging
import os
import secrets
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

from tinkbox import __version__
from tinkbox.client.node import NodeDoor, SessionOver
from tinkbox.client.trust import Untrusted
from tinkbox.hosting import Place
from tinkbox.hosting.host import ServiceHost
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.model.masking import Masks, masked_outcome
from tinkbox.model.session import new_instance
from tinkbox.model.text import one_line
from tinkbox.model.workflow import Outcome, State
from tinkbox.private_files import make_private
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.journal import Answer
from tinkbox.wire.messages.session import Opening
from tinkbox.wire.messages.worker import Credential, Hello, Offer, Report
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.attempts.retrying import BEGIN_SECONDS
from tinkbox.worker.containers.action_containers import ROLES, remove_strays
from tinkbox.worker.containers.salvage import discard
from tinkbox.worker.discovery import introduced, tell
from tinkbox.worker.enrolment import enrol
from tinkbox.worker.faithful_door import FaithfulDoor
from tinkbox.worker.files.credential_file import CREDENTIAL, read_credential
from tinkbox.worker.files.failure_files import Words
from tinkbox.worker.files.session_file import name_of, only_worker
from tinkbox.worker.files.toolbox import install
from tinkbox.worker.files.worker_folder import LAYOUT, WorkerFolder
from tinkbox.worker.host.addresses import own_address, refuse_no_url, refuse_other_way
from tinkbox.worker.host.chosen_disk import find_disk
from tinkbox.worker.host.disks import look
from tinkbox.worker.host.engine_room import little_room
from tinkbox.worker.host.firmware_authorities import enroll
from tinkbox.worker.host.inventory import inventory
from tinkbox.worker.host.kernel_log import read_kernel_log
from tinkbox.worker.host.loaded_kernel import start_loaded_kernel
from tinkbox.worker.host.tpm import NONE, Tpm, opened_device
from tinkbox.worker.hosting import RemoteHostLink
from tinkbox.worker.machine import Door as AttemptDoor
from tinkbox.worker.machine import Machine

DOCKER = "unix:///var/run/docker.sock"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
SESSION_OVER = 3  # the exit status; /osie/worker asks for a new credential then
UNTRUSTED = 4  # the exit status; /osie/worker tells that, and starts the worker again
_LONGEST_WHY = 500
_log = logging.getLogger(__name__)


class Door(AttemptDoor, Protocol):
    """What the worker asks of the appliance."""

    async def next(self, hello: Hello) -> Offer | None: ...
    async def settled(self) -> Answer: ...
    async def report(self, attempt: str, report: Report) -> Offer | None: ...


class Host(Protocol):
    """What hosts services beside the actions."""

    async def run(self) -> NoReturn: ...


def work(
    server: str | None, credential: Path | None, docker: str | None, data: Path, *, privileged: bool, debug: bool
) -> int:
    """Work until an action asks for a reboot; returns the exit status, of which the OSIE reboots the machine.

    Where the action loaded another kernel this does not return, but starts that; only when it cannot, the OSIE reboots.

    In the OSIE everything comes from what the appliance served at boot.  With a credential for discovery the machine first
    waits to be accepted.  Without `debug` the machine takes no
    breakpoint and serves no shell.  Returns SESSION_OVER when another worker is this machine's, and UNTRUSTED when what
    answers in the appliance's place cannot prove that it is the credential's appliance.  Raises NotFound or Invalid
    when there is no usable credential, or the URL names no host or does not go with it, Unavailable when `data` is another user's, another worker's or a copy.
    """
    identity = read_credential(credential or CREDENTIAL)
    make_private(data, LAYOUT)
    if server:
        identity = replace(identity, server=server.rstrip("/"))
    refuse_no_url(identity.server)
    refuse_other_way(identity)
    with only_worker(data):
        folder = WorkerFolder(data)
        with leaving_no_mounts(folder.words):
            status = asyncio.run(_work(identity, docker or DOCKER, folder, privileged=privileged, debug=debug))
        if status == 0 and folder.kexec_wanted:
            try:
                start_loaded_kernel()
            except OSError as error:
                _log.error("the loaded kernel cannot be started: %s", error, extra={"action": "worker.kexec"})
        return status


@contextmanager
def leaving_no_mounts(words: Words) -> Iterator[None]:
    """Take off what is mounted for words that no container needs, when this ends by itself or by SIGTERM.

    SIGTERM still ends the process at once: containers run on, and the next worker takes them up.
    """

    def end(number: int, _: object) -> None:
        words.release()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        words.release()


async def _work(credential: Credential, docker: str, folder: WorkerFolder, *, privileged: bool, debug: bool) -> int:
    tpm = Tpm(opened_device)
    opening = Opening(
        secret=folder.session.secret(credential.token),
        boot_id=BOOT_ID.read_text().strip(),
        instance=new_instance(time.clock_gettime_ns(time.CLOCK_BOOTTIME), secrets.token_urlsafe(6)),
        version=__version__,
    )
    opening = await tpm.shown_in(opening)
    if opening.no_tpm and opening.no_tpm != NONE:
        _log.warning("the TPM is not shown: %s", opening.no_tpm, extra={"action": "tpm.unusable"})
    if debug:
        install(folder.tools)
    if credential.authority and (refused := await _refused(credential, opening)):
        _log.error("%s. This worker ends", refused, extra={"action": "worker.untrusted"})
        return UNTRUSTED
    status = 0
    try:
        if credential.discovery:
            async with NodeDoor(credential, opening, tpm.proven_in) as waiting:
                credential = await introduced(waiting, credential, opening.boot_id, inventory)
    except* SessionOver as over:
        _log.error("%s; booting again", _why(over), extra={"action": "worker.session-over"})
        # Nothing was begun on it, and its next boot may be that of a machine that is known.
        folder.want_reboot()
    else:
        try:
            await _serve_machine(credential, opening, tpm, folder, docker, privileged=privileged, debug=debug)
        except* SessionOver as over:
            _log.error("%s. This worker ends", _why(over), extra={"action": "worker.session-over"})
            status = SESSION_OVER
    return status


async def _refused(credential: Credential, opening: Opening) -> str:
    """Why what answers is not the appliance, before anything is said to it; empty: it is, or it will be once it answers.

    Later on a worker asks again and again instead: it may have an action to look after.
    """

    async def ask() -> str:
        try:
            await door.greet()
        except Untrusted as error:
            return str(error)
        return ""

    async with NodeDoor(credential, opening) as door:
        return await patiently(ask, Unavailable)


def _why(over: BaseExceptionGroup[SessionOver]) -> str:
    first: BaseException = over
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return str(first)


async def _serve_machine(
    credential: Credential,
    opening: Opening,
    tpm: Tpm,
    folder: WorkerFolder,
    docker: str,
    *,
    privileged: bool,
    debug: bool,
) -> None:
    """Do what is to be done on the machine, until it is to go away; raises SessionOver when another worker is to do it."""
    boot_id = opening.boot_id
    async with (
        FaithfulDoor(credential, opening, tpm.proven_in, folder.journal) as door,
        DockerRuntime(docker) as runtime,
    ):
        place = Place(
            host=credential.worker,
            folder=folder.services,
            registry=credential.registry,
            server=credential.url_for_others,
            privileged=privileged,
            # The network of a service is the machine's, so this is where it is reached.
            address=await patiently(partial(own_address, credential.server), Unavailable),
            volumes=None,
            tls=bool(credential.authority),
            https_server=credential.server if credential.authority else "",
            authority=credential.authority,
        )
        host = ServiceHost(runtime, RemoteHostLink(door, boot_id), place, time.monotonic)
        machine = Machine(
            runtime=runtime, door=door, folder=folder, credential=credential, boot_id=boot_id, session=name_of(opening.secret),
            privileged=privileged, debug=debug, gather=host.gather, look=look,
            find_disk=find_disk, kernel_log=read_kernel_log, little_room=partial(little_room, runtime),
        )  # fmt: skip
        _log.info(
            "worker %s of machine %s asks %s for work", __version__, credential.worker, credential.server,
            extra={"action": "worker.starts"},
        )  # fmt: skip
        async with asyncio.TaskGroup() as group:
            telling = [group.create_task(tell(door, boot_id, inventory))]
            if credential.enroll and credential.authority:
                telling.append(group.create_task(enrol(door, credential.authority, enroll)))
            await serve_and_host(machine, door, host)
            for each in telling:
                each.cancel()


async def serve_and_host(machine: Machine, door: Door, host: Host) -> None:
    """`serve`, with services beside it; those run on when it returns, as long as the machine is there."""
    async with asyncio.TaskGroup() as group:
        hosting = group.create_task(host.run())
        await serve(machine, door)
        hosting.cancel()


async def serve(machine: Machine, door: Door) -> None:
    """Ask, do, report; returns when the machine is to go away, and the appliance knows all it needs for that.

    That is when an action asked for a reboot and its report was answered, or was of the kind of which
    the machine goes away.
    """
    notes, journal = machine.folder.notes, machine.folder.journal
    offer, now = None, asyncio.get_running_loop().time
    # After a success that was cleaned up here nothing is left of others, and the engine need not be asked.
    tidy = False
    # A worker that was started anew does not know whether the report before the reboot arrived.
    while offer is not None or not machine.folder.reboot_wanted or notes.unfinished():
        if offer is None:
            offer = await patiently(lambda: _ask(machine, door), Refusal)
            offered_at = now()
        if offer is None:
            if notes.unfinished():
                await door.settled()
                await _let_go_of_others(machine, "")
            continue
        journal.begin(offer)
        _log.info(
            "workflow %s: %s, %s", offer.workflow_id, offer.action.task, offer.action.spec.name,
            extra={"action": "attempt.begins"},
        )  # fmt: skip
        attempt = AttemptRun(machine, offer, offered_at)
        missing = "" if tidy else await _let_go_of_others_in_time(machine, offer)
        outcome = attempt.without_engine(missing) if missing else await attempt.outcome()
        if outcome is None:
            break
        outcome = masked_outcome(Masks.of(offer.given.values()), outcome)  # it is kept and told here as well
        journal.end(offer.attempt, outcome)
        _tell(offer, outcome)
        disks = await machine.look(offer.action.spec.wipes)
        report = Report(
            workflow_id=offer.workflow_id, boot_id=machine.boot_id, outcome=outcome, disks=disks, next=_hello(machine)
        )
        following = await _report(door, offer, report)
        offered_at = now()  # to clean up may take as long as the engine is away
        journal.close(offer.attempt)
        offer = following if following is not None and journal.takes(following) else None
        tidy = await attempt.clean_up() and outcome.state is State.SUCCESS
    _log.info("an action asked for a reboot", extra={"action": "worker.reboot"})


def _hello(machine: Machine) -> Hello:
    return Hello(
        boot_id=machine.boot_id,
        version=__version__,
        finishing=machine.folder.reboot_wanted,
        debug=machine.debug,
        seen=machine.folder.journal.seen,
        networks=True,
        secrets=True,
    )


async def _let_go_of_others_in_time(machine: Machine, offer: Offer) -> str:
    """`_let_go_of_others`; returns what is seen of the engine when it stays away, and nothing of the offer was begun, else nothing.

    What was begun is gone on with, however long the engine is away.
    """
    if offer.left or offer.attempt in machine.folder.notes.unfinished():
        await _let_go_of_others(machine, offer.attempt)
        return ""
    seen = ["no Docker engine answers"]
    try:
        async with asyncio.timeout(BEGIN_SECONDS):
            await _let_go_of_others(machine, offer.attempt, seen.append)
    except TimeoutError:
        return seen[-1]
    return ""


async def _let_go_of_others(machine: Machine, attempt: str, missed: Callable[[str], None] = lambda _: None) -> None:
    """Whatever is left of other attempts: the appliance has ended them, so nothing of them may run any more.

    `missed` is told what is seen of an engine that is away.
    """

    async def noting(ask: Callable[[], Awaitable[object]]) -> None:
        try:
            await ask()
        except EngineAway as error:
            missed(str(error))
            raise

    for stale in machine.folder.notes.unfinished():
        if stale != attempt:
            await patiently(partial(noting, partial(discard, machine.runtime, stale)), EngineAway, ContainerFailed)
            machine.folder.journal.close(stale)
            machine.folder.notes.forget(stale)
            machine.folder.helper(stale).forget()
            machine.folder.words.forget(stale)
    with suppress(OSError):  # they are in memory, and go with it
        machine.folder.secrets.forget_others([f"{attempt}-{role}" for role in ROLES])
    await patiently(
        partial(noting, lambda: remove_strays(machine.runtime, machine.credential, attempt)), EngineAway, ContainerFailed
    )  # fmt: skip


async def _ask(machine: Machine, door: Door) -> Offer | None:
    """The next offer; raises Conflict, when that is settled, for one of a store that does not know what was done here."""
    journal = machine.folder.journal
    try:
        offer = await door.next(_hello(machine))
        if offer is not None and not journal.takes(offer):
            raise Conflict(f"the appliance offers attempt {offer.attempt}, which comes before what was done here")
    except Conflict:
        answer = await door.settled()
        if answer.seen is not None:
            _log.warning("what was done here counts for nothing: it is removed", extra={"action": "history.discarded"})
            await _let_go_of_others(machine, "")
            journal.restart(answer.seen)
        raise
    return offer


async def _report(door: Door, offer: Offer, report: Report) -> Offer | None:
    """Report until it is answered: giving up would leave the workflow waiting for ever.  Returns what comes next, if it was told."""
    try:
        return await patiently(lambda: door.report(offer.attempt, report), Unavailable, Denied, Invalid, TooLarge)
    except (Conflict, NotFound) as error:
        _log.warning("the report is not wanted: %s", error, extra={"action": "report.stale"})
        return None


def _tell(offer: Offer, outcome: Outcome) -> None:
    why = f": {outcome.reason}: {outcome.message}" if outcome.reason else ""
    # An action's words go to a console here.
    _log.info(
        "%s: %s%s", offer.action.spec.name, outcome.state, one_line(why, _LONGEST_WHY), extra={"action": "attempt.ends"}
    )
