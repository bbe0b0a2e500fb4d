"""Who may use the page: names with a role and an argon2 hash of a password, or a token's digest."""

import hashlib
import json
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from sugartag.errors import SettingsError, StorageError
from sugartag.storage.aside import file_aside

Role = Literal["viewer", "reviewer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each may do all that the ones before it may: look; decide; learn and apply."""
FORMAT = "sugartag-accounts/1"
LARGEST_FILE = 1 << 20
SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 200
LONGEST_NAME = 100
SUFFIX = ".accounts.json"


def may(role: Role | None, needed: Role) -> bool:
    """Tell whether somebody with a role may do what another role is needed for."""
    return role is not None and ROLES.index(role) >= ROLES.index(needed)


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may sign in, or a program with a token."""

    name: str
    role: Role
    password_hash: str | None = None
    """Argon2id; None for programs."""
    token_sha256: str | None = None
    """Tokens have 256 random bits, so that a plain digest cannot be guessed back."""


class Accounts:
    """The accounts of a page, kept in a JSON file that only its owner can read."""

    def __init__(self, accounts: dict[str, Account] | None = None) -> None:
        self._accounts = dict(accounts or {})
        self._hasher = PasswordHasher()

    def __len__(self) -> int:
        return len(self._accounts)

    def with_password(self, name: str, role: Role, password: str) -> "Accounts":
        """Return the accounts with one more person, or with a new password for one."""
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise SettingsError(
                f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; "
                f"this one has {len(password)}"
            )
        hashed = self._hasher.hash(password)
        return self._with(Account(name, role, password_hash=hashed))

    def with_token(self, name: str, role: Role) -> tuple["Accounts", str]:
        """Return the accounts with one more program, and its token: it is shown only now."""
        token = secrets.token_urlsafe(32)
        return self._with(Account(name, role, token_sha256=_digest(token))), token

    def _with(self, account: Account) -> "Accounts":
        _check(account.name, account.role)
        return Accounts({**self._accounts, account.name: account})

    def signed_in(self, name: str, password: str) -> Account | None:
        """Return the account that a name and a password are of, or None."""
        found = self._accounts.get(name)
        hashed = (
            _hash_of_nobody() if found is None or not found.password_hash else found.password_hash
        )
        try:
            self._hasher.verify(hashed, password[:LONGEST_PASSWORD])
        except (VerificationError, InvalidHashError):
            return None
        return found if found is not None and found.password_hash else None

    def with_this_token(self, token: str) -> Account | None:
        """Return the account that a token is of, or None."""
        digest, found = _digest(token), None
        for account in self._accounts.values():
            if account.token_sha256 and secrets.compare_digest(account.token_sha256, digest):
                found = account
        return found

    def save(self, path: Path) -> None:
        """Write the file again; only its owner may read it."""
        listed = {
            one.name: {
                "role": one.role,
                **({"password": one.password_hash} if one.password_hash else {}),
                **({"token_sha256": one.token_sha256} if one.token_sha256 else {}),
            }
            for one in self._accounts.values()
        }
        with file_aside(path, overwrite=True) as partial:
            partial.touch(mode=0o600)
            text = json.dumps({"format": FORMAT, "accounts": listed}, ensure_ascii=False, indent=1)
            partial.write_text(text + "\n", encoding="utf-8")


def load_accounts(path: Path) -> Accounts:
    """Read the accounts; none where there is no such file."""
    if not path.exists():
        return Accounts()
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise StorageError(f"{path} is larger than 1 MiB; it is not a file of accounts")
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["format"] != FORMAT:
            raise StorageError(f"{path} is of format {read['format']!r}, not {FORMAT!r}")
        return Accounts({name: _account(name, one) for name, one in read["accounts"].items()})
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"{path} is damaged ({error}); make the accounts again") from error


@cache
def _hash_of_nobody() -> str:
    """Return what is verified where a name is unknown: it takes as long as for a known one."""
    return PasswordHasher().hash(secrets.token_urlsafe(16))


def _account(name: str, read: dict[str, Any]) -> Account:
    _check(name, read["role"])
    password, token = (read.get(key) for key in ("password", "token_sha256"))
    return Account(name, read["role"], password, token)


def _check(name: str, role: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise SettingsError(f"{name[:40]!r} cannot be a name: give 1 to {LONGEST_NAME} characters")
    if role not in ROLES:
        raise SettingsError(f"a role is one of {', '.join(ROLES)}, not {role!r}")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
