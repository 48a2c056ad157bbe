"""`tinkbox login --oidc` at an appliance that believes an issuer: from a code in a terminal to commands that are answered."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.cli.serving import PROGRAM, ROOT, Configuration, clean_environment, configure, serving
from tests.issuer import Issuer, issuer
from tinkbox.client.operator.box_certificates import fingerprint_of

AHEAD = 29.0  # the issuer's clock: just after its start an appliance believes nothing that may have been used before


@pytest.fixture
async def served() -> AsyncIterator[Issuer]:
    async with issuer(lambda: time.clock_gettime(time.CLOCK_REALTIME) + AHEAD) as made:
        yield made


def with_issuer(folder: Path, served: Issuer) -> Configuration:
    made = configure(folder)
    oidc = f"{{issuer: '{served.url}', client_id: tinkbox, groups: {{lab: [look]}}}}"
    made.path.write_text(made.path.read_text().replace("group: off}", f"group: off, oidc: {oidc}}}"))
    return made


async def typed(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run tinkbox as somebody who has a home of their own, while the issuer goes on."""
    environment = {**clean_environment(), "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        *PROGRAM, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, cwd=ROOT, env=environment
    )
    out, err = await running.communicate()
    assert running.returncode is not None
    return running.returncode, out.decode(), err.decode()


async def test_who_confirms_a_code_speaks_to_the_box_from_then_on(tmp_path: Path, served: Issuer) -> None:
    served.answers = ["authorization_pending"]
    box = with_issuer(tmp_path, served)
    with serving(box):
        url = f"https://127.0.0.1:{box.operator_port}"
        fingerprint = fingerprint_of((box.data / "tls" / "authority.pem").read_text())
        status, out, err = await typed(tmp_path, "login", url, "--oidc", "--fingerprint", fingerprint)
        assert (status, out.startswith(f"Logged in to {url}")) == (0, True), err
        assert served.asked.index("/keys") < served.asked.index("/device")  # the box looked when it started
        assert "Type this code there: WDJB-MJHT" in err
        assert "You are anna there, with the rights look, until" in err
        assert "tbx_" not in out + err
        assert (await typed(tmp_path, "hardware", "list"))[0] == 0
        status, _, err = await typed(tmp_path, "hardware", "delete", "nothing", "--yes")
        assert (status, "anna (look) lacks the right to operate" in err) == (1, True), err
        _, out, _ = await typed(tmp_path, "--data", str(box.data), "token", "list")
        assert "anna" in out


async def test_who_is_in_no_group_that_counts_is_refused_and_nothing_is_kept(tmp_path: Path, served: Issuer) -> None:
    served.claims["groups"] = ["cooks"]
    box = with_issuer(tmp_path, served)
    with serving(box):
        url = f"https://127.0.0.1:{box.operator_port}"
        fingerprint = fingerprint_of((box.data / "tls" / "authority.pem").read_text())
        status, _, err = await typed(tmp_path, "login", url, "--oidc", "--fingerprint", fingerprint)
        assert status == 1
        assert "anna has no rights here: in the claim groups is 'cooks', and rights come with 'lab'" in err
        assert list((tmp_path / "config").glob("**/boxes.json")) == []
