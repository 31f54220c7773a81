"""The site's own words, in each language that it is written in."""

from __future__ import annotations

from collections.abc import Mapping

#: The languages of the site; the first one stands at its root.
LANGUAGES = ("en", "zh")

_WORDS: Mapping[str, tuple[str, str]] = {
    "all": ("all", "全部"),
    "and": ("also", "同时"),
    "applies": ("Where it applies", "适用范围"),
    "because": ("because", "原因"),
    "change_first": ("When this changes", "改动此处时"),
    "change_then": ("this has to change along", "须一并改动"),
    "cochanges": ("What has to change together", "须一并改动之处"),
    "contradicts": ("contradicts", "与之冲突"),
    "created": ("created", "创建于"),
    "date": ("date", "日期"),
    "digest": ("digest", "评审摘要"),
    "digests": ("Review digests", "评审摘要"),
    "document": ("document", "文档"),
    "filter": ("Filter", "筛选"),
    "findings": ("What is wrong in this file", "此文件中的问题"),
    "freshness": ("freshness", "时效"),
    "history": ("History of its pins", "来源钉点的历史"),
    "home": ("Home", "首页"),
    "in_force": ("Waivers", "豁免"),
    "label": ("label", "标签"),
    "labels": ("By label", "按标签"),
    "looks_for": ("What it looks for in a change", "在改动中查找什么"),
    "look_up": ("Which rules apply?", "查询适用规则"),
    "minutes": ("minutes", "分钟"),
    "no_twin": ("This text has no English version yet.", "此文尚无中文版，以下为原文。"),
    "none": ("none", "无"),
    "not_checked": ("not checked", "未检查"),
    "nothing_but_paths": (
        "Nothing but paths: every change in its places is of interest.",
        "只看路径：范围内的改动都相关。",
    ),
    "cited_names": ("The names of code that its text cites.", "正文引用的代码名称。"),
    "other_language": ("中文", "English"),
    "patch": ("patches", "补丁"),
    "path": ("path", "路径"),
    "pin": ("source", "来源"),
    "pins": ("Sources", "来源"),
    "places": ("Places", "目录"),
    "places_intro": (
        "The target repositories' places, with the rules of each.",
        "目标仓库的各处目录，及其适用的规则。",
    ),
    "reading": ("reading", "阅读价值"),
    "related": ("related", "相关"),
    "related_digests": ("Digests about the same code", "同一代码的评审摘要"),
    "removal": ("removal", "移除条件"),
    "repo": ("repository", "仓库"),
    "rule": ("rule", "规则"),
    "rules": ("Rules", "规则"),
    "severity": ("severity", "严重程度"),
    "stale": ("Freshness", "时效"),
    "stale_intro": (
        "Whether the sources that the rules were read from still say what they said.",
        "规则所依据的来源是否仍与当时一致。",
    ),
    "state": ("state", "状态"),
    "status": ("status", "状态"),
    "superseded_by": ("superseded by", "被取代于"),
    "supersedes": ("supersedes", "取代"),
    "tag": ("tag", "标签"),
    "tags": ("tags", "标签"),
    "title": ("title", "标题"),
    "updated": ("updated", "更新于"),
    "waiver": ("waiver", "豁免"),
    "waivers": ("Waivers", "豁免"),
}


def word(key: str, lang: str) -> str:
    """One of the site's words.

    Raises:
        KeyError: there is none of that name.
        ValueError: the site is not written in ``lang``.
    """
    return _WORDS[key][LANGUAGES.index(lang)]
