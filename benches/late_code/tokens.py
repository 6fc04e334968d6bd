"""Rank 0 splits texts into words, and scatters them: `tokens.py 1`; with `tokens.py 0` they are split already."""

import re
import sys

from mpi4py import MPI

TEXT = "the quick brown fox jumps over the lazy dog, and 12 others " * 60


def words_of(text):
    return [word.lower() for word in re.findall(r"[a-z]+|[0-9]+", text)]  # late


def count(words):
    known = {}
    for word in words * 12:
        known[word] = known.get(word, 0) + 1
    return known


def main():
    world = MPI.COMM_WORLD
    ready = words_of(TEXT)
    for step in range(150):
        shares = None
        if world.rank == 0:
            words = ready
            if sys.argv[1] == "1":
                for _ in range(15):
                    words = words_of(TEXT)  # late
            shares = [words] * world.size
        count(world.scatter(shares, root=0))
        world.barrier()


main()
