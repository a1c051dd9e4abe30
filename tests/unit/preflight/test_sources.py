"""What only the text of the inventory shows, and which files are read for it."""

from __future__ import annotations

import os

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_controller, _check_sources, _sources
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site


def findings(text, path="hosts.yml"):
    return list(_check_sources.check(Site({"hosts": {}, "sources": {path: text}})))


def seen(text, path="hosts.yml"):
    return [(finding.id, finding.where) for finding in findings(text, path)]


def test_a_key_twice_is_found_at_any_depth():
    text = "all:\n  vars:\n    site: {a: 1, b: 2, a: 3}\n    list:\n      - x: 1\n        y: 2\n        x: 3\nall: {}\n"
    assert sorted(seen(text)) == [
        ("yaml_key_twice", "hosts.yml:3"),
        ("yaml_key_twice", "hosts.yml:7"),
        ("yaml_key_twice", "hosts.yml:8"),
    ]
    assert [finding.found for finding in findings(text) if finding.where == "hosts.yml:8"] == [
        "the key all a second time; it is already in line 1 of the same mapping"
    ]


def test_two_of_one_key_in_one_line_and_three_in_all():
    assert seen("{a: 1, a: 2}") == [("yaml_key_twice", "hosts.yml:1")]
    assert len(findings("a: 1\na: 2\na: 3\n")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "a: {x: 1}\nb: {x: 1}\n",
        "1: a\n'1': b\n",
        "base: &base {x: 1}\nother: &other {y: 1}\nboth:\n  <<: *base\n  <<: *other\n",
        "once: &once {x: 1}\nagain: *once\n",
        "secret: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6161\nplain: !unsafe 'x'\nnew: !site.example/thing {x: 1}\n",
        "",
        "- x\n- x\n",
        # JSON is read first, and may have what YAML refuses
        '{\n\t"all": {}\n}\n',
    ],
)
def test_nothing_to_say_about_yaml(text):
    assert seen(text) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("all:\n  hosts:\n    h1: {gpustack_admin_password: hunter2\n    h2:\n", ":4"),
        ("a: [1\nb: 2\na: 1\n", ":2"),
        ("a: 1\n---\na: 1\n", ":2"),
        ("gpustack_admin_password: *hunter2\n", ":1"),
        ("gpustack_admin_password: hunter2: x\n", ":1"),
        ('{"all": {"hunter2"}\n', ":2"),
        ("a: \x01\n", ""),
    ],
)
def test_a_file_ansible_drops_is_told_without_its_text(text, line):
    for path in ("hosts.yml", "hosts.yaml", "hosts.json"):
        (finding,) = findings(text, path)
        assert (finding.id, finding.where) == ("inventory_unparsed", path + line)
        assert "hunter2" not in repr(finding)


def test_a_file_without_suffix_may_be_ini():
    assert seen("[gpustack_worker]\nh1 a=1\n", "hosts") == []


def test_yaml_that_is_nested_deeply():
    text = "gpustack_models: " + "[" * 900 + "1.50" + "]" * 900
    assert [kind for kind, unused in seen(text)] == []


def test_yaml_that_contains_itself():
    assert seen("gpustack_models: &models\n  - *models\n  - {name: 1.50, name: x}\n") == [
        ("number_loses_digits", "gpustack_models[1].name in hosts.yml:3"),
        ("yaml_key_twice", "hosts.yml:3"),
    ]


@pytest.mark.parametrize("number", ["2.30", "0x10", "1_000", "010", "1:30", "1.0e+3", "+2.3"])
def test_yaml_number_loses_digits(number):
    text = f"all:\n  vars:\n    gpustack_version: {number}\n"
    assert seen(text) == [("number_loses_digits", "gpustack_version in hosts.yml:3")]


def test_nested_yaml_number_loses_digits():
    text = (
        "gpustack_models:\n  - name: a\n    deployments:\n"
        "      - engine_version: 0.30\n        max_model_len: 0x1000\n        args: {seed: 010}\n"
    )
    assert seen(text, "group_vars/all.yml") == [
        ("number_loses_digits", "gpustack_models[0].deployments[0].engine_version in group_vars/all.yml:4")
    ]


def test_a_number_in_a_list_of_text():
    assert seen("gpustack_insecure_registries: [a:5000, 1.50]") == [
        ("number_loses_digits", "gpustack_insecure_registries[1] in hosts.yml:1")
    ]


@pytest.mark.parametrize("value", ["'2.30'", "2.3", "2.3.0", "!unsafe '2.30'", "{a: 1.50}"])
def test_no_digit_is_lost(value):
    assert seen(f"gpustack_version: {value}\nother: 2.30\ngpustack_server_port: 0x50\n") == []


@pytest.mark.parametrize("value", ["'ab{#cd'", "ab{#c#}d", "|\n  x\n  {#\n", "'{{ x }}{#'"])
def test_jinja_comment(value):
    (finding,) = findings(f"gpustack_admin_password: {value}\n")
    assert (finding.id, finding.where) == ("jinja_comment", "gpustack_admin_password in hosts.yml:1")
    assert "!unsafe" in finding.fix


