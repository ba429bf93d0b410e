"""The child of `unpack`: a Parquet file on standard input, the same table as an Arrow stream on
standard output.

Run as a file, so that it starts with nothing but PyArrow; all rules are the parent's.
"""

from __future__ import annotations

import contextlib
import sys

ROWS, UNPACKED = b"rows", b"unpacked"
"""What the file says of its own size, sent ahead with the schema."""
OUT_OF_MEMORY = 3
"""Exit code when the memory was not enough."""


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
    import pyarrow.parquet

    pyarrow.set_cpu_count(1)
    data = sys.stdin.buffer.read()
    limit_memory(int(sys.argv[1]))
    try:
        source = pyarrow.BufferReader(data)
        metadata = pyarrow.parquet.read_metadata(source)
        texts = [field.name for field in metadata.schema.to_arrow_schema() if _is_text(field.type)]
        # Texts stay dictionary encoded: a long text repeated in millions of rows would otherwise be
        # copied as often.
        file = pyarrow.parquet.ParquetFile(source, read_dictionary=texts, memory_map=False)
        unpacked = sum(
            metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)
        )
        stated = {ROWS: str(metadata.num_rows), UNPACKED: str(unpacked)}
        schema = file.schema_arrow.with_metadata(stated)
        with pyarrow.ipc.new_stream(sys.stdout.buffer, schema) as stream:
            for batch in file.iter_batches(use_threads=False):
                batch.validate(full=True)
                stream.write_batch(batch)
        sys.stdout.buffer.flush()
    except (MemoryError, pyarrow.ArrowMemoryError):
        return OUT_OF_MEMORY
    except Exception:
        return 1
    return 0


def _is_text(kind: object) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


if __name__ == "__main__":
    sys.exit(main())
