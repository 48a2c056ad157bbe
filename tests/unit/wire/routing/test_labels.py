"""What a service's labels and urls make of it: routes, and what else they say."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.labels import BOOT_PATH, Labels, Route, read_labels
from tinkbox.wire.routing.paths import AddPrefix, StripPrefix
from tinkbox.wire.routing.rules import Request, parse_rule

RULE = ("traefik.http.routers.r.rule", "Path(`/a`)")


def problems(*labels: tuple[str, str], urls: Sequence[str] = ()) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refusal:
        read_labels(labels, urls)
    return [(problem.key, problem.text) for problem in refusal.value.problems]


def route(*labels: tuple[str, str]) -> Route:
    (only,) = read_labels([RULE, *labels]).routes
    return only


def serves(labels: Labels, host: str, path: str) -> list[str]:
    request = Request(method="GET", host=host, path=path)
    return [route.name for route in labels.routes if route.rule.matches(request)]


def test_a_service_without_labels_has_no_routes() -> None:
    assert read_labels([]) == Labels()
    assert read_labels([("com.example.team", "lab"), ("maintainer", "")]) == Labels()


def test_the_labels_of_proposal_0014_make_one_route_of_each_service() -> None:
    """The same router name in two services is two routers: each service has its own labels."""
    name = "traefik.http.routers.myrouter.rule"
    own = "7d0c9a52-7a25-4d0a-8a4e-6d3f5a1b2c3d.workflows.tinkerbell.local"
    boot = read_labels(
        [
            (name, f"Host(`{own}`)"),
            (name, "Path(`/kernel`)"),
            (name, "Path(`/initrd`)"),
            (name, "Path(`/modules`)"),
            (name, "Path(`/auto.ipxe`)"),
        ]
    )
    receiver = read_labels([(name, f"Host(`{own}`)"), (name, "Path(`/key`)"), (name, "Path(`/password`)")])
    text = f"Host(`{own}`) && (Path(`/kernel`) || Path(`/initrd`) || Path(`/modules`) || Path(`/auto.ipxe`))"
    assert boot == Labels(routes=(Route(name="myrouter", rule=parse_rule(text), priority=len(text)),))
    for path in ("/kernel", "/initrd", "/modules", "/auto.ipxe"):
        assert serves(boot, own, path) == ["myrouter"]
        assert serves(boot, f"x{own}", path) == serves(receiver, own, path) == []
    for path in ("/key", "/password"):
        assert serves(receiver, own, path) == ["myrouter"]
        assert serves(receiver, "other", path) == serves(boot, own, path) == []


def test_the_urls_of_proposal_0015_are_routes() -> None:
    labels = read_labels([], ["https://w.example/kernel", "http://w.example/files/"])
    kernel, files = labels.routes
    assert kernel == Route(
        name="https://w.example/kernel", rule=parse_rule("Host(`w.example`) && Path(`/kernel`)"), priority=36
    )
    assert serves(labels, "w.example", "/files/a/b") == ["http://w.example/files/"]
    assert files.port is None
    assert serves(labels, "w.example", "/kernel/x") == serves(labels, "x.example", "/kernel") == []


def test_labels_and_urls_add_up_in_their_order() -> None:
    first = ("traefik.http.routers.z.rule", "Path(`/z`)")
    labels = read_labels([first, RULE], ["http://w/b", "http://w/a"])
    assert [each.name for each in labels.routes] == ["z", "r", "http://w/b", "http://w/a"]


def test_names_do_not_tell_cases_apart_and_are_shown_as_first_written() -> None:
    labels = read_labels(
        [
            ("Traefik.HTTP.Routers.Web.Rule", "Host(`a`)"),
            ("traefik.http.routers.WEB.rule", "Path(`/a`)"),
            ("traefik.http.routers.web.SERVICE", "Own"),
            ("traefik.http.services.OWN.loadBalancer.server.port", "8080"),
            ("traefik.http.routers.wEb.middlewares", "CUT"),
            ("traefik.http.middlewares.cut.stripPrefix.prefixes", "/a"),
        ]
    )
    rule = parse_rule("Host(`a`) && Path(`/a`)")
    rewrites = (StripPrefix(prefixes=("/a",)),)
    assert labels.routes == (Route(name="Web", rule=rule, priority=23, port=8080, rewrites=rewrites),)


@pytest.mark.parametrize(("value", "priority"), [("5", 5), ("-7", -7), ("+3", 3), (" 9 ", 9), ("0", 10)])
def test_the_priority_is_the_labels_or_the_length_of_the_rule(value: str, priority: int) -> None:
    assert route(("traefik.http.routers.r.priority", value)).priority == priority
    assert route().priority == len("Path(`/a`)") == 10


@pytest.mark.parametrize("value", ["", "high", "1.5", "1e3", "٣", "9223372036854774808", "9" * 20, "1 2"])
def test_a_priority_that_is_no_number_is_refused(value: str) -> None:
    ((key, text),) = problems(RULE, ("traefik.http.routers.r.priority", value))
    assert key == "traefik.http.routers.r.priority"
    assert text == f"expected a whole number, not {value!r}; 0 is the rule's length"


def test_traefiks_highest_priority_is_taken() -> None:
    assert route(("traefik.http.routers.r.priority", "9223372036854774807")).priority == 9223372036854774807


def port(name: str, value: str) -> tuple[str, str]:
    return (f"traefik.http.services.{name}.loadbalancer.server.port", value)


def test_routers_lead_to_the_one_service_that_is_declared() -> None:
    assert route().port is None
    assert route(port("s", "8080")).port == 8080
    assert route(port("s", "8080"), ("traefik.http.routers.r.service", "s@docker")).port == 8080
    (only,) = read_labels([port("s", "8080")], ["http://w/a"]).routes
    assert only.port == 8080


def test_of_several_services_a_router_names_one() -> None:
    ports = [port("www", "8000"), port("admin", "9000")]
    labels = read_labels(
        [
            *ports,
            ("traefik.http.routers.a.rule", "Host(`a`)"),
            ("traefik.http.routers.a.service", "www"),
            ("traefik.http.routers.b.rule", "Host(`b`)"),
            ("traefik.http.routers.b.service", "Admin"),
        ]
    )
    assert [(each.name, each.port) for each in labels.routes] == [("a", 8000), ("b", 9000)]
    ((key, text),) = problems(*ports, RULE)
    assert key == RULE[0]
    assert text == "2 services are declared: write traefik.http.routers.r.service with one of www, admin"
    ((key, text),) = problems(*ports, urls=["http://w/a"])
    assert (key, text) == (
        "urls[0]",
        "2 services are declared, and a URL cannot name one: write routers instead",
    )


@pytest.mark.parametrize("value", ["", "0", "65536", "-1", "http", "80/tcp", "8080,8081", "8" * 30])
def test_a_port_that_is_none_is_refused(value: str) -> None:
    ((key, text),) = problems(RULE, port("s", value))
    assert key == "traefik.http.services.s.loadbalancer.server.port"
    assert text == f"expected a port from 1 to 65535, not {value!r}"


@pytest.mark.parametrize("number", [1, 65535])
def test_every_port_may_be_led_to(number: int) -> None:
    assert route(port("s", str(number))).port == number


def middleware(name: str, option: str, value: str) -> tuple[str, str]:
    return (f"traefik.http.middlewares.{name}.{option}", value)


def used(value: str) -> tuple[str, str]:
    return ("traefik.http.routers.r.middlewares", value)


CUT = middleware("cut", "stripprefix.prefixes", "/api, /v1")
PUT = middleware("put", "addprefix.prefix", "/srv")
AGAIN = middleware("again", "stripprefix.prefixes", "/x")


def test_rewrites_are_applied_in_the_order_in_which_the_router_lists_them() -> None:
    declared = [PUT, CUT, AGAIN]
    assert route(*declared).rewrites == ()
    assert route(*declared).rewritten("/api/x") == ("/api/x", "")
    assert route(*declared, used("cut")).rewrites == (StripPrefix(prefixes=("/api", "/v1")),)
    assert route(*declared, used("cut")).rewritten("/v1/x") == ("/x", "/v1")
    assert route(*declared, used("put")).rewrites == (AddPrefix(prefix="/srv"),)
    assert route(*declared, used("put")).rewritten("/x") == ("/srv/x", "")
    assert route(*declared, used("cut,put")).rewritten("/api/x") == ("/srv/x", "/api")
    assert route(*declared, used(" put , cut@docker ")).rewritten("/api/x") == ("/srv/api/x", "")
    assert route(*declared, used("cut,again")).rewritten("/api/x/y") == ("/y", "/api, /x")
    assert route(*declared, used("cut,cut")).rewritten("/api/api/y") == ("/y", "/api, /api")


def test_a_path_that_is_stripped_to_nothing_is_the_root_unless_something_is_added() -> None:
    assert route(CUT, PUT, used("cut")).rewritten("/api") == ("/", "/api")
    assert route(CUT, PUT, used("cut,put")).rewritten("/api") == ("/srv", "/api")


@pytest.mark.parametrize("value", ["", "api", "/a,", "/a,b", "/a?b", "/a#b", "/a b", "/a\nb"])
def test_a_prefix_that_is_none_is_refused(value: str) -> None:
    for option in ("stripprefix.prefixes", "addprefix.prefix"):
        if "," in value and option == "addprefix.prefix":
            continue
        ((key, text),) = problems(RULE, middleware("m", option, value))
        assert key == f"traefik.http.middlewares.m.{option}"
        assert text.startswith("a prefix is a path that begins with /, not ")


def test_a_middleware_is_one_thing() -> None:
    ((key, text),) = problems(
        RULE, middleware("m", "stripprefix.prefixes", "/a"), middleware("M", "addprefix.prefix", "/b")
    )
    assert key == "traefik.http.middlewares.M.addprefix.prefix"
    assert text == "m is a stripprefix as well: declare two middlewares"


@pytest.mark.parametrize(
    ("label", "told"),
    [
        (used("cutt"), "there is no middleware 'cutt': did you mean cut?"),
        (used("cut,"), "there is no middleware ''"),
        (used("cut@file"), "there is no middleware 'cut@file': known here: cut"),
        (used(""), "there is no middleware ''"),
        (("traefik.http.routers.r.service", "www"), "there is no service 'www': known here: s"),
        (("traefik.http.routers.r.service", ""), "there is no service ''"),
    ],
)
def test_what_a_router_refers_to_is_declared(label: tuple[str, str], told: str) -> None:
    ((key, text),) = problems(RULE, CUT, port("s", "1"), label)
    assert key == label[0]
    assert text.startswith(told)


def test_a_service_that_a_router_names_is_declared_even_if_it_is_the_only_one() -> None:
    ((_, text),) = problems(RULE, ("traefik.http.routers.r.service", "s"))
    assert text == "there is no service 's': known here: nothing"


@pytest.mark.parametrize("option", ["priority", "middlewares", "service"])
def test_a_router_has_a_rule(option: str) -> None:
    written = f"traefik.http.routers.Web.{option}"
    value = {"priority": "1", "middlewares": "cut", "service": "s"}[option]
    ((key, text),) = problems(RULE, CUT, port("s", "1"), (written, value))
    assert (key, text) == (written, "router web has no rule: write traefik.http.routers.web.rule")


def test_what_is_wrong_with_a_rule_is_told_with_its_label() -> None:
    ((key, text),) = problems(RULE, ("traefik.http.routers.R.rule", "Pth(`/b`)"))
    assert key == "traefik.http.routers.R.rule"
    assert text == "column 1: there is no matcher Pth: did you mean Path?"


@pytest.mark.parametrize(
    ("written", "one", "other"),
    [
        ("traefik.http.routers.r.priority", "1", "2"),
        ("traefik.http.routers.r.service", "s", "s@docker"),
        ("traefik.http.routers.r.middlewares", "cut", "cut,cut"),
        ("traefik.http.services.s.loadbalancer.server.port", "1", "2"),
        ("traefik.http.middlewares.cut.stripprefix.prefixes", "/api, /v1", "/b"),
        ("traefik.enable", "true", "false"),
        ("tinkbox.public", "true", "false"),
        ("tinkbox.boot.ipxe", "/a", "/b"),
        ("boots.auto.ipxe", "/a", ""),
    ],
)
def test_a_label_other_than_a_rule_has_one_value(written: str, one: str, other: str) -> None:
    declared = [RULE, CUT, port("s", "1")]
    read_labels([*declared, (written, one), (written.upper(), one)])
    ((key, text),) = problems(*declared, (written, one), (written.upper(), other))
    assert key == written.upper()
    assert text == f"{one!r} was said before: it has one value"


def test_traefik_enable_false_takes_the_routes_of_labels_away_and_nothing_else() -> None:
    off = ("traefik.enable", "False")
    assert read_labels([RULE, ("traefik.enable", "TRUE")]).routes
    labels = read_labels([RULE, off, ("tinkbox.public", "true")], ["http://w/a"])
    assert [each.name for each in labels.routes] == ["http://w/a"]
    assert labels.public
    assert problems(off, ("traefik.http.routers.r.rule", "Pth(`/`)"))


@pytest.mark.parametrize("written", ["traefik.enable", "tinkbox.public"])
@pytest.mark.parametrize("value", ["", "yes", "1", "on"])
def test_a_flag_is_true_or_false(written: str, value: str) -> None:
    ((key, text),) = problems((written, value))
    assert (key, text) == (written, f"expected true or false, not {value!r}")


@pytest.mark.parametrize(("value", "public"), [("true", True), ("false", False), ("True", True)])
def test_a_public_service_says_so(value: str, public: bool) -> None:
    assert read_labels([("tinkbox.public", value)]) == Labels(public=public)


@pytest.mark.parametrize(
    ("labels", "boot", "host"),
    [
        ([], "", ""),
        ([("tinkbox.boot.ipxe", "/boot.ipxe")], "/boot.ipxe", ""),
        ([("boots.auto.ipxe", "")], "/auto.ipxe", ""),
        ([("boots.auto.ipxe", "/boot.ipxe")], "/boot.ipxe", ""),
        ([("boots.auto.ipxe", "https://W.example/boot.ipxe")], "/boot.ipxe", "w.example"),
        ([("tinkbox.boot.ipxe", "/auto.ipxe"), ("boots.auto.ipxe", "")], "/auto.ipxe", ""),
        ([("boots.auto.ipxe", "http://w/a"), ("tinkbox.boot.ipxe", "/a")], "/a", "w"),
    ],
)
def test_a_service_says_which_boot_script_it_supplies(labels: list[tuple[str, str]], boot: str, host: str) -> None:
    assert read_labels(labels) == Labels(boot=boot, boot_host=host)


def test_a_boot_script_without_a_path_is_proposal_0013s() -> None:
    assert BOOT_PATH == "/auto.ipxe"


@pytest.mark.parametrize(
    ("labels", "key", "told"),
    [
        ([("tinkbox.boot.ipxe", "")], "tinkbox.boot.ipxe", "expected the path of a boot script such as /auto.ipxe"),
        ([("tinkbox.boot.ipxe", "http://w/a")], "tinkbox.boot.ipxe", "expected the path of a boot script"),
        ([("boots.auto.ipxe", "auto.ipxe")], "boots.auto.ipxe", "expected the path of a boot script"),
        ([("boots.auto.ipxe", "http://w:80/a")], "boots.auto.ipxe", "routes are at the node door"),
        (
            [("boots.auto.ipxe", ""), ("tinkbox.boot.ipxe", "/b")],
            "tinkbox.boot.ipxe",
            "boots.auto.ipxe says /auto.ipxe",
        ),
    ],
)
def test_a_boot_script_that_is_none_is_refused(labels: list[tuple[str, str]], key: str, told: str) -> None:
    ((found, text),) = problems(*labels)
    assert found == key
    assert text.startswith(told)


def test_what_is_wrong_with_a_url_is_told_with_its_place() -> None:
    ((key, text),) = problems(urls=["http://w/a", "http://w:80/b"])
    assert key == "urls[1]"
    assert "leave out :80" in text


def test_everything_that_is_wrong_is_told_at_once() -> None:
    told = problems(
        ("traefik.http.routers.r.tls", "true"),
        ("traefik.http.routers.r.rule", "Path(`a`)"),
        ("traefik.http.routers.r.priority", "high"),
        ("tinkbox.publc", "true"),
        ("tinkbox.public", "yes"),
        urls=["w/a"],
    )
    assert [key for key, _ in told] == [
        "traefik.http.routers.r.tls",
        "tinkbox.publc",
        "traefik.http.routers.r.rule",
        "traefik.http.routers.r.priority",
        "urls[0]",
        "tinkbox.public",
    ]
    with pytest.raises(Invalid, match=r"^tinkbox\.public: expected true or false, not 'yes'$"):
        read_labels([("tinkbox.public", "yes")])
    with pytest.raises(Invalid, match=r"^traefik\.enable: expected true or false, not 'no' \(and 1 more\)$"):
        read_labels([("tinkbox.public", "yes"), ("traefik.enable", "no")])


NAMES = st.sampled_from(
    [
        "traefik.enable",
        "traefik.http.routers.r.rule",
        "traefik.http.routers.r.service",
        "traefik.http.routers.r.middlewares",
        "traefik.http.routers.r.priority",
        "traefik.http.services.s.loadbalancer.server.port",
        "traefik.http.middlewares.m.stripprefix.prefixes",
        "traefik.http.middlewares.n.addprefix.prefix",
        "tinkbox.public",
        "tinkbox.boot.ipxe",
        "boots.auto.ipxe",
        "com.example",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        ["true", "false", "Host(`a`)", "Path(`/a`)", "s", "m", "m,n", "/a", "/a,/b", "8080", "http://w/a", ""]
    ),
    st.text(),
)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=12), st.lists(VALUES, max_size=3))
def test_any_labels_are_read_or_refused_with_their_problems(labels: list[tuple[str, str]], urls: list[str]) -> None:
    try:
        read = read_labels(labels, urls)
    except Invalid as refusal:
        known = {name for name, _ in labels} | {f"urls[{index}]" for index in range(len(urls))}
        unknown = [problem.key for problem in refusal.problems if problem.key not in known]
    else:
        unknown = []
        for each in read.routes:
            path, _ = each.rewritten("/a/b")
            assert path.startswith("/")
    assert not unknown