def test_nested_jinja_comment():
    assert seen("gpustack_models:\n  - deployments:\n      - env:\n          A: 'b{#'\n") == [
        ("jinja_comment", "gpustack_models[0].deployments[0].env.A in hosts.yml:4")
    ]


@pytest.mark.parametrize(
    "value",
    [
        "!unsafe 'ab{#cd'",
        "\"{{ 'a{#b' }}\"",
        "'{% raw %}{#{% endraw %}'",
        "'{# the first of the two #}{{ addresses[0] }}'",
        "'{{ broken'",
        "ab{c}#d",
    ],
)
def test_no_jinja_comment(value):
    assert seen(f"gpustack_admin_password: {value}\nother: 'ab{{#cd'\n") == []


def test_the_value_of_a_secret_is_never_shown():
    texts = {
        "a.yml": "gpustack_admin_password: 'hunter2{#'\ngpustack_admin_password: hunter2\n",
        "b.ini": "[all:vars]\ngpustack_admin_password=hunter2 # x{#\n[g]\nh gpustack_admin_password=hunter2#x\n",
        "c.ini": "h gpustack_admin_password=0x1337\n",
    }
    found = list(_check_sources.check(Site({"hosts": {}, "sources": texts})))
    assert [finding.id for finding in found] == [
        "yaml_key_twice",
        "jinja_comment",
        "ini_comment",
        "jinja_comment",
        "ini_comment",
        "number_loses_digits",
    ]
    assert "hunter2" not in repr(found)
    assert "1337" not in repr(found)


def test_what_ansible_makes_of_ini(tmp_path):
    """The ground on which the checks of INI files stand."""
    path = tmp_path / "hosts"
    path.write_text(
        "h1 cut=a#b lost=1\n"
        "h2 quoted='a#b' escaped=a\\#b number=\"2.30\" twice='\"2.30\"' # comment=1\n"
        '[all:vars]\nkept=a # b\nliteral=80 # b\nword=a#b\ntext="2.30"\ndigits=2.30 # b\n',
        encoding="utf-8",
    )
    inventory = InventoryManager(DataLoader(), [str(path)])
    of_h1, of_h2, of_all = inventory.get_host("h1").vars, inventory.get_host("h2").vars, inventory.groups["all"].vars
    assert of_h1["cut"] == "a"
    assert not {"lost", "comment"} & {*of_h1, *of_h2}
    assert [of_h2[name] for name in ("quoted", "escaped", "number", "twice")] == ["a#b", "a#b", 2.3, "2.30"]
    assert of_all == {"kept": "a # b", "literal": 80, "word": "a#b", "text": "2.30", "digits": 2.3}


@pytest.mark.parametrize("value", ["abc#def", '"x"#y', "a{#b"])
def test_a_comment_within_a_value_of_a_host_line(value):
    text = f"[gpustack_worker]\n\nh20-01 ansible_host=192.0.2.1 gpustack_admin_password={value} gpustack_version=2.30\n"
    # The version is cut off together with the rest of the line.
    assert seen(text, "hosts") == [("ini_comment", "gpustack_admin_password on h20-01 in hosts:3")]


@pytest.mark.parametrize(
    "line",
    [
        'h gpustack_worker_name="abc #def"',
        "h gpustack_worker_name='abc#def'",
        r"h gpustack_worker_name=abc\#def",
        "h gpustack_worker_name=abc # the gpustack_worker_name=a#b of rack 3, don't touch",
        "h other=abc#def",
        "# h gpustack_worker_name=a#b",
        "; h gpustack_worker_name=a#b",
        "h",
    ],
)
def test_no_comment_within_a_value_of_a_host_line(line):
    assert seen(line + "\n", "hosts.ini") == []


def test_a_comment_after_a_value_in_a_vars_section():
    text = "[all:vars]\n; note\ngpustack_cluster_name = lab # mine\n\n[gpustack_worker:children] # x\nh20\n"
    assert seen(text, "hosts") == [("ini_comment", "gpustack_cluster_name in hosts:3")]


@pytest.mark.parametrize("value", ['"lab" # x', "lab#x", '"lab #x"', "lab", ""])
def test_no_comment_in_a_vars_section(value):
    text = f"[all:vars]\ngpustack_server_port=80 # x\ngpustack_cluster_name={value}\nother=lab # x\n"
    assert seen(text, "hosts") == []


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("[all:vars]\ngpustack_version=2.30", "put the value in quotes"),
        ("[all:vars]\ngpustack_version=2.30 # x", "put the value in quotes"),
        ("[all:vars]\ngpustack_version=7", "put the value in quotes"),
        ("[all]\nh gpustack_version=7", "use two pairs of quotes: gpustack_version='\"...\"'"),
        ("[all]\nh gpustack_version=2.30", "use two pairs of quotes: gpustack_version='\"...\"'"),
        ('[all]\nh gpustack_version="2.30"', "use two pairs of quotes: gpustack_version='\"...\"'"),
    ],
)
def test_ini_number_loses_digits(line, fix):
    (finding,) = findings(line, "hosts")
    where = "gpustack_version on h in hosts:2" if "[all]" in line else "gpustack_version in hosts:2"
    assert (finding.id, finding.where, finding.fix) == ("number_loses_digits", where, fix)


