"""From an entry to one exact image, at a publisher who may lie."""

import gzip
import hashlib
import json
import signal
from collections.abc import Callable
from types import FrameType

import pytest

from tests.integration.catalogue.conftest import IMAGE, NAME, SUMS, Client, sums_of
from tests.integration.catalogue.mirror import File, certificate_for, signer
from tinkbox.catalogue import resolving
from tinkbox.catalogue.fetching import Choices
from tinkbox.model.errors import Invalid, NotFound, TooLarge, Unavailable
from tinkbox.model.images.system_image import Verified

DIGEST = f"sha256:{hashlib.sha256(IMAGE).hexdigest()}"
UNVERIFIED = Choices(unverified=True)


async def test_checksums_over_https_prove_the_newest_image(client: Client) -> None:
    files = [("lab-9.raw", b"old"), (NAME, IMAGE), ("lab-20261101.raw.txt", b"no image")]
    client.mirror.publish({"/SUMS": sums_of(files)})
    found = await client.find(client.entry())
    assert (found.reference, found.url) == ("lab:20261101", f"{client.mirror.url}/{NAME}")
    assert (found.digest, found.size, found.verified) == (DIGEST, len(IMAGE), Verified.SUMS)


@pytest.mark.parametrize("of", ["sums", "inside-sums"])
async def test_a_signature_of_the_checksums_proves_more(client: Client, of: str) -> None:
    content = client.publisher.clear(SUMS) if of == "inside-sums" else SUMS
    client.mirror.publish({"/SUMS": content, "/SUMS.sig": client.publisher.detached(SUMS)})
    found = await client.find(client.entry(signature=client.signed(of)))
    assert found.verified is Verified.SIGNED
    assert found.signer == f"{client.publisher.fingerprint} (publisher <publisher@example.org>)"


@pytest.mark.parametrize("of", ["sums", "inside-sums"])
@pytest.mark.parametrize("fault", ["changed", "another key", "none"])
async def test_a_signature_that_proves_nothing_is_refused(client: Client, of: str, fault: str) -> None:
    key = signer("mallory") if fault == "another key" else client.publisher
    sums, detached = (key.clear(SUMS) if of == "inside-sums" else SUMS), key.detached(SUMS)
    if fault == "changed":
        sums = sums.replace(DIGEST[7:].encode(), hashlib.sha256(b"other").hexdigest().encode())
    if fault == "none":
        sums, detached = SUMS, b""
    client.mirror.publish({"/SUMS": sums, "/SUMS.sig": File(detached, status=404 if fault == "none" else 200)})
    entry = client.entry(signature=client.signed(of))
    with pytest.raises((Invalid, NotFound), match=r"^lab: the signature of .*/SUMS proves nothing: .*--unverified"):
        await client.find(entry)
    found = await client.find(entry, UNVERIFIED)
    assert (found.verified, len(found.doubts)) == (Verified.SUMS, 1)


async def test_the_refusal_names_the_key_that_signed_instead(client: Client) -> None:
    mallory = signer("mallory")
    client.mirror.publish({"/SUMS.sig": mallory.detached(SUMS)})
    with pytest.raises(Invalid, match=r"no trusted key signed it, but [0-9A-F]{40}"):
        await client.find(client.entry(signature=client.signed()))


@pytest.mark.parametrize("state", ["expired", "revoked"])
async def test_an_expired_or_revoked_key_is_refused(client: Client, state: str) -> None:
    client.mirror.publish({"/SUMS.sig": client.publisher.detached(SUMS)})
    getattr(client.publisher, state)().put(client.keys)
    why = "expired on 20" if state == "expired" else "was revoked"
    with pytest.raises(Invalid, match=rf"is not valid any more: {client.publisher.fingerprint} \(.*\) {why}"):
        await client.find(client.entry(signature=client.signed()))


async def test_a_key_that_is_not_here_is_named(client: Client) -> None:
    client.mirror.publish({"/SUMS.sig": client.publisher.detached(SUMS)})
    (client.keys / f"{client.publisher.fingerprint}.asc").unlink()
    with pytest.raises(Unavailable, match=f"there is no key {client.publisher.fingerprint}: put it as"):
        await client.find(client.entry(signature=client.signed()))


async def test_checksums_over_plain_http_prove_nothing(client: Client) -> None:
    entry = client.entry(f"{{kind: sums, sums: {client.mirror.plain}/SUMS, file: 'lab-(?P<version>.*)\\.raw'}}")
    with pytest.raises(Invalid, match=r"nothing proves what lab:20261101 is .*did not come over HTTPS.*--unverified"):
        await client.find(entry)
    assert (await client.find(entry, UNVERIFIED)).verified is Verified.NONE
    assert (await client.find(entry, Choices(digest=DIGEST))).verified is Verified.TYPED


