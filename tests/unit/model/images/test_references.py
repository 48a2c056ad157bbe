"""Names of container images."""

from dataclasses import replace

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import (
    REPOSITORY,
    Sources,
    StandIns,
    as_typed,
    check_stand_in,
    familiar,
    official,
    parse_reference,
)

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "host", "repository", "tag"),
    [
        ("hello-world", "", "hello-world", ""),
        ("image2disk:v1", "", "image2disk", "v1"),
        ("tools/disk-wipe:v1.0.42", "", "tools/disk-wipe", "v1.0.42"),
        ("quay.io/tinkerbell/actions/cexec:latest", "quay.io", "tinkerbell/actions/cexec", "latest"),
        ("localhost/x", "localhost", "x", ""),
        ("172.30.0.1:5000/x:1", "172.30.0.1:5000", "x", "1"),
    ],
)
def test_a_name_is_taken_apart_as_docker_does(text: str, host: str, repository: str, tag: str) -> None:
    reference = parse_reference(text)
    assert (reference.host, reference.repository, reference.tag) == (host, repository, tag)
    assert str(reference) == text


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("wipe:v1", "wipe"),
        ("quay.io/tools/wipe:v1", "quay.io/tools/wipe"),
        ("Quay.io/tools/wipe", "quay.io/tools/wipe"),
        ("lab.example:5000/wipe", "lab.example_5000/wipe"),
        ("localhost/wipe", "localhost/wipe"),
        ("docker.io/library/alpine", "docker.io/library/alpine"),
        ("docker.io/alpine", "docker.io/library/alpine"),
        ("index.docker.io/tools/x", "docker.io/tools/x"),
    ],
)
def test_a_name_with_a_host_has_a_repository_of_its_own(name: str, kept: str) -> None:
    assert parse_reference(name).kept_as == kept
    assert REPOSITORY.match(kept)


@pytest.mark.parametrize(
    ("repository", "typed"),
    [
        ("wipe", "wipe"),
        ("quay.io/tools/wipe", "quay.io/tools/wipe"),
        ("lab.example_5000/tools/wipe", "lab.example:5000/tools/wipe"),
        ("127.0.0.1_5000/wipe", "127.0.0.1:5000/wipe"),
        ("localhost_5000/wipe", "localhost:5000/wipe"),
        ("lab_5000/wipe", "lab_5000/wipe"),
        ("lab.example_123456/wipe", "lab.example_123456/wipe"),
        ("my.tools_v1/wipe", "my.tools_v1/wipe"),
        ("tools/lab.example_5000", "tools/lab.example_5000"),
    ],
)
def test_both_spellings_of_a_kept_name_can_be_typed(repository: str, typed: str) -> None:
    assert as_typed(repository) == typed
    for spelling in (repository, typed):
        reference = parse_reference(f"{spelling}:v1")
        assert reference.kept_as == repository
        assert str(reference) == f"{typed}:v1"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("alpine:3", "docker.io/library/alpine:3"),
        ("tools/wipe", "docker.io/tools/wipe"),
        ("index.docker.io/alpine", "docker.io/library/alpine"),
        (f"alpine@{DIGEST}", f"docker.io/library/alpine@{DIGEST}"),
        ("quay.io/alpine:3", "quay.io/alpine:3"),
        ("lab:5000/alpine", "lab:5000/alpine"),
    ],
)
def test_docker_looks_at_docker_hub_for_a_name_without_a_host(name: str, meant: str) -> None:
    assert str(parse_reference(name).as_docker_means) == meant


@pytest.mark.parametrize(
    ("repository", "kept"),
    [
        ("alpine", "docker.io/library/alpine"),
        ("tools/wipe", ""),
        ("quay.io/alpine", ""),
        ("a" * 237, f"docker.io/library/{'a' * 237}"),
        ("a" * 238, ""),
    ],
)
def test_only_a_name_of_one_part_means_an_official_image(repository: str, kept: str) -> None:
    assert official(repository) == kept


@pytest.mark.parametrize(
    ("name", "appliance_only", "pulled"),
    [
        ("wipe:v1", False, ["ours:80/wipe:v1"]),
        ("quay.io/wipe:v1", False, ["ours:80/quay.io/wipe:v1", "quay.io/wipe:v1"]),
        ("quay.io/wipe:v1", True, ["ours:80/quay.io/wipe:v1"]),
        ("ours:80/wipe:v1", False, ["ours:80/wipe:v1"]),
        ("lab:5000/wipe", False, ["ours:80/lab_5000/wipe:latest", "lab:5000/wipe:latest"]),
        (f"quay.io/{'a' * 250}:v1", False, [f"quay.io/{'a' * 250}:v1"]),
    ],
)
def test_the_appliance_is_asked_before_the_host_in_the_name(name: str, appliance_only: bool, pulled: list[str]) -> None:
    found = Sources.of(parse_reference(name), "ours:80", appliance_only=appliance_only)
    assert [each.pulled for each in found.names] == pulled
    assert all(each.pulled.endswith(f"@{DIGEST}") for each in found.pinned(DIGEST).names)


