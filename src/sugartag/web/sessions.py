"""Sessions of the people who have the page open, and a limit on wrong passwords."""

import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from sugartag.web.accounts import Role

LIFETIME_SECONDS = 12 * 3600.0
MOST_SESSIONS = 10_000


@dataclass(slots=True)
class Session:
    """One browser, or one program for the time of a request."""

    name: str
    """The reviewer that its decisions are by."""
    role: Role | None
    """None for somebody who has not signed in."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """What a form must send along, which no page of another site can know."""


class Sessions:
    """The sessions, the least recently used of which go first."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._sessions: OrderedDict[str, tuple[float, Session]] = OrderedDict()

    def start(self, name: str, role: Role | None) -> Session:
        """Begin a session under a new key."""
        session = Session(name, role)
        with self._lock:
            self._sessions[session.key] = (self._clock(), session)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def get(self, key: str) -> Session | None:
        """Return the session of a key, or None where there is none any more."""
        with self._lock:
            began, session = self._sessions.get(key, (0.0, None))
            if session is None:
                return None
            if self._clock() - began > LIFETIME_SECONDS:
                del self._sessions[key]
                return None
            self._sessions.move_to_end(key)
            return session

    def end(self, key: str) -> None:
        """Forget a session."""
        with self._lock:
            self._sessions.pop(key, None)


class GuessLimit:
    """Counts wrong passwords by name and by address; too many, and no more are looked at."""

    SECONDS = 300.0
    BY_NAME = 10
    BY_ADDRESS = 20
    MOST_KEYS = 10_000

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._wrong: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def wait(self, name: str, address: str) -> int:
        """Return how many seconds to wait before the next try; 0 for none.

        The try counts as wrong until :meth:`right` says otherwise: tries at the same moment count
        one by one.
        """
        now = self._clock()
        limits = {("name", name): self.BY_NAME, ("address", address): self.BY_ADDRESS}
        with self._lock:
            waits = [self._wait(key, most, now) for key, most in limits.items()]
            if not any(waits):
                for key in limits:
                    self._wrong.setdefault(key, deque()).append(now)
                    self._wrong.move_to_end(key)
                while len(self._wrong) > self.MOST_KEYS:
                    self._wrong.popitem(last=False)
        return max(waits)

    def right(self, name: str, address: str) -> None:
        """Forget the tries of somebody who knew the password."""
        with self._lock:
            for key in (("name", name), ("address", address)):
                self._wrong.pop(key, None)

    def _wait(self, key: Hashable, most: int, now: float) -> int:
        tries = self._wrong.get(key)
        while tries and now - tries[0] > self.SECONDS:
            tries.popleft()
        if not tries or len(tries) < most:
            return 0
        return int(self.SECONDS - (now - tries[0])) + 1
