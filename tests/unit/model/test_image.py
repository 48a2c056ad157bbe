"""Names of container images."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.image import StandIns, check_stand_in, parse_reference

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


def test_a_digest_beats_a_tag_when_pulling() -> None:
    reference = parse_reference(f"tools/x:v1@{DIGEST}")
    assert reference.selector == DIGEST
    assert reference.at("172.30.0.1") == f"172.30.0.1/tools/x@{DIGEST}"
    assert parse_reference("x").at("172.30.0.1") == "172.30.0.1/x:latest"


@pytest.mark.parametrize(
    "text",
    ["", "Hello", "a//b", "../x", "a b", "x:", "x@", "x@sha256:12", "a/", "/a", "x:tag:tag", "x\n", "-x", "UPPER.io/A",
     "a" * 256, "quay.io:port/x"],
)  # fmt: skip
def test_what_docker_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="invalid image name"):
        parse_reference(text)
