"""Where a container's image comes from, and by which name the engine has it."""

from collections.abc import Callable

import pytest

from tests.unit.worker.fakes import FakeRuntime
from tinkbox.model.reasons import Reason, hint
from tinkbox.runtime import ContainerFailed, nobody_listens
from tinkbox.runtime.container_image import ContainerImage, RegistryAway
from tinkbox.runtime.engine_messages import meaning

OURS, THEIRS = "appliance:80/quay.io/x:v1", "quay.io/x:v1"


class Registries(FakeRuntime):
    """An engine whose registries have what is listed; one that `fails` has something else to say, by its name."""

    def __init__(self, *there: str, here: tuple[str, ...] = (), fails: dict[str, Reason] | None = None) -> None:
        super().__init__({})
        self.there = there
        self.pulled = {*here}
        self.fails = fails or {}

    async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
        if image not in self.there:
            raise ContainerFailed(self.fails.get(image, Reason.IMAGE_NOT_FOUND), image)
        self.pulled.add(image)
        return "sha256:" + "1" * 64


def image(*, appliance_only: bool = False) -> ContainerImage:
    return ContainerImage(THEIRS, "appliance:80", appliance_only=appliance_only)


async def test_the_first_source_that_has_it_counts_and_each_is_told_before_it_is_asked() -> None:
    asked: list[str] = []

    def asking(one: ContainerImage) -> Callable[[], None]:
        asked.append(f"{one.name} from {one.registry}")
        return nobody_listens

    sought = image()
    await sought.pull(Registries(THEIRS), asking)
    assert (sought.name, asked) == (THEIRS, [f"{OURS} from appliance:80", f"{THEIRS} from quay.io"])
    await sought.pull(Registries(OURS, THEIRS))
    assert sought.name == OURS


async def test_what_was_pulled_by_one_name_is_not_taken_for_an_older_one_of_another_name() -> None:
    engine, sought = Registries(THEIRS, here=(OURS,)), image()
    await sought.pull(engine)
    await sought.find_unless_known(engine)
    assert sought.name == THEIRS


async def test_another_process_finds_what_was_pulled_by_the_name_that_it_has() -> None:
    sought = image()
    await sought.find_unless_known(Registries(here=(THEIRS,)))
    assert sought.name == THEIRS
    assert not await image().find(Registries())


@pytest.mark.parametrize("reason", [Reason.IMAGE_NOT_ALLOWED, Reason.NO_SPACE])
async def test_only_a_source_that_lacks_it_has_the_next_one_asked(reason: Reason) -> None:
    with pytest.raises(ContainerFailed) as refusal:
        await image().pull(Registries(THEIRS, fails={OURS: reason}))
    assert refusal.value.reason == reason


async def test_the_appliance_is_waited_for_and_no_other_registry() -> None:
    away = {OURS: Reason.REGISTRY_UNREACHABLE}
    with pytest.raises(RegistryAway):
        await image().pull(Registries(THEIRS, fails=away))
    with pytest.raises(ContainerFailed) as refusal:
        await image().pull(Registries(fails={THEIRS: Reason.REGISTRY_UNREACHABLE}))
    assert refusal.value.reason == Reason.REGISTRY_UNREACHABLE


async def test_in_the_appliance_alone_there_is_no_second_source() -> None:
    with pytest.raises(ContainerFailed) as refusal:
        await image(appliance_only=True).pull(Registries(THEIRS))
    assert refusal.value.reason == Reason.IMAGE_NOT_FOUND


async def test_a_digest_is_that_of_all_its_names() -> None:
    sought, digest = image(), "sha256:" + "2" * 64
    assert sought.digest == ""
    sought.pin(digest)
    assert (sought.digest, sought.name) == (digest, f"appliance:80/quay.io/x@{digest}")


@pytest.mark.parametrize(
    ("name", "told", "way"),
    [
        (
            "registry.firm.example:5000/x:v1",
            "does not trust the registry's certificate, that of registry.firm.example:5000: Get ",
            "name that registry in registry.mirrors",
        ),
        (
            "x:v1",
            "does not trust the registry's certificate, that of 172.30.0.1, which is the appliance's own registry: Get ",
            "in an OSIE boot the machine again",
        ),
    ],
)
async def test_a_registry_whose_certificate_is_not_trusted_is_named_with_the_way_out_for_it(
    name: str, told: str, way: str
) -> None:
    class Distrusting(FakeRuntime):
        async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
            if "firm" in image and image.startswith("172"):
                raise ContainerFailed(Reason.IMAGE_NOT_FOUND, "not here")
            words = f'Get "https://{image.partition("/")[0]}/v2/": x509: certificate signed by unknown authority'
            raise meaning(Reason.IMAGE_PULL_FAILED, 500, words)

    with pytest.raises(ContainerFailed) as refusal:
        await ContainerImage(name, "172.30.0.1", appliance_only=False, tls=True).pull(Distrusting({}))
    assert told in str(refusal.value)
    assert way in hint(refusal.value.reason, str(refusal.value))


REFUSED = 'Get "https://172.30.0.1/v2/": dial tcp 172.30.0.1:443: connect: connection refused'


@pytest.mark.parametrize("tls", [True, False])
async def test_an_appliance_that_is_asked_over_tls_is_waited_for_when_it_refuses_connections(tls: bool) -> None:
    class Refusing(FakeRuntime):
        async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
            raise meaning(Reason.IMAGE_PULL_FAILED, 500, REFUSED)

    sought = ContainerImage("x:v1", "172.30.0.1", appliance_only=True, tls=tls)
    with pytest.raises(RegistryAway if tls else ContainerFailed) as refusal:
        await sought.pull(Refusing({}))
    # One that has to be told of plain HTTP never answers.
    assert ("insecure-registries" in str(refusal.value)) is not tls
    assert REFUSED in str(refusal.value)
