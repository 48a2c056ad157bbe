"""The OCI distribution protocol, request by request, friendly and hostile."""

import asyncio
import hashlib
import io
import json
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientConnectionError, ClientResponse, ClientSession, encode_basic_auth

from tests.integration.registry.serving import (
    ANNAS,
    LOOKER,
    OPERATOR,
    Registry,
    configuration,
    descriptor,
    digest_of,
    layer,
    manifest,
    run,
    serving,
    until,
)
from tinkbox.registry.manifests.referrers import page_of

ROOT = Path(__file__).parents[3]
CONTENT = bytes(range(256)) * 9000  # more than two pieces of a mebibyte
DIGEST = digest_of(CONTENT)
OTHER = digest_of(b"something else")
ANYBODY = {"Authorization": "Bearer anonymous"}
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def sha512(content: bytes) -> str:
    return f"sha512:{hashlib.sha512(content).hexdigest()}"


async def code_of(answer: ClientResponse) -> str:
    return (await answer.json())["errors"][0]["code"]


async def test_a_client_is_challenged_and_anybody_gets_a_token_to_pull(registry: Registry) -> None:
    answer = await registry.http.get("/v2/")
    assert answer.status == 401
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge == f'Bearer realm="http://{registry.host}/v2/token",service="tinkbox"'
    assert answer.headers["Docker-Distribution-Api-Version"] == "registry/2.0"
    token = (await (await registry.http.get("/v2/token?scope=repository:x:pull")).json())["token"]
    assert (await registry.http.get("/v2/", headers={"Authorization": f"Bearer {token}"})).status == 200
    digest = await registry.push_blob(b"x")
    assert (await registry.http.get(f"/v2/hello/blobs/{digest}")).status == 200


async def test_only_the_operators_password_gets_a_token_to_push(registry: Registry, token: str) -> None:
    for password, status in ((token, 200), ("wrong", 401), ("", 401)):
        headers = {"Authorization": encode_basic_auth("me", password)}
        answer = await registry.http.get("/v2/token", headers=headers)
        assert answer.status == status
        assert (await registry.http.get("/v2/", headers=headers)).status == status
    assert (await registry.http.get("/v2/token", headers={"Authorization": "Bearer anonymous"})).status == 401


