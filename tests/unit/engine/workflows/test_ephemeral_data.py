"""What becomes of a workflow's data when actions and services write it at the same time."""

import io
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.model.flows import NOW
from tinkbox.engine.workflows.ephemeral_data import Base, pushed, served
from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.store.services import Written
from tinkbox.wire.ephemeral_data import Entry, decode, encode
from tinkbox.wire.ephemeral_limits import MAX_DATA_BYTES, MAX_DEPTH

EMPTY = Base(version=0, archive=b"")
Folder = dict[str, bytes]


def entries(files: Folder) -> list[Entry]:
    return [Entry(path=path, content=content) for path, content in files.items()]


def archive(**files: bytes) -> bytes:
    return encode(entries(files))


def contents(content: bytes) -> Folder:
    return {entry.path: entry.content or b"" for entry in decode(content)}


def after(base: Base, run: str, files: Folder, at: float = 0, since: float | None = 0) -> Base:
    """The data after a service said what it has, while an attempt runs that began at `since`."""
    began = None if since is None else NOW + timedelta(seconds=since)
    base = replace(base, since=began)
    found = served(base, run, entries(files), NOW + timedelta(seconds=at))
    if found is None:
        return base
    merged, written = found
    others = tuple(each for each in base.written if each.run != run)
    return Base(version=base.version + 1, archive=merged, written=(*others, written))


def with_push(base: Base, since: float = 0, **files: bytes) -> Base:
    merged = pushed(base, archive(**files), NOW + timedelta(seconds=since))
    return replace(base, version=base.version + 1, archive=merged)


def test_what_a_service_writes_comes_to_what_is_there() -> None:
    base = after(replace(EMPTY, archive=archive(a=b"1", b=b"1")), "s", {"b": b"2", "c": b"2"})
    assert contents(base.archive) == {"a": b"1", "b": b"2", "c": b"2"}


def test_what_a_service_removes_is_gone_and_nothing_else() -> None:
    base = after(replace(EMPTY, archive=archive(a=b"1")), "s", {"b": b"2", "c": b"2"})
    assert contents(after(base, "s", {"c": b"2"}).archive) == {"a": b"1", "c": b"2"}
    assert contents(after(base, "s", {}).archive) == {"a": b"1"}


def test_the_same_again_is_no_change() -> None:
    base = after(EMPTY, "s", {"a": b"1"})
    assert served(base, "s", entries({"a": b"1"}), NOW) is None
    assert served(EMPTY, "s", [], NOW) is None


def test_only_what_a_service_changed_is_written_again() -> None:
    base = after(after(EMPTY, "s", {"a": b"1", "own": b"1"}), "other", {"a": b"2"})
    assert contents(after(base, "s", {"a": b"1", "own": b"2"}).archive) == {"a": b"2", "own": b"2"}


def test_what_two_services_wrote_is_gone_only_when_neither_has_it() -> None:
    base = after(after(EMPTY, "s", {"a": b"1"}), "other", {"a": b"2"})
    base = after(base, "s", {})
    assert contents(base.archive) == {"a": b"2"}
    assert contents(after(base, "other", {}).archive) == {}


def test_where_services_wrote_nothing_an_action_replaces_everything() -> None:
    mine = archive(mine=b"2")
    assert pushed(replace(EMPTY, archive=archive(a=b"1")), mine, NOW) == mine
    assert pushed(replace(EMPTY, written=(Written(run="s"),)), mine, NOW) == mine
    assert pushed(EMPTY, b"", NOW) == b""


def test_what_nobody_can_unpack_is_refused_also_where_services_wrote_nothing() -> None:
    deep = io.BytesIO()
    with tarfile.open(fileobj=deep, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("d/" * (MAX_DEPTH + 1) + "f"))
    for refused in (b"no archive", deep.getvalue()):
        with pytest.raises(Invalid):
            pushed(EMPTY, refused, NOW)


def test_an_action_does_not_undo_what_a_service_wrote_after_it_had_pulled() -> None:
    base = after(replace(EMPTY, archive=archive(a=b"1", key=b"old")), "s", {"key": b"new", "more": b"x"})
    base = with_push(base, a=b"2", key=b"old", mine=b"m")
    assert contents(base.archive) == {"a": b"2", "key": b"new", "more": b"x", "mine": b"m"}


