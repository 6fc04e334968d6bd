//! Run times that other tools have written.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Seed;

/// Four columns.
///
/// # Errors
/// None: the compressor writes to memory.
pub fn csv() -> std::io::Result<Vec<Seed>> {
    let mut rows = "iteration,rank,metric,value\n".to_owned();
    for repetition in 0..12 {
        for rank in 0..2 {
            let value = 100 + (repetition * 37 + rank * 11) % 29;
            let _ =
                writeln!(rows, "{repetition},{rank},runtime,{value}\n{repetition}, {rank} ,\"PAPI_L3_TCM\",{value}.5");
        }
    }
    let quoted = "\"0\",0,\"runtime\",1e3\r\n1,0,runtime,\t2\r\n\r\n3,0,runtime,3\r\n".to_owned();
    Ok(vec![("rows.gz", zipped(&rows)?), ("rows", rows.into()), ("quoted", quoted.into())])
}

/// Raw output, with and without `-v`.
///
/// # Errors
/// None: the compressor writes to memory.
pub fn reprompi() -> std::io::Result<Vec<Seed>> {
    let settings = "#Command-Line Arguments: ./bin/mpibenchmark --nrep=3\n#@operation=MPI_BOR\n#@datatype=MPI_INT\n\
        #@datatype_size_bytes=4\n#@root_proc=0\n#@nprocs=2\n#@runtime_type=max\n";
    let plain = format!(
        "a launcher's words\n{settings} test nrep count runtime_sec\nMPI_Allreduce 0 2 0.0000269400\n\
        MPI_Allreduce 1 2 0.0000271800\nMPI_Bcast 0 2 0.0000010000\nMPI_Barrier 0 2 0.0000010000\n\
        GL_Allreduce_as_Reduce_Bcast 0 4 0.00005\n# Benchmark started\n"
    );
    let verbose = format!(
        "{settings}process test nrep count errorcode loc_tstart_sec loc_tend_sec gl_tstart_sec gl_tend_sec \n\
        0 MPI_Bcast 0 8 0 100.0000000000 100.0000500000 200.0000000000 200.0000500000\n\
        0 MPI_Bcast 1 8 1 101.0000000000 101.0000100000 201.0000000000 201.0000100000\n\
        1 MPI_Bcast 0 8 0 7.0000000000 7.0000300000 200.0000100000 200.0000400000\n\
        1 MPI_Bcast 1 8 0 8.0000000000 8.0000300000 201.0000100000 201.0000400000\n"
    );
    let sizes = "measure_type nrep msize_bytes runtime_sec\nMPI_Bcast 0 8 1e-6\nMPI_Bcast 1 8 2e-6\n".to_owned();
    let zipped = zipped(&plain)?;
    Ok(vec![("plain", plain.into()), ("verbose", verbose.into()), ("sizes", sizes.into()), ("plain.gz", zipped)])
}

fn zipped(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
