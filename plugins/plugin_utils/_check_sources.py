# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What only the written text shows: Ansible has dropped or changed it by the time it is a value.

Messages name file, line and variable, never a value: it may be a secret.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import warnings

import jinja2
import yaml
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import known_variables, role_prefixes

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_TEXT = "tag:yaml.org,2002:str"
_YAML_ONLY = (".yml", ".yaml", ".json")
# Ansible's own pattern for `[group]` and `[group:vars]`.
_SECTION = re.compile(r"^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$")
# One word of a host line, as shlex sees it. A comment starts at any # outside of quotes, also within a word.
_WORD = re.compile(r"""\s*((?:[^\s'"\\#]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)""")
_JINJA = jinja2.Environment()


def check(site):
    for path, text in site.sources.items():
        yield from _check_file(path, text)


def _check_file(path, text):
    suffix = os.path.splitext(path)[1]
    root = None
    if not suffix or suffix in _YAML_ONLY:
        try:
            root = _yaml(text)
        except yaml.YAMLError as problem:
            if suffix:
                yield _unparsed(path, problem)
    if isinstance(root, yaml.MappingNode):
        yield from _mappings(path, root)
    elif suffix != ".toml" and suffix not in _YAML_ONLY:
        yield from _ini(path, text)


def _yaml(text):
    """The tree of nodes; nothing is constructed, so a tag may be any."""
    try:
        return yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError:
        # Ansible reads JSON first, and not all of it is YAML: YAML refuses tabs.
        if _is_json(text):
            return None
        raise


def _is_json(text):
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _unparsed(path, problem):
    mark = getattr(problem, "problem_mark", None)
    return error(
        "inventory_unparsed",
        f"{path}:{mark.line + 1}" if mark else path,
        "text that is neither YAML nor JSON",
        "a file Ansible can read; without it its hosts and values are missing",
        "correct the file: the mistake is in this line or before it, often an indentation, a quote or a bracket",
    )


def _read_names():
    options = {}
    for each in role_prefixes().values():
        options.update(each)
    return {**options, **known_variables()}


def _mappings(path, root):
    """Every mapping once, however many aliases lead to it."""
    names = _read_names()
    seen, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(reversed(node.value))
            continue
        yield from _keys(path, node)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in names:
                yield from _value(path, key.value, value, names[key.value])
        waiting.extend(value for key, value in reversed(node.value))


def _keys(path, mapping):
    first = {}
    for key, _value_node in mapping.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
            continue
        line = key.start_mark.line + 1
        # With the tag: the number 1 and the text "1" are two keys.
        identity = (key.tag, key.value)
        if identity in first:
            yield _key_twice(path, key.value, first[identity], line)
        else:
            first[identity] = line


def _key_twice(path, key, first, second):
    return error(
        "yaml_key_twice",
        f"{path}:{second}",
        f"the key {key} a second time; it is already in line {first} of the same mapping",
        "every key of a mapping once",
        "merge the two, or take one out; Ansible uses the last one and drops the other",
    )


def _value(path, name, value, spec):
    """What is wrong in the value of one of our variables."""
    for inner, node, kind in _scalars(value, spec):
        where = f"{name}{inner} in {path}:{node.start_mark.line + 1}"
        if kind == "str" and node.tag in _NUMBERS and str(yaml.safe_load(node.value)) != node.value:
            yield _loses_digits(where, "put the value in quotes")
        if node.tag == _TEXT and _comment_by_accident(node.value):
            yield _jinja_comment(where, "write !unsafe before the value, so that it is no template")


def _scalars(root, spec):
    """The way to each scalar, the scalar, and the type its description gives it."""
    seen, waiting = set(), [("", root, spec)]
    while waiting:
        inner, node, spec = waiting.pop()
        if node.tag.startswith("!") or id(node) in seen:  # !unsafe is no template, !vault no text
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield inner, node, spec.get("type")
        elif isinstance(node, yaml.SequenceNode):
            element = dict(spec, type=spec.get("elements"))
            parts = [(f"{inner}[{index}]", value, element) for index, value in enumerate(node.value)]
            waiting.extend(reversed(parts))
        else:
            options = spec.get("options", {})
            parts = [
                (f"{inner}.{key.value}", value, options.get(key.value, {}))
                for key, value in node.value
                if isinstance(key, yaml.ScalarNode)
            ]
            waiting.extend(reversed(parts))


def _loses_digits(where, fix):
    return error(
        "number_loses_digits",
        where,
        "read as a number, which can change it (0.30 becomes 0.3)",
        "text",
        fix,
    )


def _comment_by_accident(value):
    """Whether Jinja takes a `{#` of the value as the start of a comment that nobody meant as one.

    One that ends and stands beside a template is meant: it explains the template.
    """
    if "{#" not in value:
        return False
    try:
        tokens = [token[1] for token in _JINJA.lex(value)]
    except jinja2.TemplateSyntaxError as problem:
        return "end of comment" in str(problem)
    ends = tokens.count("comment_begin") == tokens.count("comment_end")
    template = "variable_begin" in tokens or "block_begin" in tokens
    return "comment_begin" in tokens and not (ends and template)


def _jinja_comment(where, fix):
    return error(
        "jinja_comment",
        where,
        "{# in the value, which starts a comment in Jinja: it and what follows are lost",
        "a value without {#",
        f"{fix}; or use other characters",
    )


def _ini(path, text):
    names = _read_names()
    state = "hosts"
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in ";#":
            continue
        section = _SECTION.match(line)
        if section:
            state = section.group(2) or "hosts"
        elif state == "hosts":
            yield from _host_line(f"{path}:{number}", line, names)
        elif state == "vars":
            name, unused, value = (part.strip() for part in line.partition("="))
            if name in names:
                yield from _group_variable(f"{name} in {path}:{number}", name, value, names)


def _host_line(place, line, names):
    position, host = 0, line.split()[0]
    while word := _WORD.match(line, position):
        position = word.end()
        name, assigned, value = "".join(shlex.split(word.group(1))).partition("=")
        if name not in names or not assigned:
            continue
        where = f"{name} on {host} in {place}"
        if line.startswith("#", position):
            yield error(
                "ini_comment",
                where,
                "a # within the value: Ansible drops it and the rest of the line",
                "a # in quotes, or with a space before it",
                "put the value in quotes; if the # starts a comment, put a space before it",
            )
        # Ansible takes one pair of quotes away before it looks for numbers.
        yield from _ini_value(where, value, names[name], f"use two pairs of quotes: {name}='\"...\"'")


def _group_variable(where, name, value, names):
    if re.search(r"\s#", value) and _literal(value) == value:
        yield error(
            "ini_comment",
            where,
            "a # after the value: in a :vars section it starts no comment, the text belongs to the value",
            "a comment in a line of its own",
            "move the comment to its own line; if the # belongs to the value, put the value in quotes",
        )
    yield from _ini_value(where, value, names[name], "put the value in quotes")


def _ini_value(where, value, spec, fix):
    literal = _literal(value)
    number = isinstance(literal, (int, float)) and not isinstance(literal, bool)
    if number and spec.get("type") == "str":
        yield _loses_digits(where, fix)
    if _comment_by_accident(value):
        yield _jinja_comment(where, "move the variable to a YAML file and tag it: !unsafe '...'")


def _literal(value):
    """What Ansible makes of the text after the `=` sign in an INI file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value
