#!/usr/bin/env python3
"""Writes the manual pages of the sections 3, 5 and 7 into a folder: from the header and two pages of the documentation.

    packaging/manual.py VERSION FOLDER
"""

import pathlib
import re
import sys

PAGES = [
    ("mpitrace", 5, "docs/developers/trace-format.md", "the trace format"),
    ("mpitrace", 7, "docs/launching.md", "launching and environment variables"),
]


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def inline(text):
    """Links by their texts, code in bold."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]*`|\*\*[^*]*\*\*)", text)
    bold = [f"\\fB{escaped(part.strip('`*'))}\\fR" if part[:1] in ("`", "*") else escaped(part) for part in parts if part]
    line = "".join(bold)
    return "\\&" + line if line.startswith((".", "'")) else line


def cells(row):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows):
    """The first column as a tag, the others below it, with their titles where there are several."""
    head, body = cells(rows[0]), [cells(row) for row in rows[2:]]
    for first, *others in body:
        yield from (".TP", inline(first) or "\\ ")
        texts = [(title, text) for title, text in zip(head[1:], others) if text]
        for number, (title, text) in enumerate(texts):
            if number:
                yield ".br"
            yield inline(f"{title}: {text}" if number and title != "meaning" else text)


def roff(markdown):
    lines = iter(re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.S).splitlines())
    rows, code = [], False
    for line in lines:
        if line.startswith("|"):
            rows.append(line)
            continue
        yield from table(rows) if rows else ()
        rows = []
        if line.startswith("```"):
            code = not code
            yield from (".PP", ".nf", ".RS") if code else (".RE", ".fi")
        elif code:
            yield escaped(line)
        elif line.startswith("# "):
            continue
        elif line.startswith("#"):
            yield f".{'SH' if line.startswith('## ') else 'SS'} {inline(line.lstrip('# '))}"
        elif match := re.match(r"(\*|\d+\.) +(.*)", line):
            yield from (f".IP {'•' if match[1] == '*' else match[1]} 3", inline(match[2]))
        elif line.strip():
            yield inline(line.strip())
        else:
            yield ".PP"
    yield from table(rows) if rows else ()


def of_header(text):
    """The functions of the header, each with the comment above it."""
    yield from (".SH SYNOPSIS", ".nf", "\\fB#include <mpitrace.h>\\fR", ".fi", ".SH DESCRIPTION")
    first = re.match(r"/\*(.*?)\*/", text, re.S)
    comment = first[1] if first else ""
    yield from paragraphs(comment)
    for match in re.finditer(r"/\*(.*?)\*/|^static inline ([^{\n]*\))", text[first.end() if first else 0 :], re.S | re.M):
        if match[1] is not None:
            yield from (".PP", *paragraphs(match[1]))
        else:
            yield from (".PP", f"\\fB{escaped(' '.join(match[2].split()))};\\fR")


def paragraphs(comment):
    text = "\n".join(re.sub(r"^ *\*? ?", "", line) for line in comment.splitlines())
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield from (".PP", *(inline(line) for line in paragraph.splitlines() if line.strip()))


def page(name, section, about, version, body):
    head = [f'.TH {name} {section} "" "mpitrace {version}"', ".SH NAME", f"{escaped(name)} \\- {about}", ".SH OVERVIEW"]
    body = list(body)
    # A page whose text begins with a section of its own has no overview.
    start = next((line for line in body if line != ".PP"), "")
    return "\n".join([*(head[:3] if start.startswith(".SH") else head), *body]) + "\n"


def main(version, folder):
    def write(name, section, about, body):
        path = pathlib.Path(folder, f"man{section}", f"{name}.{section}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(name, section, about, version, body), encoding="utf-8")

    for name, section, source, about in PAGES:
        write(name, section, about, roff(pathlib.Path(source).read_text(encoding="utf-8")))
    header = pathlib.Path("include/mpitrace.h").read_text(encoding="utf-8")
    write("mpitrace.h", 3, "counters, timers and regions of a traced program", of_header(header))


main(*sys.argv[1:])
