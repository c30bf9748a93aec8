"""A page around a document, with the elements that `sluice report` writes, and the assets of a build."""
import html
import json
import re

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title><style>{style}</style></head><body><main><header><h1>{title}</h1><p class="subtitle">{subtitle}</p></header>
"""
TAIL = """</main><script type="application/json" id="report-data">{data}</script><script>{scripts}</script></body></html>
"""


def read_assets(path):
    """Style and scripts out of the source that cmake/embed_page.cmake has written."""
    with open(path, encoding="utf-8") as source:
        literals = re.findall(r'R"page\((.*?)\)page"', source.read(), re.DOTALL)
    return literals[0], literals[1]


def section(name, title, caption, charts, table=""):
    figures = "".join(
        f'<figure class="chart" id="{chart}" tabindex="0" role="img" aria-label="{html.escape(label)}"></figure>'
        for chart, label in charts
    )
    return f'<section id="{name}"><h2>{title}</h2><p class="caption">{caption}</p>{figures}{table}</section>'


def largest_table(document):
    rows = "".join(
        f'<tr data-tensor="{i}"><td>{html.escape(document["tensors"][i]["name"])}</td><td>{document["tensors"][i]["role"]}</td>'
        f'<td class="number">{document["tensors"][i]["bytes"]}</td><td>{html.escape(document["tensors"][i]["story"])}</td></tr>'
        for i in document["largest"]
    )
    return (
        '<div class="scroll" tabindex="0"><table><thead><tr><th>tensor</th><th>role</th><th class="number">bytes</th><th>what happened</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def make_page(document, style, scripts):
    memory = [
        (f"chart-memory-{i}", f"Memory in {tier['tier']} over the step") for i, tier in enumerate(document["memory"])
    ]
    body = [
        section("memory", "Memory over the step", "What each tier holds, by role.", memory),
        section(
            "timeline",
            "Timeline",
            "One lane a processor and transfer direction.",
            [("chart-timeline", "Timeline of the step")],
        ),
        section(
            "planners",
            "Planners",
            "Step time of each planner.",
            [("chart-planners", "Planners compared")],
            "<details><summary>The numbers</summary><p>A table.</p></details>",
        ),
        section(
            "curve",
            "Step time over fast memory",
            "One curve a planner.",
            [("chart-curve", "Step time over fast memory")],
        ),
        section("breakdown", "Where the time goes", "Parts of the step.", [("chart-breakdown", "Time breakdown")]),
        section("tensors", "Largest tensors", "And what happened to each.", [], largest_table(document)),
    ]
    data = json.dumps(document).replace("</", "<\\/")
    return (
        HEAD.format(title=html.escape(document["title"]), subtitle=html.escape(document["subtitle"]), style=style)
        + "\n".join(body)
        + TAIL.format(data=data, scripts=scripts)
    )
