# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the host probe on this machine and compares it with what nvidia-smi itself says.

It needs Python and nothing else, no network, and changes nothing but the directory it is given. Run it on a machine
with an NVIDIA card, from the root of the collection: python3 tools/device_check.py [DIRECTORY]

It leaves facts.json and nvidia-smi.xml in DIRECTORY. Exit status: 0 all is as expected, 1 something differs, 3 this
machine has no card.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "ansible_collections.inferops.gpustack"
DATA = ROOT / "plugins" / "plugin_utils" / "data"
SCHEMA = ROOT / "docs" / "host-facts.schema.json"
MIB = 1024 * 1024
SECONDS = 60


def probe():
    """The collection's gathering, imported from this checkout whatever directory it lies in."""
    parts = PACKAGE.split(".")
    for depth in range(1, len(parts) + 1):
        package = types.ModuleType(".".join(parts[:depth]))
        package.__path__ = [str(ROOT)] if depth == len(parts) else []
        sys.modules[package.__name__] = package
    return importlib.import_module(PACKAGE + ".plugins.module_utils._host").gather


def device_table():
    """The rows that the role host_probe hands over; none without PyYAML, and cards then have no profile."""
    try:
        import yaml
    except ImportError:
        return []
    rows = []
    for path in sorted((DATA / "accelerators").glob("*.yml")):
        profile = yaml.safe_load(path.read_text(encoding="utf-8"))
        for pci_id in profile["pci_ids"]:
            row = {key: profile[key] for key in ("vendor", "memory_bytes", "name")}
            rows.append(dict(row, pci_id=pci_id, profile=path.stem))
    switches = yaml.safe_load((ROOT / "roles/host_probe/vars/main.yml").read_text(encoding="utf-8"))
    return rows + switches["__host_probe_switches"]


def unlike_schema(value, schema, definitions, where):
    """What differs from the schema, of which types, required and unknown keys, enums and patterns are looked at."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" in schema:
        answers = [unlike_schema(value, option, definitions, where) for option in schema["anyOf"]]
        return [] if any(not answer for answer in answers) else answers[-1]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        return [f"{where}: {type(value).__name__} instead of {' or '.join(kinds)}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return [f"{where}: {value!r} does not match {schema['pattern']}"]
    problems = []
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        problems += [f"{where}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, entry in value.items():
            if key in properties:
                problems += unlike_schema(entry, properties[key], definitions, f"{where}.{key}")
            elif more is False:
                problems.append(f"{where}.{key} is not in the schema")
            elif isinstance(more, dict):
                problems += unlike_schema(entry, more, definitions, f"{where}.{key}")
    if isinstance(value, list):
        for index, entry in enumerate(value):
            problems += unlike_schema(entry, schema.get("items", {}), definitions, f"{where}[{index}]")
    return problems


def _is_a(value, kind):
    classes = importlib.import_module(PACKAGE + ".plugins.module_utils._json_check").TYPES
    return isinstance(value, classes[kind]) and not (isinstance(value, bool) and kind in ("integer", "number"))


def tool(*arguments):
    """The output of nvidia-smi, or None when there is none that works."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def unlike_tool(facts):
    """What differs from nvidia-smi's other forms of output, which the probe does not read."""
    query = "--query-gpu=index,uuid,name,memory.total,driver_version,mig.mode.current"
    table = tool(query, "--format=csv,noheader,nounits") or ""
    rows = [[cell.strip() for cell in line.split(",")] for line in table.splitlines() if line.strip()]
    listed = re.findall(r"^GPU \d+: .*\(UUID: (GPU-[^)]+)\)", tool("-L") or "", re.MULTILINE)
    # In a container the bus may show cards that the container was not given; the probe reports those as lost.
    told = [card for card in facts["accelerators"] if card["vendor"] == "nvidia" and card["card"] is not None]
    cards = sorted(told, key=lambda card: card["card"])
    problems = []
    if len(cards) != len(listed):
        problems.append(f"{len(cards)} cards in the facts, {len(listed)} in nvidia-smi -L")
    if not rows:
        problems.append("nvidia-smi --query-gpu gave no table")
    for card, row in zip(cards, rows):
        index, uuid, name, memory, version, mig = row
        expected = {
            "card": int(index),
            "uuid": uuid,
            "name": name,
            "mig": mig == "Enabled",
            # Without a figure of the tool the device table counts.
            "memory_bytes": int(memory) * MIB if memory.isdigit() else card["memory_bytes"],
        }
        problems += [
            f"card {index}: {key} is {card[key]!r}, nvidia-smi says {value!r}"
            for key, value in expected.items()
            if card[key] != value
        ]
        known = (facts["drivers"]["nvidia"] or {}).get("userspace")
        if known != version:
            problems.append(f"driver is {known!r}, nvidia-smi says {version!r}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", default="recorded", type=Path)
    directory = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)

    devices = device_table()
    started = time.monotonic()
    facts = probe()(
        {
            "sysroot": "/",
            "devices": devices,
            "engine_socket": "/var/run/docker.sock",
            "manifest": "/etc/gpustack/manifest.json",
            "checkpoints": [],
            "paths": ["/srv"],
            "controller_time": time.time(),
            "timeout": SECONDS,
        }
    )
    seconds = time.monotonic() - started
    (directory / "facts.json").write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    report = tool("-q", "-x")
    if report is not None:
        (directory / "nvidia-smi.xml").write_text(report, encoding="utf-8")

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    problems = unlike_schema(facts, schema, schema["$defs"], "facts")
    findings = ", ".join(sorted({finding["id"] for finding in facts["findings"]})) or "none"
    print(f"probe: {seconds:.2f} s, device table: {len(devices)} rows, findings: {findings}")
    for card in facts["accelerators"]:
        print(
            "card:", " ".join(f"{key}={card[key]}" for key in ("pci_id", "address", "name", "memory_bytes", "health"))
        )
    if report is None and not any(card["vendor"] == "nvidia" for card in facts["accelerators"]):
        print("\n".join(problems) or "the facts fit the schema")
        print("this machine has no NVIDIA card")
        return 1 if problems else 3
    problems += unlike_tool(facts)
    print("\n".join(problems) or "the facts fit the schema and agree with nvidia-smi")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
