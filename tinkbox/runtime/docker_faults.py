"""What aiodocker raises, sorted into what passes and what does not."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiodocker
import aiohttp

from tinkbox.host_users import user_name
from tinkbox.model.engine_trouble import EngineFault
from tinkbox.model.reasons import NO_ENGINE_AT, Reason
from tinkbox.runtime import EngineAway
from tinkbox.runtime.engine_messages import meaning

_NOT_CONNECTED = 900  # aiodocker's own status for an engine that it cannot reach


@contextmanager
def faults(url: str, reason: Reason, ignored: tuple[int, ...] = ()) -> Iterator[None]:
    """Raise EngineAway or ContainerFailed instead; `reason` stands for what the engine at `url` is asked.

    Answers with one of the `ignored` statuses are no fault.
    """
    try:
        yield
    except aiodocker.exceptions.DockerError as error:
        if error.status in ignored:
            return
        if error.status == _NOT_CONNECTED:
            # aiodocker hides what kept it away.
            raise _unreached(url, error.__context__) from None
        raise meaning(reason, error.status, str(error.message)) from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise EngineAway(f"the Docker engine at {url} does not answer: {str(error) or type(error).__name__}") from None


def _unreached(url: str, error: BaseException | None) -> EngineAway:
    """An engine to which no connection came about."""
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EACCES, errno.EPERM):
        return EngineAway(
            f"user {user_name(os.geteuid())} has no right to use the Docker engine at {url} "
            "(give it the group of that socket, as systemd/services.conf does)",
            EngineFault.NO_RIGHT,
        )
    told = f"{NO_ENGINE_AT} {url}"
    scheme, _, path = url.partition("://")
    if scheme == "unix" and number in (errno.ENOENT, errno.ENOTDIR):
        return EngineAway(f"{told}: there is no such socket", EngineFault.NO_SOCKET)
    if number == errno.ECONNREFUSED:
        # The kernel says the same of a file that is none.
        if scheme == "unix" and not is_socket(Path(path)):
            return EngineAway(f"{told}: {path} is no socket", EngineFault.NOT_A_SOCKET)
        return EngineAway(f"{told}: connection refused", EngineFault.REFUSED)
    return EngineAway(f"{told}: {error.strerror}" if isinstance(error, OSError) and error.strerror else told)


def is_socket(path: Path) -> bool:
    """Whether there is a socket at a path, as far as that can be seen."""
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
