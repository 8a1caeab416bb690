"""The HTTP server that the application runs in."""

from __future__ import annotations

from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from traveltime_lab.server.contract.errors import plain_failure


class _Protocol(H11Protocol):
    """HTTP as uvicorn speaks it, but what is no HTTP at all is answered in the contract's form too."""

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read as HTTP."""
        failure = plain_failure(400, msg)
        body = failure.body()
        head = (
            f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def shutdown(self) -> None:
        """Close the connection as soon as nothing is being answered on it."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.scheme == "https" and not self.transport.get_write_buffer_size():
            # The polite end of TLS waits half a minute for clients that have gone without a word.
            self.transport.abort()
        else:
            super().shutdown()


def server(app: ASGIApp, certificate: Path | None, key: Path | None) -> uvicorn.Server:
    """Return a server that is ready to run on a socket; with a certificate it speaks https."""
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=None if key is None else str(key),
        # Behind a proxy its word about the client would have to be trusted; here nobody's is.
        proxy_headers=False,
    )
    config.load()
    return uvicorn.Server(config)
