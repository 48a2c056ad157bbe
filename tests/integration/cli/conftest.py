from collections.abc import Iterator

import pytest

from tests.integration.cli.serving import Configuration, configure, serving


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    """An appliance that the tests of one file share."""
    configuration = configure(tmp_path_factory.mktemp("appliance"))
    with serving(configuration):
        yield configuration