async def test_a_token_to_push_with_is_another_than_the_operators_and_ends(registry: Registry, token: str) -> None:
    answer = await registry.http.get("/v2/token", headers={"Authorization": encode_basic_auth("me", token)})
    given = await answer.json()
    assert token not in await answer.text()
    bearer = {"Authorization": f"Bearer {given['token']}"}

    async def begins(headers: dict[str, str]) -> int:
        return (await registry.http.post("/v2/x/blobs/uploads/", headers=headers)).status

    assert await begins(bearer) == 202
    assert (await registry.http.get("/v2/", headers=bearer)).status == 200
    until, name, mark = given["token"].split(".")
    others = b"anna@example".hex()
    for forged in (
        f"{int(until) + 1}.{name}.{mark}",
        f"{until}.{others}.{mark}",
        f"{until}.{name}.",
        f"{until}.{name}",
        f"{until}.{mark}",
        f"{until}.{name}.é",
        f"{until}.é.{mark}",
        until,
    ):
        assert await begins({"Authorization": encode_basic_auth("me", forged, encoding="utf-8")}) == 401
    assert (await registry.http.get("/v2/token", headers=bearer)).status == 401, "or it would never end"
    registry.clock.advance(seconds=given["expires_in"] - 1)
    assert await begins(bearer) == 202
    registry.clock.advance(seconds=1)
    assert await begins(bearer) == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v2/x/blobs/uploads/"),
        ("POST", f"/v2/x/blobs/uploads/?digest={DIGEST}"),
        ("POST", f"/v2/x/blobs/uploads/?mount={DIGEST}&from=y"),
        ("PATCH", "/v2/x/blobs/uploads/1"),
        ("PUT", f"/v2/x/blobs/uploads/1?digest={DIGEST}"),
        ("GET", "/v2/x/blobs/uploads/1"),
        ("DELETE", "/v2/x/blobs/uploads/1"),
        ("PUT", "/v2/x/manifests/v1"),
        ("DELETE", "/v2/x/manifests/v1"),
        ("DELETE", f"/v2/x/blobs/{DIGEST}"),
    ],
)
async def test_whoever_is_not_the_operator_writes_nothing(registry: Registry, method: str, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer "}):
        async with registry.http.request(method, path, headers=headers, data=io.BytesIO(CONTENT)) as answer:
            assert (answer.status, await code_of(answer)) == (401, "UNAUTHORIZED")
    for headers in (LOOKER, ANYBODY):  # they have said who they are
        async with registry.http.request(method, path, headers=headers, data=io.BytesIO(CONTENT)) as answer:
            assert (answer.status, await code_of(answer), "WWW-Authenticate" in answer.headers) == (
                403,
                "DENIED",
                False,
            )
    assert registry.leftovers() == []
    assert registry.blobs() == set()


async def test_somebody_who_is_known_and_may_not_push_cannot_log_in_to_push(registry: Registry) -> None:
    for path in ("/v2/", "/v2/token"):
        async with registry.http.get(path, headers=LOOKER) as answer:
            assert (answer.status, await code_of(answer)) == (403, "DENIED")


async def test_a_blob_in_chunks(registry: Registry) -> None:
    answer = await registry.operator.post("/v2/tools/x/blobs/uploads/")
    assert (answer.status, answer.headers["Range"]) == (202, "0-0")
    place = answer.headers["Location"]
    first, second, last = CONTENT[:1_500_000], CONTENT[1_500_000:1_500_010], CONTENT[1_500_010:]
    answer = await registry.operator.patch(
        place, data=io.BytesIO(first), headers={"Content-Range": f"0-{len(first) - 1}"}
    )
    assert (answer.status, answer.headers["Range"]) == (202, f"0-{len(first) - 1}")
    answer = await registry.operator.patch(place, data=second)
    assert (answer.status, answer.headers["Range"]) == (202, "0-1500009")
    answer = await registry.operator.get(place)
    assert (answer.status, answer.headers["Range"], answer.headers["Location"]) == (204, "0-1500009", place)
    assert registry.blobs() == set()
    answer = await registry.operator.put(f"{place}?digest={DIGEST}", data=io.BytesIO(last))
    assert (answer.status, answer.headers["Location"]) == (201, f"/v2/tools/x/blobs/{DIGEST}")
    assert answer.headers["Docker-Content-Digest"] == DIGEST
    assert await (await registry.http.get(answer.headers["Location"])).read() == CONTENT
    assert (await registry.operator.get(place)).status == 404
    assert registry.leftovers() == []


@pytest.mark.parametrize(
    "content_range", ["5-9", "1-10", "0-", "x", "0-8", "9-0", "0-99999999999999999999", "bytes 0-9"]
)
async def test_a_chunk_out_of_order_is_a_416_and_the_upload_goes_on(registry: Registry, content_range: str) -> None:
    place = (await registry.operator.post("/v2/x/blobs/uploads/")).headers["Location"]
    answer = await registry.operator.patch(place, data=b"0123456789", headers={"Content-Range": content_range})
    assert (answer.status, await code_of(answer)) == (416, "BLOB_UPLOAD_INVALID")
    answer = await registry.operator.put(f"{place}?digest={digest_of(b'fine')}", data=b"fine")
    assert answer.status == 201


@pytest.mark.parametrize(
    "digest", [OTHER, "", "sha256:1", "sha512:" + "a" * 128, "sha384:" + "a" * 96, "sha256:../../../etc/passwd"]
)
async def test_a_blob_with_another_digest_is_not_kept_until_its_own_is_told(registry: Registry, digest: str) -> None:
    answer = await registry.operator.post("/v2/x/blobs/uploads/", params={"digest": digest}, data=io.BytesIO(CONTENT))
    assert (answer.status, await code_of(answer)) == (400, "DIGEST_INVALID")
    assert registry.leftovers() == []
    place = (await registry.operator.post("/v2/x/blobs/uploads/")).headers["Location"]
    answer = await registry.operator.put(place, params={"digest": digest}, data=io.BytesIO(CONTENT))
    assert (answer.status, await code_of(answer)) == (400, "DIGEST_INVALID")
    assert registry.blobs() == set()
    assert (await registry.operator.put(place, params={"digest": DIGEST})).status == 201
    assert registry.leftovers() == []


async def test_an_upload_that_goes_on_after_a_wrong_digest_is_hashed_anew(registry: Registry) -> None:
    place = (await registry.operator.post("/v2/x/blobs/uploads/")).headers["Location"]
    whole = "sha512:" + hashlib.sha512(b"one, two").hexdigest()
    assert (await registry.operator.put(place, params={"digest": whole}, data=b"one, ")).status == 400
    assert (await registry.operator.put(place, params={"digest": whole}, data=b"two")).status == 201


async def test_a_mount_finds_what_is_here_and_else_begins_an_upload(registry: Registry) -> None:
    await registry.push_blob(CONTENT, "one")
    answer = await registry.operator.post(f"/v2/two/blobs/uploads/?mount={DIGEST}&from=one")
    assert (answer.status, answer.headers["Location"]) == (201, f"/v2/two/blobs/{DIGEST}")
    assert (await registry.operator.head(answer.headers["Location"])).status == 200
    answer = await registry.operator.post(f"/v2/three/blobs/uploads/?mount={DIGEST}")
    assert answer.status == 201, "blobs are shared, so that nobody needs to know where one is"
    answer = await registry.operator.post(f"/v2/two/blobs/uploads/?mount={OTHER}&from=one")
    assert (answer.status, "Location" in answer.headers) == (202, True)


async def test_a_cancelled_upload_leaves_nothing(registry: Registry) -> None:
    place = (await registry.operator.post("/v2/x/blobs/uploads/")).headers["Location"]
    await registry.operator.patch(place, data=io.BytesIO(CONTENT))
    assert len(registry.leftovers()) == 1
    assert (await registry.operator.delete(place)).status == 204
    assert registry.leftovers() == []
    answer = await registry.operator.patch(place, data=b"x")
    assert (answer.status, await code_of(answer)) == (404, "BLOB_UPLOAD_UNKNOWN")


async def test_an_upload_broken_off_can_be_taken_up_again(
    registry: Registry, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = (await registry.operator.post("/v2/x/blobs/uploads/")).headers["Location"]
    half = len(CONTENT) // 2
    host, _, port = registry.host.partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"PATCH {place} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(CONTENT)}\r\n\r\n"
    )
    writer.write(head.encode() + CONTENT[:half])
    await writer.drain()
    await until(lambda: registry.leftovers()[0].stat().st_size > 0)
    writer.close()
    await writer.wait_closed()
    answer = await registry.operator.patch(place, data=b"")  # waits for its turn, after the broken one's
    arrived = int(answer.headers["Range"].removeprefix("0-")) + 1
    assert 0 < arrived <= half
    rest = {"Content-Range": f"{arrived}-{len(CONTENT) - 1}"}
    answer = await registry.operator.patch(place, data=io.BytesIO(CONTENT[arrived:]), headers=rest)
    assert answer.status == 202
    assert (await registry.operator.put(f"{place}?digest={DIGEST}")).status == 201
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_blob_is_served_whole_in_part_and_as_a_head(registry: Registry) -> None:
    await registry.push_blob(CONTENT)
    path = f"/v2/hello/blobs/{DIGEST}"
    answer = await registry.http.head(path, headers=ANYBODY)
    assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(CONTENT)))
    assert answer.headers["Docker-Content-Digest"] == DIGEST
    answer = await registry.http.get(path, headers={"Range": "bytes=1000-1999"})
    assert (answer.status, answer.headers["Content-Range"]) == (206, f"bytes 1000-1999/{len(CONTENT)}")
    assert await answer.read() == CONTENT[1000:2000]
    answer = await registry.http.get(path, headers={"Range": f"bytes={len(CONTENT)}-"})
    assert answer.status == 416
    answer = await registry.http.get(f"/v2/hello/blobs/{OTHER}")
    assert (answer.status, await code_of(answer)) == (404, "BLOB_UNKNOWN")
    for none in ("sha256:12", "sha384:" + "a" * 96, "latest"):
        answer = await registry.http.get(f"/v2/hello/blobs/{none}")
        assert (answer.status, await code_of(answer)) == (404, "BLOB_UNKNOWN")


