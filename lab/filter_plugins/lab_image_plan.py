"""Names each lab image after what it is built from, so that a changed file builds a new one."""

import hashlib
import json
from pathlib import Path


def context_digest(directory, arguments):
    """First 12 hex digits of a SHA-256 over a directory's files (name, mode, content) and the build arguments."""
    digest = hashlib.sha256(json.dumps(arguments, sort_keys=True).encode())
    root = Path(directory)
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root)} {path.stat().st_mode & 0o111:o}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def lab_image_plan(images, root, bases, base_ids):
    """The images with `path`, `arguments` and `reference` (gpustack-lab/<name>:<digest>) added.

    bases, base_ids: name and id of the base image by release.
    """
    planned = []
    for image in images:
        path = str(Path(root) / image["context"])
        release = image.get("base", "bookworm")
        arguments = {"BASE": bases[release], **image.get("arguments", {})}
        reference = f"gpustack-lab/{image['name']}:{context_digest(path, {**arguments, 'BASE': base_ids[release]})}"
        planned.append(dict(image, path=path, arguments=arguments, reference=reference))
    return planned


class FilterModule:
    def filters(self):
        return {"lab_image_plan": lab_image_plan}
