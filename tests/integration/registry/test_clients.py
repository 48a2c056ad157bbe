"""Clients of registries that people have, each against the registry on loopback.

    make campaign PART=tests/integration/registry/test_clients.py

podman and buildah come from packages; crane, oras, regctl and BuildKit are built of their modules.  Docker, containerd and skopeo:
`test_routes_docker.py`.
"""

import asyncio
import base64
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from examples.lab.processes import command_that_dies_with_us
from tests.integration.registry.go_programs import program
from tests.integration.registry.serving import Registry, chunks, docker_archive, layer, run, tar, until

CRANE = ("github.com/google/go-containerregistry/cmd/crane", "v0.22.1")
ORAS = ("oras.land/oras/cmd/oras", "v1.3.6")
REGCTL = ("github.com/regclient/regclient/cmd/regctl", "v0.11.7")
BUILDKITD = ("github.com/moby/buildkit/cmd/buildkitd", "v0.34.2")
BUILDCTL = ("github.com/moby/buildkit/cmd/buildctl", "v0.34.2")
# Nothing is run when something is built, only copied.
BUILDS = ("--containerd-worker=false", "--oci-worker=true", "--oci-worker-snapshotter=native", "--oci-worker-net=host")
Client = Callable[..., Awaitable[str]]

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(2400)]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where those that are built of modules lie."""
    return tmp_path_factory.mktemp("programs")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of which nobody's clients know anything."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.json").write_text("{}")
    for name in ("HOME", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    return home


@pytest.fixture
def storage() -> Iterator[Path]:
    """Where podman and buildah keep images: podman wants a short path."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """What `docker save` makes of an image, x:v1."""
    path = tmp_path / "x.tar"
    layers = [layer({"a": b"1" * 5000}), layer({"b": b"2"})]
    path.write_bytes(tar(docker_archive(["x:v1"], layers).items()))
    return path


def client(*command: str | Path) -> Client:
    """What runs a program with arguments, and returns all it said."""

    async def running(*arguments: str | Path) -> str:
        status, said = await run(*command, *arguments)
        assert status == 0, said
        return said

    return running


def with_storage(name: str, folder: Path) -> Client:
    """One of those that keep images themselves."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name} on this host: install the package {name}")
    places = (f"--root={folder / 'root'}", f"--runroot={folder / 'run'}", "--storage-driver=vfs")
    return client(name, *places)


@pytest.mark.usefixtures("home")
async def test_podman_pushes_and_anybody_pulls(registry: Registry, token: str, archive: Path, storage: Path) -> None:
    podman = with_storage("podman", storage)
    name, insecure = f"{registry.host}/tools/x:v1", "--tls-verify=false"
    await podman("load", "--input", archive)
    await podman("login", insecure, "--username=me", f"--password={token}", registry.host)
    await podman("push", insecure, "localhost/x:v1", name)
    await podman("logout", registry.host)
    await podman("rmi", "--force", "localhost/x:v1")
    await podman("pull", insecure, name)
    assert name in await podman("images", "--format={{.Repository}}:{{.Tag}}")
    assert "v1" in await podman("search", insecure, "--list-tags", f"{registry.host}/tools/x")


@pytest.mark.usefixtures("home")
async def test_buildah_pushes_what_it_built_and_begins_from_it(
    registry: Registry, token: str, archive: Path, storage: Path
) -> None:
    buildah = with_storage("buildah", storage)
    insecure = "--tls-verify=false"
    container = (await buildah("from", "scratch")).strip()
    await buildah("copy", container, archive, "/x.tar")
    await buildah("commit", container, "built")
    await buildah("push", insecure, f"--creds=me:{token}", "built", f"docker://{registry.host}/built:v1")
    await buildah("rmi", "--force", "built")
    await buildah("from", insecure, "--pull-always", f"{registry.host}/built:v1")
    assert registry.store.digest("built", "v1")


