"""SLEPc finds the largest eigenvalues of the Laplacian of a line."""
import slepc4py

slepc4py.init()
from petsc4py import PETSc  # noqa: E402 (behind init, as SLEPc wants it)
from slepc4py import SLEPc  # noqa: E402

count = 400
matrix = PETSc.Mat().createAIJ([count, count], nnz=3)
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    for column, value in ((row - 1, -1.0), (row, 2.0), (row + 1, -1.0)):
        if 0 <= column < count:
            matrix.setValue(row, column, value)
matrix.assemble()
for kind in ("krylovschur", "arnoldi", "subspace"):
    solver = SLEPc.EPS().create()
    solver.setOperators(matrix)
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setType(kind)
    solver.setDimensions(4)
    solver.setTolerances(1e-4, 200)
    solver.solve()
    found = min(4, solver.getConverged())
    values = " ".join(f"{solver.getEigenvalue(index).real:.6f}" for index in range(found))
    PETSc.Sys.Print(f"{kind}: {solver.getIterationNumber()} iterations, {values}")
