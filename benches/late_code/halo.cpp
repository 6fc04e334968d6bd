// Implicit heat conduction with variable coefficients on a grid of two dimensions: conjugate gradients with a line
// smoother, tracers that move between the ranks, output by MPI-IO. `halo -f LETTER` has one fault, at a line with
// "// late": a: a refined patch that moves; b: rank 0 writes all output; d: a sweep from rank to rank; f: the last rank
// touches new memory in each step; g: each rank writes its log under a lock; i: all tracers gather at the last rank.
#include <mpi.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <fcntl.h>
#include <malloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

struct Options {
    int nx = 640, ny = 640;      // global grid
    int iterations = 400;
    int output_every = 50;
    int tracers = 20000;         // for each rank
    int boost = 1;               // size of the faults
    std::string fault = "";      // letters
    std::string out = "field.bin";
    bool has(char c) const { return fault.find(c) != std::string::npos; }
};

struct Grid {
    MPI_Comm cart, row, col;
    int rank, size, dims[2], coords[2];
    int up, down, left, right;
    int nx, ny;       // local without halo
    int x0, y0;       // global index of the first point
    int ld;           // leading dimension with halo
    size_t at(int i, int j) const { return size_t(i + 1) * ld + size_t(j + 1); }
};

using Field = std::vector<double>;

static void split(int n, int parts, int part, int &first, int &count) {
    int base = n / parts, rest = n % parts;
    count = base + (part < rest ? 1 : 0);
    first = part * base + std::min(part, rest);
}

static Grid make_grid(const Options &o) {
    Grid g;
    MPI_Comm_size(MPI_COMM_WORLD, &g.size);
    g.dims[0] = g.dims[1] = 0;
    MPI_Dims_create(g.size, 2, g.dims);
    int periodic[2] = {0, 0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, g.dims, periodic, 0, &g.cart);
    MPI_Comm_set_name(g.cart, "grid");
    MPI_Comm_rank(g.cart, &g.rank);
    MPI_Cart_coords(g.cart, g.rank, 2, g.coords);
    MPI_Cart_shift(g.cart, 0, 1, &g.up, &g.down);
    MPI_Cart_shift(g.cart, 1, 1, &g.left, &g.right);
    int keep_row[2] = {0, 1}, keep_col[2] = {1, 0};
    MPI_Cart_sub(g.cart, keep_row, &g.row);
    MPI_Cart_sub(g.cart, keep_col, &g.col);
    MPI_Comm_set_name(g.row, "rows");
    MPI_Comm_set_name(g.col, "columns");
    split(o.nx, g.dims[0], g.coords[0], g.x0, g.nx);
    split(o.ny, g.dims[1], g.coords[1], g.y0, g.ny);
    g.ld = g.ny + 2;
    return g;
}

static Field new_field(const Grid &g) { return Field(size_t(g.nx + 2) * g.ld, 0.0); }

// ---------------------------------------------------------------- halo exchange
struct Halo {
    std::vector<double> send_left, send_right, recv_left, recv_right;
};

static void exchange_halo(const Grid &g, Field &f, Halo &h) {
    h.send_left.resize(g.nx); h.send_right.resize(g.nx);
    h.recv_left.resize(g.nx); h.recv_right.resize(g.nx);
    for (int i = 0; i < g.nx; i++) {
        h.send_left[i] = f[g.at(i, 0)];
        h.send_right[i] = f[g.at(i, g.ny - 1)];
    }
    MPI_Request r[8];
    MPI_Irecv(&f[g.at(-1, 0)], g.ny, MPI_DOUBLE, g.up, 1, g.cart, &r[0]);
    MPI_Irecv(&f[g.at(g.nx, 0)], g.ny, MPI_DOUBLE, g.down, 2, g.cart, &r[1]);
    MPI_Irecv(h.recv_left.data(), g.nx, MPI_DOUBLE, g.left, 3, g.cart, &r[2]);
    MPI_Irecv(h.recv_right.data(), g.nx, MPI_DOUBLE, g.right, 4, g.cart, &r[3]);
    MPI_Isend(&f[g.at(g.nx - 1, 0)], g.ny, MPI_DOUBLE, g.down, 1, g.cart, &r[4]);
    MPI_Isend(&f[g.at(0, 0)], g.ny, MPI_DOUBLE, g.up, 2, g.cart, &r[5]);
    MPI_Isend(h.send_right.data(), g.nx, MPI_DOUBLE, g.right, 3, g.cart, &r[6]);
    MPI_Isend(h.send_left.data(), g.nx, MPI_DOUBLE, g.left, 4, g.cart, &r[7]);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
    if (g.left != MPI_PROC_NULL)
        for (int i = 0; i < g.nx; i++) f[g.at(i, -1)] = h.recv_left[i];
    if (g.right != MPI_PROC_NULL)
        for (int i = 0; i < g.nx; i++) f[g.at(i, g.ny)] = h.recv_right[i];
}