def test_an_action_does_not_bring_back_what_a_service_removed_after_it_had_begun() -> None:
    base = after(after(EMPTY, "s", {"key.tmp": b"half"}), "s", {"key": b"whole"}, at=5)
    assert contents(with_push(base, since=5, **{"key.tmp": b"ha"}).archive) == {"key": b"whole"}
    later = with_push(base, since=6, **{"key.tmp": b"its own", "key": b"its own"})
    assert contents(later.archive) == {"key.tmp": b"its own", "key": b"whole"}


def test_what_was_removed_before_the_action_began_is_forgotten() -> None:
    for since, known in ((5, {"a"}), (6, set()), (None, set())):
        base = after(after(EMPTY, "s", {"a": b"1"}), "s", {}, at=5, since=since)
        assert base.written[0].removed.keys() == known
    base = after(after(EMPTY, "s", {"a": b"1"}), "s", {}, at=5)
    for since, known in ((5, {"a"}), (6, set())):
        assert after(base, "s", {"b": b"1"}, at=9, since=since).written[0].removed.keys() == known
    assert after(base, "s", {"a": b"1"}, at=9).written[0].removed == {}


def test_what_is_no_archive_or_too_large_is_refused() -> None:
    base = after(EMPTY, "s", {"a": b"x" * (MAX_DATA_BYTES - 5)})
    with pytest.raises(TooLarge, match="largest: a "):
        with_push(base, b=b"123456")
    with pytest.raises(TooLarge, match="largest: a "):
        after(base, "t", {"b": b"123456"})
    with pytest.raises(Invalid):
        pushed(base, b"no archive", NOW)


PATHS = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/d/a", "s1", "s2/x"])
OWN = {"s1": ("one", "both", "dir", "dir/x"), "s2": ("two", "both", "dir/y")}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pull"), st.just("")),
        st.tuples(st.just("change"), PATHS | st.sampled_from([*OWN["s1"], *OWN["s2"]])),
        st.tuples(st.just("push"), st.just("")),
        st.tuples(st.sampled_from(("s1", "s2")), st.integers(0, 3)),
        st.tuples(st.sampled_from(("forget s1", "forget s2")), st.integers(0, 3)),
    ),
    max_size=30,
)


@given(STEPS)
def test_in_whatever_order_they_write_a_services_newest_files_are_there(steps: Iterable[tuple[str, object]]) -> None:
    base, pulled, began = EMPTY, Folder(), 0
    own: dict[str, Folder] = {"s1": {}, "s2": {}}
    newest: Folder = {}
    for at, (what, value) in enumerate(steps, 1):
        if what == "pull":
            pulled, began = contents(base.archive), at
        elif what == "change":
            path = str(value)
            whole = {
                each: pulled[each]
                for each in pulled
                if not (each.startswith(f"{path}/") or path.startswith(f"{each}/"))
            }
            pulled = {**whole, path: b"action %d" % at}
        elif what == "push":
            base = with_push(base, since=began, **pulled)
        else:
            run, path = what[-2:], OWN[what[-2:]][int(str(value)) % len(OWN[what[-2:]])]
            if what.startswith("forget"):
                own[run].pop(path, None)
                if path in newest and not any(path in files for files in own.values()):
                    del newest[path]
            else:
                for files in (own[run], newest):
                    for each in [each for each in files if each.startswith(f"{path}/") or path.startswith(f"{each}/")]:
                        del files[each]
                own[run][path] = newest[path] = b"%s %d" % (run.encode(), at)
            base = after(base, run, own[run], at=at, since=began)
        there = contents(base.archive)
        assert {path: there.get(path) for path in newest} == newest
        removed = {path for paths in OWN.values() for path in paths} - newest.keys()
        assert not {path for path in removed if not there.get(path, b"action").startswith(b"action")}
        assert pushed(base, base.archive, NOW + timedelta(seconds=began)) == base.archive, "again changes nothing"
