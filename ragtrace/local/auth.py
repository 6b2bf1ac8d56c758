"""Check the project's keys as Langfuse does."""

import base64
import binascii
import hmac
from dataclasses import dataclass
from enum import Enum, auto

from ragtrace.local.wire import RefusedError

_ADVICE = "Confirm that you've configured the correct host."


class Permission(Enum):
    """Who may use an endpoint."""

    ANYONE = auto()
    PROJECT = auto()
    """Both keys, by Basic authentication."""
    SCORES = auto()
    """Both keys, or the public key alone as a bearer token (meant for browsers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The one project's key pair."""

    public: str
    secret: str
    by_secret_alone: bool
    """4.16 looks a key pair up by its secret: an unknown public key passes."""

    def __repr__(self) -> str:
        return f"Keys(public={self.public!r})"

    def check(self, authorization: str | None, permission: Permission) -> None:
        """Pass or raise.

        Raises:
            RefusedError: 401 for wrong keys, 403 for a key that does not reach this far.
        """
        if permission is Permission.ANYONE:
            return
        if authorization is None:
            raise _unauthorized("No authorization header")
        scheme, _, credentials = authorization.partition(" ")
        if scheme == "Basic":
            self._check_pair(credentials)
        elif scheme == "Bearer":
            self._check_public(credentials, permission)
        else:
            raise _unauthorized("Invalid authorization header")

    def _check_pair(self, credentials: str) -> None:
        try:
            public, _, secret = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            raise _unauthorized(f"Invalid character. {_ADVICE}") from None
        is_known = self.by_secret_alone or _equal(public, self.public)
        if not (_equal(secret, self.secret) and is_known):
            raise _unauthorized(f"Invalid credentials. {_ADVICE}")

    def _check_public(self, credentials: str, permission: Permission) -> None:
        if not _equal(credentials, self.public):
            raise _unauthorized(f"Invalid public key. {_ADVICE}")
        if permission is not Permission.SCORES:
            message = "Access denied - insufficient permissions for this endpoint"
            raise RefusedError(403, {"message": message})


def _equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


def _unauthorized(message: str) -> RefusedError:
    return RefusedError(401, {"message": message})