// ---------------------------------------------------------------- numerics
static double conductivity(const Grid &g, int i, int j) {
    double x = (g.x0 + i) * 0.01, y = (g.y0 + j) * 0.013;
    return 1.0 + 0.5 * std::sin(x) * std::cos(y);
}

static void apply_operator(const Grid &g, const Field &k, const Field &p, Field &q) {
    for (int i = 0; i < g.nx; i++)
        for (int j = 0; j < g.ny; j++) {
            size_t c = g.at(i, j);
            double d = 0.2 * k[c];
            q[c] = p[c] + d * (4 * p[c] - p[c - 1] - p[c + 1] - p[c - g.ld] - p[c + g.ld]);
        }
}

static double dot(const Grid &g, const Field &a, const Field &b) {
    double s = 0, t = 0;
    for (int i = 0; i < g.nx; i++)
        for (int j = 0; j < g.ny; j++) s += a[g.at(i, j)] * b[g.at(i, j)];
    MPI_Allreduce(&s, &t, 1, MPI_DOUBLE, MPI_SUM, g.cart);
    return t;
}

static void axpy(const Grid &g, double alpha, const Field &x, Field &y) {
    for (int i = 0; i < g.nx; i++)
        for (int j = 0; j < g.ny; j++) y[g.at(i, j)] += alpha * x[g.at(i, j)];
}

static void xpay(const Grid &g, const Field &x, double beta, Field &y) {
    for (int i = 0; i < g.nx; i++)
        for (int j = 0; j < g.ny; j++) y[g.at(i, j)] = x[g.at(i, j)] + beta * y[g.at(i, j)];
}

// extra refinement of the heated region, which moves through the domain
static void refine_patch(const Grid &g, const Options &o, int it, Field &q) {
    if (!o.has('a')) return;
    int owner = (it / 40) % g.size;
    if (owner != g.rank) return;
    volatile double sink = 0;
    for (int pass = 0; pass < 4 * o.boost; pass++)
        for (int i = 0; i < g.nx; i++)
            for (int j = 0; j < g.ny; j++) sink = sink + std::sqrt(std::fabs(q[g.at(i, j)]) + pass); // late
}

// the smoother sweeps over the rows of ranks from the top to the bottom
static void sweep(const Grid &g, const Options &o, Field &z) {
    if (!o.has('d')) return;
    int next = g.rank + 1 < g.size ? g.rank + 1 : MPI_PROC_NULL;
    int prev = g.rank > 0 ? g.rank - 1 : MPI_PROC_NULL;
    std::vector<double> line(g.ny, 0.0);
    MPI_Recv(line.data(), g.ny, MPI_DOUBLE, prev, 7, g.cart, MPI_STATUS_IGNORE); // late
    for (int round = 0; round < o.boost; round++)
    for (int i = 0; i < g.nx; i++)
        for (int j = 0; j < g.ny; j++) {
            line[j] = 0.999 * z[g.at(i, j)] + 0.001 * line[j]; // late
            z[g.at(i, j)] = line[j] + 1e-18 * std::sqrt(std::fabs(line[j])); // late
        }
    MPI_Send(line.data(), g.ny, MPI_DOUBLE, next, 7, g.cart);
}

// scaling by the mean of each line, over row and column communicators
static void line_scaling(const Grid &g, const Field &r, std::vector<double> &rows, std::vector<double> &cols) {
    std::vector<double> rl(g.nx, 0.0), cl(g.ny, 0.0);
    for (int i = 0; i < g.nx; i++)
        for (int j = 0; j < g.ny; j++) {
            rl[i] += r[g.at(i, j)];
            cl[j] += r[g.at(i, j)];
        }
    rows.resize(g.nx);
    cols.resize(g.ny);
    MPI_Allreduce(rl.data(), rows.data(), g.nx, MPI_DOUBLE, MPI_SUM, g.row);
    MPI_Allreduce(cl.data(), cols.data(), g.ny, MPI_DOUBLE, MPI_SUM, g.col);
}