STAND_INS = StandIns(
    images={
        "quay.io/tinkerbell": "tinkerbell",
        "quay.io/tinkerbell/actions": "tools",
        "quay.io/tinkerbell/actions/kexec": "kexec:v1",
        "quay.io/tinkerbell/actions/kexec:v2": "kexec:v2",
        "127.0.0.1/embedded/reboot": "reboot:v1",
        "wipe": "nwipe",
        "wipe:v1": "shred:v3",
        "old": f"new@{DIGEST}",
        "lab:5000": "mirror.lab:5000",
        "localhost:5000": "localhost:5001",
        "lab:5000/one": "mirror.lab:5001",
    }
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("quay.io/tinkerbell/actions/kexec", "kexec:v1"),
        ("quay.io/tinkerbell/actions/kexec:latest", "kexec:v1"),
        (f"quay.io/tinkerbell/actions/kexec@{DIGEST}", "kexec:v1"),
        ("quay.io/tinkerbell/actions/kexec:v2", "kexec:v2"),
        ("quay.io/tinkerbell/actions/cexec:v1", "tools/cexec:v1"),
        (f"quay.io/tinkerbell/actions/cexec@{DIGEST}", f"tools/cexec@{DIGEST}"),
        ("quay.io/tinkerbell/hook", "tinkerbell/hook"),
        ("quay.io/tinkerbell-actions/kexec", "quay.io/tinkerbell-actions/kexec"),
        ("127.0.0.1/embedded/reboot", "reboot:v1"),
        ("wipe:v1", "shred:v3"),
        ("wipe:v2", "nwipe:v2"),
        ("old:v1", f"new@{DIGEST}"),
        ("actions/wipe", "actions/wipe"),
        ("lab:5000/two/three:v1", "mirror.lab:5000/two/three:v1"),
        ("lab:5000/one/two", "mirror.lab:5001/two"),
        ("localhost:5000/tool", "localhost:5001/tool"),
    ],
)
def test_the_longest_name_that_fits_says_what_runs(said: str, meant: str) -> None:
    assert STAND_INS.meant(said) == meant
    assert StandIns().meant(said) == said


def test_names_without_a_host_can_be_said_to_be_docker_hubs() -> None:
    hub = StandIns(images={"tools": "docker.io/tools", "alpine": "docker.io/library/alpine"})
    assert hub.meant("tools/wipe:v1") == "docker.io/tools/wipe:v1"
    assert hub.meant("alpine:3.19") == "docker.io/library/alpine:3.19"
    assert hub.meant("debian:12") == "debian:12"


@pytest.mark.parametrize("key", ["docker.io/debian", "docker.io/library/debian", "index.docker.io/debian"])
@pytest.mark.parametrize("said", ["docker.io/debian", "docker.io/library/debian", "index.docker.io/library/debian"])
def test_an_official_image_is_one_however_a_key_and_a_template_spell_it(key: str, said: str) -> None:
    assert StandIns(images={key: "lab/debian"}).meant(f"{said}:12") == "lab/debian:12"
    assert StandIns(images={f"{key}:12": "lab/twelve:v1"}).meant(f"{said}:12") == "lab/twelve:v1"
    assert StandIns(images={f"{key}:12": "lab/twelve:v1"}).meant(f"{said}:13") == f"{said}:13"
    assert StandIns(images={key: "lab/debian"}).meant("debian:12") == "debian:12"


def test_a_beginning_of_docker_hubs_names_fits_the_official_images_whole_name() -> None:
    hub = StandIns(images={"docker.io": "hub.lab", "docker.io/library": "official", "docker.io/tools": "tools"})
    assert hub.meant("docker.io/debian:12") == "official/debian:12"
    assert hub.meant("index.docker.io/tools/wipe:v1") == "tools/wipe:v1"
    assert hub.meant("docker.io/others/wipe:v1") == "hub.lab/others/wipe:v1"
    assert StandIns(images={"docker.io": "hub.lab"}).meant("docker.io/debian:12") == "hub.lab/library/debian:12"


@pytest.mark.parametrize(
    ("repository", "short"),
    [
        ("docker.io/library/alpine", "alpine"),
        ("docker.io/tools/wipe", "tools/wipe"),
        ("docker.io/library/tools/wipe", "library/tools/wipe"),
        ("quay.io/tools/wipe", ""),
        ("alpine", ""),
    ],
)
def test_the_short_name_is_the_one_that_docker_writes(repository: str, short: str) -> None:
    assert familiar(repository) == short


@pytest.mark.parametrize("image", ["tools/cexec:v1", f"x@{DIGEST}"])
def test_one_image_cannot_stand_for_many_names(image: str) -> None:
    with pytest.raises(Invalid, match="stands for one image"):
        StandIns(images={"quay.io": image}).meant("quay.io/a")


def test_a_registry_does_not_stand_for_an_image() -> None:
    with pytest.raises(Invalid, match=r"mirror\.lab:5001 is a registry: name the image in it"):
        STAND_INS.meant("lab:5000/one:v1")


def test_an_image_with_a_tag_is_not_replaced_by_a_registry() -> None:
    check_stand_in("quay.io", "mirror.lab:5000")
    check_stand_in("localhost:5000", "mirror.lab")
    with pytest.raises(Invalid, match="is one image"):
        check_stand_in("tools/cexec:v1", "mirror.lab:5000")


def test_a_stand_in_is_for_a_name_as_a_person_types_it() -> None:
    with pytest.raises(Invalid, match=r"write lab\.example:5000/wipe instead of lab\.example_5000/wipe"):
        check_stand_in("lab.example_5000/wipe", "wipe")


def test_a_digest_beats_a_tag_when_pulling() -> None:
    reference = parse_reference(f"tools/x:v1@{DIGEST}")
    assert reference.selector == DIGEST
    assert replace(reference, host="172.30.0.1").pulled == f"172.30.0.1/tools/x@{DIGEST}"
    assert replace(parse_reference("x"), host="172.30.0.1").pulled == "172.30.0.1/x:latest"


@pytest.mark.parametrize(
    "text",
    ["", "Hello", "a//b", "../x", "a b", "x:", "x@", "x@sha256:12", "a/", "/a", "x:tag:tag", "x\n", "-x", "UPPER.io/A",
     "a" * 256, "quay.io:port/x"],
)  # fmt: skip
def test_what_docker_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="invalid image name"):
        parse_reference(text)
