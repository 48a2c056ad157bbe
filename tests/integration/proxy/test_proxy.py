"""Who reaches which service, and what everybody else is told."""

import pytest
from aiohttp import web

from tests.integration.proxy.door import (
    AT,
    DOMAIN,
    EVERYTHING,
    NAME,
    STRANGER,
    Door,
    door,
    hosted,
    named,
    problem,
    recorder,
    service,
    status,
)
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.proxy.proxy import is_nobodys


async def hello(_: web.Request) -> web.Response:
    return web.Response(text="hello from the service")


async def built_in(_: web.Request) -> web.Response:
    return web.Response(text="built in")


async def ask(known: Door, path: str, host: str, address: str = "127.0.0.2", method: str = "GET") -> tuple[int, str]:
    async with (
        known.client(address) as client,
        client.request(method, path, headers={"Host": host} if host else {}) as answer,
    ):
        text = await answer.text()
        return answer.status, problem(await answer.json(content_type=None))[1] if answer.status >= 400 else text


async def test_a_machine_reaches_the_services_of_its_workflow_by_name() -> None:
    async with service(hello) as port, door() as known:
        known.serve(status(port))
        assert await ask(known, "/anything", NAME) == (200, "hello from the service")


async def test_it_reaches_them_at_the_appliance_s_address_as_well() -> None:
    async with service(hello) as port, door() as known:
        known.serve(status(port))
        assert await ask(known, "/anything", "") == (200, "hello from the service")


async def test_what_the_door_itself_has_comes_first_but_not_below_the_domain() -> None:
    async with service(hello) as port, door(web.get("/boot", built_in)) as known:
        known.serve(status(port))
        assert await ask(known, "/boot", "") == (200, "built in")
        assert await ask(known, "/boot", NAME) == (200, "hello from the service")
        assert await ask(known, "/boot", f"{NAME}:80") == (200, "hello from the service")
        assert await ask(known, "/boot", f"{NAME.upper()}.") == (200, "hello from the service")
        assert (await ask(known, "/boot", f"other.{DOMAIN}", STRANGER))[0] == 404
        assert (await ask(known, "/boot", DOMAIN, STRANGER))[0] == 404


async def test_another_method_of_what_the_door_has_is_no_service_s() -> None:
    async with service(hello) as port, door(web.get("/boot", built_in)) as known:
        known.serve(status(port))
        assert (await ask(known, "/boot", "", method="DELETE"))[0] == 405


async def test_others_are_told_the_same_as_if_there_were_nothing() -> None:
    async with service(hello) as port, door() as known:
        for address, name in (("127.0.0.3", NAME), (STRANGER, NAME), (STRANGER, "")):
            known.serve(status(port))
            told = await ask(known, "/x", name, address)
            known.directory.replace([])
            assert told == await ask(known, "/x", name, address)
            assert told[0] == 404


async def test_public_routes_answer_everybody() -> None:
    async with service(hello) as port, door() as known:
        known.serve(status(port, (*EVERYTHING, ("tinkbox.public", "true"))))
        assert await ask(known, "/x", NAME, STRANGER) == (200, "hello from the service")
        assert await ask(known, "/x", "", STRANGER) == (200, "hello from the service")


async def test_a_container_of_the_workflow_reaches_its_services() -> None:
    async with service(hello) as port, door() as known:
        known.serve(status(port), status(name="other", labels=(), address=STRANGER))
        assert await ask(known, "/x", NAME, STRANGER) == (200, "hello from the service")


async def test_two_machines_reach_each_its_own_service_of_the_same_name_and_path() -> None:
    async def one(_: web.Request) -> web.Response:
        return web.Response(text="one")

    async def two(_: web.Request) -> web.Response:
        return web.Response(text="two")

    async with service(one) as first, service(two) as second, door() as known:
        known.directory.replace(
            [hosted(status(first)), hosted(status(second), workflow="w2", machine="machine-3", state=State.PENDING)]
        )
        assert await ask(known, "/x", "", "127.0.0.2") == (200, "one")
        assert await ask(known, "/x", "", "127.0.0.3") == (200, "two")
        assert await ask(known, "/x", f"w2.{DOMAIN}", "127.0.0.3") == (200, "two")
        assert (await ask(known, "/x", f"w2.{DOMAIN}", "127.0.0.2"))[0] == 404


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.STARTING, Phase.RESTARTING])
async def test_a_service_that_is_not_up_yet_is_asked_again_later(phase: Phase) -> None:
    async with door() as known, known.client() as client:
        known.serve(status(8080, phase=phase, message="pulling files:v1"))
        async with client.get("/x", headers=AT) as answer:
            assert answer.headers["Retry-After"] == "2"
            assert answer.content_type == "application/problem+json"
            code, detail = problem(await answer.json(content_type=None))
    assert (answer.status, code) == (503, 503)
    assert detail.startswith("service files ")
    assert detail.endswith(": pulling files:v1")


