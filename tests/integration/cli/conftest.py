from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.carried_images import Signed, Tinkbox, forget, on, signed_image, write
from tests.integration.cli.serving import Configuration, configure, serving
from tests.integration.cli.shell_lab import ShellLab


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    """An appliance that the tests of one file share."""
    configuration = configure(tmp_path_factory.mktemp("appliance"))
    with serving(configuration):
        yield configuration


@pytest.fixture
def shells(tmp_path: Path) -> Iterator[ShellLab]:
    """An appliance and a machine at a breakpoint, of a test's own."""
    with ShellLab(tmp_path) as lab:
        yield lab


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    """A second appliance, that of the other site."""
    configuration = configure(tmp_path_factory.mktemp("other"))
    with serving(configuration):
        yield configuration


@pytest.fixture
def here(appliance: Configuration) -> Iterator[Tinkbox]:
    yield on(appliance)
    forget(appliance)


@pytest.fixture
def there(other: Configuration) -> Iterator[Tinkbox]:
    yield on(other)
    forget(other)


@pytest.fixture
def to_other(other: Configuration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    """The flags of a copy to the other appliance, which this host trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(other.authority))
    token = write(tmp_path / "token", (other.data / "operator.token").read_bytes())
    return ["--to", f"https://127.0.0.1:{other.operator_port}", "--token-file", token]


@pytest.fixture
def signed(tmp_path: Path) -> Signed:
    return signed_image(tmp_path)
