"""The machine's TPM 2.0: which one it is, and the proof that it is here.  `wire.tpm` has what is said to it.

Its keys are made anew each time, and nothing is left in it: the kernel's resource manager forgets what was made through
a descriptor when that is closed.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from tinkbox.wire import tpm
from tinkbox.wire.messages.session import Challenge, Opening, ShownTpm

DEVICE: Final = Path("/dev/tpmrm0")
NONE = "this machine has no TPM 2.0"
# A chip takes seconds for an RSA key.  One that hangs must not keep the machine from its work.
PATIENCE_SECONDS: Final = 90.0
_NONCE_BYTES = 16

Transmit = Callable[[bytes], Awaitable[bytes]]


class Tpm:
    """A TPM that `opened` gives the way to: a command in, its answer out."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Transmit]]) -> None:
        self._opened = opened
        self._templates = tpm.TEMPLATES[0]

    async def shown_in(self, opening: Opening) -> Opening:
        """The opening with the TPM that is here, or with the reason why there is none to be shown."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._opened() as transmit:
                return replace(opening, tpm=await self._show(transmit), no_tpm="")
        except FileNotFoundError:
            return replace(opening, tpm=None, no_tpm=NONE)
        except (OSError, tpm.TpmRefused) as error:
            return replace(opening, tpm=None, no_tpm=_told(error))

    async def proven_in(self, opening: Opening, challenge: Challenge) -> Opening:
        """The opening with the proof that a challenge asks for, or with the reason why there is none."""
        if opening.tpm is None:
            return opening
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._opened() as transmit:
                return replace(opening, tpm=replace(opening.tpm, proof=await self._prove(transmit, challenge)))
        except (OSError, tpm.TpmRefused) as error:
            return replace(opening, tpm=None, no_tpm=_told(error))

    async def _show(self, transmit: Transmit) -> ShownTpm:
        refused = tpm.TpmRefused("the TPM makes no endorsement key")
        for self._templates in tpm.TEMPLATES:
            try:
                async with _keys(transmit, self._templates) as (endorsement, attestation):
                    return ShownTpm(
                        endorsement_key=tpm.read_endorsement_key(endorsement[1]), name=tpm.name_of(attestation[1])
                    )
            except tpm.TpmRefused as error:
                refused = error
        raise refused

    async def _prove(self, transmit: Transmit, challenge: Challenge) -> bytes:
        async with _keys(transmit, self._templates) as (endorsement, attestation):
            session = tpm.handle_of(await transmit(tpm.start_policy_session(os.urandom(_NONCE_BYTES))))
            try:
                tpm.check(await transmit(tpm.policy_secret(session)))
                opened = tpm.activate_credential(
                    attestation[0], endorsement[0], session, challenge.credential, challenge.secret
                )
                return tpm.activated(await transmit(opened))
            finally:
                await transmit(tpm.flush(session))  # refused where the session was used up


@asynccontextmanager
async def _keys(
    transmit: Transmit, templates: tpm.KeyTemplates
) -> AsyncIterator[tuple[tuple[int, bytes], tuple[int, bytes]]]:
    """The endorsement key and the attestation key, each with its handle, meanwhile."""
    async with (
        _key(transmit, templates.endorsement) as endorsement,
        _key(transmit, templates.attestation) as attestation,
    ):
        yield endorsement, attestation


@asynccontextmanager
async def _key(transmit: Transmit, template: bytes) -> AsyncIterator[tuple[int, bytes]]:
    key = tpm.created(await transmit(tpm.create_primary(template)))
    try:
        yield key
    finally:
        await transmit(tpm.flush(key[0]))


@asynccontextmanager
async def opened_device(device: Path = DEVICE) -> AsyncIterator[Transmit]:
    """The TPM behind a device of the kernel's resource manager.  Raises OSError; FileNotFoundError without a TPM 2.0."""
    descriptor = os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    loop, answered = asyncio.get_running_loop(), asyncio.Event()

    async def transmit(command: bytes) -> bytes:
        # The kernel repeats by itself what a TPM asks to repeat (TPM_RC_RETRY, TPM_RC_TESTING).
        os.write(descriptor, command)
        answered.clear()
        loop.add_reader(descriptor, answered.set)
        try:
            await answered.wait()
        finally:
            loop.remove_reader(descriptor)
        return os.read(descriptor, tpm.MAX_ANSWER)

    try:
        yield transmit
    finally:
        with suppress(OSError):
            os.close(descriptor)


def _told(error: Exception) -> str:
    return str(error) or f"the TPM gave no answer within {PATIENCE_SECONDS:g} s"