async def test_a_flipped_bit_on_the_disk_is_never_served_and_a_push_heals_it(registry: Registry) -> None:
    await registry.push_blob(CONTENT)
    path = registry.blob_path(DIGEST)
    damaged = bytearray(CONTENT)
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    for status, code in ((503, "UNKNOWN"), (404, "BLOB_UNKNOWN")):
        answer = await registry.http.get(f"/v2/hello/blobs/{DIGEST}", headers={"Range": "bytes=0-9"})
        assert (answer.status, await code_of(answer)) == (status, code)
    await registry.push_blob(CONTENT)
    assert await (await registry.http.get(f"/v2/hello/blobs/{DIGEST}")).read() == CONTENT


async def test_a_damaged_manifest_is_never_served(registry: Registry) -> None:
    digest = await registry.push_image()
    path = registry.blob_path(digest)
    path.write_bytes(path.read_bytes().replace(b"2", b"3", 1))
    answer = await registry.http.get("/v2/hello/manifests/v1")
    assert (answer.status, await code_of(answer)) == (503, "UNKNOWN")


async def test_a_manifest_is_served_as_it_was_pushed(registry: Registry) -> None:
    digest = await registry.push_image(tag="v1")
    for selector in ("v1", digest):
        answer = await registry.http.get(f"/v2/hello/manifests/{selector}")
        assert answer.status == 200
        assert answer.headers["Docker-Content-Digest"] == digest == digest_of(await answer.read())
        assert answer.content_type == "application/vnd.docker.distribution.manifest.v2+json"
        head = await registry.http.head(f"/v2/hello/manifests/{selector}")
        assert head.headers["Content-Length"] == answer.headers["Content-Length"]
        assert head.headers["Docker-Content-Digest"] == digest
    for path in ("hello/manifests/v2", f"hello/manifests/{OTHER}", "other/manifests/v1", f"other/manifests/{digest}"):
        answer = await registry.http.get(f"/v2/{path}")
        assert (answer.status, await code_of(answer)) == (404, "MANIFEST_UNKNOWN")


async def test_a_manifest_needs_its_blobs(registry: Registry) -> None:
    content = layer({"a": b"1"})
    config = configuration([content])
    await registry.push_blob(config)
    answer = await registry.put_manifest("hello", "v1", manifest(config, [content]))
    assert (answer.status, await code_of(answer)) == (404, "MANIFEST_BLOB_UNKNOWN")
    await registry.push_blob(content)
    wrong = manifest(config, [content]).replace(f'"size": {len(content)}'.encode(), b'"size": 1')
    answer = await registry.put_manifest("hello", "v1", wrong)
    assert (answer.status, await code_of(answer)) == (400, "MANIFEST_INVALID")
    answer = await registry.put_manifest("hello", OTHER, manifest(config, [content]))
    assert (answer.status, await code_of(answer)) == (400, "MANIFEST_INVALID")
    assert (await registry.http.get("/v2/hello/manifests/v1")).status == 404
    answer = await registry.put_manifest("hello", "v1", manifest(config, [content]))
    assert answer.status == 201
    assert answer.headers["Location"] == f"/v2/hello/manifests/{digest_of(manifest(config, [content]))}"


