! Rank 1 has clouds, and so more of the radiation to compute: `radiation 1`; with `radiation 0` it has none.
module columns
    implicit none
    integer, parameter :: levels = 60
contains
    subroutine shine(cells, heat)
        integer, intent(in) :: cells
        real(8), intent(inout) :: heat
        real(8) :: depth(levels)
        integer :: cell, level
        do cell = 1, cells
            do level = 1, levels
                depth(level) = exp(-0.01d0 * level * (1 + mod(cell, 7)))   ! late
            end do
            heat = heat + sum(depth) / levels
        end do
    end subroutine

    subroutine advect(field)
        real(8), intent(inout) :: field(:)
        integer :: again, k
        do again = 1, 10
            do k = 2, size(field)
                field(k) = 0.5d0 * (field(k) + field(k - 1)) + 1d-6
            end do
        end do
    end subroutine
end module

program radiation
    use mpi
    use columns
    implicit none
    integer :: rank, step, failed, cells
    character(len=8) :: word
    real(8) :: heat, all, field(150000)
    call MPI_Init(failed)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, failed)
    call get_command_argument(1, word)
    cells = merge(20000, 1000, rank == 1 .and. word == "1")
    field = 0
    heat = 0
    do step = 1, 150
        call advect(field)
        call shine(cells, heat)
        call MPI_Allreduce(heat, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, failed)
    end do
    call MPI_Finalize(failed)
end program
