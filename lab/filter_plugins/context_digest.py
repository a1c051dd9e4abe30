"""Names a built image after what it was built from, so that a changed file builds a new one."""

import hashlib
import json
from pathlib import Path


def context_digest(directory, *ingredients):
    """First 12 hex digits of a SHA-256 over a directory's files (name, mode, content) and further ingredients."""
    digest = hashlib.sha256(json.dumps(ingredients, sort_keys=True, default=str).encode())
    root = Path(directory)
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root)} {path.stat().st_mode & 0o111:o}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class FilterModule:
    def filters(self):
        return {"context_digest": context_digest}
