"""Reads what `mpitrace export` has written in columns, by pyarrow and by DuckDB.

columns.py QUERY FILE...: for each argument the columns, the rows, and what DuckDB answers to the query in the
file QUERY, as JSON. The query names 'calls.parquet', in whose place each argument is put.
"""
import json
import pathlib
import sys

import duckdb
import pyarrow
import pyarrow.parquet


def read(path):
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    if path.suffix == ".arrows":
        return pyarrow.ipc.open_stream(path).read_all()
    return pyarrow.ipc.open_file(path).read_all()


def source(path, table):
    """What DuckDB is to read: it knows Parquet itself, and Arrow as a table of this process."""
    if path.suffix == ".parquet":
        return f"'{path}'"
    duckdb.register("arrow_table", table)
    return "arrow_table"


query = pathlib.Path(sys.argv[1]).read_text()
found = []
for path in map(pathlib.Path, sys.argv[2:]):
    table = read(path)
    table.validate(full=True)
    answer = duckdb.sql(query.replace("'calls.parquet'", source(path, table))).fetchall()
    columns = {field.name: str(field.type) for field in table.schema}
    found.append({"columns": columns, "rows": table.to_pylist(), "answer": answer})
json.dump(found, sys.stdout, default=str)
