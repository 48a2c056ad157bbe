"""The whole process: a part that crashes ends it, and the doors share no routes."""

import asyncio
import http.client
import json
import os
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from tests.authority import Authority
from tests.integration.cli.serving import Configuration, configure, give_osie, run, serving
from tests.workers import begin
from tinkbox.app import _keep_running
from tinkbox.model.errors import Unavailable
from tinkbox.model.tokens import looks_like_one

ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"


class Quiet:
    async def save(self) -> None: ...


async def for_ever() -> NoReturn:
    while True:
        await asyncio.Event().wait()


async def test_a_part_that_fails_late_ends_the_process() -> None:
    settled = asyncio.Event()

    async def fails_late() -> NoReturn:
        await settled.wait()
        raise OSError("the socket is gone")

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(ended_by(fails_late))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not running.done()
        settled.set()
        assert isinstance((await running).exceptions[0], OSError)


async def test_a_part_that_returns_ends_the_process_too() -> None:
    async def returns() -> None: ...

    async with asyncio.timeout(60):
        assert isinstance((await ended_by(returns)).exceptions[0], RuntimeError)


class Noting:
    """Counts how often it is saved; `refusal` is raised instead."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.saved = 0
        self._refusal = refusal

    async def save(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        self.saved += 1


async def test_being_told_to_stop_saves_what_was_noted_if_the_disk_has_room() -> None:
    stop, machines = asyncio.Event(), Noting()
    stop.set()
    async with asyncio.timeout(60):
        await _keep_running([for_ever], machines.save, stop)
        await _keep_running([for_ever], Noting(Unavailable("the disk is full")).save, stop)
    assert machines.saved == 1


async def ended_by(part) -> BaseExceptionGroup:
    try:
        await _keep_running([for_ever, part], Quiet().save, asyncio.Event())
    except BaseExceptionGroup as crash:
        return crash
    raise AssertionError("it went on")


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    configuration = configure(tmp_path_factory.mktemp("appliance"))
    with serving(configuration):
        yield configuration


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    return answered(http.client.HTTPConnection("127.0.0.1", port, timeout=60), path, method, headers)


def ask_operator_door(
    configuration: Configuration, path: str, method: str = "GET", **headers: str
) -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection(
        "127.0.0.1", configuration.operator_port, timeout=60, context=configuration.trusting()
    )
    return answered(connection, path, method, headers)


def answered(
    connection: http.client.HTTPConnection, path: str, method: str, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/v1/hardware", "/v1/status", "/v1/workflows", "/healthz", "/metrics", "/"])
def test_from_the_machines_side_the_operator_door_does_not_exist(appliance: Configuration, path: str) -> None:
    token = (appliance.data / "operator.token").read_text().strip()
    assert ask(appliance.http_port, path)[0] == 404
    assert ask(appliance.http_port, path, Authorization=f"Bearer {token}")[0] == 404


@pytest.mark.parametrize("path", ["/worker/next", "/boot/osie/x86_64/vmlinuz", "/v2/", "/worker/time"])
def test_from_the_operators_side_the_node_door_does_not_exist(appliance: Configuration, path: str) -> None:
    token = (appliance.data / "operator.token").read_text().strip()
    assert ask_operator_door(appliance, path, Authorization=f"Bearer {token}")[0] == 404


def test_a_worker_without_its_credential_is_turned_away(appliance: Configuration) -> None:
    token = (appliance.data / "operator.token").read_text().strip()
    for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {token}"}, {"Authorization": "x"}):
        assert ask(appliance.http_port, "/worker/next", "POST", **header)[0] == 401
        assert ask(appliance.http_port, "/worker/attempts/x/data", **header)[0] == 401


def test_the_command_for_a_credential_makes_one_that_works(appliance: Configuration, tmp_path: Path) -> None:
    document = {"id": ID, "network": {"interfaces": [{"dhcp": {"mac": "08:00:27:00:00:01"}}]}}
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(document))
    data = ("--data", str(appliance.data))
    assert run(*data, "hardware", "push", "--file", str(machine)).status == 0
    credential = json.loads(run(*data, "hardware", "credential", "08:00:27:00:00:01").out)
    assert credential["server"] == f"https://127.0.0.1:{appliance.https_port}"
    assert credential["http_server"] == f"http://127.0.0.1:{appliance.http_port}"
    # The worker's own requests prove that the doors and the credential go together.
    file = tmp_path / "worker.json"
    file.write_text(json.dumps(credential))
    asked = run("--worker", "--credential", str(file), "--fetch", "/worker/time")
    assert (asked.status, "unix" in json.loads(asked.out)) == (0, True)
    other = credential | {"authority": Authority(tmp_path).pem}
    file.write_text(json.dumps(other))
    refused = run("--worker", "--credential", str(file), "--fetch", "/worker/time")
    assert (refused.status != 0, refused.out) == (True, "")
    assert "is not of the authority that this machine was given" in refused.err
    secret = begin(appliance.http_port, credential["token"])
    status, said = ask(appliance.http_port, "/worker/attempts/x/data", Authorization=f"Bearer {secret}")
    assert (status, b"no such attempt" in said) == (404, True)


def test_the_socket_that_asks_for_no_token_is_its_owners_alone(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o755)
    for _ in range(2):
        with serving(configuration):
            assert (configuration.data / "operator.sock").stat().st_mode & 0o777 == 0o600


def test_a_data_folder_that_everybody_could_read_is_its_owners_alone_once_served(tmp_path: Path) -> None:
    """With all that is in it: journal and index of the database, too, which hold what it is about to hold."""
    configuration = configure(tmp_path)
    folder = configuration.data
    with serving(configuration):
        pass
    for name in ("people", "recordings", "registry/blobs", "osie/x86_64"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "osie/x86_64/linux").touch()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    with serving(configuration):
        seen = {str(each.relative_to(folder)): each for each in (folder, *folder.rglob("*"))}
        assert {"tinkbox.sqlite-wal", "tinkbox.sqlite-shm", "people", "registry/blobs"} <= set(seen)
        wide = [name for name, path in seen.items() if path.lstat().st_mode & 0o077 and not name.startswith("osie")]
        assert not wide
        assert seen["osie/x86_64/linux"].stat().st_mode & 0o777 == 0o666


@pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other users")
def test_a_data_folder_with_files_of_another_user_is_refused(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration):
        pass
    os.chown(configuration.data / "tinkbox.sqlite", 4711, 4711)
    refused = run("serve", "--config", str(configuration.path))
    assert (refused.status, "chown -R root" in refused.err, refused.err.count("\n")) == (1, True, 1)


def test_the_operators_token_is_made_once_is_private_and_never_empty(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    path = configuration.data / "operator.token"
    with serving(configuration):
        token = path.read_text()
    assert looks_like_one(token), "programs that look for leaked secrets find it"
    assert path.stat().st_mode & 0o777 == 0o600
    with serving(configuration):
        assert path.read_text() == token
        assert ask_operator_door(configuration, "/v1/hardware", Authorization=f"Bearer {token.strip()}")[0] == 200
        for wrong in ("", "Bearer ", "Bearer x", f"Basic {token.strip()}"):
            assert ask_operator_door(configuration, "/v1/hardware", Authorization=wrong)[0] == 401
    path.write_text("\n")
    refused = run("serve", "--config", str(configuration.path))
    assert (refused.status, str(path) in refused.err, refused.err.count("\n")) == (1, True, 1)


def test_what_a_login_to_push_images_is_given_opens_no_other_door(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration):
        token = (configuration.data / "operator.token").read_text().strip()
        login = b64encode(f"me:{token}".encode()).decode()
        given = json.loads(ask(configuration.http_port, "/v2/token", Authorization=f"Basic {login}")[1])["token"]
        bearer = {"Authorization": f"Bearer {given}"}
        assert ask(configuration.http_port, "/v2/x/blobs/uploads/", "POST", **bearer)[0] == 202
        assert ask_operator_door(configuration, "/v1/hardware", **bearer)[0] == 401


@pytest.mark.parametrize(("host", "warns"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_an_operator_door_that_machines_can_reach_is_warned_of(tmp_path: Path, host: str, warns: bool) -> None:
    configuration = configure(tmp_path)
    text = configuration.path.read_text()
    listen = f"{host}:{configuration.operator_port}"
    configuration.path.write_text(text.replace(f"127.0.0.1:{configuration.operator_port}", listen))
    give_osie(configuration.data)
    checked = run("serve", "--check", "--config", str(configuration.path))
    assert (checked.status, f"warning: operator.listen {listen} is open to every machine" in checked.out) == (0, warns)


def test_tokens_of_an_earlier_release_go_on_working_at_both_doors_with_the_key_and_without(tmp_path: Path) -> None:
    """It kept each in a file, for who stands under operator.people."""
    configuration = configure(tmp_path)
    text, people = configuration.path.read_text(), "{anna: [look, attach], bert: [look, operate], carl: [look]}"
    tokens = {name: f"{name}-had-this-token-before" for name in ("anna", "bert")}
    folder = configuration.data / "people"
    folder.mkdir(mode=0o700, parents=True)
    configuration.data.chmod(0o700)
    for name, token in tokens.items():
        (folder / f"{name}.token").write_text(f"{token}\n")
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    for key in (f"people: {people}, ", f"people: {people}, ", ""):
        configuration.path.write_text(text.replace("operator: {listen", f"operator: {{{key}listen"))
        with serving(configuration):
            assert [*folder.iterdir()] == []
            for name, changes, pushes in (("anna", 403, 403), ("bert", 422, 202)):
                assert ask_operator_door(configuration, "/v1/hardware", **headers[name])[0] == 200
                assert ask_operator_door(configuration, "/v1/hardware", "POST", **headers[name])[0] == changes
                assert ask(configuration.http_port, "/v2/x/blobs/uploads/", "POST", **headers[name])[0] == pushes
            if key:
                continue
            assert run("--data", str(configuration.data), "token", "revoke", "bert", "--yes").status == 0
            assert ask_operator_door(configuration, "/v1/hardware", **headers["bert"])[0] == 401
            assert ask(configuration.http_port, "/v2/x/blobs/uploads/", "POST", **headers["bert"])[0] == 401


def test_people_have_their_rights_at_both_doors(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration):
        tokens = {
            name: run(
                *("--data", str(configuration.data), "token", "create", name),
                *(word for right in rights for word in ("--right", right)),
            ).out.strip()
            for name, rights in {"anna": ["look", "attach"], "bert": ["look", "operate", "push"]}.items()
        }
        headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
        for name, changes, pushes in (("anna", 403, 403), ("bert", 422, 202)):
            assert ask_operator_door(configuration, "/v1/hardware", **headers[name])[0] == 200
            assert ask_operator_door(configuration, "/v1/hardware", "POST", **headers[name])[0] == changes
            assert ask(configuration.http_port, "/v2/x/blobs/uploads/", "POST", **headers[name])[0] == pushes
        denied = ask_operator_door(configuration, "/v1/hardware", "POST", **headers["anna"])[1].decode()
        assert "anna (look, attach) lacks the right to operate" in denied
        assert "`tinkbox token create NAME --right look,operate,attach`" in denied
