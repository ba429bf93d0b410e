"""Files that no honest person uploads, and a process in which they are read: `python -m
tests.hostile`.

Every case plants `SECRET` in a cell. The process reads one case after the other and reports how it
ended, the most memory it took and nothing else, so that a hang or a crash is seen from outside.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import random
import resource
import struct
import subprocess
import sys
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SECRET = "Lovelace7351946"
GIGABYTE = 1024**3
MOST_SECONDS = 120.0
"""A case that takes longer hangs; an honest file of the largest size takes a quarter of it."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Bytes, the file's name, and words of the sentence they must end in (None: the file is a
    table).
    """

    data: bytes
    words: str | None
    name: str = "t.csv"
    row: int | None = None


def parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def varint(number: int, width: int = 0) -> bytes:
    """A whole number as a Parquet footer writes it, padded to `width` bytes."""
    rest, out = number << 1, bytearray()
    while rest > 0x7F or len(out) + 1 < width:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def with_lie(data: bytes, truth: int, lie: int) -> bytes:
    """The same Parquet file with a number of its footer replaced wherever it stands."""
    (size,) = struct.unpack("<I", data[-8:-4])
    body, footer = data[: -8 - size], data[-8 - size : -8]
    word = varint(truth)
    assert word in footer
    return body + footer.replace(word, varint(lie, len(word))) + data[-8:]


def zip_of(name: str, content: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return sink.getvalue()


def encodings() -> dict[str, Case]:
    text = f"name,city\n{SECRET},Köln\nb,Zoë\n"
    return {
        "utf-8": Case(data=text.encode(), words=None),
        "utf-8 with mark": Case(data=text.encode("utf-8-sig"), words=None),
        "latin-1": Case(data=text.encode("latin-1"), words=None),
        "windows-1252": Case(data=text.replace("ö", "€").encode("cp1252"), words=None),
        "utf-16": Case(data=text.encode("utf-16"), words="UTF-16"),
        "utf-16 without mark": Case(
            data=text.encode("utf-16-le"), words="neither text nor Parquet", row=1
        ),
        "utf-32": Case(data=text.encode("utf-32"), words="UTF-16"),
        "mixed": Case(
            data=text.encode() + "x,Zoë\n".encode("latin-1"), words="Line 4 is not UTF-8", row=4
        ),
        "cut off": Case(data=text.encode()[:-2], words="Line 3 is not UTF-8", row=3),
        "mark and latin-1": Case(
            data=b"\xef\xbb\xbf" + text.encode("latin-1"), words="Line 2 is not UTF-8", row=2
        ),
        "no code page": Case(
            data=b"a,b\n1,2\n\x81\x8d,2\n", words="Line 3 is neither UTF-8 nor Windows-1252", row=3
        ),
        "surrogates": Case(data=b"a,b\n\xed\xa0\x80,\x81\n", words="Line 2 is neither"),
        "overlong": Case(data=b"a,b\n\xc0\x80,\x81\n", words="Line 2 is neither"),
    }


def shapes() -> dict[str, Case]:
    wide = ",".join(f"c{i}" for i in range(10_000))
    cell = SECRET * 20_000
    level = "\n".join(",".join(f"v{(i + j) % 50}" for j in range(2_000)) for i in range(60))
    return {
        "empty": Case(data=b"", words="empty"),
        "only a header": Case(data=b"a,b\n", words="no rows"),
        "only line ends": Case(data=b"\r\n\n\r", words="no line with column names"),
        "only spaces": Case(data=b"   \n \n", words="Column 1 has no name"),
        "10,000 columns": Case(
            data=f"{wide}\n{'1,' * 9_999}1\n".encode(), words="10,000 columns, more than 2,000"
        ),
        "100,000 features": Case(
            data=f"{','.join(wide.split(',')[:2_000])}\n{level}\n".encode(), words=None
        ),
        "ragged": Case(
            data=f"a,b\n1,2\n{SECRET}\n".encode(),
            words="Line 3 has another number of fields (1)",
            row=3,
        ),
        "ragged after quotes": Case(
            data=f'a,b\n"x\n{SECRET}",2\n1,2,3\n'.encode(),
            words="Line 4 has another number of fields (3)",
            row=4,
        ),
        "huge cell": Case(
            data=f"a,b\n1,2\n1,{cell}\n".encode(), words="Line 3 cannot be read as CSV", row=3
        ),
        "huge name": Case(
            data=f"a,{'n' * 600}\n1,{SECRET}\n".encode(),
            words="name of column 2 is longer than 500",
        ),
        "one line": Case(data=b"x" * 6_000_000, words="reaches line 1 is longer", row=1),
        "line of commas": Case(
            data=b"a,b\n1,2\n" + b"," * 6_000_000, words="reaches line 3 is longer", row=3
        ),
        "header of commas": Case(data=b"," * 6_000_000, words="reaches line 1 is longer", row=1),
        "record over lines": Case(
            data=b"a,b\n" + b'"\n",' * 1_500_000, words="is longer than 4,000,000"
        ),
        "open quote": Case(
            data=f'a,b\n1,"{SECRET}\n2,3\n'.encode(), words="quotation marks do not match up", row=2
        ),
        "deep quotes": Case(
            data=b"a,b\n1," + b'"' * 100_001 + b"\n2,3\n",
            words="quotation marks do not match up",
            row=2,
        ),
        "even deep quotes": Case(data=b"a,b\n1," + b'"' * 100_000 + b"\n2,3\n", words=None),
        "old mac": Case(data=f"a,b\r1,{SECRET}\r2,y\r".encode(), words=None),
        "old mac ragged": Case(
            data=f"a,b\r1,{SECRET}\r2\r".encode(),
            words="Line 3 has another number of fields (1)",
            row=3,
        ),
        "mixed ends": Case(data=f"a,b\r\n1,{SECRET}\n2,y\r3,z\r\n\r\n".encode(), words=None),
    }


def names() -> dict[str, Case]:
    def head(text: str) -> bytes:
        return f"{text}\n1,{SECRET}\n2,y\n".encode()

    invisible = "name of column 2 holds an invisible control character"
    return {
        "duplicates": Case(data=head("a,a"), words="Columns 1 and 2 have the same name"),
        "duplicates but for spaces": Case(
            data=head("a  b, a b"), words="Columns 1 and 2 have the same name"
        ),
        "duplicates but for composing": Case(
            data=head("é,e\u0301"), words="Columns 1 and 2 have the same name"
        ),
        "right to left": Case(data=head("a,b\u202ec"), words=invisible),
        "zero width": Case(data=head("a,a\u200b"), words=invisible),
        "delete": Case(data=head("a,b\x7f"), words=invisible),
        "mark inside": Case(data=head("a,\ufeffb"), words=invisible),
        "control": Case(data=head("a,b\x1b[31m"), words="Line 1 holds a control character", row=1),
        "line break": Case(data=head('a,"b\nc"'), words=None),
        "persian": Case(data=head("a,می\u200cخواهم"), words=None),
        "formula": Case(data=head("a,=cmd|' /C calc'!A0"), words=None),
        "script": Case(data=head("a,<script>alert(1)</script>"), words=None),
        "no name": Case(data=head("a,"), words="Column 2 has no name"),
        "numbers": Case(data=head("1,1e999"), words="numbers only"),
    }


def numbers() -> dict[str, Case]:
    cells = [
        "2147483648",
        "-1e999",
        "1e999",
        "nan",
        "inf",
        "-Infinity",
        "1" * 5_000,
        "99999999999999999999",
        "0x10",
    ]
    column = "\n".join(f"{cell},{i},{SECRET},{'yn'[i % 2]}" for i, cell in enumerate(cells))
    big = "\n".join(f"{i * 10**17}{i},{i},{SECRET},{'yn'[i % 2]}" for i in range(30))
    inf = "\n".join(f"{'inf' if i % 2 else '-1e999'},{i},{SECRET},{'yn'[i % 2]}" for i in range(30))
    rows = {"strange numbers": column, "above 64 bits": big, "infinities": inf}
    return {
        kind: Case(data=f"v,i,w,t\n{text}\n".encode(), words=None) for kind, text in rows.items()
    }


def formats() -> dict[str, Case]:
    page = f"<!DOCTYPE html><html><body><table><tr><td>{SECRET}</td></tr></table></body></html>"
    junk = random.Random(6).randbytes(20_000)
    table = f"a,b\n1,{SECRET}\n"
    return {
        "spreadsheet": Case(
            data=zip_of("xl/workbook.xml", table.encode()), words="a spreadsheet or a zip archive"
        ),
        "old spreadsheet": Case(
            data=bytes.fromhex("d0cf11e0a1b11ae1") + junk, words="an old spreadsheet"
        ),
        "web page": Case(data=page.encode(), words="a web page"),
        "web page after a mark": Case(data=b"\xef\xbb\xbf\n" + page.encode(), words="a web page"),
        "pdf": Case(data=b"%PDF-1.7\n" + junk, words="a PDF document"),
        "gzip": Case(data=b"\x1f\x8b\x08\x00" + junk, words="a compressed file"),
        "junk": Case(data=b"\x7f" + junk, words="neither text nor Parquet"),
        "nul far down": Case(
            data=b"a,b\n" + b"1,2\n" * 50_000 + b"1,\0\n", words="Line 50002 holds", row=50_002
        ),
        "csv named parquet": Case(
            data=table.encode(), name="t.parquet", words="does not start like"
        ),
    }


def parquets() -> dict[str, Case]:
    n = 200
    plain = pa.table({"a": pa.array(range(n)), "b": pa.array([SECRET, "x"] * (n // 2))})
    good = parquet(plain)
    mixed = pa.table({"a": [1, 2], "b": [{"x": SECRET}, {"x": "y"}]})
    deep: pa.DataType = pa.string()
    for _ in range(40):
        deep = pa.list_(deep)
    broken = pa.Array.from_buffers(
        pa.string(),
        2,
        [
            None,
            pa.py_buffer(struct.pack("<3i", 0, 4, 8)),
            pa.py_buffer(b"\xff\xfe\xfd\xfc\xff\xfe\xfd\xfc"),
        ],
    )
    zeros = parquet(pa.table({"a": pa.array(np.zeros(60_000_000, dtype=np.int8))}))
    wide = parquet(
        pa.table({f"c{i}": pa.array(np.zeros(30_000, dtype=np.int8)) for i in range(1_700)})
    )
    long = parquet(
        pa.table({"a": ["z" * 30_000_000 + SECRET]}), use_dictionary=False, compression="zstd"
    )
    times = pa.table(
        {
            "a": pa.array([1, 2], pa.time64("us")),
            "d": pa.array([1, 2], pa.date32()),
            "t": ["y", "n"],
        }
    )
    far = pa.table({"a": pa.array([2**62, -(2**62)], pa.timestamp("ms")), "t": ["y", "n"]})
    damaged, case = "cannot be read as Parquet", "t.parquet"
    return {
        "parquet": Case(data=good, name=case, words=None),
        "parquet named csv": Case(data=good, words=None),
        "parquet, nothing but marks": Case(data=b"PAR1PAR1", name=case, words=damaged),
        "parquet, cut": Case(data=good[:-30], name=case, words=damaged),
        "parquet, footer of 4 GB": Case(
            data=good[:-8] + b"\xff\xff\xff\xffPAR1", name=case, words=damaged
        ),
        "parquet, more rows promised": Case(
            data=with_lie(good, n, 2**13 - 1), name=case, words=None
        ),
        "parquet, few rows promised": Case(
            data=with_lie(zeros, 60_000_000, 5), name=case, words="more than 5,000,000 rows"
        ),
        "parquet, rows": Case(data=zeros, name=case, words="more than 5,000,000 rows"),
        "parquet, cells": Case(data=wide, name=case, words="more than 50,000,000 cells"),
        "parquet, structs": Case(
            data=parquet(mixed), name=case, words="Column 2 holds values that are not plain"
        ),
        "parquet, deep lists": Case(
            data=parquet(pa.table({"a": pa.array([None], deep)})),
            name=case,
            words="Column 1 holds values that are not",
        ),
        "parquet, broken text": Case(
            data=parquet(pa.table({"a": broken})), name=case, words=damaged
        ),
        "parquet, one long text": Case(
            data=long, name=case, words="Column 1 holds a text longer than 131,072"
        ),
        "parquet, times": Case(data=parquet(times), name=case, words=None),
        "parquet, far years": Case(data=parquet(far), name=case, words=None),
        "parquet, no columns": Case(
            data=parquet(pa.table({})), name=case, words="no line with column names"
        ),
    }


def corpus() -> dict[str, Case]:
    """Every case by its name."""
    return {**encodings(), **shapes(), **names(), **numbers(), **formats(), **parquets()}


class Reader:
    """The process that reads the cases, as the tests see it."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[1],
        )

    def read(self, data: bytes, name: str, *, is_fitted: bool = False) -> dict[str, object]:
        """How one file ended, its records fitted too if wanted; raises RuntimeError after a hang or
        a crash.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(MOST_SECONDS * (5 if is_fitted else 1), self._process.kill)
        timer.start()
        try:
            pickle.dump((data, name, is_fitted), self._process.stdin)
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not answer:
            code = self._process.wait()
            self.close()
            self._start()  # for the next case
            raise RuntimeError(f"The reading process hung or died ({code}).")
        return json.loads(answer)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


def ending(data: bytes, name: str, *, is_fitted: bool = False) -> dict[str, object]:
    """A table of so many rows, a sentence, or a failure; an accepted table is taken as far as
    records, or their fit.
    """
    from dpci_core import Logistic, fit_moments
    from dpci_core.base.errors import DataRejectedError
    from dpci_core.datasets import read_upload
    from dpci_core.datasets.upload_rules import check_records
    from dpci_core.report.refusals import said
    from dpci_core.schema import as_text, encode, propose_schema

    try:
        frame = read_upload(data, name)
    except DataRejectedError as error:
        hidden = error.__suppress_context__ or error.__context__ is None
        return {"kind": "sentence" if hidden else "failure", "text": said(error), "row": error.row}
    peaks = {"reading": peak_gigabytes()}
    try:
        target = frame.columns[-1]
        levels = sorted({as_text(value) for value in frame[target].dropna().unique()[:50]})
        schema = propose_schema(frame, target, levels[0] if levels else "")
        features = min(50, len(schema.feature_names))
        check_records(len(frame), features)
        records = encode(frame, schema, source="declared public", title="t", features=features)
        peaks["encoding"] = own_peak_gigabytes()
        if is_fitted:
            fit_moments(records.X, records.y, loss=Logistic(), regularization=0.01)
            peaks["fitting"] = own_peak_gigabytes()
        else:
            assert np.linalg.norm(records.X, axis=1).max(initial=0.0) <= 1.0
    except ValueError as error:  # DataRejectedError is one; the page shows both as sentences
        later = said(error)
        for column in frame.columns:  # these may be named
            later = later.replace(repr(column), "NAME")
    else:
        later = ""
    return {
        "kind": "table",
        "text": "",
        "rows": len(frame),
        "later": later,
        "gigabytes": max(peaks.values()),
        **peaks,
    }


def peak_gigabytes() -> float:
    """The most memory this process took since the last question, and the most that one it started
    ever took.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / GIGABYTE
    return own_peak_gigabytes() + children


def own_peak_gigabytes() -> float:
    """The most memory this process took since the last question."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = Path("/proc/self/status")
    if status.exists():
        own = next(
            int(line.split()[1])
            for line in status.read_text().splitlines()
            if line.startswith("VmHWM")
        )
        with contextlib.suppress(
            OSError
        ):  # without it the peak is that of all cases so far, which is no less
            Path("/proc/self/clear_refs").write_text("5")
    return own * 1024 / GIGABYTE


def main() -> None:
    import warnings

    warnings.simplefilter("error")
    resource.setrlimit(
        resource.RLIMIT_AS, (8 * GIGABYTE, 8 * GIGABYTE)
    )  # spares the machine; 2 GB are measured
    while True:
        try:
            data, name, is_fitted = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        peak_gigabytes()
        try:
            found = ending(data, name, is_fitted=is_fitted)
        except Exception as error:
            found = {"kind": "failure", "text": f"{type(error).__name__}: {error}"}
        print(json.dumps({"gigabytes": peak_gigabytes(), **found}), flush=True)


if __name__ == "__main__":
    main()
