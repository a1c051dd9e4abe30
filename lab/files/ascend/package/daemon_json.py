"""What the simulated Ascend Docker Runtime makes of Docker's configuration: add or rm, FILE, path of the runtime.

Sorted keys and indent 8, as the vendor's helper writes a Go map.
"""

import json
import os
import sys


def main(action, path, runtime):
    wanted = {}
    if os.path.exists(path):
        with open(path) as file:
            wanted = json.load(file)
    runtimes = wanted.setdefault("runtimes", {})
    if action == "add":
        runtimes["ascend"] = {"path": runtime, "runtimeArgs": []}
        wanted["default-runtime"] = "ascend"
    else:
        runtimes.pop("ascend", None)
        if not runtimes:
            del wanted["runtimes"]
        if wanted.get("default-runtime") == "ascend":
            del wanted["default-runtime"]
    new = f"{path}.{os.getppid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(wanted, file, indent=8, sort_keys=True)
    os.chmod(new, 0o600)
    os.replace(new, path)


main(*sys.argv[1:])