async def test_an_index_may_be_sparse(registry: Registry) -> None:
    """Some of its manifests may be missing, or be in another repository alone: they cannot be pulled from this one."""
    member = await registry.push_image("hello", "member")
    content = await (await registry.http.get("/v2/hello/manifests/member")).read()
    entry = descriptor(content, "application/vnd.docker.distribution.manifest.v2+json")
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}).encode()
    assert (await registry.put_manifest("other", "all", index, INDEX)).status == 201
    answer = await registry.http.get(f"/v2/other/manifests/{member}")
    assert (answer.status, await code_of(answer)) == (404, "MANIFEST_UNKNOWN")
    missing = {**entry, "digest": OTHER}
    sparse = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry, missing]}).encode()
    assert (await registry.put_manifest("hello", "sparse", sparse, INDEX)).status == 201
    assert (await registry.http.get(f"/v2/hello/manifests/{OTHER}")).status == 404
    assert {line["problem"] for line in await registry.store.images()} == {""}
    wrong = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [{**entry, "size": 1}]}).encode()
    answer = await registry.put_manifest("hello", "wrong", wrong, INDEX)
    assert (answer.status, await code_of(answer)) == (400, "MANIFEST_INVALID")
    assert (await registry.put_manifest("hello", "all", index, INDEX)).status == 201
    answer = await registry.http.get("/v2/hello/manifests/all")
    assert (answer.content_type, await answer.read()) == (INDEX, index)
    assert (await registry.http.get(f"/v2/hello/manifests/{member}")).status == 200


@pytest.mark.parametrize("selector", [".INVALID", "a" * 129, "sha256:12", "sha384:" + "a" * 96, "a@b"])
async def test_what_can_be_no_tag_is_not_here_and_is_refused_to_a_push(registry: Registry, selector: str) -> None:
    await registry.push_image("x", "v1")
    before = registry.blobs()
    for answer in (
        await registry.http.get(f"/v2/x/manifests/{selector}"),
        await registry.operator.delete(f"/v2/x/manifests/{selector}"),
    ):
        assert (answer.status, await code_of(answer)) == (404, "MANIFEST_UNKNOWN")
    body = await (await registry.http.get("/v2/x/manifests/v1")).read() + b" "
    answer = await registry.put_manifest("x", selector, body)
    assert (answer.status, await code_of(answer)) == (400, "MANIFEST_INVALID")
    assert registry.blobs() == before


@pytest.mark.parametrize("name", ["A", "a//b", "_x", "a" * 256])
async def test_what_can_be_no_repository_is_not_here_and_is_refused_to_a_push(registry: Registry, name: str) -> None:
    for path in (f"/v2/{name}/manifests/v1", f"/v2/{name}/tags/list", f"/v2/{name}/referrers/{OTHER}"):
        answer = await registry.http.get(path)
        assert (answer.status, await code_of(answer)) == (404, "NAME_INVALID")
    pushes = (("PUT", "manifests/v1"), ("POST", "blobs/uploads/"))
    for method, place in pushes:
        answer = await registry.operator.request(method, f"/v2/{name}/{place}", data=b"{}")
        assert (answer.status, await code_of(answer)) == (400, "NAME_INVALID")


@pytest.mark.parametrize("body", [b"", b"{}", b"[" * 100_000, b"\xff", b" " * (5 << 20)])
async def test_what_is_no_manifest_is_refused(registry: Registry, body: bytes) -> None:
    answer = await registry.put_manifest("hello", "v1", body)
    assert (answer.status, await code_of(answer)) in ((400, "MANIFEST_INVALID"), (413, "SIZE_INVALID"))
    assert registry.blobs() == set()


async def test_tags_and_repositories_are_listed_in_pages(registry: Registry) -> None:
    for tag in ("v1", "v2", "v3"):
        await registry.push_image("tools/x", tag)
    await registry.push_image("other", "latest")
    assert await (await registry.http.get("/v2/tools/x/tags/list")).json() == {
        "name": "tools/x",
        "tags": ["v1", "v2", "v3"],
    }
    answer = await registry.http.get("/v2/tools/x/tags/list?n=2")
    assert (await answer.json())["tags"] == ["v1", "v2"]
    assert answer.headers["Link"] == '</v2/tools/x/tags/list?n=2&last=v2>; rel="next"'
    answer = await registry.http.get("/v2/tools/x/tags/list?n=2&last=v2")
    assert ((await answer.json())["tags"], "Link" in answer.headers) == (["v3"], False)
    assert (await (await registry.http.get("/v2/_catalog")).json()) == {"repositories": ["other", "tools/x"]}
    assert (await (await registry.http.get("/v2/tools/x/tags/list?n=0")).json())["tags"] == []
    for path, code in (("/v2/none/tags/list", "NAME_UNKNOWN"), ("/v2/_catalog?n=-1", "PAGINATION_NUMBER_INVALID")):
        assert await code_of(await registry.http.get(path)) == code


