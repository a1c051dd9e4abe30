# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/findings.md: every kind of finding preflight can report."""

from __future__ import annotations

from pages.source import GENERATED, kinds, table

INTRODUCTION = f"""\
{GENERATED}
# Findings of preflight

Preflight prints each finding with its kind, where it is, what was found, what was expected and the fix. One `error`
stops the run before any host is touched; a `warning` or a `note` does not.

A kind marked *acceptable* may be listed, with a reason, in [`gpustack_accept`](inventory.md): its findings then become
notes. There a site can know better than the rule. To accept a finding is not to mend it: if the rule was right after
all, a later step of the run tells. With `cards_exceeded` or `cards_short` accepted, for example, instances that find
no cards stay pending, and the run fails where it waits for them. What the other kinds report is wrong on every site, so
they cannot be accepted.

What is said of the launch plan (families, images, arguments, DSpark, capacity) is also part of `playbooks/plan.yml`,
which knows more with `gpustack_plan_from: facts`: the drivers of the hosts and the checkpoints on them.

```yaml
gpustack_accept:
  - id: image_moving_unlocked
    reason: Test site; the nightly image is wanted as it is.
```

`dspark_draft_empty`, `engine_context_differs`, `engine_variable_unknown` and `kv_capacity_differs` are no matter of the
inventory alone: the role [`verify`](../roles/verify/README.md) finds them in the logs of engines that have started.

Kinds found on *hosts* need a look at them: `playbooks/probe.yml` reports them at any time, `playbooks/site.yml` before
it changes anything, and `playbooks/plan.yml` those about the plan, with `gpustack_plan_from: facts`. To accept one of
these that is not there is no mistake: once its images are pulled, for example, a host has no `disk_tight` any more.
"""


def render():
    rows = [
        (
            f"`{name}`",
            kind["severity"],
            kind["title"],
            "yes" if kind["acceptable"] else "",
            "hosts" if kind.get("of_hosts") else "",
        )
        for name, kind in sorted(kinds().items())
    ]
    return f"{INTRODUCTION}\n{table(('kind', 'severity', 'meaning', 'acceptable', 'found on'), rows)}\n"