async def test_crane_pushes_checks_copies_and_deletes(
    registry: Registry, token: str, archive: Path, home: Path, programs: Path
) -> None:
    path = program(*CRANE, programs)
    await client(path)("auth", "login", registry.host, "-u", "me", "-p", token)
    crane = client(path, "--insecure")
    one, two = f"{registry.host}/one", f"{registry.host}/two"
    await crane("push", archive, f"{one}:v1")
    assert registry.store.digest("one", "v1") in await crane("digest", f"{one}:v1")
    await crane("index", "append", "-t", f"{one}:all", "-m", f"{one}:v1")
    for tag in ("v1", "all"):
        assert "PASS" in await crane("validate", "--remote", f"{one}:{tag}")
    await crane("copy", f"{one}:all", f"{two}:all")
    await crane("tag", f"{two}:all", "latest")
    assert set((await crane("ls", two)).split()) == {"all", "latest"}
    assert {"one", "two"} <= set((await crane("catalog", registry.host)).split())
    await crane("delete", f"{two}:all")
    assert (await crane("ls", two)).split() == ["latest"]
    await crane("pull", f"{one}:v1", home / "pulled.tar")


async def test_regctl_copies_with_referrers_and_lists_them(
    registry: Registry, token: str, archive: Path, home: Path, programs: Path
) -> None:
    assert await registry.store.load(chunks(archive.read_bytes()), who="me") == ["x:v1"]
    regctl = client(program(*REGCTL, programs), "--verbosity=error")
    await regctl("registry", "set", "--tls=disabled", registry.host)
    await regctl("registry", "login", "--user=me", f"--pass={token}", registry.host)
    one, two = f"{registry.host}/x:v1", f"{registry.host}/two:v1"
    note = home / "note"
    note.write_text("a note")
    await regctl("artifact", "put", "--artifact-type=application/example", f"--subject={one}", f"--file={note}")
    await regctl("image", "copy", "--referrers", "--digest-tags", one, two)
    assert "application/example" in await regctl("artifact", "list", "--filter-artifact-type=application/example", two)
    assert "application/example" not in await regctl("artifact", "list", "--filter-artifact-type=a/b", two)
    digest = (await regctl("image", "digest", two)).strip()
    assert digest == registry.store.digest("x", "v1")
    await regctl("manifest", "head", two)
    await regctl("tag", "delete", two)
    assert registry.store.digest("two", "v1") == ""
    tags = (await registry.store.tags("x"), await registry.store.tags("two"))
    assert tags == (["v1"], []), "a tag for what refers to an image is only written where the registry cannot list that"


async def test_oras_attaches_discovers_and_copies_with_all_that_refers(
    registry: Registry, token: str, home: Path, programs: Path
) -> None:
    oras = client(program(*ORAS, programs))
    plain, one, two = "--plain-http", f"{registry.host}/one:v1", f"{registry.host}/two:v1"
    bill = home / "bill.json"
    bill.write_text("{}")
    signed = "application/vnd.dev.cosign.artifact.sig.v1+json"
    anywhere = "--disable-path-validation"
    await oras("login", plain, "--username=me", f"--password={token}", registry.host)
    await oras("push", plain, anywhere, one, f"{bill}:application/json")
    await oras("attach", plain, anywhere, "--artifact-type=application/example.bill", one, f"{bill}:application/json")
    (billed,) = json.loads(await oras("discover", plain, "--format=json", one))["referrers"]
    await oras("attach", plain, anywhere, f"--artifact-type={signed}", billed["reference"], f"{bill}:application/json")
    await oras("copy", "--recursive", "--from-plain-http", "--to-plain-http", one, two)
    (billed,) = json.loads(await oras("discover", plain, "--format=json", two))["referrers"]
    assert billed["artifactType"] == "application/example.bill"
    (signature,) = billed["referrers"]
    assert signature["artifactType"] == signed
    assert json.loads(await oras("discover", plain, "--format=json", "--artifact-type=a/b", two))["referrers"] == []
    assert (await oras("repo", "tags", plain, two.rpartition(":")[0])).split() == ["v1"]
    layout, three = home / "layout", f"{registry.host}/three:v1"
    await oras("copy", "--recursive", "--from-plain-http", "--to-oci-layout", one, f"{layout}:v1")
    files = [(str(each.relative_to(layout)), each.read_bytes()) for each in layout.rglob("*") if each.is_file()]
    assert await registry.store.load(chunks(tar(files)), who="me", name="three") == ["three:v1"]
    (billed,) = json.loads(await oras("discover", plain, "--format=json", three))["referrers"]
    assert [each["artifactType"] for each in (billed, *billed["referrers"])] == ["application/example.bill", signed]
    await oras("manifest", "delete", plain, "--force", two)
    await oras("pull", plain, f"--output={home / 'pulled'}", "--allow-path-traversal", one)


