"""What aiodocker raises, sorted."""

import os
import socket
from pathlib import Path

import aiohttp
import pytest
from aiodocker.exceptions import DockerError

from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.runtime.docker_faults import faults

NOBODY = 65534
URL = "unix:///run/none.sock"


@pytest.mark.parametrize(
    "error",
    [
        DockerError(900, "no such file"),
        aiohttp.ClientPayloadError("cut"),
        TimeoutError(),
        ConnectionResetError("reset"),
    ],
)
def test_an_engine_that_does_not_answer_is_away(error: Exception) -> None:
    with pytest.raises(EngineAway, match=URL), faults(URL, "StartFailed"):
        raise error


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
async def test_an_engine_that_this_user_may_not_use_is_told_apart(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    url = f"unix://{tmp_path}/engine.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(f"{tmp_path}/engine.sock")
        (tmp_path / "engine.sock").chmod(0o600)
        async with DockerRuntime(url) as runtime:
            os.seteuid(NOBODY)
            try:
                with pytest.raises(EngineAway, match=f"no right to use the Docker engine at {url}"):
                    await runtime.version()
            finally:
                os.seteuid(0)


def test_a_refusal_has_the_reason_of_what_was_asked_and_the_engines_words() -> None:
    with pytest.raises(ContainerFailed, match="it is odd") as refusal, faults(URL, "StartFailed"):
        raise DockerError(500, "it is odd")
    assert refusal.value.reason == "StartFailed"


def test_only_the_ignored_statuses_are_no_fault() -> None:
    with faults(URL, "EngineFailed", ignored=(404,)):
        raise DockerError(404, "No such container")
    with pytest.raises(ContainerFailed), faults(URL, "EngineFailed", ignored=(404,)):
        raise DockerError(409, "in use")


def test_a_fault_of_the_program_is_not_the_engines() -> None:
    with pytest.raises(KeyError), faults(URL, "EngineFailed"):
        raise KeyError("Id")
