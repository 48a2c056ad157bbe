"""What Docker takes as a volume is taken, and what it refuses is refused for its reason."""

import pytest

from tinkbox.model.actions.volumes import Volume, parse_volume
from tinkbox.model.errors import Invalid

TAKEN = {
    "/data": ("", "/data", ""),
    "/data/": ("", "/data", ""),
    "data:/data": ("data", "/data", ""),
    "Data_1.x-y:/data": ("Data_1.x-y", "/data", ""),
    "data:/data:z,nocopy,ro": ("data", "/data", "ro z nocopy"),
    "/a/b:/c/d": ("/a/b", "/c/d", ""),
    "/a:/data:": ("/a", "/data", ""),
    "/a:/data:ro,z": ("/a", "/data", "ro z"),
    "/a:/data:Z": ("/a", "/data", "Z"),
    "/a:/data:rslave": ("/a", "/data", "rslave"),
    "/a:/data:delegated,ro": ("/a", "/data", "delegated ro"),
    "//a//b/./:///c/./d//:rw": ("//a//b/./", "/c/d", "rw"),
    "/a/../b:/c/../d": ("/a/../b", "/d", ""),
}
REFUSED = {
    "": "expected /host/path:/container/path, NAME:/container/path or /container/path",
    "data": "the path in the container must be absolute, not 'data'",
    "a:b": "must be absolute, not 'b'",
    "/a:data": "must be absolute, not 'data'",
    "/": "can't be /",
    "/a:/../..": "can't be /",
    ":/data": "expected /host/path:/container/path",
    "::": "expected /host/path:/container/path",
    "data:/data:ro:x": "expected /host/path:/container/path",
    "/data:ro": "it has a mode (ro), and nothing before it to mount",
    "/data:rw,z": "it has a mode (rw,z)",
    "./x:/data": "'./x' is no absolute path, and no name of a volume",
    "x/y:/data": "'x/y' is no absolute path",
    "-data:/data": "'-data' is no absolute path",
    "d:/data": "which has 2 to 255 characters",
    " /a:/data": "' /a' is no absolute path",
    f"{'x' * 256}:/data": "which has 2 to 255 characters",
    "/a:/data:foo": "invalid mode 'foo': there are ro, rw",
    "/a:/data:RO": "invalid mode 'RO'",
    "/a:/data:ro,": "invalid mode ''",
    "/a:/data:ro,rw": "invalid mode 'ro,rw': one of them at most",
    "/a:/data:z,Z": "invalid mode 'z,Z'",
    "/a:/data:nocopy": "nocopy is for named volumes",
    "data:/data:rslave": "a named volume takes no mount propagation",
}


@pytest.mark.parametrize("text", TAKEN)
def test_what_docker_takes_is_taken(text: str) -> None:
    source, target, modes = TAKEN[text]
    assert parse_volume(text) == Volume(source=source, target=target, modes=frozenset(modes.split()))


@pytest.mark.parametrize("text", REFUSED)
def test_what_docker_refuses_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_volume(text)
    assert REFUSED[text] in str(refusal.value)


def test_an_appliances_own_folders_may_have_names_of_one_letter() -> None:
    assert parse_volume("d:/data", shortest=1).source == "d"
