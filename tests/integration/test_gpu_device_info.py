# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import cards

MODULE = "gpu_device_info"


def test_filters(run, worker, make_worker, unique):
    npu = unique("npu")
    make_worker(npu, status=cards.status(cards.ASCEND, count=2))
    of_worker = run(MODULE, worker=npu)
    assert of_worker["changed"] is False
    assert [one["id"] for one in of_worker["gpu_devices"]] == [f"{npu}:cann:0", f"{npu}:cann:1"]
    assert {one["worker"] for one in run(MODULE, vendor="ascend")["gpu_devices"]} == {npu}
    cuda = run(MODULE, type="cuda", worker=worker.name)["gpu_devices"]
    assert [(one["id"], one["index"]) for one in cuda] == [(f"{worker.name}:cuda:{n}", n) for n in range(8)]
    assert (cuda[0]["name"], cuda[0]["memory_bytes"]) == ("NVIDIA H20-3e", 140 * 2**30)
    assert run(MODULE, vendor="amd")["gpu_devices"] == []


def test_ids_are_those_a_deployment_takes(run, server, api, worker, deploy):
    """With an id of another worker, or of another form, the server would refuse it."""
    chosen = run(MODULE, worker=worker.name)["gpu_devices"][3]["id"]
    model = deploy(gpu_selector={"gpu_ids": [chosen]})
    found = api.wait(
        "/v2/model-instances",
        lambda found: [one["state"] for one in found["items"]] == ["running"],
        model_id=model["id"],
    )
    assert found["items"][0]["gpu_indexes"] == [3]
    if server.version < "2.2":
        # The worker counts the claims there, and a simulated one does not.
        return
    claimed = {one["id"]: one["memory_allocated_bytes"] for one in run(MODULE, worker=worker.name)["gpu_devices"]}
    assert [device for device, claim in claimed.items() if claim] == [chosen]


def test_no_server_in_check_mode(run):
    result = run(MODULE, check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["gpu_devices"], len(result["warnings"])) == (False, [], 1)
