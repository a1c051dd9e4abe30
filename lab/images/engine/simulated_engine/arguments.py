"""The command line: vLLM's liberties (underscores, dotted JSON keys, -O3) on top of argparse."""

from __future__ import annotations

import argparse
import json

from simulated_engine import options

_OPTIMIZATION_LEVELS = ("0", "1", "2", "3")


class FlexibleArgumentParser(argparse.ArgumentParser):
    def parse_args(self, args=None, namespace=None):
        return super().parse_args(normalise(list(args)), namespace)


def build_parser(version: str) -> FlexibleArgumentParser:
    parser = FlexibleArgumentParser(prog="vllm", description="vLLM CLI (simulated engine)")
    parser.add_argument("-v", "--version", action="version", version=f"{version} (simulated engine)")
    commands = parser.add_subparsers(dest="subparser", parser_class=argparse.ArgumentParser)
    serve = commands.add_parser("serve", usage="vllm serve [model_tag] [options]")
    options.add_options(serve)
    return parser


def non_default(args: argparse.Namespace) -> dict:
    """What the `non-default args` log line shows."""
    reference = argparse.ArgumentParser()
    options.add_options(reference)
    defaults = vars(reference.parse_args([]))
    given = {name: value for name, value in vars(args).items() if name in defaults and value != defaults[name]}
    if args.model_tag:
        given["model"] = args.model_tag
    return given


def normalise(arguments: list) -> list:
    plain, nested = [], {}
    position = 0
    words = list(_dashes(arguments))
    while position < len(words):
        word = words[position]
        position += 1
        name, equals, value = word.partition("=")
        if not (name.startswith("-") and "." in name):
            plain.append(word)
            continue
        if not equals:
            value = words[position] if position < len(words) else ""
            position += 1
        _merge_dotted(nested, name, value)
    for name, value in nested.items():
        plain += [name, json.dumps(value)]
    return plain


def _dashes(arguments):
    """`--max_model_len` is `--max-model-len`, and `-O3` is `--optimization-level 3`."""
    for position, word in enumerate(arguments):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            option, dot, key = name.partition(".")
            yield option.replace("_", "-") + dot + key + equals + value
        elif (
            word == "-O" and arguments[position + 1 : position + 2] and arguments[position + 1] in _OPTIMIZATION_LEVELS
        ):
            yield "--optimization-level"
        elif word.startswith("-O."):
            yield "--compilation-config" + word[2:]
        elif word.startswith("-O") and word != "-O":
            yield from ("--optimization-level", word[2:].lstrip("="))
        else:
            yield word


def _merge_dotted(nested: dict, name: str, text: str) -> None:
    append = name.endswith("+")
    option, *keys = name.rstrip("+").split(".")
    try:
        value = text.split(",") if append else json.loads(text)
    except ValueError:
        value = text
    target = nested.setdefault(option, {})
    for key in keys[:-1]:
        target = target.setdefault(key, {})
    if append:
        target.setdefault(keys[-1], []).extend(value)
    else:
        target[keys[-1]] = value
