"""Reads what `compare` says about two traces, and holds it against its JSON; part of tests/sentences.py.

It fails where

* the first line is not the sentence of the JSON
* a number of a sentence is none of the JSON, rounded to the digits shown
* the job or an operation is said to be faster and is slower, or the other way round
* the named parts of a change and the others do not add up to it
* the repetitions that are left out are not those of the rows"""

import re

from spoken import NS, NUMBER, Numbers, Reader, is_among, shown, unwrapped

# A part of a change, as a sentence about a job has it.
PIECE = re.compile(
    rf"(?:: |, )(?P<time>{NUMBER}) (?P<unit>ns|µs|ms|s)(?P<way> less| more)? "
    r"(?P<others>others)?(?=in |waiting |computing|preempted |asleep |held |off |delayed |since |outside |point|[,.]|$)"
)
LEFT_OUT = re.compile(
    r"(\w): (\d+) of (\d+) repetitions left out: (\d+) first, (\d+) warm-up, (\d+) outliers? and (\d+) incomplete"
)
# The others are left out where they are a smaller share of the change.
UNSAID = 0.0051


class Pair(Reader):
    """Two traces."""

    def __init__(self, mpitrace, both):
        super().__init__(mpitrace, " and ".join(both))
        self.both = both

    def check(self):
        command = ["compare", "--a", self.both[0], "--b", self.both[1]]
        compared = self.json(*command)
        if not compared:
            return
        lines = unwrapped(self.run(*command))
        job = compared["job"]
        if job:
            if lines[:1] != [job["sentence"]]:
                self.say("the JSON has another sentence about the job", lines[:1])
            self.check_job(job)
        for row in compared["rows"]:
            if row["sentence"]:
                numbers = Numbers(row)
                add_factors(numbers, [row["effect"], row["detectable"], *(row["effect_ci"] or [])])
                self.hold(row["sentence"], numbers)
                self.check_way(row["sentence"], row["effect"], ("faster", "slower"))
        self.check_left_out(compared["rows"], lines)

    def check_job(self, job):
        sentence, change = job["sentence"], job["change_s"]
        numbers = Numbers(job)
        add_factors(numbers, [job["share"], *(job["share_ci"] or [])])
        sides = [part[side] for part in job["parts"] for side in "ab"]
        numbers.times += [1e9 * side["seconds"] / side["calls"] for side in sides if side["calls"]]
        numbers.times += [abs(time) for time in numbers.times]
        numbers.sort()
        said = re.sub(rf", {NUMBER} (?:ns|µs|ms|s)(?: less| more)? others", "", sentence)
        # Operations by their names, with sizes; a job may take more than twice as long.
        said = re.sub(r"(MPI_\w+)/\S+", r"\1", re.sub(rf"\({NUMBER} %\) longer", "longer", said))
        self.hold(said, numbers)
        share = re.search(rf"\(({NUMBER}) %\) (longer|less)", sentence)
        if share and not is_among(shown(share[1])[0], shown(share[1])[1], [100 * abs(job["share"])]):
            self.say(f"the share is {job['share']}", sentence)
        self.check_way(sentence.partition(":")[0], change, (r"takes [^:]* less", r"takes [^:]* longer"))
        # What is named has the sign of the change, if it is not said to be less or more.
        sign = -1.0 if change < 0 and not sentence.startswith("Not decided") else 1.0
        total, error, pieces = 0.0, 0.0, list(PIECE.finditer(sentence))
        for piece in pieces:
            value, half = shown(piece["time"])
            opposite = {None: False, " less": sign > 0, " more": sign < 0}[piece["way"]]
            total += (-sign if opposite else sign) * value * NS[piece["unit"]]
            error += half * NS[piece["unit"]]
        if pieces and not any(piece["others"] for piece in pieces):
            largest = max(abs(part["change_s"]) for part in job["parts"])
            error += 1e9 * UNSAID * max(abs(change), largest)
        if pieces and abs(total - 1e9 * change) > 1.001 * error + 1.0:
            self.say(f"the parts add up to {total / 1e9} s, not to {change} s", sentence)

    def check_way(self, sentence, change, words):
        if sentence.startswith("Not decided") or change is None:
            return
        less, more = (re.search(word, sentence) for word in words)
        if change > 0 and less and not more or change < 0 and more and not less:
            self.say(f"the change is {change}", sentence)

    def check_left_out(self, rows, lines):
        kinds = ("first", "warmup", "outlier", "incomplete")
        for line in lines:
            match = LEFT_OUT.match(line)
            if not match:
                continue
            self.sentences += 1
            # An operation that one side alone has is not among those compared.
            sides = [row[match[1].lower()] for row in rows if row["a"] and row["b"]]
            by_kind = [sum(side["left_out"][kind] for side in sides) for kind in kinds]
            repetitions = sum(side["repetitions"] for side in sides)
            said = [int(number) for number in match.groups()[1:]]
            if said[0] != sum(said[2:]) or said[2:] != by_kind or said[1] != said[0] + repetitions:
                self.say(f"the rows leave out {by_kind} and keep {repetitions}", line)


def add_factors(numbers, shares):
    """Changes as shares, without their signs, and as factors."""
    known = [share for share in shares if share is not None]
    numbers.shares += [abs(share) for share in known]
    for share in known:
        numbers.others += [1.0 + share, 1.0 / (1.0 + share) if share > -1.0 else 0.0]
    numbers.sort()
