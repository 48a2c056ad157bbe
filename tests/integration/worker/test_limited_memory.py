"""The kernel's own words of a container that had no memory left for the limit of a group above it."""

import asyncio

from tests.integration.docker_engine import docker_engine_in
from tests.integration.registry.serving import layer
from tests.integration.runtime.test_docker import BUSYBOX
from tinkbox.runtime import ContainerSpec
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.wire.kernel_log import group_ran_out, machine_ran_out
from tinkbox.worker.host.kernel_log import read_kernel_log

IMAGE = "memory:v1"
EAT = ("sh", "-c", "while [ ! -e /go ]; do /bin/busybox sleep 0.05; done; exec /bin/busybox tail /dev/zero")


async def test_the_kernel_tells_which_group_had_no_memory_left_for_a_container() -> None:
    began = asyncio.get_running_loop().time()
    spec = ContainerSpec(image=IMAGE, labels={}, command=("/bin/busybox", *EAT), privileged=False)
    with docker_engine_in() as engine:
        engine.cli("import", "-", IMAGE, stdin=layer({"bin/busybox": BUSYBOX.read_bytes()}))
        async with asyncio.timeout(60), DockerRuntime(engine.url) as runtime:
            container = (await runtime.create(spec)).id
            await runtime.start(container)
            with engine.short_of_memory(24 << 20):
                go = ("exec", container, "/bin/busybox", "touch", "/go")
                await asyncio.to_thread(engine.cli, *go, check=False)
                assert (await runtime.wait(container)).exit_code == 137
            log = read_kernel_log()
            killed = group_ran_out(log, began, container)
            assert killed is not None
            assert (killed.limit.endswith(f"/{engine.cgroup}"), killed.of_engine) == (True, False)
            assert "Memory cgroup out of memory: Killed process " in killed.line
            assert group_ran_out(log, began, "f" * 64) is None
            assert machine_ran_out(log, began) == ""
            await runtime.remove(container)
