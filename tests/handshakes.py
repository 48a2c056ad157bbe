"""A handshake of TLS without a network."""

import ssl
from contextlib import suppress
from typing import Final

_CERTIFICATE: Final = 11


def client_trusting(authority_pem: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority_pem)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """The client's end after a handshake with the server that it calls `host`; raises ssl.SSLError of either."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname=host)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [asking, answering]
    for _ in range(10):
        for each in list(waiting):
            try:
                each.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(each)
    assert not waiting
    return asking


def certificate_shown(server: ssl.SSLContext, sent: bytes | None) -> bytes | None:
    """The certificate, in DER, that a server shows a client of TLS 1.2 that asks for this name; None: it shows none.

    The name is sent as it is: Python's own client sends neither addresses nor what is not ASCII.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    hello, to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO(), ssl.MemoryBIO()
    stand_in = "x" * len(sent) if sent is not None else None
    with suppress(ssl.SSLWantReadError):
        client.wrap_bio(ssl.MemoryBIO(), hello, server_hostname=stand_in).do_handshake()
    to_server.write(hello.read().replace((stand_in or "").encode(), sent) if sent is not None else hello.read())
    try:
        server.wrap_bio(to_server, to_client, server_side=True).do_handshake()
    except ssl.SSLWantReadError:
        return _first_certificate(to_client.read())
    except ssl.SSLError:
        return None
    raise AssertionError("a handshake is not over with one word")


def _first_certificate(records: bytes) -> bytes:
    """RFC 5246 §6.2.1 (records), §7.4 (messages), §7.4.2 (the list of certificates)."""
    messages = b""
    while records:
        length = int.from_bytes(records[3:5])
        messages, records = messages + records[5 : 5 + length], records[5 + length :]
    while messages[0] != _CERTIFICATE:
        messages = messages[4 + int.from_bytes(messages[1:4]) :]
    return messages[10 : 10 + int.from_bytes(messages[7:10])]
