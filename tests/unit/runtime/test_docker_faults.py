"""What aiodocker raises, sorted."""

import aiohttp
import pytest
from aiodocker.exceptions import DockerError

from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.docker_faults import faults

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
