"""SSH keys of a lab: one for the client, one a node; ed25519 in OpenSSH's own formats."""

from pathlib import Path

import asyncssh


def make(path: Path, comment: str) -> str:
    """Write a private key (0600) and `.pub`; returns the public line without its comment."""
    key = asyncssh.generate_private_key("ssh-ed25519", comment=comment)
    key.write_private_key(str(path))
    path.chmod(0o600)
    public = key.export_public_key().decode().strip()
    Path(f"{path}.pub").write_text(public + "\n")
    return " ".join(public.split()[:2])
