"""What a door of ours speaks: TLS 1.2, which iPXE has, and 1.3; HTTP/1.1 within."""

import ssl


def server_context() -> ssl.SSLContext:
    """For a server, without its certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
