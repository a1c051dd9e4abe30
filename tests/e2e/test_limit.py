"""A bare worker joins beside a running server by `--limit`, and the rest of the site is judged but not touched."""

from __future__ import annotations

import lab_site
import pytest
import yaml
from lab_site import DEPLOYMENTS, H20, NPU, ROOT


@pytest.fixture(scope="module")
def bare(lab, api):
    """h20-01 as a machine installed anew on an old data disk; its record and its deployment have been removed."""
    api.call("DELETE", f"/v2/models/{api.named('models', DEPLOYMENTS[H20])['id']}")
    api.call("DELETE", f"/v2/workers/{api.named('workers', H20)['id']}")
    run = lab_site.playbook(
        "lab/reset.yml", "-e", '{"lab_reset": ["h20-01"], "lab_reset_images": "keep"}', log="reset_h20.log"
    )
    assert run.code == 0, run.tail()
    run = lab_site.playbook("lab/create.yml", log="create_h20.log")
    assert run.code == 0, run.tail()
    assert lab.sh(H20, "command -v dockerd", check=False) == ""


def untouched(lab, api):
    model = api.named("models", DEPLOYMENTS[NPU])
    instances = [item for item in api.items("model-instances") if item["model_name"] == DEPLOYMENTS[NPU]]
    return lab.running(NPU), model["updated_at"], [(item["id"], item["updated_at"]) for item in instances]


def test_a_defect_of_another_host_is_reported(bare, lab, tmp_path):
    defect = tmp_path / "defect.yml"
    defect.write_text(yaml.safe_dump({"all": {"hosts": {NPU: {"gpustack_accelerator": "ascend_910x"}}}}))
    run = lab_site.site("-i", str(defect), "--limit", H20, log="limit_defect.log")
    assert run.code != 0
    assert "ascend_910x" in run.output
    assert NPU in run.output
    assert lab.sh(H20, "command -v dockerd", check=False) == ""


def test_packages_in_the_way_are_named_and_stay(bare, lab):
    lab.sh(H20, "apt-get -q update && apt-get -qy --no-install-recommends install runc")
    run = lab_site.site("--limit", H20, log="limit_conflict.log")
    assert run.code != 0
    assert "has runc, which cannot be there together with docker-ce" in " ".join(run.output.split())
    assert "gpustack_docker_remove_conflicting: true" in " ".join(run.output.split())
    assert lab.sh(H20, "dpkg-query -W -f '${Status}' runc") == "install ok installed"
    assert lab.sh(H20, "command -v dockerd", check=False) == ""


def test_the_bare_worker_joins_from_another_directory(bare, lab, api, tmp_path):
    before = untouched(lab, api)
    run = lab_site.playbook(
        str(ROOT / "site.yml"),
        *("-i", str(lab_site.INVENTORY), "--limit", H20, "-e", '{"gpustack_docker_remove_conflicting": true}'),
        log="limit.log",
        cwd=tmp_path,
    )
    assert run.code == 0, run.tail()
    assert "not-installed" in lab.sh(H20, "dpkg-query -W -f '${Status}' runc; true")
    assert set(run.recap()) == {H20}
    assert api.named("workers", H20)["state"] == "ready"
    states = {item["model_name"]: (item["worker_name"], item["state"]) for item in api.items("model-instances")}
    assert states[DEPLOYMENTS[H20]] == (H20, "running")
    assert untouched(lab, api) == before


def test_a_second_limited_run_changes_nothing(bare):
    run = lab_site.site("--limit", H20, log="limit_again.log")
    assert run.code == 0, run.tail()
    assert run.changed() == 0
