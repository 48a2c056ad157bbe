"""An action's container whose process the helper started: where it ended the container may go on, held."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.model.reasons import Reason
from tinkbox.runtime import ContainerFailed, Ended, EngineAway, Runtime
from tinkbox.runtime.retrying import patiently
from tinkbox.runtime.seeing_through import seen_through
from tinkbox.worker import outcome as verdict
from tinkbox.worker.files.helper_files import HelperFiles
from tinkbox.worker.host.inotify import Watch

TERM, KILL = 15, 9
TO_RUN = ("run", "retry")
KILLED_SECONDS = 5.0
LOOK_EVERY = 1.0
PAUSE = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The container goes on, held where `kind` says; `exit_code` is how the process ended, None when it has yet to begin.

    `killed` is as `Ended` has it.
    """

    kind: Kind
    exit_code: int | None = None
    killed: bool | None = None


class Helped:
    """Of one attempt."""

    def __init__(self, runtime: Runtime, files: HelperFiles, armed: Armed) -> None:
        self._runtime = runtime
        self._files = files
        self._armed = armed
        self._again = False

    def arm(self, armed: Armed) -> None:
        """Have the helper hold there from now on; what it holds already it goes on holding."""
        self._armed = armed
        if self._files.prepared:  # whoever makes the container tells what is armed by then
            self._files.set_policy(armed, again=self._again)

    def held(self) -> Stopped | None:
        """Where the helper says that it holds the container."""
        status = self._files.status()
        # Of one status both: the helper may be told to go on, and do so, between two.
        if status.held is None or self._files.pending(status) in TO_RUN:
            return None
        return Stopped(kind=status.held, exit_code=status.exited, killed=status.killed)

    def refusal(self) -> ContainerFailed | None:
        """Why the process did not begin, when it did not."""
        failure = self._files.status().failure
        return None if failure is None else verdict.not_begun(self._files.program, failure)

    @property
    def end_unseen(self) -> bool:
        """Whether the process ended together with the helper that had started it."""
        return self._files.status().unseen

    async def wait(self, container_id: str) -> Ended | Stopped:
        """Wait until the container ends or is held; raises as `Runtime.wait` does.

        One that ended before it heard that its process is to run has not ended: it is started to hear it.
        """
        while isinstance(came := await self._came(container_id), Ended) and self._to_run():
            await self.hold_again(container_id)
        return self.known_end(came) if isinstance(came, Ended) else came

    def known_end(self, ended: Ended) -> Ended:
        """The same with what the helper, as the parent of the process, knows of its end; a helper that was killed knows nothing."""
        status = self._files.status()
        return replace(ended, killed=status.killed) if status.exited == ended.exit_code else ended

    async def _came(self, container_id: str) -> Ended | Stopped:
        with Watch(self._files.run) as watch:
            async with asyncio.TaskGroup() as group:
                ending = group.create_task(self._end(container_id))
                try:
                    while (stopped := self.held()) is None and not ending.done():
                        changing = group.create_task(watch.changed(LOOK_EVERY))
                        await asyncio.wait({ending, changing}, return_when=asyncio.FIRST_COMPLETED)
                        changing.cancel()
                    came = stopped or ending.result()
                finally:
                    ending.cancel()
        if isinstance(came, Exception):
            raise came
        return came

    def _to_run(self) -> bool:
        return self._files.pending(self._files.status()) in TO_RUN

    async def stop_process(self, container_id: str, grace: float) -> Stopped | None:
        """SIGTERM, `grace` seconds, SIGKILL to the process alone; None when that does not lead to a hold."""
        for signal, patience in ((TERM, grace), (KILL, KILLED_SECONDS)):
            self._files.command("signal", str(signal))
            try:
                async with asyncio.timeout(patience):
                    came = await self.wait(container_id)
            except (TimeoutError, EngineAway, ContainerFailed):
                continue
            return came if isinstance(came, Stopped) else None
        return None

    async def hold_again(self, container_id: str) -> None:
        """Start the container that ended once more, but only to be held."""
        self._again = True
        self._files.set_policy(self._armed, again=True)
        await seen_through(lambda: self._runtime.start(container_id))

    async def end_forgotten(self) -> None:
        """End the process in a container of which its engine forgot that it started it: so that engine cannot end it."""
        self._files.set_policy(Armed())
        self._files.command("signal", str(KILL))
        with Watch(self._files.run) as watch, suppress(TimeoutError):
            async with asyncio.timeout(KILLED_SECONDS):
                while self._files.status().exited is None:
                    await watch.changed(LOOK_EVERY)

    async def keep(self, container_id: str) -> None:
        """See to it that the container is held whatever ends it; returns only when it is gone."""
        while True:
            try:
                await patiently(partial(self._runtime.wait, container_id), EngineAway)
            except ContainerFailed as error:
                if error.reason == Reason.CONTAINER_LOST:
                    return
            try:
                await patiently(partial(self.hold_again, container_id), EngineAway)
            except ContainerFailed as error:
                # An engine that is about to end refuses to start anything.
                _log.warning("the container does not start to be held: %s", error, extra={"action": "helper.ends"})
            await asyncio.sleep(PAUSE)  # whoever ends it again and again keeps nobody busy

    async def _end(self, container_id: str) -> Ended | Exception:
        try:
            return await self._runtime.wait(container_id)
        except (EngineAway, ContainerFailed) as error:
            return error