async def test_checksums_are_not_followed_to_plain_http_unless_they_are_signed(client: Client) -> None:
    client.mirror.publish({"/real": SUMS, "/SUMS.sig": client.publisher.detached(SUMS)})
    client.mirror.publish({"/SUMS": File(place=f"{client.mirror.plain}/real")})
    with pytest.raises(Invalid, match="redirects from HTTPS to http://"):
        await client.find(client.entry())
    assert (await client.find(client.entry(signature=client.signed()))).verified is Verified.SIGNED


async def test_a_build_that_vanished_is_told(client: Client) -> None:
    del client.mirror.files[f"/{NAME}"]
    with pytest.raises(NotFound, match=r"lab: .*lab-20261101\.raw is gone, though its publisher still names it"):
        await client.find(client.entry())


@pytest.mark.parametrize("name", ["../lab-1.raw", "/etc/lab-1.raw", "a/../lab-1.raw", "lab-1.raw\x1b[2J", "lab-..raw"])
async def test_a_name_that_is_more_than_a_name_is_not_taken(client: Client, name: str) -> None:
    client.mirror.publish({"/SUMS": sums_of([(name, IMAGE)])})
    with pytest.raises(NotFound, match="names no file like"):
        await client.find(client.entry(f"{{kind: sums, sums: {client.mirror.url}/SUMS, file: '.*lab-[0-9]+\\.raw.*'}}"))


async def test_two_digests_of_one_file_are_refused(client: Client) -> None:
    client.mirror.publish({"/SUMS": sums_of([(NAME, IMAGE), (NAME, b"other")])})
    with pytest.raises(Invalid, match=r"two digests of lab-20261101\.raw"):
        await client.find(client.entry())


async def test_enormous_checksums_are_refused(client: Client) -> None:
    client.mirror.publish({"/SUMS": b"\n" * (5 << 20)})
    with pytest.raises(TooLarge, match="/SUMS has more than 4MiB"):
        await client.find(client.entry())


async def test_the_newest_of_a_listing_is_found_by_its_numbers(client: Client) -> None:
    page = "".join(f'<a href="v{each}/">' for each in ("3.9", "3.10", "3.2"))
    files = {"/list": page.encode(), "/v3.10/lab.raw": IMAGE, "/v3.10/lab.raw.sha256": DIGEST[7:].encode()}
    client.mirror.publish(files)
    found = await client.find(
        client.entry(
            f"""{{kind: listing, page: {client.mirror.url}/list, newest: '"v(?P<version>[0-9.]+)/"',
            file: "{client.mirror.url}/v{{version}}/lab.raw", sums: "{{file}}.sha256"}}"""
        )
    )
    assert (found.version, found.digest, found.size) == ("3.10", DIGEST, len(IMAGE))


async def test_a_signed_checksum_without_a_name_does_not_prove_another_image(client: Client) -> None:
    # What the publisher signed for another architecture, served beside this one.
    other = f"{hashlib.sha256(b'lab for arm').hexdigest()}\n".encode()
    client.mirror.publish(
        {"/list": b'"v1/"', "/lab.raw.sha256": other, "/lab.raw.sha256.sig": client.publisher.detached(other)}
    )
    resolver = f"""{{kind: listing, page: {client.mirror.url}/list, newest: '"v(?P<version>[0-9]+)/"',
        file: "{client.mirror.url}/lab.raw", sums: "{{file}}.sha256"}}"""
    with pytest.raises(Invalid, match=r"sha256 is signed, and does not say that its checksum is of lab\.raw"):
        await client.find(client.entry(resolver, client.signed()))
    named = f"{DIGEST[7:]}  lab.raw\n".encode()
    client.mirror.publish(
        {"/lab.raw": IMAGE, "/lab.raw.sha256": named, "/lab.raw.sha256.sig": client.publisher.detached(named)}
    )
    assert (await client.find(client.entry(resolver, client.signed()))).verified is Verified.SIGNED


async def test_an_image_without_checksums_is_taken_only_unverified_or_by_its_digest(client: Client) -> None:
    client.mirror.publish({"/versions": b'["v1.2.0", "v1.10.1", "v1.11.0-beta.0"]', "/v1.10.1.raw": IMAGE})
    entry = client.entry(
        f"""{{kind: listing, page: {client.mirror.url}/versions, newest: '"v(?P<version>[0-9.]+)"',
        file: "{client.mirror.url}/v{{version}}.raw"}}"""
    )
    with pytest.raises(Invalid, match=r"nothing proves what lab:1\.10\.1 is: give its digest"):
        await client.find(entry)
    assert (await client.find(entry, UNVERIFIED)).verified is Verified.NONE
    typed = await client.find(entry, Choices(digest=DIGEST))
    assert (typed.verified, typed.digest) == (Verified.TYPED, DIGEST)


STREAM = {"x86_64": {"release": "44.1", "disk": {"location": f"/{NAME}", "sha256": DIGEST[7:]}}}


