from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.osie.debian import Package, unpack


def unpacked(root: Path) -> set[str]:
    return {path.name for path in (root / "unpacked").iterdir()}


def test_packages_come_with_what_they_depend_on(mirror, tmp_path) -> None:
    got = unpack(["zstd"], tmp_path / "root", cache=tmp_path / "cache")
    assert unpacked(tmp_path / "root") == {"zlib1g", "libc6", "zstd"}
    assert Package(name="zlib1g", version="1:1.2.13", architecture="amd64") in got


def test_what_is_excluded_is_neither_downloaded_nor_unpacked(mirror, tmp_path) -> None:
    got = unpack(["zstd"], tmp_path / "root", cache=tmp_path / "cache", exclude=["libc6"])
    assert unpacked(tmp_path / "root") == {"zlib1g", "zstd"} == {one.name for one in got}
    assert not list((tmp_path / "cache").rglob("libc6*.deb"))


def test_excluded_packages_may_be_named_by_a_pattern(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "root", cache=tmp_path / "cache", exclude=["libc*", "zlib1g.*"])
    assert unpacked(tmp_path / "root") == {"zlib1g", "zstd"}


def test_old_and_new_packages_unpack_to_the_same_places(mirror, tmp_path) -> None:
    mirror.content("zlib1g", "lib/triplet/libz.so.1", "of Debian 12")
    mirror.content("zlib1g", "usr/lib/triplet/libz.a")
    mirror.content("libc6", "usr/lib/triplet/libc.so.6", "of Debian 13")
    mirror.content("zstd", "bin/zstd", mode=0o755)
    root = tmp_path / "root"
    unpack(["zstd"], root, cache=tmp_path / "cache")
    assert {name: str((root / name).readlink()) for name in ("bin", "lib", "lib64", "sbin")} == {
        name: f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")
    }
    assert (root / "usr/lib/triplet/libz.so.1").read_text() == "of Debian 12"
    assert (root / "lib/triplet/libc.so.6").read_text() == "of Debian 13"
    assert (root / "usr/lib/triplet/libz.a").exists()
    assert (root / "usr/bin/zstd").stat().st_mode & 0o111


def test_the_second_time_neither_apt_nor_the_network_is_asked(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "one", cache=tmp_path / "cache")
    before = mirror.calls()
    mirror.break_down()
    unpack(["zstd"], tmp_path / "two", cache=tmp_path / "cache")
    assert mirror.calls() == before == ["update", "install", "download"]
    assert unpacked(tmp_path / "two") == unpacked(tmp_path / "one")


def test_packages_that_were_excluded_before_are_fetched_when_wanted(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "one", cache=tmp_path / "cache", exclude=["libc6"])
    unpack(["zstd"], tmp_path / "two", cache=tmp_path / "cache")
    assert "libc6" in unpacked(tmp_path / "two")


def test_other_packages_are_resolved_with_the_indexes_that_are_there(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "one", cache=tmp_path / "cache")
    unpack(["zstd", "zlib1g"], tmp_path / "two", cache=tmp_path / "cache")
    assert mirror.calls().count("update") == 1


def test_indexes_are_fetched_anew_when_the_mirror_has_moved_on(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "one", cache=tmp_path / "cache")
    for path in (tmp_path / "cache").rglob("*.deb"):
        path.unlink()
    for path in (tmp_path / "cache").rglob("resolved/*"):
        path.unlink()
    # The old indexes name a version that is gone: the download fails until they are fetched again.
    text = (mirror.folder / "mirror").read_text()
    mirror.serve(text.replace("Inst zstd (1.5.4", "Inst zstd (1.5.5"))
    got = unpack(["zstd"], tmp_path / "two", cache=tmp_path / "cache")
    assert Package(name="zstd", version="1.5.5", architecture="amd64") in got


def test_a_mirror_out_of_reach_is_named_with_its_reason(mirror, tmp_path) -> None:
    mirror.break_down()
    with pytest.raises(Unavailable, match=r"cannot be reached: Failed to fetch http://mirror.*no route.*network"):
        unpack(["zstd"], tmp_path / "root", cache=tmp_path / "cache")
    mirror.come_back()
    unpack(["zstd"], tmp_path / "root", cache=tmp_path / "cache")


def test_a_mirror_that_goes_away_in_between_is_reported_as_that(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "one", cache=tmp_path / "cache", exclude=["libc6"])
    mirror.break_down()
    with pytest.raises(Unavailable, match=r"1 packages could not be downloaded \(libc6"):
        unpack(["zstd"], tmp_path / "two", cache=tmp_path / "cache")


def test_a_package_that_does_not_exist_is_the_callers_mistake(mirror, tmp_path) -> None:
    with pytest.raises(Invalid, match=r"do not give nonsense: Unable to locate package"):
        unpack(["nonsense"], tmp_path / "root", cache=tmp_path / "cache")


@pytest.mark.parametrize("name", ["-o", "--option", "a b", "../x", "", "UPPER"])
def test_nothing_but_a_name_reaches_the_command_line(mirror, tmp_path, name) -> None:
    with pytest.raises(Invalid, match="no names of Debian packages"):
        unpack([name], tmp_path / "root", cache=tmp_path / "cache")
    assert mirror.calls() == []


def test_a_damaged_archive_is_thrown_away_so_that_the_next_try_succeeds(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "one", cache=tmp_path / "cache")
    (archive,) = (tmp_path / "cache").rglob("zstd_*.deb")
    archive.write_text("corrupt")
    with pytest.raises(Unavailable, match=r"zstd_1\.5\.4_amd64\.deb could not be unpacked \(not a Debian archive\)"):
        unpack(["zstd"], tmp_path / "two", cache=tmp_path / "cache")
    unpack(["zstd"], tmp_path / "three", cache=tmp_path / "cache")


def test_everything_apt_writes_is_in_the_cache(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "root", cache=tmp_path / "cache")
    for line in mirror.options().splitlines():
        for option in ("Dir::State=", "Dir::State::lists=", "Dir::State::status=", "Dir::Cache="):
            assert f"{option}{tmp_path}/cache/" in line


def test_a_plan_that_is_cut_off_is_made_again(mirror, tmp_path) -> None:
    unpack(["zstd"], tmp_path / "one", cache=tmp_path / "cache")
    for path in (tmp_path / "cache").rglob("resolved/*"):
        path.write_text('[["zstd", "1.')
    assert len(unpack(["zstd"], tmp_path / "two", cache=tmp_path / "cache")) == 3


def test_without_apt_it_says_what_is_needed(mirror, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"no apt-get here: .*Debian or Ubuntu"):
        unpack(["zstd"], tmp_path / "root", cache=tmp_path / "cache")
