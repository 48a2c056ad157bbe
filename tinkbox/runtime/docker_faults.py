"""What aiodocker raises, sorted into what passes and what does not."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import aiodocker
import aiohttp

from tinkbox.host_users import user_name
from tinkbox.model.reasons import Reason
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
            if isinstance(error.__context__, OSError) and error.__context__.errno in (errno.EACCES, errno.EPERM):
                raise EngineAway(
                    f"user {user_name(os.geteuid())} has no right to use the Docker engine at {url} "
                    "(give it the group of that socket, as systemd/services.conf does)"
                ) from None
            raise EngineAway(f"no Docker engine answers at {url}") from None
        raise meaning(reason, error.status, str(error.message)) from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise EngineAway(f"the Docker engine at {url} does not answer: {str(error) or type(error).__name__}") from None