// work space for the flux limiter
static void flux_limiter(const Grid &g, const Options &o, Field &q, std::vector<double> &workspace) {
    size_t n = size_t(g.nx) * g.ny;
    if (o.has('f') && g.rank == g.size - 1) {
        size_t bytes = o.boost * 3 * n * sizeof(double);
        double *w = (double *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(w, bytes, MADV_NOHUGEPAGE);
        for (size_t k = 0; k < o.boost * 3 * n; k += 8) w[k] = 1.0 + 1e-12 * double(k); // late
        q[g.at(0, 0)] *= w[0] > 0 ? 1.0 : 0.5;
        munmap(w, bytes);
    } else {
        workspace.resize(3 * n);
        for (size_t k = 0; k < 3 * n; k += 8) workspace[k] = 1.0 + 1e-12 * double(k);
        q[g.at(0, 0)] *= workspace[0] > 0 ? 1.0 : 0.5;
    }
}

// ---------------------------------------------------------------- tracers
struct Tracer { double x, y, age; };

static void move_tracers(const Grid &g, const Options &o, int it, std::vector<Tracer> &tracers) {
    std::vector<int> sc(g.size), sd(g.size), rc(g.size), rd(g.size);
    size_t n = o.tracers;
    for (int p = 0; p < g.size; p++) sc[p] = int(n / g.size);
    if (o.has('i')) {
        // all tracers gather at the outlet, which belongs to the last rank
        for (int p = 0; p < g.size; p++) sc[p] = p == g.size - 1 ? int(n) * 12 * o.boost : 16;
    }
    int ns = 0;
    for (int p = 0; p < g.size; p++) { sd[p] = ns; ns += sc[p]; }
    std::vector<Tracer> out(ns), in;
    for (int k = 0; k < ns; k++) out[k] = Tracer{k * 1e-3, it * 1e-3, 1.0}; // late
    MPI_Alltoall(sc.data(), 1, MPI_INT, rc.data(), 1, MPI_INT, g.cart);
    int nr = 0;
    for (int p = 0; p < g.size; p++) { rd[p] = nr; nr += rc[p]; }
    in.resize(nr); // late
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (type == MPI_DATATYPE_NULL) {
        MPI_Type_contiguous(3, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
    }
    MPI_Alltoallv(out.data(), sc.data(), sd.data(), type, in.data(), rc.data(), rd.data(), type, g.cart); // late
    for (auto &t : in) { t.x += std::sin(t.y) * 1e-3; t.age += 1; } // late
    tracers.swap(in);
}

// ---------------------------------------------------------------- output
static void write_parallel(const Grid &g, const Options &o, const Field &u, int it) {
    int sizes[2] = {o.nx, o.ny}, sub[2] = {g.nx, g.ny}, start[2] = {g.x0, g.y0};
    MPI_Datatype filetype;
    MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &filetype);
    MPI_Type_commit(&filetype);
    std::vector<double> packed(size_t(g.nx) * g.ny);
    for (int i = 0; i < g.nx; i++) std::copy_n(&u[g.at(i, 0)], g.ny, &packed[size_t(i) * g.ny]);
    MPI_File f;
    std::string name = o.out + "." + std::to_string(it);
    MPI_File_open(g.cart, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, 0, MPI_DOUBLE, filetype, "native", MPI_INFO_NULL);
    MPI_File_write_all(f, packed.data(), int(packed.size()), MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
    MPI_Type_free(&filetype);
}

static void write_serial(const Grid &g, const Options &o, const Field &u, int it) {
    std::vector<double> packed(size_t(g.nx) * g.ny), all;
    for (int i = 0; i < g.nx; i++) std::copy_n(&u[g.at(i, 0)], g.ny, &packed[size_t(i) * g.ny]);
    if (g.rank == 0) all.resize(size_t(o.nx) * o.ny);
    MPI_Gather(packed.data(), int(packed.size()), MPI_DOUBLE, all.data(), int(packed.size()), MPI_DOUBLE, 0, g.cart);
    if (g.rank == 0) {
        FILE *f = fopen((o.out + ".txt").c_str(), "w");
        for (int again = 0; again < o.boost; again++) for (size_t k = 0; k < all.size(); k++) fprintf(f, "%d %zu %.12e\n", it, k, all[k]); // late
        fflush(f);
        fsync(fileno(f));
        fclose(f);
    }
}

static void log_progress(const Grid &g, const Options &o, int it, double residual) {
    if (o.has('g')) {                        // every rank writes its own line, under a lock
        int fd = open((o.out + ".lock").c_str(), O_CREAT | O_RDWR | O_APPEND, 0644);
        flock(fd, LOCK_EX); // late
        char line[100];
        int n = snprintf(line, sizeof line, "rank %d iteration %d residual %g\n", g.rank, it, residual);
        if (write(fd, line, n) != n) perror("log");
        usleep(15000);                       // late: as a slow file system would take
        flock(fd, LOCK_UN);
        close(fd);
    } else if (g.rank == 0 && it % o.output_every == 0) {
        printf("iteration %d residual %g\n", it, residual);
    }
}

static Options parse(int argc, char **argv) {
    Options o;
    for (int k = 1; k < argc; k++) {
        std::string a = argv[k];
        auto next = [&]() { return std::string(k + 1 < argc ? argv[++k] : ""); };
        if (a == "-n") { o.nx = o.ny = std::stoi(next()); }
        else if (a == "-i") o.iterations = std::stoi(next());
        else if (a == "-e") o.output_every = std::stoi(next());
        else if (a == "-t") o.tracers = std::stoi(next());
        else if (a == "-f") o.fault = next();
        else if (a == "-m") o.boost = std::stoi(next());
        else if (a == "-o") o.out = next();
        else { fprintf(stderr, "unknown option %s\n", argv[k]); MPI_Abort(MPI_COMM_WORLD, 2); }
    }
    return o;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    Options o = parse(argc, argv);
    int header[3] = {o.nx, o.ny, o.iterations};
    MPI_Bcast(header, 3, MPI_INT, 0, MPI_COMM_WORLD);
    Grid g = make_grid(o);
    Field k = new_field(g), x = new_field(g), b = new_field(g), r = new_field(g), p = new_field(g), q = new_field(g);
    Halo halo;
    std::vector<double> rows, cols, workspace;
    std::vector<Tracer> tracers;
    for (int i = -1; i <= g.nx; i++)
        for (int j = -1; j <= g.ny; j++) k[g.at(i, j)] = conductivity(g, i, j);
    for (int i = 0; i < g.nx; i++)
        for (int j = 0; j < g.ny; j++) b[g.at(i, j)] = std::sin(0.02 * (g.x0 + i)) + ((g.x0 + i) * 7 + (g.y0 + j) * 3) % 11;
    r = b;
    p = r;
    double rr = dot(g, r, r), rr0 = rr;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int it = 1; it <= o.iterations; it++) {
        exchange_halo(g, p, halo);
        apply_operator(g, k, p, q);
        refine_patch(g, o, it, q);
        flux_limiter(g, o, q, workspace);
        double alpha = rr / dot(g, p, q);
        axpy(g, alpha, p, x);
        axpy(g, -alpha, q, r);
        sweep(g, o, r);
        double rn = dot(g, r, r);
        xpay(g, r, rn / rr, p);
        rr = rn;
        if (rr < 1e-12 * rr0) { r = b; p = b; std::fill(x.begin(), x.end(), 0.0); rr = rr0; }  // next time step
        if (it % 5 == 0) line_scaling(g, r, rows, cols);
        if (it % 10 == 0) move_tracers(g, o, it, tracers);
        if (it % 10 == 0) log_progress(g, o, it, rr);
        if (it % o.output_every == 0) {
            if (o.has('b')) write_serial(g, o, x, it);
            else write_parallel(g, o, x, it);
        }
    }
    double mine = MPI_Wtime() - start, longest = 0;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (g.rank == 0) printf("%d iterations in %.3f s, residual %g\n", o.iterations, longest, rr);
    MPI_Comm_free(&g.row);
    MPI_Comm_free(&g.col);
    MPI_Comm_free(&g.cart);
    MPI_Finalize();
    return 0;
}