async def test_the_log_names_an_image_that_comes_or_goes_and_the_person(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await registry.push_image("x", "v1")
    asked = {"Authorization": encode_basic_auth("me", ANNAS)}
    fetched = await (await registry.http.get("/v2/token", headers=asked)).json()
    annas = {"Authorization": f"Bearer {fetched['token']}"}
    pulled = await registry.http.get("/v2/x/manifests/v1")
    headers = {**annas, "Content-Type": pulled.content_type}
    pushed = await registry.http.put("/v2/x/manifests/v2", data=io.BytesIO(await pulled.read()), headers=headers)
    assert pushed.status == 201
    assert (await registry.http.delete("/v2/x/manifests/v1", headers=annas)).status == 202
    assert (await registry.http.delete("/v2/x/manifests/v2", headers=asked)).status == 202
    said = [each.getMessage() for each in caplog.records]
    assert [each for each in said if each.startswith("image ")] == [
        "image stored by operator: x, v1",
        "image stored by anna@example: x, v2",
        "image deleted by anna@example: x:v1",
        "image deleted by anna@example: x:v2",
    ]


async def test_a_deleted_tag_is_gone(registry: Registry) -> None:
    await registry.push_image("x", "v1")
    digest = await registry.push_image("x", "v2", "other")
    assert (await registry.operator.delete("/v2/x/manifests/v1")).status == 202
    assert (await registry.http.get("/v2/x/manifests/v1")).status == 404
    assert (await registry.operator.delete(f"/v2/x/manifests/{digest}")).status == 202
    assert (await registry.operator.delete(f"/v2/x/manifests/{digest}")).status == 404
    assert (await registry.http.get("/v2/x/tags/list")).status == 404
    assert await registry.left() == set()


async def raw(registry: Registry, target: str) -> bytes:
    """Ask with a path that no client library would send."""
    host, _, port = registry.host.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {target} HTTP/1.1\r\nHost: {registry.host}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize(
    "target",
    [
        "/v2/../../etc/passwd",
        "/v2/x/blobs/../../../../../etc/passwd",
        "/v2/x/blobs/%2e%2e%2f%2e%2e%2fsecret",
        "/v2/%2e%2e/secret/manifests/v1",
        "/v2/x/manifests/..%2f..%2f..%2f..%2fsecret",
        "/v2/x/manifests/%2fsecret",
        "/v2/_tags/manifests/v1",
        "/v2/x/_manifests/manifests/v1",
        "/v2/x%00/manifests/v1",
        "/v2/x/manifests/v1%00",
        "/v2/x/manifests/" + "a" * 5000,
        "/v2/" + "a/" * 2000 + "manifests/v1",
        "/v2/x/blobs/uploads/../../secret",
        "/v2//tags/list",
        "/v2/x/tags/list?last=%ff%00",
    ],
)
async def test_no_path_leads_out(registry: Registry, target: str) -> None:
    (registry.root / "secret").write_text("the secret")
    (registry.root.parent / "secret").write_text("the secret")
    answer = await raw(registry, target)
    assert answer.split()[1] in (b"400", b"401", b"404"), answer
    assert b"the secret" not in answer


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "GET"])
async def test_what_is_not_there_is_an_oci_error(registry: Registry, method: str) -> None:
    answer = await registry.operator.request(method, "/v2/x/elsewhere")
    assert (answer.status, await code_of(answer)) == (404, "NAME_UNKNOWN")


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v2/", "GET, HEAD"),
        ("/v2/token", "GET, HEAD"),
        ("/v2/_catalog", "GET, HEAD"),
        ("/v2/x/tags/list", "GET, HEAD"),
        ("/v2/x/blobs/uploads/", "POST"),
        ("/v2/x/blobs/uploads/1", "DELETE, GET, HEAD, PATCH, PUT"),
        (f"/v2/x/blobs/{DIGEST}", "DELETE, GET, HEAD"),
        (f"/v2/x/referrers/{DIGEST}", "GET, HEAD"),
        ("/v2/x/manifests/v1", "DELETE, GET, HEAD, PUT"),
    ],
)
async def test_a_method_that_a_path_has_not_is_unsupported(registry: Registry, path: str, methods: str) -> None:
    for method in {"DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"} - set(methods.split(", ")):
        answer = await registry.operator.request(method, path)
        assert (answer.status, await code_of(answer), answer.headers["Allow"]) == (405, "UNSUPPORTED", methods)


async def test_a_blob_that_nothing_needs_can_be_deleted(registry: Registry) -> None:
    path = f"/v2/x/blobs/{await registry.push_blob(CONTENT)}"
    assert (await registry.operator.delete(path)).status == 202
    for answer in (await registry.http.get(path), await registry.operator.delete(path)):
        assert (answer.status, await code_of(answer)) == (404, "BLOB_UNKNOWN")


async def test_a_blob_that_an_image_needs_cannot_be_deleted(registry: Registry) -> None:
    image = await registry.push_image("x", "v1")
    before = registry.blobs()
    for digest in before:
        answer = await registry.operator.delete(f"/v2/other/blobs/{digest}")
        (error,) = (await answer.json())["errors"]
        assert (answer.status, error["code"], answer.headers["Allow"]) == (405, "UNSUPPORTED", "GET, HEAD")
        assert image in error["message"]
    assert registry.blobs() == before