async def test_so_is_one_without_an_address_and_one_whose_workflow_waits() -> None:
    async with door() as known:
        known.serve(status(8080, address=""))
        assert (await ask(known, "/x", NAME))[0] == 503
        known.directory.replace([hosted(status(8080), wanted=False, state=State.PENDING)])
        assert await ask(known, "/x", NAME) == (
            503,
            "service files is not started yet: its workflow waits for its turn",
        )


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        (Phase.EXITED, "has ended"),
        (Phase.FAILED, "failed"),
        (Phase.STOPPING, "is ending"),
        (Phase.STOPPED, "was ended"),
    ],
)
async def test_a_service_that_will_not_come_back_is_a_bad_gateway(phase: Phase, told: str) -> None:
    async with door() as known:
        known.serve(status(8080, phase=phase, message="exit code 3"))
        assert await ask(known, "/x", NAME) == (502, f"service files {told}: exit code 3")


async def test_an_unhealthy_service_is_still_asked() -> None:
    async with service(hello) as port, door() as known:
        known.serve(status(port, phase=Phase.UNHEALTHY))
        assert (await ask(known, "/x", NAME))[0] == 200


async def test_nobody_at_the_port_is_a_bad_gateway_that_names_the_service() -> None:
    async with service(hello) as port:
        pass
    async with door() as known:
        known.serve(status(port))
        code, detail = await ask(known, "/x", NAME)
    assert code == 502
    assert detail.startswith("service files does not answer: ")
    assert f"127.0.0.1:{port}" in detail


async def test_a_service_without_a_port_is_a_bad_gateway_that_says_what_to_write() -> None:
    async with door() as known:
        known.serve(status())
        code, detail = await ask(known, "/x", NAME)
    assert code == 502
    assert "`ports`" in detail


async def test_a_label_chooses_the_port() -> None:
    async with service(hello) as port, door() as known:
        known.serve(status(1, (*EVERYTHING, ("traefik.http.services.all.loadbalancer.server.port", str(port)))))
        assert (await ask(known, "/x", NAME))[0] == 200


@pytest.mark.parametrize("address", ["localhost", "::1", "127.0.0.1/8", "0", "[127.0.0.1]"])
async def test_what_is_no_ipv4_address_is_not_connected_to(address: str) -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port, address=address))
        assert (await ask(known, "/x", NAME))[0] == 502
        assert watched.connections == []


async def test_a_machine_s_service_is_at_that_machine_s_address_only() -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port, host="machine-3", address="127.0.0.1"))
        code, detail = await ask(known, "/x", NAME)
        assert (code, watched.connections) == (502, [])
        assert "127.0.0.1, which is no address of its host" in detail


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255"]
)
async def test_our_own_doors_and_addresses_of_no_host_are_no_service_s(address: str) -> None:
    async with recorder() as watched, door(refuses=is_nobodys) as known:
        known.serve(status(watched.port, address=address))
        code, detail = await ask(known, "/x", NAME)
        assert (code, watched.connections) == (502, [])
        assert f"{address}, which is no address of its host" in detail


async def test_the_service_sees_who_asks_and_for_what() -> None:
    async with recorder() as watched, door() as known:
        strip = (
            ("traefik.http.routers.all.middlewares", "cut"),
            ("traefik.http.middlewares.cut.stripprefix.prefixes", "/api"),
        )
        known.serve(status(watched.port, (*EVERYTHING, *strip)))
        told = ["X-Forwarded-For", "X-Real-Ip", "X_Forwarded_For", "Forwarded", "X-Forwarded-Whatever"]
        own = [f"{name}: 1.2.3.4" for name in told]
        await known.raw(named("/api/a%20b?x=1&x=%zz&y=%20%26+", "GET", *own, "X-Mine: kept"))
        assert watched.head.startswith(b"GET /a%20b?x=1&x=%zz&y=%20%26+ HTTP/1.1\r\n")
        assert sorted(watched.lines) == sorted(
            [
                f"Host: {NAME}",
                "X-Mine: kept",
                "X-Forwarded-For: 127.0.0.2",
                "X-Real-Ip: 127.0.0.2",
                "X-Forwarded-Proto: http",
                f"X-Forwarded-Port: {known.port}",
                f"X-Forwarded-Host: {NAME}",
                "X-Forwarded-Prefix: /api",
                f'Forwarded: for=127.0.0.2;host="{NAME}";proto=http',
            ]
        )


async def test_a_client_of_http_1_0_needs_no_host() -> None:
    async with recorder() as watched, door() as known:
        known.serve(status(watched.port))
        assert (await known.raw(b"GET /x HTTP/1.0\r\n\r\n")).endswith(b"\r\n\r\nok")
        assert f"Host: 127.0.0.1:{watched.port}" in watched.lines
