# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from steps import refused, stays

MODULE = "worker_info"


def names(run, **filters):
    result = run(MODULE, **filters)
    assert result["changed"] is False
    return [one["name"] for one in result["workers"]]


def test_filters(run, worker, other_worker):
    both = [worker.name, other_worker.name]
    assert [name for name in names(run) if name in both] == sorted(both)
    assert names(run, name=worker.name) == [worker.name]
    assert names(run, name="nobody") == []
    assert set(names(run, cluster="default", state="ready")) >= set(both)
    assert worker.name not in names(run, state="maintenance")
    run("worker", name=worker.name, labels={"rack": "r1"})
    assert names(run, labels={"rack": "r1", "os": "linux"}) == [worker.name]
    assert names(run, labels={"rack": "r2"}) == []


def test_is_what_the_managing_module_tells(run, worker):
    (found,) = run(MODULE, name=worker.name)["workers"]
    assert found == stays(run, "worker", name=worker.name)["worker"]
    assert found["accelerators"] == [
        {"vendor": "nvidia", "name": "NVIDIA H20-3e", "memory_bytes": 140 * 2**30, "count": 8}
    ]


def test_unknown_cluster(run, server):
    message = (
        f"There is no cluster 'none' on {server.url}. "
        "Make it first with inferops.gpustack.cluster. A new server has none."
    )
    refused(run, MODULE, message, cluster="none", reason="NotFound")


def test_no_server_in_check_mode(run):
    result = run(MODULE, check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["workers"], len(result["warnings"])) == (False, [], 1)