async def test_a_signature_of_older_cosign_is_pushed_and_found_by_its_tag(
    registry: Registry, token: str, archive: Path, home: Path, programs: Path
) -> None:
    assert await registry.store.load(chunks(archive.read_bytes()), who="me") == ["x:v1"]
    tag = registry.store.digest("x", "v1").replace(":", "-") + ".sig"
    oras, plain = client(program(*ORAS, programs)), "--plain-http"
    await oras("login", plain, "--username=me", f"--password={token}", registry.host)
    payload, config = home / "payload.json", home / "image.json"
    payload.write_text('{"critical":{}}')
    config.write_text('{"architecture":"","os":"","rootfs":{"type":"layers","diff_ids":[]}}')
    signing = "application/vnd.dev.cosign.simplesigning.v1+json"
    configured = f"--config={config}:application/vnd.oci.image.config.v1+json"
    name, unchecked = f"{registry.host}/x:{tag}", "--disable-path-validation"
    await oras("push", plain, unchecked, configured, name, f"{payload}:{signing}")
    document = json.loads(await oras("manifest", "fetch", plain, name))
    assert document["layers"][0]["mediaType"] == signing
    assert tag in await registry.store.tags("x")


async def test_buildkit_keeps_its_cache_here_and_builds_from_it(
    registry: Registry, token: str, home: Path, storage: Path, programs: Path
) -> None:
    """Its cache is an index that lists layers and a configuration in the place of images."""
    if shutil.which("runc") is None:
        pytest.skip("no runc on this host: install the package runc")
    buildkitd, path = program(*BUILDKITD, programs), program(*BUILDCTL, programs)
    address = f"unix://{storage / 'buildkit.sock'}"
    buildctl = client(path, f"--addr={address}")
    login = base64.b64encode(f"me:{token}".encode()).decode()
    (home / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": login}}}))
    context = home / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM scratch\nCOPY file /file\n")
    (context / "file").write_text("a file")
    what = ("build", "--frontend=dockerfile.v0", f"--local=context={context}", f"--local=dockerfile={context}")
    cache = f"type=registry,ref={registry.host}/cache:v1,registry.insecure=true"

    def pushed(tag: str) -> str:
        return f"--output=type=image,name={registry.host}/x:{tag},push=true,registry.insecure=true"

    daemon = await asyncio.create_subprocess_exec(
        *command_that_dies_with_us([str(buildkitd), f"--root={storage / 'root'}", f"--addr={address}", *BUILDS]),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await until((storage / "buildkit.sock").exists)
        await buildctl(*what, pushed("v1"), f"--export-cache={cache},image-manifest=false,oci-mediatypes=true,mode=max")
        await buildctl("prune", "--all")
        assert "CACHED" in await buildctl(*what, pushed("v2"), f"--import-cache={cache}")
    finally:
        daemon.terminate()
        await daemon.wait()
    assert registry.store.digest("x", "v1") == registry.store.digest("x", "v2") != ""
    index = await registry.store.manifest("cache", "v1")
    assert "application/vnd.buildkit.cacheconfig.v0" in index.content.decode()
