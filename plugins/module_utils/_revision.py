# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which instances still run an older specification of their deployment.

GPUStack never restarts an instance because its deployment was edited (T37), and does not say which specification an
instance was started with. So a change of ours that running instances do not have yet leaves a record in the `meta` of
the deployment: a digest of the specification before the change, and the instances that ran then. It goes away when none
of them is left. `meta` travels through the API without effect on the engine, and the server merges its own keys into
it. The digest leaves secrets out, because users can see `meta` through a route.
"""

from __future__ import annotations

import hashlib
import json

from ansible_collections.inferops.gpustack.plugins.module_utils._resource import EMPTY
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked

KEY = "inferops.gpustack"

#: What an instance is started with. Everything else takes effect at once.
SHAPE = (
    "source",
    "local_path",
    "huggingface_repo_id",
    "huggingface_filename",
    "model_scope_model_id",
    "model_scope_file_path",
    "backend",
    "backend_version",
    "image_name",
    "run_command",
    "backend_parameters",
    "env",
    "worker_selector",
    "gpu_selector",
    "distributed_inference_across_workers",
    "cpu_offloading",
    "extended_kv_cache",
    "speculative_config",
)
#: Of these dictionaries. The server adds keys of its own without a value to them.
FILLED_UP = ("gpu_selector", "extended_kv_cache", "speculative_config")
#: An instance in one of these states has its arguments already.
STARTED = ("initializing", "downloading", "starting", "running", "unreachable", "error")


def digest(model):
    """Twelve hexadecimal digits that change when the specification does."""
    text = json.dumps(masked(_shape(model)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def differs(before, after):
    """Whether instances of the two are started with different settings."""
    return _shape(before) != _shape(after)


def _shape(model):
    """What an instance is started with, where empty and not there are the same."""
    found = {key: model.get(key) for key in SHAPE}
    for name in FILLED_UP:
        written = {key: value for key, value in (found[name] or {}).items() if value not in EMPTY}
        found[name] = written if any(written.values()) else None
    return {key: value for key, value in found.items() if value not in EMPTY}


def record_of(model):
    return (model.get("meta") or {}).get(KEY) or {}


def is_pending(model):
    """Whether there is a recorded change that no roll-out has seen through yet."""
    record = record_of(model)
    return bool(record) and record["digest"] != digest(model)


def outdated(model, instances):
    """The instances that were started before the last change of the specification."""
    record = record_of(model)
    if not is_pending(model):
        return []
    return [one for one in instances if one["model_id"] == model["id"] and _is_recorded(record, one)]


def _is_recorded(record, instance):
    """One that was started again since has the new specification."""
    return record["instances"].get(str(instance["id"])) == (instance.get("restart_count") or 0)


def new_record(before, after, instances, revision=None):
    """The record for a change from `before` to `after` while `instances` exist; None when there is nothing to record.

    `revision` is the number that a rollback returns to.
    """
    if not differs(before, after):
        return record_of(before) or None
    old = record_of(before)
    still = [one for one in instances if old and _is_recorded(old, one)]
    started = still or [one for one in instances if one["state"] in STARTED]
    if not started:
        return None
    if still:
        # Those that were started since the recorded change are older than this one too.
        mixed = any(one not in still for one in instances if one["state"] in STARTED)
        return dict(old, instances=_counts(instances), digest="" if mixed else old["digest"])
    mark = digest(before)
    # A change of secrets alone does not show in the digest.
    return {"digest": mark if mark != digest(after) else "", "instances": _counts(started), "revision": revision}


def record_all(model, instances):
    """The record that makes every instance count as outdated."""
    return {"digest": "", "instances": _counts(instances), "revision": record_of(model).get("revision")}


def _counts(instances):
    return {str(one["id"]): one.get("restart_count") or 0 for one in instances if one["state"] in STARTED}


def meta_with(model, record):
    """`meta` of the deployment with this record, or without one."""
    meta = {key: value for key, value in (model.get("meta") or {}).items() if key != KEY}
    return dict(meta, **{KEY: record}) if record else meta
