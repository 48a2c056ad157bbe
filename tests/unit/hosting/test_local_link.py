from tinkbox.hosting.local_link import LocalHostLink
from tinkbox.model.services import APPLIANCE, Phase, Standing
from tinkbox.wire.messages.hosting import Wanted

OLD, NEW = Wanted(), Wanted()
STANDING = Standing(run="run", phase=Phase.READY)


class Engine:
    """Has news only after somebody waited for it, if it has any."""

    def __init__(self, news: Wanted | None) -> None:
        self._news = news
        self._there = False
        self.heard: list[object] = []

    async def wanted(self, host: str, seen: str) -> Wanted | None:
        self.heard.append((host, seen))
        return self._news if self._there else None

    async def wait(self, host: str, timeout: float) -> None:
        self.heard.append((host, timeout))
        self._there = True

    async def observed(self, host: str, standings: tuple[Standing, ...]) -> None:
        self.heard.append((host, standings))

    async def output(self, host: str, run: str, offset: int, chunk: bytes) -> int:
        self.heard.append((host, run, offset, chunk))
        return offset + len(chunk)

    async def keep_data(self, host: str, run: str, archive: bytes) -> int:
        self.heard.append((host, run, archive))
        return 3


async def test_it_waits_for_news_once_and_looks_again() -> None:
    engine = Engine(NEW)
    assert await LocalHostLink(engine, look_every=7.0).wanted("mark") is NEW
    assert engine.heard == [(APPLIANCE, "mark"), (APPLIANCE, 7.0), (APPLIANCE, "mark")]


async def test_no_news_is_told_as_such() -> None:
    assert await LocalHostLink(Engine(None)).wanted("mark") is None


async def test_everything_is_said_as_the_appliance() -> None:
    engine = Engine(None)
    host_link = LocalHostLink(engine)
    await host_link.observed((STANDING,))
    assert await host_link.output("run", 4, b"abc") == 7
    await host_link.keep_data("run", b"tar")
    assert engine.heard == [(APPLIANCE, (STANDING,)), (APPLIANCE, "run", 4, b"abc"), (APPLIANCE, "run", b"tar")]
