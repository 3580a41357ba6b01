"""The users of the emulated Open WebUI, in its data folder, and the tokens of those who signed in."""

import hashlib
import hmac
import os
import secrets
import threading
import uuid

from sparklab import files

FOLDER = "/app/backend"
User = dict[str, str]


def inside(path: str) -> str:
    """A path in the container as a path of this machine. A relative path starts in the image's working directory."""
    return os.path.join(os.environ.get("SPARKOPS_ROOT", "/"), os.path.join(FOLDER, path).lstrip("/"))


def switched(name: str, usual: bool) -> bool:
    """Whether a variable is `true`, in any case; without it, what is usual."""
    return os.environ.get(name, str(usual)).lower() == "true"


class Users:
    def __init__(self) -> None:
        self.path = inside("data/users.json")
        self.lock = threading.Lock()
        self.secret = _secret()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)

    def all(self) -> list[User]:
        return files.read_json(self.path) or []

    def add(self, email: str, password: str, name: str) -> User | None:
        """Make a user, or return None if the address is taken. The first user is the admin."""
        with self.lock:
            there = self.all()
            if any(one["email"] == email.lower() for one in there):
                return None
            role = os.environ.get("DEFAULT_USER_ROLE", "pending") if there else "admin"
            made = {"id": str(uuid.uuid4()), "email": email.lower(), "name": name, "role": role}
            files.write_json(self.path, [*there, made | {"password": _hashed(password)}], 0o600)
        return made

    def signed_in(self, email: str, password: str) -> User | None:
        """The user with this address and password."""
        wanted = (email.lower(), _hashed(password))
        return next((one for one in self.all() if (one["email"], one["password"]) == wanted), None)

    def token(self, user: User) -> str:
        """The user's token: it holds as long as the secret key does, also after a restart."""
        return f"{user['id']}.{hmac.new(self.secret.encode(), user['id'].encode(), 'sha256').hexdigest()}"

    def of(self, token: str) -> User | None:
        """The user with this token."""
        return next((one for one in self.all() if hmac.compare_digest(self.token(one).encode(), token.encode())), None)


def _hashed(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


def _secret() -> str:
    """WEBUI_SECRET_KEY, else the content of a file, which the first start makes."""
    if given := os.environ.get("WEBUI_SECRET_KEY"):
        return given
    path = inside(os.environ.get("WEBUI_SECRET_KEY_FILE") or ".webui_secret_key")
    if not os.path.exists(path):
        files.make(path, secrets.token_hex(12))
    return files.read(path)
