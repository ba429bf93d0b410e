"""What one process takes from strangers: visitors, uploaded bytes, and from whom. No Streamlit.

Whoever runs the dashboard sets them by `DPCI_…`; what cannot be read stops the start.
"""

from __future__ import annotations

import ipaddress
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dpci_core.base.engine_names import HERE, engine_parts
from dpci_core.plan.source import MOST_FEATURES

MB = 2**20
UPLOAD = 200 * MB
"""Bytes of one file; the same limit as server.maxUploadSize."""
_DEMO_UPLOAD = 6 * MB
"""Of one file where no tables are taken: a result of our own may be opened again."""
_DEMO_FEATURES = 60
"""Of a described table, where anybody may send a link to one."""
_DESCRIPTORS_EACH = 4
_DESCRIPTORS_KEPT = 150
_MOST_VISITORS = 200
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f.]*(:[0-9a-f.]*){2,}")
_OFF = ("", "0", "false", "no", "off")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """What one process takes.

    hosts: names it answers to, None for any (`DPCI_HOSTS`, separated by commas; `*` for any).
    visitors: open pages (`DPCI_VISITORS`).
    visitors_each: of one address.
    upload: bytes of one file.
    upload_session: of all files of one session.
    upload_all: of all files that are held (`DPCI_UPLOADS_MB`).
    """

    hosts: frozenset[str] | None = _LOOPBACK
    visitors: int = _MOST_VISITORS
    visitors_each: int = _MOST_VISITORS // 2
    upload: int = UPLOAD
    upload_session: int = 2 * UPLOAD
    upload_all: int = 800 * MB

    @classmethod
    def from_environment(cls, given: Mapping[str, str] | None = None) -> Quota:
        """The quotas that were set, sane ones for the others.

        Raises:
            ValueError: naming the variable.
        """
        found = os.environ if given is None else given
        most_minutes(found)  # nonsense stops the start
        visitors = _count(found, "DPCI_VISITORS", most_visitors())
        is_demo = is_public_demo(found)
        job_engine(found)  # a name that is none stops the start, not the first simulation
        upload = _DEMO_UPLOAD if is_demo else UPLOAD
        return cls(
            hosts=_hosts(found.get("DPCI_HOSTS", "")),
            visitors=visitors,
            visitors_each=max(1, visitors // 2),
            upload=upload,
            upload_session=2 * upload,
            upload_all=MB * _count(found, "DPCI_UPLOADS_MB", 100 if is_demo else 800),
        )


def is_public_demo(given: Mapping[str, str] | None = None) -> bool:
    """Whether tables, Release and Ledger are switched off for everyone: `DPCI_PUBLIC_DEMO` is set
    to anything but a plain no.
    """
    found = os.environ if given is None else given
    return found.get("DPCI_PUBLIC_DEMO", "").strip().lower() not in _OFF


def is_open_to_all() -> bool:
    """Whether everyone who reaches the port may spend, on purpose: `DPCI_OPEN_TO_ALL=yes`."""
    return os.environ.get("DPCI_OPEN_TO_ALL", "") == "yes"


def most_minutes(given: Mapping[str, str] | None = None) -> int:
    """Minutes that a simulation may take while others wait (`DPCI_JOB_MINUTES`)."""
    found = os.environ if given is None else given
    return _count(found, "DPCI_JOB_MINUTES", 3 if is_public_demo(found) else 15)


def most_described(given: Mapping[str, str] | None = None) -> int:
    """Encoded features that a described table may have."""
    found = os.environ if given is None else given
    return _DEMO_FEATURES if is_public_demo(found) else MOST_FEATURES


def job_engine(given: Mapping[str, str] | None = None) -> str:
    """Where simulations run, as `dpci moments --engine` names it (`DPCI_ENGINE`).

    Raises:  ValueError for a name that is none.
    """
    found = os.environ if given is None else given
    name = found.get("DPCI_ENGINE", "").strip() or HERE
    try:
        engine_parts(name, elsewhere=True)
    except ValueError:
        raise ValueError(
            f"Expected DPCI_ENGINE={name!r} to be here, processes:N, dask:N or a Dask scheduler's "
            "address (tcp://...)."
        ) from None
    return name


def host_name(host: str) -> str:
    """The name in a Host header, without its port.

    >>> host_name("Example.org:8501"), host_name("[::1]:8501")
    ('example.org', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    if host in _LOOPBACK:
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:  # a name; some begin with "127."
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def visitor_address(client: str, forwarded: str) -> str:
    """Where a visitor comes from, as quotas count it: of a proxy on this machine what it says,
    empty for this machine itself. Of IPv6 the network of 64 bits that one connection is given.

    >>> visitor_address("192.0.2.7", "spoofed"), visitor_address("127.0.0.1", "a, 192.0.2.8")
    ('192.0.2.7', '192.0.2.8')
    >>> visitor_address("2001:db8:0:1::a", ""), visitor_address("::ffff:192.0.2.7", "")
    ('2001:db8:0:1::/64', '192.0.2.7')
    """
    if client and not is_loopback(client):
        return _network(client)
    return _network(forwarded.rpartition(",")[2].strip())


def _network(address: str) -> str:
    """The address of IPv4, the network of IPv6; what is neither, as it is."""
    bare = address.partition("]")[0].removeprefix("[")  # a proxy may add a port
    try:
        found = ipaddress.ip_address(bare)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), 64), strict=False))


def most_visitors() -> int:
    """Pages that the descriptors of this process are enough for, at most `_MOST_VISITORS`."""
    try:
        import resource
    except ImportError:  # not on Windows
        return _MOST_VISITORS
    available, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if available == resource.RLIM_INFINITY:
        return _MOST_VISITORS
    return max(1, min(_MOST_VISITORS, (available - _DESCRIPTORS_KEPT) // _DESCRIPTORS_EACH))


KEPT_SECONDS = 60.0
"""That a session whose page has left is kept, for a page that lost its line; the server would keep
it for twice as long, and then until another one leaves.
"""


class Uploaders:
    """Sessions that may upload, those that are past the login, until they end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: dict[str, float | None] = {}
        """When the page of each session left; None while it is there."""
        self._brought: set[str] = set()

    def allow(self, session: str) -> None:
        """Let a session upload."""
        self._left.setdefault(session, None)

    def bring(self, session: str) -> None:
        """Note that a session has uploaded a file."""
        self._brought.add(session)

    def brought_by(self, sessions: Iterable[str]) -> bool:
        """Whether one of these, which are over, had uploaded a file, be it removed since."""
        brought = self._brought.intersection(sessions)
        self._brought -= brought
        return bool(brought)

    def ended(self, is_active: Callable[[str], bool]) -> list[str]:
        """Forget the sessions whose page left so long ago that they are over, and name them."""
        now = self._clock()
        for session, left in self._left.items():
            self._left[session] = None if is_active(session) else now if left is None else left
        gone = now - KEPT_SECONDS
        over = [one for one, left in self._left.items() if left is not None and left <= gone]
        for session in over:
            del self._left[session]
        return over

    def __contains__(self, session: str) -> bool:
        return session in self._left


UPLOADERS = Uploaders()


def _count(given: Mapping[str, str], name: str, usual: int) -> int:
    text = given.get(name, "").strip()
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 6 and int(text) > 0):
        raise ValueError(f"Expected {name} to be a whole number from 1 to 999999.")
    return int(text)


def _hosts(text: str) -> frozenset[str] | None:
    names = {name.strip().lower() for name in text.split(",")} - {""}
    if names == {"*"}:
        return None
    if strange := [name for name in names if not _HOST.fullmatch(name)]:
        raise ValueError(
            f"Expected DPCI_HOSTS to hold names without scheme or port, not {strange}."
        )
    return _LOOPBACK | names
