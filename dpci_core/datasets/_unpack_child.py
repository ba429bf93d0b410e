"""The child of `unpack`: what is asked for as a line of JSON and a Parquet file on standard input,
the table as an Arrow stream on standard output.

Run as a file, so that it starts with nothing but PyArrow; all rules are the parent's.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

ROWS, UNPACKED = b"rows", b"unpacked"
"""What the file says of its own size, sent ahead with the schema."""
OUT_OF_MEMORY = 3
"""Exit code when the memory was not enough."""
OTHER_COLUMNS = 4
"""Exit code when the file has not the columns that it is asked for."""
_READ_AHEAD = 2**20
"""Bytes of a column read at once, in the place of all its bytes in a group of rows."""


def limit_memory(n_bytes: int) -> None:
    """Let the process grow by at most so many bytes, where the system can (Windows cannot)."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # absent on Windows

        with open(
            "/proc/self/statm"
        ) as file:  # Linux; elsewhere the process starts from about nothing
            pages = int(file.read().split()[0])
        limit = pages * resource.getpagesize() + n_bytes
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limit if most < 0 else min(limit, most), most))


def main() -> int:
    """Unpack in pieces within the bytes of the first argument; return the exit code, and say
    nothing of the file.
    """
    import pyarrow
    import pyarrow.compute  # before the limit, which counts libraries too
    import pyarrow.parquet

    pyarrow.set_cpu_count(1)
    asked = json.loads(sys.stdin.buffer.readline())
    path = asked.get("path")
    source = path or pyarrow.BufferReader(sys.stdin.buffer.read())
    limit_memory(int(sys.argv[1]))
    try:
        return _some_columns(source, asked) if "needed" in asked else _whole(source)
    except (MemoryError, pyarrow.ArrowMemoryError):
        return OUT_OF_MEMORY
    except Exception:
        return 1


def _whole(source: Any) -> int:
    """Every column, with what the file says of its own size."""
    import pyarrow
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_metadata(source)
    texts = [field.name for field in metadata.schema.to_arrow_schema() if is_text(field.type)]
    # Texts stay dictionary encoded: a long text repeated in millions of rows would otherwise be
    # copied as often.
    file = pyarrow.parquet.ParquetFile(source, read_dictionary=texts, memory_map=False)
    unpacked = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    stated = {ROWS: str(metadata.num_rows), UNPACKED: str(unpacked)}
    schema = file.schema_arrow.with_metadata(stated)
    with pyarrow.ipc.new_stream(sys.stdout.buffer, schema) as stream:
        for batch in file.iter_batches(use_threads=False):
            batch.validate(full=True)
            stream.write_batch(batch)
    sys.stdout.buffer.flush()
    return 0


def _some_columns(source: Any, asked: Any) -> int:
    """The columns that are needed, some rows at a time; texts as bytes, none that is too long."""
    import pyarrow
    import pyarrow.parquet

    fields = pyarrow.parquet.read_schema(source)
    names = [str(name).strip() for name in fields.names]
    if names != asked["columns"]:
        return OTHER_COLUMNS
    originals = [fields.names[names.index(name)] for name in asked["needed"]]
    texts = [name for name in originals if is_text(fields.field(name).type)]
    if not isinstance(source, str):
        source.seek(0)
    file = pyarrow.parquet.ParquetFile(
        source, read_dictionary=texts, memory_map=False, buffer_size=_READ_AHEAD
    )
    batches = file.iter_batches(asked["rows"], columns=originals, use_threads=False)
    stream = None
    for batch in batches:
        columns = [
            short(batch.column(batch.schema.get_field_index(name)), asked["longest"])
            for name in originals
        ]
        sent = pyarrow.record_batch(columns, names=asked["needed"])
        sent.validate(full=True)
        stream = stream or pyarrow.ipc.new_stream(sys.stdout.buffer, sent.schema)
        stream.write_batch(sent)
    if stream is not None:
        stream.close()
    sys.stdout.buffer.flush()
    return 0


def short(column: Any, longest: int) -> Any:
    """Texts as bytes, a longer one missing; anything else as it is."""
    import pyarrow
    import pyarrow.compute

    if pyarrow.types.is_dictionary(column.type):
        return pyarrow.DictionaryArray.from_arrays(
            column.indices, short(column.dictionary, longest)
        )
    if not is_text(column.type):
        return column
    as_bytes = column.cast(
        pyarrow.large_binary() if pyarrow.types.is_large_string(column.type) else pyarrow.binary()
    )
    is_short = pyarrow.compute.less_equal(pyarrow.compute.binary_length(as_bytes), longest)
    return pyarrow.compute.if_else(is_short, as_bytes, pyarrow.scalar(None, as_bytes.type))


def is_text(kind: object) -> bool:
    """Whether an Arrow type holds texts."""
    import pyarrow

    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


if __name__ == "__main__":
    sys.exit(main())
