"""Where a cluster's dashboard is, and what our page there says, for who has only an address.

The cluster needs nothing: the scheduler itself has the page (`daskvars.remote.scheduler.page`), and
what it says as JSON.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from distributed import Client

from daskvars.errors import NotFoundError, UnavailableError, invalid
from daskvars.remote.scheduler.observer import JSON_PATH

PAGE_PATH, STATUS_PATH = "/daskvars", "/status"
TIMEOUT_S = 10.0


def dashboard_root(address: str) -> str:
    """Return the URL below which a cluster's dashboard has its pages.

    Args:
      address: of the scheduler (``tcp://10.0.0.5:8786``), or any page of its dashboard.

    Raises:
      InvalidArgumentError: it is no address.
      UnavailableError: no scheduler answers there.

    >>> dashboard_root("http://localhost:8787/status"), dashboard_root("http://hub/proxy/8787/")
    ('http://localhost:8787', 'http://hub/proxy/8787')
    """
    if urlsplit(address).scheme in ("http", "https"):
        root = address.partition("?")[0].rstrip("/")
        return root.removesuffix(STATUS_PATH).removesuffix(PAGE_PATH)
    _check_address(address)
    try:
        with Client(address, timeout=TIMEOUT_S, set_as_default=False) as client:
            return client.dashboard_link.rstrip("/").removesuffix(STATUS_PATH)
    except (OSError, TimeoutError) as error:
        raise UnavailableError.saying(
            f"no scheduler answers at {address!r}: {error or 'in time'}"
        ) from None
    except ValueError as error:
        raise invalid(f"{address!r} is no address: {error}") from None


def _check_address(address: str) -> None:
    """Raise InvalidArgumentError where a client would, which takes it half a minute to give up."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        missing = "host" if not parts.hostname else None if parts.port else "port"
        problem = missing and f"it has no {missing}"
    except ValueError as error:
        problem = str(error)
    if problem:
        raise invalid(
            f"{address!r} is no address: {problem}. Give that of a scheduler, such as "
            "tcp://host:8786, or of its dashboard, such as http://host:8787"
        )


def dashboard_page(root: str) -> str:
    """Return the URL of our page below a `dashboard_root`.

    Raises:
      NotFoundError: no state of ours is on that cluster, or its scheduler has no pages.
      UnavailableError: nothing answers there, or something else than a scheduler.
    """
    dashboard_state(root)
    answered(root, PAGE_PATH, "the scheduler has no pages: it needs the package bokeh")
    return f"{root}{PAGE_PATH}"


def dashboard_state(root: str) -> dict[str, Any]:
    """Return what our page below a `dashboard_root` shows: states, workers, the last step.

    Raises:
      NotFoundError: no state of ours is on that cluster.
      UnavailableError: nothing answers there, or something else than a scheduler.
    """
    text = answered(root, JSON_PATH, "no session or variable of daskvars is on this cluster yet")
    try:
        return json.loads(text)
    except ValueError:
        raise UnavailableError.saying(f"{root} is no dashboard of Dask's") from None


def answered(root: str, path: str, absent: str) -> bytes:
    """Return what is at a path below a root; raise with what it means if it is not there."""
    try:
        with urlopen(f"{root}{path}", timeout=TIMEOUT_S) as answer:
            return answer.read()
    except HTTPError as error:
        if error.code == 404:
            raise NotFoundError.saying(f"{root}: {absent}") from None
        raise UnavailableError.saying(f"{root} answers {error.code} {error.reason}") from None
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise UnavailableError.saying(f"{root} does not answer: {reason}") from None