@pytest.mark.parametrize("packed", [False, True])
async def test_a_stream_names_the_image_and_its_digest(client: Client, packed: bool) -> None:
    content = json.dumps(STREAM).encode()
    client.mirror.publish({"/stable": File(gzip.compress(content), encoding="gzip") if packed else content})
    found = await client.find(client.entry(stream(client)))
    assert (found.version, found.url, found.digest) == ("44.1", f"{client.mirror.url}/{NAME}", DIGEST)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"<html>", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"x86_64": []}', "has no x86_64 → release"),
        (json.dumps(STREAM).replace("44.1", "../x").encode(), "calls the version '../x'"),
        (json.dumps(STREAM).replace(DIGEST[7:], "md5").encode(), "its digest is 'md5'"),
        (json.dumps(STREAM).replace(f"/{NAME}", "file:///etc/passwd").encode(), "no URL to download from"),
    ],
)
async def test_a_stream_that_is_wrong_is_refused(client: Client, content: bytes, why: str) -> None:
    client.mirror.publish({"/stable": content})
    with pytest.raises((Invalid, NotFound, Unavailable), match=why):
        await client.find(client.entry(stream(client)))


def stream(client: Client) -> str:
    keys = "version: [x86_64, release], file: [x86_64, disk, location], digest: [x86_64, disk, sha256]"
    return f"{{kind: stream, page: {client.mirror.url}/stable, {keys}}}"


async def test_a_small_document_that_unpacks_to_a_large_one_is_refused(client: Client) -> None:
    client.mirror.publish({"/stable": File(gzip.compress(b" " * (64 << 20)), encoding="gzip")})
    with pytest.raises(TooLarge, match="/stable has more than 8MiB"):
        await client.find(client.entry(stream(client)))


async def test_a_proxy_of_the_environment_is_asked(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", client.mirror.plain)
    entry = client.entry("{kind: sums, sums: 'http://publisher.invalid/SUMS', file: 'lab-(?P<version>.*)\\.raw'}")
    found = await client.find(entry, UNVERIFIED)
    assert (found.url, found.size) == (f"http://publisher.invalid/{NAME}", len(IMAGE))


async def test_redirects_without_end_are_refused(client: Client) -> None:
    client.mirror.publish({"/SUMS": File(place=f"{client.mirror.url}/SUMS")})
    with pytest.raises(Invalid, match="redirects more than 8 times"):
        await client.find(client.entry())
    client.mirror.publish({"/SUMS": File(place="file:///etc/passwd")})
    with pytest.raises(Invalid, match="which is no URL of HTTP"):
        await client.find(client.entry())


async def test_a_publisher_without_a_trusted_certificate_is_not_asked(client: Client) -> None:
    (client.folder / "other").mkdir()
    client.mirror.authority = certificate_for(client.folder / "other", "localhost", "127.0.0.1")
    with pytest.raises(Unavailable, match=r"cannot be reached: .*(?i:certificate)"):
        await client.find(client.entry())


async def test_a_given_digest_must_be_that_of_the_publisher(client: Client) -> None:
    with pytest.raises(Invalid, match=r"has the digest sha256:.*, not the one given"):
        await client.find(client.entry(), Choices(digest=f"sha256:{'0' * 64}"))
    assert (await client.find(client.entry(), Choices(digest=DIGEST))).verified is Verified.SUMS


async def test_a_pattern_without_an_end_is_given_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "MATCH_SECONDS", 0.2)
    client.mirror.publish({"/page": File(b"a" * 60 + b"!")})
    listing = (
        f"{{kind: listing, page: {client.mirror.url}/page, newest: '(?P<version>(a+)+)$', file: {client.mirror.url}/x}}"
    )
    with pytest.raises(
        Invalid, match=r"lab: the pattern .* takes more than 0\.2 seconds on what its publisher sends: write"
    ):
        await client.find(client.entry(listing), UNVERIFIED)


@pytest.mark.parametrize("before", [signal.default_int_handler, None], ids=["ours", "not of Python"])
def test_an_alarm_at_the_last_moment_is_told_and_leaves_the_handler_as_it_was(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[int, FrameType | None], None] | None
) -> None:
    really, handle = signal.setitimer, signal.signal
    late = iter([True])

    def rings(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        if not seconds and next(late, False):
            signal.raise_signal(signal.SIGALRM)
        return really(which, seconds, interval)

    # The tests may have a timer of their own.
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    found = handle(signal.SIGALRM, before or signal.SIG_DFL)
    monkeypatch.setattr("signal.setitimer", rings)
    if before is None:
        monkeypatch.setattr("signal.signal", lambda which, how: handle(which, how) and None)
    try:
        with pytest.raises(Invalid, match=r"the pattern a takes more than"), resolving._in_time("a"):
            pass
        assert signal.getsignal(signal.SIGALRM) == (before or signal.SIG_DFL)
        assert signal.getitimer(signal.ITIMER_REAL)[0] == pytest.approx(left, abs=4)
    finally:
        handle(signal.SIGALRM, found)
