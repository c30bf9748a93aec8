#!/usr/bin/python3
"""What exchanging tensors between MPI processes takes on this machine, without Sluice.

    mpirun -n 2 --bind-to none benchmarks/mpi_collectives.py --bytes 524288,2097152 --json collectives.json

The two collectives that training uses, MPI_Alltoallv for gradients' parts and MPI_Allgatherv for parameters', on tensors of the given
sizes, --sets of them in buffers of their own, since a step exchanges no tensor twice. They are called by ctypes in Open MPI's library,
which adds some microseconds. Rounds take the collectives and plain copies of the same bytes within a process in turn. Rank 0
writes medians over the rounds, each of the slowest rank:

  bandwidth  bytes that a rank sends to others, over the time of the collectives
  added      the same bytes over how much longer than the copies they take: an op's own time, measured in one process, already has
             the copies, so this is what `--network` adds to it

Bytes, seconds, bytes a second.
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import time

LIBRARY = "libmpi.so.40"  # of Open MPI 4.1, as in sluice/exec/ranks/open_mpi.cpp
THREAD_MULTIPLE = 3


class Mpi:
    """The processes that a launcher started together."""

    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
        provided, number = ctypes.c_int(), ctypes.c_int()
        self.call("MPI_Init_thread", None, None, THREAD_MULTIPLE, ctypes.byref(provided))
        self.world, self.byte = self.handle("ompi_mpi_comm_world"), self.handle("ompi_mpi_byte")
        self.call("MPI_Comm_size", self.world, ctypes.byref(number))
        self.count = number.value
        self.call("MPI_Comm_rank", self.world, ctypes.byref(number))
        self.rank = number.value

    def handle(self, name):
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.library, name)))

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise OSError(f"{name} failed")


class Tensor:
    """Buffers of a tensor before and behind an exchange, cut into a part for each rank."""

    def __init__(self, mpi, size):
        self.mpi, self.part, self.bytes = mpi, size // mpi.count, size
        self.source, self.target = (ctypes.create_string_buffer(b"x" * size, size) for _ in range(2))
        each = ctypes.c_int * mpi.count
        self.counts, self.places = each(*[self.part] * mpi.count), each(*[self.part * k for k in range(mpi.count)])

    def exchange(self):
        self.mpi.call("MPI_Alltoallv", self.source, self.counts, self.places, self.mpi.byte, self.target, self.counts,
                      self.places, self.mpi.byte, self.mpi.world)

    def gather(self):
        self.mpi.call("MPI_Allgatherv", self.source, self.part, self.mpi.byte, self.target, self.counts, self.places,
                      self.mpi.byte, self.mpi.world)

    def copy(self):
        for place in self.places:
            ctypes.memmove(ctypes.addressof(self.target) + place, self.source, self.part)


def seconds(mpi, tensors, way):
    """Of all tensors once; the slowest rank's, as all of them wait for it."""
    mpi.call("MPI_Barrier", mpi.world)
    begin = time.perf_counter()
    for tensor in tensors:
        way(tensor)
    mine = ctypes.c_double(time.perf_counter() - begin)
    everyones = (ctypes.c_double * mpi.count)()
    mpi.call("MPI_Allgather", ctypes.byref(mine), 8, mpi.byte, everyones, 8, mpi.byte, mpi.world)
    return max(everyones)


def measured(mpi, sizes, sets, rounds):
    tensors = [Tensor(mpi, size) for _ in range(sets) for size in sizes]
    ways = {"exchange": Tensor.exchange, "gather": Tensor.gather, "copy": Tensor.copy}
    times = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            taken = seconds(mpi, tensors, way)
            if turn > 0:  # the first round touches pages
                times[name].append(taken)
    medians = {name: statistics.median(each) for name, each in times.items()}
    sent = 2 * sum(tensor.bytes - tensor.part for tensor in tensors)
    taken = medians["exchange"] + medians["gather"]
    return {"ranks": mpi.count, "bytes": sizes, "sets": sets, "seconds": medians, "bandwidth": sent / taken,
            "added": sent / max(taken - 2 * medians["copy"], 1e-9)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", default="524288", help="of each tensor, with commas between (default %(default)s)")
    parser.add_argument("--sets", type=int, default=16, help="of such tensors (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=31, help="(default %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    mpi = Mpi()
    result = measured(mpi, [int(size) for size in arguments.bytes.split(",")], arguments.sets, arguments.rounds)
    if mpi.rank == 0:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    mpi.call("MPI_Finalize")


if __name__ == "__main__":
    main()