@pytest.mark.parametrize(
    "line",
    [
        '[all:vars]\ngpustack_version="2.30"',
        "[all:vars]\ngpustack_version=2.3.0",
        "[all:vars]\ngpustack_server_port=0x50",
        "[all:vars]\ngpustack_version=True",
        "[all]\nh gpustack_version='\"2.30\"'",
        "[all]\nh other=2.30",
    ],
)
def test_no_digit_is_lost_in_ini(line):
    assert seen(line, "hosts") == []


def test_jinja_comment_in_a_vars_section():
    assert seen("[all:vars]\ngpustack_cluster_name=a{#b\n", "hosts") == [
        ("jinja_comment", "gpustack_cluster_name in hosts:2")
    ]


def test_other_formats_are_not_read_as_ini():
    text = "[all:vars]\ngpustack_version=2.30\n"
    assert seen(text, "hosts.toml") == []
    assert [kind for kind, unused in seen(text, "hosts.yml")] == ["inventory_unparsed"]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory, where `write` makes a file that says its own name."""
    monkeypatch.chdir(tmp_path)

    def write(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"text of {name}", encoding="utf-8")

    return write


def read(*sources, playbook="", groups=("all", "g"), hosts=("h",), extra_vars=()):
    task_vars = {"ansible_inventory_sources": [os.path.abspath(source) for source in sources]}
    if playbook:
        task_vars["playbook_dir"] = os.path.abspath(playbook)
    return _sources.read(DataLoader(), task_vars, groups, hosts, extra_vars)


def test_a_directory_is_read_as_ansible_reads_it(site):
    loaded = [
        "inv/hosts.yml",
        "inv/more",
        "inv/sub/hosts.ini",
        "inv/group_vars/all.yml",
        "inv/group_vars/g/b.yml",
        "inv/group_vars/g/deep/c.json",
        "inv/host_vars/h",
    ]
    not_loaded = [
        "inv/.hidden",
        "inv/hosts.yml~",
        "inv/hosts.yml.bak",
        "inv/hosts.yml.orig",
        "inv/notes.md",
        "inv/group_vars/all.yml.example",
        "inv/group_vars/g/.hidden.yml",
        "inv/group_vars/g/b.yml~",
        "inv/group_vars/g/b.txt",
        "inv/group_vars/nobody.yml",
        "inv/host_vars/other_host.yml",
    ]
    site(*loaded, *not_loaded)
    assert read("inv") == {name: f"text of {name}" for name in loaded}


def test_one_file_beside_others(site):
    site("inv/hosts.yml", "inv/other.yml", "inv/group_vars/g.yml", "books/group_vars/all.yml", "books/play.yml")
    assert list(read("inv/hosts.yml", playbook="books")) == [
        "inv/hosts.yml",
        "inv/group_vars/g.yml",
        "books/group_vars/all.yml",
    ]


def test_a_file_of_extra_variables(site):
    site("more.yml")
    assert list(read(extra_vars=("a=1", "@more.yml", "@missing.yml"))) == ["more.yml"]


def test_what_cannot_be_read_as_text_is_left_out(site, tmp_path):
    site("inv/script", "inv/plain")
    (tmp_path / "inv/script").write_text("#!/bin/sh\n")
    # What every file of a Windows drive is in WSL.
    for name in ("script", "plain"):
        (tmp_path / "inv" / name).chmod(0o755)
    (tmp_path / "inv/vaulted.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n6161\n")
    (tmp_path / "inv/latin").write_bytes(b"caf\xe9")
    assert list(read("inv")) == ["inv/plain"]


def test_sources_that_are_no_files():
    assert read("h1,h2,") == {}


def test_a_file_outside_the_working_directory_is_named_in_full(site, tmp_path, monkeypatch):
    site("inv/hosts.yml", "work/x")
    monkeypatch.chdir(tmp_path / "work")
    assert list(read(tmp_path / "inv/hosts.yml")) == [str(tmp_path / "inv/hosts.yml")]


@pytest.mark.parametrize(
    ("controller", "kinds"),
    [
        ({}, []),
        ({"ansible_core": "2.19.0", "python": "3.11.9"}, []),
        ({"ansible_core": "2.21.4rc1", "python": "3.13.0"}, []),
        ({"ansible_core": "2.18.9", "python": "3.12.0"}, ["ansible_core_untested"]),
        ({"ansible_core": "2.22.0", "python": "3.9.0"}, ["ansible_core_untested", "python_untested"]),
        ({"ansible_core": "2.20.0", "python": "3.14.0"}, ["python_untested"]),
    ],
)
def test_versions_of_the_controller(controller, kinds):
    found = list(_check_controller.check(Site({"hosts": {}, "controller": controller})))
    assert [finding.id for finding in found] == kinds
    assert {finding.severity for finding in found} <= {"warning"}
