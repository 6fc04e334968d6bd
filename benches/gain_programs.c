/* Programs of which rank 1 is delayed: PROGRAM STEPS DELAY_US [spin]. Computing is a sleep, so that other load of the
 * machine does not change it; with `spin` the delay is a loop. Prints the seconds from the exit of MPI_Init to the
 * entry of MPI_Finalize on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size, spin;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}

static void rest(double us) {
  struct timespec t = {(time_t)(us / 1e6), (long)(1e3 * us) % 1000000000};
  if (us > 0) nanosleep(&t, 0);
}

static void delay(double us) {
  if (us <= 0) return;
  if (!spin) { rest(us); return; }
  double until = now() + us;
  while (now() < until) ;
}

/* Conjugate gradients: two dot products an iteration. */
static void cg(int steps, double us) {
  double x[2] = {1, 2}, y[2];
  for (int i = 0; i < steps; i++) {
    rest(1500);
    delay(rank == 1 ? us : 0);
    MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    rest(500);
    MPI_Allreduce(x, y, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* A stencil: halo, computing, and a norm at every step. */
static void stencil(int steps, double us) {
  static double out[512], in[512];
  double x = 1, y;
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (int i = 0; i < steps; i++) {
    rest(1500);
    delay(rank == 1 ? us : 0);
    MPI_Sendrecv(out, 512, MPI_DOUBLE, right, 0, in, 512, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
}

/* A transposition of a matrix in every step, and rank 1 is delayed in every fourth one. */
static void transpose(int steps, double us) {
  static double out[8192], in[8192];
  for (int i = 0; i < steps; i++) {
    rest(1000);
    delay(rank == 1 && i % 4 == 3 ? 4 * us : 0);
    MPI_Alltoall(out, 8192 / size, MPI_DOUBLE, in, 8192 / size, MPI_DOUBLE, MPI_COMM_WORLD);
  }
}

/* Time steps of which the root reads the input, and all write a checkpoint now and then. */
static void steps_with_input(int steps, double us) {
  double x = 1, y;
  for (int i = 0; i < steps; i++) {
    if (i % 25 == 0) {
      if (rank == 0) rest(3000);
      MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    rest(1000 + 200 * (i % 3));
    delay(rank == 1 ? us : 0);
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (i % 50 == 49) MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Items go from the last rank down to rank 0. */
static void pipeline(int steps, double us) {
  double item[64] = {0};
  for (int i = 0; i < steps; i++) {
    if (rank < size - 1) MPI_Recv(item, 64, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    rest(500);
    delay(rank == 1 ? us : 0);
    if (rank > 0) MPI_Send(item, 64, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD);
  }
}

/* Rank 0 gives an item to each of the others, and a new one to each that sends one back. */
static void workers(int steps, double us) {
  int item = 1, sent = 0;
  if (rank > 0) {
    for (;;) {
      MPI_Recv(&item, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (!item) return;
      rest(500);
      delay(rank == 1 ? us : 0);
      MPI_Send(&item, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
  }
  for (int other = 1; other < size; other++, sent++) MPI_Send(&item, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
  for (int i = 0, none = 0; i < steps; i++) {
    MPI_Status status;
    MPI_Recv(&item, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    MPI_Send(sent++ < steps ? &item : &none, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
  }
}

/* Neighbours exchange by requests, and nothing else. */
static void requests(int steps, double us) {
  static double out[512], in[2][512];
  int ways[2] = {(rank + 1) % size, (rank + size - 1) % size};
  for (int i = 0; i < steps; i++) {
    MPI_Request all[4];
    rest(1000);
    delay(rank == 1 ? us : 0);
    for (int way = 0; way < 2; way++) {
      MPI_Irecv(in[way], 512, MPI_DOUBLE, ways[way], way, MPI_COMM_WORLD, &all[way]);
      MPI_Isend(out, 512, MPI_DOUBLE, ways[1 - way], way, MPI_COMM_WORLD, &all[2 + way]);
    }
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  }
}

/* One item goes round. */
static void ring(int steps, double us) {
  int item = 0, next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int i = 0; i < steps; i++) {
    if (rank > 0) MPI_Recv(&item, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    rest(500);
    delay(rank == 1 ? us : 0);
    MPI_Send(&item, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&item, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *name = argc > 1 ? argv[1] : "cg";
  int steps = argc > 2 ? atoi(argv[2]) : 100;
  double us = argc > 3 ? atof(argv[3]) : 0;
  spin = argc > 4 && !strcmp(argv[4], "spin");
  static const struct { const char *name; void (*run)(int, double); } all[] = {
    {"cg", cg}, {"stencil", stencil}, {"transpose", transpose}, {"input", steps_with_input},
    {"pipeline", pipeline}, {"workers", workers}, {"requests", requests}, {"ring", ring}};
  double begin = now();
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(name, all[i].name)) all[i].run(steps, us);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!rank) printf("%.6f\n", (now() - begin) / 1e6);
  MPI_Finalize();
  return 0;
}
