"""PETSc solves a Poisson equation on a square."""
import petsc4py

petsc4py.init()
from petsc4py import PETSc  # noqa: E402 (behind init, as PETSc wants it)

grid = 32
da = PETSc.DMDA().create([grid, grid], stencil_width=1)
matrix = da.createMatrix()
(x0, x1), (y0, y1) = da.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for y in range(y0, y1):
    for x in range(x0, x1):
        row.index = (x, y)
        for dx, dy, value in ((0, 0, 4.0), (1, 0, -1.0), (-1, 0, -1.0), (0, 1, -1.0), (0, -1, -1.0)):
            if 0 <= x + dx < grid and 0 <= y + dy < grid:
                column.index = (x + dx, y + dy)
                matrix.setValueStencil(row, column, value)
matrix.assemble()
right = da.createGlobalVec()
right.set(1.0)
for kind, conditioner in (("cg", "jacobi"), ("gmres", "bjacobi"), ("cg", "gamg")):
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType(kind)
    solver.getPC().setType(conditioner)
    solver.setTolerances(rtol=1e-8)
    solution = right.duplicate()
    solver.solve(right, solution)
    norm = solution.norm()
    PETSc.Sys.Print(f"{kind} {conditioner}: {solver.getIterationNumber()} iterations, norm {norm:.10f}")
