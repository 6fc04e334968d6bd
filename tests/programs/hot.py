"""Two functions take turns, some us each: what they call in zlib shows which one runs. Half of the time the interpreter's
loop calls them itself, half of the time by a function in C, which begins another loop."""

import time
import zlib
from array import array

from mpi4py import MPI


def crc(data):
    return zlib.crc32(data)


def adler(data):
    return zlib.adler32(data)


def in_one_loop(blocks):
    for data in blocks:
        crc(data)
        adler(data)


def in_loops_of_their_own(blocks):
    for data in blocks:
        list(map(crc, (data, data)))
        list(map(adler, (data, data)))


def main():
    blocks = [bytes(length) for length in range(1000, 3000, 100)]
    got = array("i", [0])
    for work in in_one_loop, in_loops_of_their_own:
        for _ in range(10):
            until = time.thread_time() + 0.02
            while time.thread_time() < until:
                work(blocks)
            MPI.COMM_WORLD.Allreduce(array("i", [1]), got)


main()
