"""What a service writes into its /workflow, on its way to the workflow's data."""

import asyncio
import hashlib
import logging
from pathlib import Path

from tinkbox.hosting import HostLink
from tinkbox.model.errors import Conflict, Invalid, NotFound, TooLarge
from tinkbox.model.reasons import AnyReason, Reason
from tinkbox.runtime.folders import mark, pack

_log = logging.getLogger(__name__)


class DataKeeper:
    """`trouble` is why the newest of it is not kept, as a reason and a message; nothing of it is lost by that."""

    def __init__(self, host_link: HostLink, run: str, folder: Path) -> None:
        self._host_link = host_link
        self._run = run
        self._folder = folder
        self._turn = asyncio.Lock()
        self._mark: int | None = None
        self._kept = ""
        self.trouble: tuple[AnyReason, str] | None = None

    async def keep(self) -> None:
        """Have the host link keep what is there now, unless it does already; raises Unavailable or Denied."""
        async with self._turn:
            if not self._folder.is_dir():
                return
            try:
                # Marked before it is packed: what changes meanwhile makes another mark.
                now = await asyncio.to_thread(mark, self._folder)
                if now != self._mark:
                    await self._keep(await asyncio.to_thread(pack, self._folder))
                    self._mark = now
                self.trouble = None
            except (TooLarge, Invalid) as error:
                reason = Reason.DATA_TOO_LARGE if isinstance(error, TooLarge) else Reason.DATA_INVALID
                self.trouble = (reason, f"its /workflow is not kept: {error}")
            except (NotFound, Conflict) as error:
                self._mark = now
                _log.warning(
                    "the data of service run %s is not wanted: %s", self._run, error, extra={"action": "service.data"}
                )

    async def _keep(self, archive: bytes) -> None:
        digest = hashlib.sha256(archive).hexdigest()
        if digest != self._kept:
            await self._host_link.keep_data(self._run, archive)
            self._kept = digest
