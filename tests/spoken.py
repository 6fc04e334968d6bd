"""The numbers of a sentence, and those of a JSON document: what tests/sentences.py and tests/compared.py stand on."""

import bisect
import json
import re
import subprocess

# Seconds that one command may take.
LIMIT = 60
NS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"


class Numbers:
    """The numbers of a JSON document by what they count: times in ns, shares, and all others."""

    def __init__(self, document):
        self.times, self.shares, self.others = [], [], []
        self.add("", document)
        self.sort()

    def add(self, key, value):
        if isinstance(value, dict):
            if value.get("unit") == "ns":
                self.times += [value["median"], value["median_others"]]
            for name, inner in value.items():
                # The parts of a time are keyed by their names.
                self.add(key if key in ("parts", "lost_s") else name, inner)
        elif isinstance(value, list):
            self.others.append(len(value))
            for inner in value:
                self.add(key, inner)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            if key.endswith("_ns"):
                self.times.append(value)
            elif key.endswith("_s") or key in ("seconds", "parts", "seconds_most", "lost_s"):
                self.times.append(1e9 * value)
            elif isinstance(value, float):
                self.shares.append(value)
            self.others.append(value)

    def sort(self):
        self.times.sort()
        self.shares.sort()
        self.others.sort()


def is_among(value, half, numbers):
    """True if one of the sorted numbers rounds to this value, which is shown with an error of at most `half`."""
    half = 1.001 * half + 1e-9 * abs(value)
    at = bisect.bisect_left(numbers, value - half)
    return at < len(numbers) and numbers[at] <= value + half


def shown(text):
    """The value of a printed number, and half of its last digit."""
    digits = text.split("e")[0]
    decimals = len(digits.partition(".")[2])
    exponent = int(text.partition("e")[2] or 0)
    return float(text), 0.5 * 10.0 ** (exponent - decimals)


def without_names(line):
    """The line without what is a name and may have digits: functions with their sizes, calls, operations, places in the
    program, signals, tags, communicators, and ranks by their numbers."""
    line = re.sub(r"MPI_\w+(?: of \d+ bytes?)?", "CALL", line)
    line = re.sub(r"call \d+ of \S+|exit code \d+|signal \d+ \(\w+\)|tag -?\d+|comm-\d+", "NAME", line)
    line = re.sub(r"\S+:\d+\b|\S+\+0x[0-9a-f]+", "NAME", line)
    line = re.sub(r"\(operation \d+\)", "", line)
    return re.sub(r"\branks? \d+(?:(?:-|, | and )\d+)*", "RANK", line)


def numbers_of(line):
    """The times (ns), shares and counts of a line, each as (text, value, half of the last digit)."""
    times, shares, counts = [], [], []

    def take(pattern, into, scale):
        nonlocal line
        for match in list(re.finditer(pattern, line)):
            factor = scale(match.groupdict().get("unit"))
            for text in (match["one"], match.groupdict().get("two")):
                if text:
                    value, half = shown(text)
                    into.append((match[0], factor * value, factor * half))
        line = re.sub(pattern, "N", line)

    # Limits of the companion's own, a rate that would be enough, and modes by their run times.
    line = re.sub(r"No loss of [\d.]+ %|`mpitrace run --sample \d+`", "NAME", line)
    line = re.sub(rf"\baround {NUMBER} (?:ns|µs|ms|s)\b", "around NAME", line)
    take(rf"(?P<one>{NUMBER}) to (?P<two>{NUMBER}) (?P<unit>ns|µs|ms|s)\b", times, NS.get)
    take(rf"(?P<one>{NUMBER}) (?P<unit>ns|µs|ms|s)\b", times, NS.get)
    take(r"less than (?P<one>0\.1) %", [], lambda _: 0.01)
    take(rf"(?P<one>{NUMBER}) to (?P<two>{NUMBER}) %", shares, lambda _: 0.01)
    take(rf"(?P<one>{NUMBER}) %", shares, lambda _: 0.01)
    line = without_names(line)
    take(r"(?<![\w.+-])(?P<one>\d+)(?![\w.%])", counts, lambda _: 1.0)
    return times, shares, counts


class Reader:
    """What the companion says, and what is wrong with it. `path` stands before what is said to be wrong."""

    def __init__(self, mpitrace, path):
        self.mpitrace, self.path, self.wrong, self.sentences = mpitrace, path, [], 0

    def run(self, *arguments, folder=None):
        ran = subprocess.run(
            [self.mpitrace, *arguments],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=LIMIT,
            cwd=folder,
        )
        return ran.stdout if ran.returncode in (0, 1) else None

    def json(self, *arguments):
        text = self.run(*arguments, "--json")
        return json.loads(text) if text else None

    def say(self, why, line):
        self.wrong.append(f"{self.path}: {why}: {line}")

    def hold(self, line, numbers, more=()):
        """Holds the numbers of a line against those of the JSON, and of `more` of the same kinds."""
        self.sentences += 1
        times, shares, counts = numbers_of(line)
        for text, value, half in times:
            if value and not is_among(value, half, numbers.times):
                self.say(f"no time of its JSON is {text}", line)
        # `12 of 59 (20 %)`: what it is a share of stands beside it.
        beside = [int(one) / int(all) for one, all in re.findall(r"(\d+) of (?:the |all )?(\d+)", line) if int(all)]
        for text, value, half in shares:
            if is_among(value, half, sorted(beside)):
                continue
            if value > 1.0 + half:
                self.say(f"{text} is more than all", line)
            if value and not is_among(value, half, numbers.shares):
                self.say(f"no share of its JSON is {text}", line)
        for text, value, half in counts:
            if not is_among(value, half, numbers.others):
                self.say(f"no number of its JSON is {text}", line)


def unwrapped(text):
    """The lines of a page, whose continued lines begin with blanks."""
    lines = []
    for line in text.splitlines():
        if line.startswith("  ") and lines:
            lines[-1] += " " + line.strip()
        elif line:
            lines.append(line)
    return lines