async def test_a_head_of_a_blob_without_a_word_of_who_asks_is_challenged(registry: Registry) -> None:
    """containerd asks for all blobs, and where all are here, it sends the manifest: it must know by then that it has to log in."""
    path = f"/v2/x/blobs/{await registry.push_blob(CONTENT)}"
    answer = await registry.http.head(path)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer realm=")
    assert (await registry.http.head(path, headers=ANYBODY)).status == 200
    assert (await registry.operator.head(path)).status == 200
    registry.clock.advance(hours=2)
    await registry.push_image("y", "v1")
    assert (await registry.operator.head(path)).status == 200


async def push_signature(registry: Registry, subject: str, artifact_type: str, note: str = "") -> bytes:
    """A manifest that refers to another, as oras and cosign make them."""
    empty = descriptor(b"{}", "application/vnd.oci.empty.v1+json")
    await registry.push_blob(b"{}", "x")
    signature = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": artifact_type,
        "config": empty,
        "layers": [empty],
        "subject": {"mediaType": MANIFEST, "digest": subject, "size": 1},
        "annotations": {"note": note},
    }
    content = json.dumps(signature).encode()
    answer = await registry.operator.put(f"/v2/x/manifests/{digest_of(content)}", data=content)
    assert (answer.status, answer.headers["OCI-Subject"]) == (201, subject)
    return content


async def test_what_refers_to_an_image_is_listed(registry: Registry) -> None:
    """OCI distribution-spec 1.1, "Listing Referrers"."""
    image = await registry.push_image("x", "v1")
    signature = await push_signature(registry, image, "a/signature", "mine")
    bill = await push_signature(registry, image, "a/bill+json")
    await push_signature(registry, OTHER, "a/signature")

    async def listed(path: str) -> tuple[dict[str, dict[str, str]], str | None]:
        answer = await registry.http.get(path)
        assert (answer.status, answer.headers["Content-Type"]) == (200, INDEX)
        index = json.loads(await answer.read())
        assert (index["schemaVersion"], index["mediaType"]) == (2, INDEX)
        return {each["digest"]: each for each in index["manifests"]}, answer.headers.get("OCI-Filters-Applied")

    found, applied = await listed(f"/v2/x/referrers/{image}")
    assert (set(found), applied) == ({digest_of(signature), digest_of(bill)}, None)
    assert found[digest_of(signature)] == {
        **descriptor(signature, MANIFEST),
        "artifactType": "a/signature",
        "annotations": {"note": "mine"},
    }
    found, applied = await listed(f"/v2/x/referrers/{image}?artifactType=a%2Fbill%2Bjson")
    assert (set(found), applied) == ({digest_of(bill)}, "artifactType")
    for nothing in (f"/v2/x/referrers/{digest_of(bill)}", f"/v2/none/referrers/{image}"):
        assert (await listed(nothing))[0] == {}
    await registry.store.delete(f"x@{digest_of(bill)}", who="anna")
    assert set((await listed(f"/v2/x/referrers/{image}"))[0]) == {digest_of(signature)}
    answer = await registry.http.get("/v2/x/referrers/sha256:12")
    assert (answer.status, await code_of(answer)) == (400, "DIGEST_INVALID")


async def test_a_referrer_may_come_before_its_subject(registry: Registry) -> None:
    content = layer({"hello.txt": b"hello"})
    image = digest_of(manifest(configuration([content]), [content]))
    signature = await push_signature(registry, image, "a/signature")
    assert await registry.push_image("x", "v1") == image
    answer = await registry.http.get(f"/v2/x/referrers/{image}")
    assert [each["digest"] for each in json.loads(await answer.read())["manifests"]] == [digest_of(signature)]


