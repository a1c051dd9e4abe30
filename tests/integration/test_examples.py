# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples that the modules document, run by ansible-playbook at -vvv, where no secret may be seen."""

from __future__ import annotations

import importlib
import re

import pytest
import yaml
from module_runner import MODULES
from simulated_worker import SimulatedWorker
from wipe import wipe

from playbooks import ROOT, play

NAMES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))
#: A play of its own, which the tests of the playbook run.
NOT_TASKS = {"preflight", "plan"}
#: The first release that has all an example uses.
NEEDS = {"api_key": "2.2", "api_key_info": "2.2", "model": "2.3"}
ADDRESS = "http://10.0.0.10"
WORKER = "h20-01"
PATH = "/srv/models/DeepSeek-V4-Flash-0731"
DEPLOYMENT, ROUTE = "deepseek-v4-flash-nvidia_h20_3e", "deepseek-v4-flash"
SERVICE = "ansible.builtin.systemd_service"
OURS = "inferops.gpustack."


def example(name):
    """The tasks as they are documented, in one text each."""
    return re.split(r"^(?=- )", importlib.import_module(MODULES + name).EXAMPLES.strip(), flags=re.M)[1:]


def too_old(server, name):
    return server.version < NEEDS.get(name, "")


def write_tasks(name, url, directory):
    """Pointed at the test's server and away from this machine's directories and services."""
    text = "".join(f"{task.rstrip()}\n" for task in example(name) if SERVICE not in task).replace(ADDRESS, url)
    for path in ("/etc/gpustack", "/srv/recorded"):
        text = text.replace(path, f"{directory}{path}")
    if name == "manifest":
        # It uses what is known of the host.
        text = yaml.safe_dump([{f"{OURS}host_facts": {"manifest": f"{directory}/none"}}]) + text
    (directory / f"{name}.yml").write_text(text)


def plays(names, url, directory):
    """One play with a host for each module: one that failed stops no other."""
    for name in names:
        write_tasks(name, url, directory)
    defaults = {
        f"{OURS}docker_daemon_config": {"path": f"{directory}/daemon.json"},
        f"{OURS}manifest": {"path": f"{directory}/manifest.json"},
    }
    tasks = [{"ansible.builtin.include_tasks": f"{directory}/{{{{ inventory_hostname }}}}.yml"}]
    return [{"hosts": ",".join(names), "gather_facts": False, "module_defaults": defaults, "tasks": tasks}]


def vault():
    """A value for each variable that the examples take from a vault. It fits what GPUStack asks of a password."""
    text = "".join(part for name in set(NAMES) - NOT_TASKS for part in example(name))
    return {name: f"Canary-{name}_1" for name in re.findall(r"{{ (vault_\w+) }}", text)}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("examples")
    (made / "srv" / "recorded" / WORKER).mkdir(parents=True)
    (made / "hosts").write_text("".join(f"{name} ansible_connection=local\n" for name in NAMES))
    return made


@pytest.fixture(scope="module")
def world(server):
    """What examples take for granted: a cluster, a worker in it, and a deployment that answers on a route."""
    api = server.api
    cluster = api.find("/v2/clusters", name="lab") or api.post("/v2/clusters", {"name": "lab", "provider": "Docker"})
    worker = SimulatedWorker(server, cluster["id"], WORKER)
    worker.add_path(PATH)
    api.wait(f"/v2/workers/{worker.id}", lambda found: found["state"] == "ready")
    body = {"name": DEPLOYMENT, "source": "local_path", "local_path": PATH, "backend": "vLLM", "replicas": 1}
    body.update(cluster_id=cluster["id"], backend_parameters=["--max-model-len=8192"])
    model = api.post("/v2/models", body)
    route = api.post("/v2/model-routes", {"name": ROUTE, "targets": [{"model_id": model["id"], "weight": 1}]})
    yield {"model": model, "route": route}
    worker.close()
    wipe(server, keep_clusters=["default"])


@pytest.fixture(scope="module")
def runs(server, world, directory):
    """Two runs: what only looks at the deployment, and then everything else, without it."""
    api = server.api
    arguments = ["-i", directory / "hosts", "-vvv", "--diff"]
    variables = {
        **vault(),
        "gpustack_admin_password": server.password,
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }
    looks = play(plays(["chat_probe"], server.url, directory), *arguments, variables=variables, directory=directory)
    api.delete(f"/v2/model-routes/{world['route']['id']}")
    api.delete(f"/v2/models/{world['model']['id']}")
    rest = [name for name in NAMES if name not in NOT_TASKS | {"chat_probe"} and not too_old(server, name)]
    return [looks, play(plays(rest, server.url, directory), *arguments, variables=variables, directory=directory)]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_TASKS])
def test_example(runs, server, name):
    if too_old(server, name):
        pytest.skip(f"The example needs GPUStack {NEEDS[name]}")
    run = next(one for one in runs if name in one.recap)
    assert run.recap[name]["failed"] == run.recap[name]["unreachable"] == 0, run.of(name)
    assert run.recap[name]["ok"] >= 1


def test_no_secret_is_seen(runs, secrets):
    values = [secrets.add(value) for value in vault().values()]
    assert len(values) >= 5
    for run in runs:
        secrets.check(run.output, "ansible-playbook -vvv")


@pytest.mark.parametrize(("name", "told"), [("preflight", "No host was touched."), ("plan", "1 deployment planned")])
def test_example_that_is_a_play(tmp_path, name, told):
    """Both judge an inventory whose images are not pinned."""
    plays = yaml.safe_load(importlib.import_module(MODULES + name).EXAMPLES)
    variables = {"gpustack_admin_password": "River.2.ocean"}
    run = play(plays, "-i", ROOT / "inventories" / "single_node", variables=variables, directory=tmp_path)
    assert run.code == 2
    assert "ERROR image_moving_unlocked" in run.output
    assert told in run.output
