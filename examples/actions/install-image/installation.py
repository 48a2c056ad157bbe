"""One image on its way to one disk: everything from what can be refused to the boot entry."""

import platform
import time
from collections.abc import Callable

import boot_entry
import growth
import registry
import seed
from disk import HEAD, Disk
from download import Download
from failure import Failure
from fat import file_system
from frames import FrameCopy, read_back
from gpt import Gpt, parse_gpt
from layout import SEED, Layout, exact, least_size, plan
from parameters import Parameters
from partitions import TableDamaged
from patience import Patience
from progress import Progress
from server import AGENT, Server
from sizes import size
from stream import StreamCopy
from target import FORMER_TAIL, Target

# These lay out their disk themselves, and read no seed.
_OF_THEIR_OWN = frozenset({"ignition", "talos"})
Source = FrameCopy | StreamCopy


def say(text: str) -> None:
    print(text, flush=True)


def install(wanted: Parameters) -> None:
    """Do what is wanted; raises Failure."""
    disk = Disk(wanted.disk)
    try:
        Installation(wanted, disk).run()
    finally:
        disk.close()


class Installation:
    """Nothing is written before all that can be known is known."""

    def __init__(
        self,
        wanted: Parameters,
        disk: Disk,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wanted = wanted
        self._disk = disk
        self._clock = clock
        self._sleep = sleep
        self._server = Server(Patience(wanted.patience, clock=clock, sleep=sleep, say=say), wanted.door)
        self._grow = wanted.grow
        self._seed_kind = wanted.seed

    def run(self) -> None:
        wanted, disk = self._wanted, self._disk
        started = self._clock()
        if disk.is_partition and (wanted.grow or wanted.seed != "none"):
            raise Failure(
                "DiskIsPartition", f"{wanted.disk} is a partition: name the disk, or set GROW=false and SEED=none"
            )
        source, expected = self._source()
        start = source.start(HEAD)
        if isinstance(source, StreamCopy):
            expected = source.least if wanted.exact else max(source.least, least_size(start, disk.sector))
        written_seed = seed.fetch(self._seed_kind or "cidata", wanted.metadata, self._server)
        layout = self._plan(start, expected, written_seed)
        former = _identities(disk.read(0, HEAD))
        tail = layout.table.tail() if layout.table is not None else b""
        target = Target(disk, len(tail), 0 if wanted.exact else FORMER_TAIL)
        progress = Progress(2, interval=wanted.interval, clock=self._clock, say=say)
        pieces = source.pieces()
        listed = sum(piece.length for piece in pieces)
        say(f"{wanted.image} ({size(expected)}) goes to {wanted.disk} ({size(disk.capacity)})")
        target.begin()
        progress.begin("writing", listed or (source.total if isinstance(source, StreamCopy) else 0))
        kept = source.copy(target, progress)
        if kept:
            say(f"{size(kept)} were on the disk already, from an earlier attempt")
        if isinstance(source, StreamCopy):
            say(source.came())
            expected = source.size
            layout = self._plan(target.head, expected, written_seed)
        listed = sum(piece.length for piece in source.pieces())
        disk.sync()
        progress.begin("reading back", listed)
        read_back(target, source.pieces(), source.zeros(), progress, source.vouch)
        progress.finish()
        head = self._finish(target, layout, written_seed)
        seconds = self._clock() - started
        say(f"{wanted.image} is on {wanted.disk}: {size(listed)} written and read back in {seconds:.0f} s")
        if wanted.boot_entry and not disk.is_partition:
            say(boot_entry.make(disk, head, wanted.image, former))

    def _source(self) -> tuple[Source, int]:
        """Where the image comes from, and its size if that is known."""
        wanted = self._wanted
        if wanted.web is not None:
            download = Download(
                wanted.web.url, patience=wanted.patience, clock=self._clock, sleep=self._sleep, say=say, agent=AGENT
            )
            return StreamCopy(wanted.web, download), 0
        image = registry.fetch(wanted.image, wanted.appliance, self._server)
        here = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine(), platform.machine())
        if image.architecture and image.architecture != here:
            raise Failure(
                "WrongArchitecture",
                f"{wanted.image} is for {image.architecture}, this machine is {here}: choose the image for its processor",
            )
        if image.least_disk > self._disk.capacity:
            raise Failure(
                "DiskTooSmall",
                f"{wanted.image} needs {size(image.least_disk)}, {wanted.disk} has {size(self._disk.capacity)}: "
                "use a larger disk",
            )
        if image.data_source in _OF_THEIR_OWN:
            self._grow = False
            self._seed_kind = self._seed_kind or "none"
        return FrameCopy(image, self._server), image.blocks.size

    def _plan(self, start: bytes, expected: int, written_seed: seed.Seed | None) -> Layout:
        if self._wanted.exact:
            return exact(start, expected, self._disk.capacity, self._disk.sector)
        return plan(
            start,
            expected,
            self._disk.capacity,
            self._disk.sector,
            grow=self._grow,
            seed=written_seed.name if written_seed else "",
            identity=written_seed.identity if written_seed else b"",
        )

    def _finish(self, target: Target, layout: Layout, written_seed: seed.Seed | None) -> bytes:
        """All that comes after the image's own bytes; the table is written once, last.  Returns the disk's head."""
        disk = self._disk
        for note in layout.notes:
            say(note)
        if layout.outdated is not None:
            target.zero(layout.outdated.place, layout.outdated.length)
        if layout.root is not None:
            say(growth.grow(disk, layout.root))
        if layout.seed is not None and written_seed is not None:
            content = file_system(
                written_seed.files,
                label=written_seed.label,
                size=SEED,
                sector=disk.sector,
                hidden=layout.seed.place // disk.sector,
            )
            disk.write(content, layout.seed.place)
            with disk.read_back() as reader:
                if reader.read(layout.seed.place, SEED) != content:
                    raise Failure(
                        "DiskLies", f"{disk.path} does not hold the seed at byte {layout.seed.place}: replace it"
                    )
            say(f"the seed ({written_seed.label}) holds {', '.join(written_seed.files)}")
        head, tail = target.head, b""
        if layout.table is not None:
            head, tail = layout.table.head(head), layout.table.tail()
        target.finish(head, tail)
        with disk.read_back() as reader:
            if reader.read(0, len(head)) != head:
                raise Failure(
                    "DiskLies", f"{disk.path} does not hold what was written to its first mebibyte: replace it"
                )
        if kept := disk.announce():
            say(kept)
        return head


def _identities(head: bytes) -> frozenset[str]:
    """The GUIDs of the partitions that a disk which begins so had."""
    try:
        table = parse_gpt(head)
    except TableDamaged:
        table = None
    return frozenset(map(str, table.identities().values())) if isinstance(table, Gpt) else frozenset()
