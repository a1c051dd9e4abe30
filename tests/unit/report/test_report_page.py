# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report page of a plan that was typed by hand."""

from __future__ import annotations

import html.parser
import json
import pathlib
import re

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _report

SAMPLE = pathlib.Path(__file__).parent / "sample_plan.json"
SCRIPT = "<script>alert('1')</script>"
#: Their values are words of the program, not of people.
WORDS = ("plan_from", "kind", "severity")
#: Mappings whose keys are other people's.
NAMED = ("images", "runtime", "halved")
EMPTY_TAGS = ("meta",)


class Page(html.parser.HTMLParser):
    """The tags with the names of their attributes, the links, the ids and the visible text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.ids, self.attributes = [], [], [], {}
        self._open, self._text = [], []
        self.feed(text)
        self.close()
        assert self._open == [], "tags that are never closed"

    @property
    def text(self):
        return " ".join(" ".join(self._text).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, unused in attrs)))
        self.attributes.setdefault(tag, dict(attrs))
        self.links += [value for name, value in attrs if name in ("href", "src", "action", "data", "poster", "srcset")]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in EMPTY_TAGS:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self._text.append(data)


@pytest.fixture
def sample():
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def page(sample, language="en"):
    return Page(_report.page({"plan": sample}, language))


def poisoned(value, key=None):
    if isinstance(value, dict):
        end = SCRIPT if key in NAMED else ""
        return {name + end: poisoned(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, key) for item in value]
    return value + SCRIPT if value and isinstance(value, str) and key not in WORDS else value


def keys(texts, path=""):
    if not isinstance(texts, dict):
        return {path}
    return {each for name, text in texts.items() for each in keys(text, f"{path}.{name}")}


def placeholders(texts):
    if not isinstance(texts, dict):
        return sorted(re.findall(r"\{\w*\}", texts))
    return {name: placeholders(text) for name, text in texts.items()}


def test_every_language_has_the_same_texts():
    # What is said as it is written needs no words of its own.
    english, chinese = (
        {name: text for name, text in texts.items() if name != "phrases"}
        for texts in _data.load("report_texts.yml").values()
    )
    assert keys(english) == keys(chinese)
    assert placeholders(english) == placeholders(chinese)


@pytest.mark.parametrize(
    "language,lang,told",
    [
        (
            "en",
            "en",
            [
                "Launch plan Planned from the inventory alone; no host was asked Inventory inventories/prod Findings "
                "errors: 1, warnings: 1, accepted: 1",
                "flash-nvidia_h20_3e nvidia_h20_3e vllm 0.25.0, CUDA 13.0 2 × 8 yes 26.2",
                "flash-ascend_910b ascend_910b generic (not declared) 1 × 8 no (without DSpark, for comparison) "
                "Not modelled",
                "Error The deployments of an accelerator need more cards than there are cards_short Where "
                "gpustack_models Found 16 cards wanted, 8 there Expected as many cards as there are Fix lower replicas",
                "Accepted because Test site, wanted as it is",
                "Checkpoint layout fused, format fp8, 153.0 GiB (read on this machine)",
                "--max-model-len=200000 instead of --max-model-len=300000 (pair deepseek_v4 x nvidia_h20_3e; report C "
                "3.1) inventory: deployment",
                "taken out: --max-num-seqs=48 (pair deepseek_v4 x nvidia_h20_3e; report C 3.1) inventory: deployment",
                "--no-enable-flashinfer-autotune instead of --enable-flashinfer-autotune (pair deepseek_v4 x "
                "nvidia_h20_3e; 5.1) this site: pair deepseek_v4 x nvidia_h20_3e measured here",
                '--speculative-config={"method":"dspark","num_speculative_tokens":7} DSpark switch',
                "VLLM_ENGINE_READY_TIMEOUT_S=3600 platform cuda vLLM 0.25.0 envs.py:748",
                "HF_TOKEN=(from the inventory, not shown) inventory: deployment",
                "Tokens in the KV cache 5,240,000",
                "as the engine prints it 26.2",
                "KV cache it has 83.5 GiB on each card (estimate) nominal memory - weights",
                "lower first max_model_len max_num_batched_tokens halved: 27.5 at once",
                "Not modelled release None is not modelled; modelled are 0.25.0 "
                "KV cache it has 13.9 GiB on each card (known) the inventory",
                "flash flash-nvidia_h20_3e 3 flash flash-ascend_910b 1",
                "h20-01 nvidia_h20_3e 8 580.82.07 npu-01 ascend_910b 8 unknown",
            ],
        ),
        (
            "zh",
            "zh-CN",
            [
                "部署方案 方案依据 仅清单，没有连接任何主机 清单 inventories/prod",
                "检查结果 错误 1 个，警告 1 个，已接受 1 个",
                "HF_TOKEN=（来自清单，不显示） 清单：部署",
                "已去掉： --max-num-seqs=48 (组合 deepseek_v4 x nvidia_h20_3e; report C 3.1) 清单：部署",
                "GiB (读取自 本机)",
                "无法估算 没有版本 None 的估算方法；有的是 0.25.0",
                "实际可用的 KV 缓存 每张卡 13.9 GiB (已知值) 清单",
                "flash-ascend_910b ascend_910b generic (未声明) 1 × 8 否 (不带 DSpark，用于对比) 无法估算",
                "错误 某种加速卡的各个部署所需的卡数超过现有的卡数 cards_short 位置 gpustack_models 实际 16 cards",
                "取代了 --max-model-len=300000 (组合 deepseek_v4 x nvidia_h20_3e; report C 3.1) 清单：部署",
                "本站点：组合 deepseek_v4 x nvidia_h20_3e",
                "DSpark 开关",
                "平台 cuda",
                "模型系列 deepseek_v4（cann 平台）",
                "可同时处理的最大长度请求数（引擎启动时打印的值） 26.2",
            ],
        ),
    ],
)
def test_the_page_says(sample, language, lang, told):
    made = page(sample, language)
    assert [text for text in told if text not in made.text] == []
    assert made.attributes["html"]["lang"] == lang


def test_findings_are_ordered_by_severity(sample):
    sample["findings"].reverse()
    text = page(sample).text
    assert text.index("cards_short") < text.index("image_unlocked") < text.index("image_moving_unlocked")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_names_and_paths_are_text_and_nothing_else(sample, language):
    made, harmless = page(poisoned(sample), language), page(sample, language)
    assert made.tags == harmless.tags
    assert made.text.count(SCRIPT) > 50


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_loads_nothing(sample, language):
    text = _report.page({"plan": sample}, language)
    made = Page(text)
    assert {tag for tag, unused in made.tags} & {"link", "script", "img", "iframe", "object", "embed", "base"} == set()
    assert sorted(made.links) == ["#deployment-1", "#deployment-2"]
    assert set(made.links) <= {f"#{each}" for each in made.ids}
    assert "url(" not in text
    assert "@import" not in text
    policy = "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\""
    assert policy in text


def test_the_page_suits_dark_screens_phones_and_paper(sample):
    text = _report.page({"plan": sample})
    assert text.startswith("<!doctype html>")
    for rule in ("prefers-color-scheme: dark", "max-width: 40rem", "@media print", "width=device-width"):
        assert rule in text


def test_a_plan_of_nothing_has_a_page(sample):
    sample.update(deployments=[], routes=[], images={}, hosts=[], findings=[], summary="no findings")
    text = page(sample).text
    assert "The inventory has no deployments." in text
    assert "No findings." in text


def test_a_section_nobody_knows_is_refused(sample):
    with pytest.raises(ValueError, match="unknown section gossip; known: plan"):
        _report.page({"plan": sample, "gossip": {}})


def test_every_kind_of_finding_has_a_chinese_title():
    english, chinese = _report.titles("en"), _report.titles("zh")
    assert set(english) == set(chinese)
    assert [name for name, title in chinese.items() if not re.search("[\u4e00-\u9fff]", title)] == []


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("site: family deepseek_v4 on cann", "本站点：模型系列 deepseek_v4（cann 平台）"),
        ("pair deepseek_v4 x ascend_910b: report C 5.1: a log", "组合 deepseek_v4 x ascend_910b：report C 5.1: a log"),
        ("family qwen3 is not modelled", "没有模型系列 qwen3 的估算方法"),
        ("moon phase", "moon phase"),
        ("moon: the inventory", "moon: the inventory"),
    ],
)
def test_the_programs_words_are_translated_and_no_others(text, own):
    assert _report.translated(text, _data.load("report_texts.yml")["zh"]) == own


def test_the_page_says_how_many_hosts_were_read(sample):
    sample["plan_from"] = "facts"
    assert "what was found on the workers: 1 of 2 were read" in page(sample).text
    assert "2 台中读取了 1 台" in page(sample, "zh").text


def test_an_unread_checkpoint_says_who_looked(sample):
    sample["deployments"][0]["checkpoint"].update(readable=False, problem="/srv/m: No such file", read_on="h20-01")
    assert "Checkpoint not read: /srv/m: No such file (h20-01)" in page(sample).text


def test_every_phrase_of_a_language_keeps_its_names():
    for texts in _data.load("report_texts.yml").values():
        for phrase, own in texts["phrases"].items():
            assert placeholders(phrase) == placeholders(own)
