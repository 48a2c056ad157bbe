"""What repositories have and tags point to, as files that no name can lead out of."""

from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.registry.manifests.repositories import Link, Repositories

A, B = (Link(digest=f"sha256:{letter * 64}", media_type="x/y", pushed_at="2026-01-01") for letter in "ab")


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def repositories(tmp_path: Path) -> Repositories:
    (tmp_path / "repositories").mkdir()
    return Repositories(tmp_path, write)


def test_a_manifest_is_found_by_tag_and_digest(repositories: Repositories) -> None:
    repositories.link("tools/x", A)
    repositories.tag("tools/x", "v1", A)
    assert repositories.resolve("tools/x", "v1") == A
    assert repositories.resolve("tools/x", A.digest) == A
    assert repositories.tags("tools/x") == {"v1": A}
    assert repositories.links("tools/x") == {A.digest: A}
    with pytest.raises(NotFound):
        repositories.resolve("tools", "v1")
    with pytest.raises(NotFound):
        repositories.resolve("tools/x", B.digest)


def test_a_repository_may_stand_within_another(repositories: Repositories) -> None:
    for name in ("a/b", "a", "a/b/c", "z"):
        repositories.link(name, A)
    assert repositories.names() == ["a", "a/b", "a/b/c", "z"]


def test_an_empty_repository_leaves_nothing_behind(repositories: Repositories, tmp_path: Path) -> None:
    for name in ("a", "a/b/c"):
        repositories.link(name, A)
        repositories.tag(name, "v1", A)
    for name in ("a/b/c", "a"):
        repositories.untag(name, "v1")
        repositories.unlink(name, A.digest)
        assert name not in repositories.names()
    assert list((tmp_path / "repositories").iterdir()) == []


@pytest.mark.parametrize("name", ["", "..", "../x", "a/../b", "a/_tags", "/etc", "A", "a" * 256, "a\n", "a\x00"])
def test_a_name_that_is_none_leads_nowhere(repositories: Repositories, name: str) -> None:
    with pytest.raises(Invalid):
        repositories.link(name, A)
    with pytest.raises(Invalid):
        repositories.resolve(name, "v1")


@pytest.mark.parametrize("tag", ["", "..", "../../x", "a/b", "x" * 129, ".hidden", "a\n"])
def test_a_tag_that_is_none_leads_nowhere(repositories: Repositories, tag: str) -> None:
    with pytest.raises(Invalid):
        repositories.tag("x", tag, A)


def test_a_stray_link_is_passed_over_and_told(
    repositories: Repositories, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repositories.link("a/b", A)
    repositories.tag("a/b", "1", A)
    folder = tmp_path / "repositories"
    links = {
        folder / "linked": folder / "a",
        folder / "file": folder / "a/b/_tags/1",
        folder / "a/b/_tags/2": folder / "a/b/_tags/1",
        folder / "c/_manifests": folder / "a/b/_manifests",
        folder / "gone": tmp_path / "nothing",
    }
    (folder / "c" / "_tags").mkdir(parents=True)
    for link, leads_to in links.items():
        link.symlink_to(leads_to)
    again = Repositories(tmp_path, write)
    assert (again.names(), list(again.tags("a/b"))) == (["a/b"], ["1"])
    assert all(f"passed over: {link}" in caplog.text for link in links)


def test_nothing_is_written_through_a_link(repositories: Repositories, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "repositories/a").symlink_to(elsewhere)
    for change in (
        lambda: repositories.link("a/b", A),
        lambda: repositories.tag("a/b", "1", A),
        lambda: repositories.put("a/b", A, ["1"], lambda files: [write(*each) for each in files]),
    ):
        with pytest.raises(Unavailable, match=f"remove {tmp_path}/repositories/a, which is in its way"):
            change()
    assert not list(elsewhere.iterdir())