async def test_what_is_told_of_a_referrer_is_encoded_once(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may ask, and annotations may have megabytes."""
    image = await registry.push_image("x", "v1")
    signature = await push_signature(registry, image, "a/signature")

    def again(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("tinkbox.registry.manifests.parsed_manifests.referrer", again)
    for _ in range(2):
        answer = await registry.http.get(f"/v2/x/referrers/{image}")
        assert [each["digest"] for each in json.loads(await answer.read())["manifests"]] == [digest_of(signature)]


async def test_many_referrers_come_in_pages(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.registry.storage.page_of", lambda found, last: page_of(found, last, 600))
    image = await registry.push_image("x", "v1")
    pushed = {digest_of(await push_signature(registry, image, "a/b+c", str(number))) for number in range(5)}
    found: list[str] = []
    path: str | None = f"/v2/x/referrers/{image}?artifactType=a%2Fb%2Bc"
    while path:
        answer = await registry.http.get(path)
        found += [each["digest"] for each in json.loads(await answer.read())["manifests"]]
        link = answer.headers.get("Link", "")
        assert link.endswith('>; rel="next"') or not link
        path = link.removesuffix('>; rel="next"').removeprefix("<")
    assert (len(found), set(found)) == (5, pushed)


async def test_what_refers_to_an_image_is_found_by_the_tag_that_older_clients_write(registry: Registry) -> None:
    """OCI distribution-spec 1.1, "Referrers Tag Schema"."""
    image = await registry.push_image("x", "v1")
    content = await push_signature(registry, image, "a/signature")
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor(content, MANIFEST)]}
    tag = image.replace(":", "-")
    assert (await registry.operator.put(f"/v2/x/manifests/{tag}", data=json.dumps(index).encode())).status == 201
    found = await registry.http.get(f"/v2/x/manifests/{tag}")
    assert json.loads(await found.read()) == index


async def test_a_blob_by_its_sha512_digest(registry: Registry) -> None:
    path = f"/v2/x/blobs/{sha512(CONTENT)}"
    answer = await registry.operator.post(
        "/v2/x/blobs/uploads/", params={"digest": sha512(CONTENT)}, data=io.BytesIO(CONTENT)
    )
    assert (answer.status, answer.headers["Docker-Content-Digest"]) == (201, sha512(CONTENT))
    answer = await registry.http.get(path)
    assert (answer.headers["Docker-Content-Digest"], await answer.read()) == (sha512(CONTENT), CONTENT)
    assert (await registry.http.get(f"/v2/x/blobs/{DIGEST}")).status == 404
    assert (await registry.operator.delete(path)).status == 202
    place = (await registry.operator.post("/v2/x/blobs/uploads/?digest-algorithm=sha512")).headers["Location"]
    await registry.operator.patch(place, data=io.BytesIO(CONTENT))
    assert (await registry.operator.put(place, params={"digest": sha512(CONTENT)})).status == 201
    answer = await registry.operator.post("/v2/x/blobs/uploads/?digest-algorithm=md5")
    assert (answer.status, await code_of(answer)) == (400, "DIGEST_INVALID")
    assert registry.leftovers() == []


async def test_a_manifest_by_its_sha512_digest(registry: Registry) -> None:
    content = layer({"a": b"1"})
    config = configuration([content])
    for blob in (content, config):
        params = {"digest": sha512(blob)}
        assert (await registry.operator.post("/v2/x/blobs/uploads/", params=params, data=blob)).status == 201
    text = manifest(config, [content]).decode()
    for blob in (content, config):
        text = text.replace(digest_of(blob), sha512(blob))
    body = text.encode()
    assert (await registry.put_manifest("x", f"sha512:{'a' * 128}", body)).status == 400
    answer = await registry.put_manifest("x", f"{sha512(body)}?tag=v1", body)
    assert (answer.status, answer.headers["Docker-Content-Digest"]) == (201, sha512(body))
    for selector in ("v1", sha512(body)):
        answer = await registry.http.get(f"/v2/x/manifests/{selector}")
        assert (answer.headers["Docker-Content-Digest"], await answer.read()) == (sha512(body), body)
    (line,) = await registry.store.images()
    assert (line["tag"], line["digest"], line["problem"]) == ("v1", sha512(body), "")
    await registry.store.delete(f"x@{sha512(body)}", who="anna")
    await registry.left()
    assert list((registry.root / "blobs" / "sha512").iterdir()) == []


async def test_tags_come_with_a_manifest_by_its_digest(registry: Registry) -> None:
    """OCI distribution-spec, "Pushing Manifests": `tag` parameters."""
    digest = await registry.push_image("x", "v1")
    answer = await registry.http.get("/v2/x/manifests/v1")
    body, media_type = await answer.read(), answer.content_type
    wanted = [f"t{number}" for number in range(12)]
    query = "&".join(f"tag={tag}" for tag in (*wanted, "t0"))
    answer = await registry.put_manifest("x", f"{digest}?{query}", body, media_type)
    assert (answer.status, answer.headers["OCI-Tag"].split(", ")) == (201, wanted)
    assert (await (await registry.http.get("/v2/x/tags/list")).json())["tags"] == sorted([*wanted, "v1"])
    before = registry.blobs()
    other = body.replace(b'"schemaVersion"', b' "schemaVersion"')
    answer = await registry.put_manifest("x", f"{digest_of(other)}?tag=fine&tag=..", other, media_type)
    assert (answer.status, await code_of(answer)) == (400, "MANIFEST_INVALID")
    assert registry.blobs() == before, "of what is refused nothing is kept"


async def test_a_layer_from_elsewhere_need_not_be_here_and_is_kept_where_it_is(registry: Registry) -> None:
    foreign, content = layer({"windows": b"1"}), layer({"a": b"1"})
    config = configuration([foreign, content])
    for blob in (content, config):
        await registry.push_blob(blob)
    document = json.loads(manifest(config, [foreign, content]))
    document["layers"][0] |= {"urls": ["https://elsewhere.example/layer"]}
    body = json.dumps(document).encode()
    assert (await registry.put_manifest("x", "v1", body)).status == 201
    assert (await registry.store.images())[0]["problem"] == ""
    await registry.push_blob(foreign)
    assert (await registry.put_manifest("x", "v1", body)).status == 201
    await registry.push_image("other", "v1", "other")
    registry.clock.advance(hours=2)
    await registry.store.delete("other:v1", who="anna")
    assert digest_of(foreign) in registry.blobs()


async def test_a_cache_of_buildkit_keeps_the_layers_that_its_index_lists(registry: Registry) -> None:
    """An index whose members are no manifests, as `buildctl --export-cache type=registry` writes it."""
    content, config = b"a layer", b'{"layers":[],"records":[]}'
    for blob in (content, config):
        await registry.push_blob(blob)
    listed = [
        descriptor(content, "application/vnd.oci.image.layer.v1.tar+gzip"),
        descriptor(config, "application/vnd.buildkit.cacheconfig.v0"),
    ]
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed}).encode()
    assert (await registry.put_manifest("x", "cache", index, INDEX)).status == 201
    (line,) = await registry.store.images()
    assert (line["size"], line["problem"]) == (len(content) + len(config), "")
    await registry.push_image("other", "v1", "other")
    registry.clock.advance(hours=2)
    await registry.store.delete("other:v1", who="anna")
    assert registry.blobs() == {digest_of(each) for each in (content, config, index)}
    await registry.store.delete("x:cache", who="anna")
    assert registry.blobs() == set()


async def test_others_are_answered_while_a_large_blob_arrives(registry: Registry) -> None:
    """The slow client is in the middle of its blob, and sends the rest only when somebody else was served."""
    answered = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield CONTENT[:-1]
        await answered.wait()
        yield CONTENT[-1:]

    async def somebody_else() -> None:
        assert (await registry.http.get("/v2/_catalog")).status == 200
        answered.set()

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        sending = tasks.create_task(
            registry.operator.post(f"/v2/x/blobs/uploads/?digest={DIGEST}", data=slow()).__aenter__()
        )
        tasks.create_task(somebody_else())
    assert sending.result().status == 201


async def test_a_disk_that_runs_full_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    assert await run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small) == (0, "")
    try:
        async with serving(small / "registry") as registry:
            answer = await registry.operator.post(f"/v2/x/blobs/uploads/?digest={DIGEST}", data=io.BytesIO(CONTENT))
            assert answer.status == 507
            assert "disk is full" in (await answer.json())["errors"][0]["message"]
            assert (registry.blobs(), registry.leftovers()) == (set(), [])
            await registry.push_image()  # what still fits is still taken
            answer = await registry.http.get("/v2/hello/manifests/v1")
            assert answer.status == 200
    finally:
        assert await run("umount", small) == (0, "")


SERVER = """
import asyncio, sys
from pathlib import Path
from tests.integration.registry.serving import serving
async def main():
    async with serving(Path(sys.argv[1])) as registry:
        print(registry.host, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_a_kill_in_the_middle_of_an_upload_keeps_what_was_acknowledged_and_no_more(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, tmp_path, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            host = (await process.stdout.readline()).decode().strip()

        async def killed_midway() -> AsyncIterator[bytes]:
            yield CONTENT[:-1]
            await until(lambda: any(path.stat().st_size for path in (tmp_path / "incoming").iterdir()))
            process.kill()
            await process.wait()
            yield CONTENT[-1:]

        async with ClientSession(f"http://{host}", headers=OPERATOR) as client:
            acknowledged = b"acknowledged"
            answer = await client.post(f"/v2/x/blobs/uploads/?digest={digest_of(acknowledged)}", data=acknowledged)
            assert answer.status == 201
            with pytest.raises((ClientConnectionError, OSError)):
                await client.post(f"/v2/x/blobs/uploads/?digest={DIGEST}", data=killed_midway())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert list((tmp_path / "incoming").iterdir()) != []
    async with serving(tmp_path) as registry:
        assert registry.blobs() == {digest_of(acknowledged)}
        assert registry.leftovers() == []
        await registry.push_blob(CONTENT)


async def test_every_spelling_of_a_name_in_a_path_means_one_repository(registry: Registry) -> None:
    digest = await registry.push_image("docker.io/alpine", "v1")
    assert await registry.store.repositories() == ["docker.io/library/alpine"]
    assert registry.store.digest("docker.io/library/alpine", "v1") == digest
    for name in ("docker.io/alpine", "docker.io/library/alpine", "index.docker.io/alpine"):
        answer = await registry.http.get(f"/v2/{name}/manifests/v1")
        assert (answer.status, answer.headers["Docker-Content-Digest"]) == (200, digest)
        answer = await registry.http.get(f"/v2/{name}/tags/list", headers=ANYBODY)
        assert await answer.json() == {"name": name, "tags": ["v1"]}
    await registry.push_blob(b"{}")
    body = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(b"{}", "application/vnd.oci.empty.v1+json"),
            "layers": [],
            "subject": {"mediaType": MANIFEST, "digest": digest, "size": 1},
        }
    ).encode()
    assert (await registry.put_manifest("docker.io/alpine", "signed", body, MANIFEST)).status == 201
    answer = await registry.http.get(f"/v2/docker.io/alpine/referrers/{digest}", headers=ANYBODY)
    assert len((await answer.json(content_type=INDEX))["manifests"]) == 1
    assert (await registry.operator.delete("/v2/docker.io/alpine/manifests/v1")).status == 202
    assert registry.store.digest("docker.io/library/alpine", "v1") == ""
