"""The section `registry`."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.model.images.mirrors import Mirror
from tinkbox.settings.registry import MAX_MIRRORS


def test_mirrors_are_read_by_the_host_under_which_images_are_kept(tmp_path: Path) -> None:
    text = """
registry:
  mirrors:
    index.docker.io: https://registry-1.docker.io/
    "lab.example:5000": {url: "http://10.0.0.1:5000/quay/x", username: lab, password_file: /etc/lab.password}
"""
    found = loaded(tmp_path, text).registry
    assert found.mirrors == found.asked
    assert found.mirrors == {
        "docker.io": Mirror(url="https://registry-1.docker.io"),
        "lab.example_5000": Mirror(
            url="http://10.0.0.1:5000/quay/x", username="lab", password_file="/etc/lab.password"
        ),
    }


def test_offline_no_mirror_is_asked(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "").registry.offline
    found = loaded(tmp_path, "registry: {offline: true, mirrors: {quay.io: https://quay.io}}").registry
    assert (found.offline, found.asked) == (True, {})


@pytest.mark.parametrize(
    ("mirrors", "problem"),
    [
        ("[a]", "registry.mirrors: expected hosts with URLs"),
        ("{quay: https://quay.io}", "expected the host of a registry, as images name it"),
        ("{quay.io/tools: https://quay.io}", "expected the host of a registry"),
        ("{quay.io: quay.io}", "expected the URL of a registry"),
        ("{quay.io: 'ftp://quay.io'}", "expected the URL of a registry"),
        ("{quay.io: 'https://quay.io:x'}", "expected the URL of a registry"),
        ("{quay.io: 'https://a:b@quay.io'}", "a URL has no password in it"),
        ("{quay.io: 'https://quay.io/Tools'}", "only the beginning of repositories' names"),
        ("{quay.io: {url: 'https://quay.io', user: x}}", "expected a URL, or texts under url, username, password_file"),
        ("{quay.io: {url: 'https://quay.io', username: x}}", "go together"),
        ("{quay.io: {url: 'https://quay.io', username: 'a:b', password_file: /x}}", "no colon"),
        ("{quay.io: {url: 'https://quay.io', username: x, password_file: x}}", "expected an absolute path"),
        ("{docker.io: 'https://a.io', index.docker.io: 'https://b.io'}", "docker.io stands here twice"),
        (str({f"h{number}.io": "https://a.io" for number in range(MAX_MIRRORS + 1)}), "at most 64 hosts, not 65"),
    ],
)
def test_what_is_no_mirror_is_refused(tmp_path: Path, mirrors: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, f"registry: {{mirrors: {mirrors}}}")
    assert problem in found
