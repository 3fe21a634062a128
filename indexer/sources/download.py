"""One document over HTTP, bounded in time and size."""

from typing import Final

from indexer.errors import SourceError

TIMEOUT_SECONDS: Final = 30.0
MAX_BYTES: Final = 32 * 1024 * 1024


def download(url: str) -> tuple[bytes, str]:
    """The body and the content type behind a URL; redirects are not followed.

    Raises: SourceError when it cannot be reached, answers with an error, takes too long, or is too large.
    """
    import time

    import httpx

    deadline = time.monotonic() + TIMEOUT_SECONDS
    try:
        with (
            httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False) as client,
            client.stream("GET", url) as response,
        ):
            if response.has_redirect_location:
                raise SourceError(url, f"redirects to {response.headers['location']}", fix="Give that URL instead.")
            if response.is_error:
                raise SourceError(url, f"answers {response.status_code} {response.reason_phrase}", fix="Check the URL.")
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise SourceError(url, f"is larger than {MAX_BYTES // 1024**2} MiB", fix="Download it yourself.")
                if time.monotonic() > deadline:
                    raise SourceError(url, f"took longer than {TIMEOUT_SECONDS:.0f} seconds")
            return bytes(body), response.headers.get("content-type", "")
    except httpx.TimeoutException as error:
        raise SourceError(url, f"did not answer within {TIMEOUT_SECONDS:.0f} seconds") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SourceError(url, f"cannot be reached: {error}", fix="Check the URL and the network.") from error
