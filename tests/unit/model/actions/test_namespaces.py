import pytest

from tinkbox.model.actions.namespaces import check_network, check_pid, joins
from tinkbox.model.errors import Invalid


@pytest.mark.parametrize("network", ["", "host", "none", "bridge", "default", "container:a.b-c_1", "my-network"])
def test_a_network_is_what_the_engine_takes(network: str) -> None:
    check_network(network)
    assert joins(network) == network.startswith("container:")


@pytest.mark.parametrize("network", ["container:", "none ", "a/b", "container:a b", "-x", "container:container:x"])
def test_what_can_be_no_network_is_refused(network: str) -> None:
    with pytest.raises(Invalid, match="expected host, none, bridge, container:NAME or the name of a network"):
        check_network(network)


@pytest.mark.parametrize("pid", ["", "host", "private", "container:other"])
def test_a_process_namespace_is_what_the_engine_takes(pid: str) -> None:
    check_pid(pid)


@pytest.mark.parametrize("pid", ["all", "Host", "container:", "container", "bridge"])
def test_what_is_no_process_namespace_is_refused(pid: str) -> None:
    with pytest.raises(Invalid, match="expected host, container:NAME or private"):
        check_pid(pid)
