# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/inventory.md: every variable an inventory may set."""

from __future__ import annotations

from pages.source import GENERATED, catalogue, read, table

INTRODUCTION = f"""\
{GENERATED}
# Inventory variables

These are the names to set in an inventory. Preflight reads the same data: it refuses any other name that starts with
`gpustack_`, any value of another type, and any key that is not listed here. It also accepts the options of the roles
(`roles/*/README.md`), which need no setting on a usual site.

*Scope* says how many values there may be. `site`: one value for the whole site. `host`: each host may have its own.
A variable without a default must be set where it is used. Values marked *secret* are not printed by preflight.

The inventory has two groups: `gpustack_server` with exactly one host, and `gpustack_worker` with the hosts that have
accelerators. A third one, `gpustack_worker_windows`, holds Windows hosts; nothing is done there yet.

With an `ansible.cfg` of your own, set `any_unparsed_is_failed = True` in its section `[inventory]`, as the one of this
repository does. Otherwise Ansible only warns of a file it cannot read, and its hosts are missing. Preflight notices
that of YAML and JSON files, not of INI files.

[inventory.schema.json](inventory.schema.json) is the same as a JSON Schema (2020-12) of a file in `group_vars` or
`host_vars`. An editor with yaml-language-server uses it when the file begins with this line; the path leads from that
file to the schema:

```yaml
# yaml-language-server: $schema=../../../../docs/inventory.schema.json
```
"""


def kind(spec):
    text = spec["type"] + (f" of {spec['elements']}" if "elements" in spec else "")
    text = " or ".join([text, *[f"`{word}`" for word in spec.get("words", ())]])
    if "minimum" in spec:
        text += f", at least {spec['minimum']}"
    if "maximum" in spec:
        text += f", at most {spec['maximum']}"
    if "choices" in spec:
        text += ": " + ", ".join(f"`{choice}`" for choice in spec["choices"])
    return text + (f", {spec['unit']}" if "unit" in spec else "")


def default(spec, when_none):
    if "default" not in spec:
        return when_none
    value = spec["default"]
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    # A text with spaces tells in words where the value comes from.
    return value if isinstance(value, str) and " " in value else f"`{value}`"


def description(spec):
    return spec["description"] + (" *Secret.*" if spec.get("secret") else "")


def variables(known):
    rows = [
        (f"`{name}`", kind(spec), spec["scope"], default(spec, "none: set it"), description(spec))
        for name, spec in known.items()
    ]
    return table(("name", "type", "scope", "default", "meaning"), rows)


def nested(name, options):
    """One section for each mapping, outer ones first."""
    rows = [
        (f"`{key}`", kind(spec), "required" if spec.get("required") else default(spec, ""), description(spec))
        for key, spec in options.items()
    ]
    yield f"## `{name}`\n\n" + table(("key", "type", "default", "meaning"), rows)
    for key, spec in options.items():
        yield from below(f"{name}.{key}", spec)


def below(name, spec):
    """The sections of what a value holds: its keys, or those of each entry of a mapping with names of one's own."""
    if "options" in spec:
        yield from nested(name + ("[]" if spec["type"] == "list" else ""), spec["options"])
    if "entries" in spec:
        yield from below(f"{name}.<name>", spec["entries"])


def runs_on(name, family):
    if not family["needs_pair"]:
        return "every card of " + " and ".join(f"`{platform}`" for platform in family["formats"])
    pairs = [pair.split("__") for pair in catalogue("pairs")]
    return ", ".join(f"`{card}`" for of, card in pairs if of == name)


def profiles():
    accelerators = table(
        ("`gpustack_accelerator`", "card", "PCI ids"),
        [
            (f"`{name}`", one["name"], ", ".join(f"`{pci_id}`" for pci_id in one["pci_ids"]))
            for name, one in catalogue("accelerators").items()
        ],
    )
    families = table(
        ("`family`", "models", "runs on"),
        [(f"`{name}`", one["description"], runs_on(name, one)) for name, one in catalogue("families").items()],
    )
    return f"## Accelerators and families\n\n{accelerators}\n\n{families}"


def render():
    known = read("variables.yml")
    sections = [INTRODUCTION.rstrip(), "## Variables\n\n" + variables(known)]
    for name, spec in known.items():
        sections.extend(below(name, spec))
    return "\n\n".join([*sections, profiles()]) + "\n"
