"""What repositories have and tags point to, as files that no name can lead out of."""

import json
from dataclasses import replace
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


def test_a_manifest_that_came_by_its_digest_is_known_over_a_restart_and_no_tag_says_it(tmp_path: Path) -> None:
    """A key that an earlier release does not know stands in no tag's file: that release would take the tag for damaged."""
    (tmp_path / "repositories").mkdir()
    repositories = Repositories(tmp_path, write)
    alone = replace(A, alone_from="2026-01-02")
    repositories.link("x", alone)
    repositories.tag("x", "v1", alone)
    repositories.link("x", B)
    again = Repositories(tmp_path, write)
    assert again.links("x") == {A.digest: alone, B.digest: B}
    assert again.tags("x") == {"v1": A}
    files = [each for each in (tmp_path / "repositories").rglob("*") if each.is_file()]
    assert [each.name for each in files if "alone_from" in json.loads(each.read_text())] == [A.digest[7:]]


def test_an_index_that_comes_in_time_has_what_it_lists_as_its_parts(tmp_path: Path) -> None:
    (tmp_path / "repositories").mkdir()
    repositories = Repositories(tmp_path, write)
    for link in (replace(A, alone_from="2026-01-02"), replace(B, alone_from="2026-01-03T01:00")):
        repositories.link("x", link)
    index = Link(digest=f"sha256:{'c' * 64}", media_type="x/index", pushed_at="2026-01-03T00:00")
    repositories.put("x", index, ["all"], lambda files: [write(*each) for each in files], [A.digest, B.digest])
    for each in (repositories, Repositories(tmp_path, write)):
        assert {link.digest for link in each.links("x").values() if link.alone_from} == {A.digest}
    repositories.link("x", replace(B, alone_from="2026-01-04"))
    repositories.link("x", replace(B, alone_from="2026-01-05", pushed_at="2026-01-05"))
    assert repositories.links("x")[B.digest] == replace(B, alone_from="2026-01-04"), "as old as it was"


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
