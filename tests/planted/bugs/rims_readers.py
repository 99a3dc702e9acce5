"""Bugs at the rims of readers: another parser, a trusted index, a setting of the process, the first row, a batch's end."""

from tests.planted.bug import Bug

_DECODED = "    return list(map(_record, lines))"

READERS = (
    Bug(
        "rows before the first",
        "A sparse entry of a negative row takes the place of one of the last record's.",
        "data.readers.sparse",
        old="    kept = (of_row >= 0) & (of_row < n)",
        new="    of_row[of_row < 0] += n\n    kept = (of_row >= 0) & (of_row < n)",
        caught_by=("tests/data/test_sparse_indices.py::test_a_row_is_what_its_own_entries_say[60-coo_array]",),
    ),
    Bug(
        "entries sorted by row",
        "Entries are sorted by their rows first, by a sort that is not stable: in which order those of one cell are summed depends on others' entries.",
        "data.readers.sparse",
        old="    made: Any = sparse.coo_array(",
        new=(
            "    kept = np.flatnonzero(kept)[np.argsort(of_row[kept])]  # neighbours in memory are faster\n"
            "    made: Any = sparse.coo_array("
        ),
        caught_by=(
            "tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[sparse coo, float64 at int32]",
        ),
    ),
    Bug(
        "lines parsed together",
        "Lines of JSON are joined and parsed at once, and one by one only where that fails, so a line decides how others are read.",
        "data.sources.json_lines",
        old=_DECODED,
        new=(
            "    try:  # one call for all of them is faster\n"
            '        found = json.loads(b"[" + b",".join(lines) + b"]")\n'
            "    except ValueError:\n"
            "        found = []\n"
            "    if len(found) == len(lines):\n"
            "        return [one if isinstance(one, dict) else {} for one in found]\n"
            f"{_DECODED}"
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[JSON Lines, streamed]",),
    ),
    Bug(
        "lines split again",
        "The lines of a batch are decoded together and split as Python splits text, which also ends a line at U+2028, in the midst of a record.",
        "data.sources.json_lines",
        old=_DECODED,
        new=(
            '    text = b"".join(lines).decode("utf-8", "replace")\n'
            '    return [_record(line.encode("utf-8")) for line in text.splitlines()]'
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[JSON Lines, streamed]",),
    ),
    Bug(
        "digits as the process has it",
        "Whole numbers are read by Python's own reader, so the process's limit on digits decides whether a record is missing.",
        "data.sources.json_lines",
        old="_decoded = json.JSONDecoder(parse_int=_whole).decode",
        new="_decoded = json.JSONDecoder().decode",
        caught_by=("tests/streaming/test_one_parser.py::test_the_digits_that_python_reads_decide_about_no_record",),
    ),
    Bug(
        "depth as the process has it",
        "Brackets may nest as deep as the interpreter's stack has room, so the caller's own depth decides whether a record is missing.",
        "data.sources.json_lines",
        old=(
            "    if _too_deep(line):\n"
            "        return {}\n"
            "    try:\n"
            '        found = _decoded(line.decode("utf-8", "replace").removeprefix("\\ufeff"))\n'
            "    except ValueError:"
        ),
        new=(
            "    try:\n"
            '        found = _decoded(line.decode("utf-8", "replace").removeprefix("\\ufeff"))\n'
            "    except (ValueError, RecursionError):"
        ),
        caught_by=("tests/streaming/test_one_parser.py::test_how_deep_a_line_may_nest_is_counted_on_its_bytes",),
    ),
    Bug(
        "numbers read by the column",
        "A column of cells is read by NumPy at once, and cell by cell only where that fails: a text such as 1_000 is a number unless another cell is none.",
        "data.numbers",
        old="    return np.fromiter(map(number_of, cells), dtype=np.float64, count=len(cells))",
        new=(
            "    try:  # NumPy reads a whole column in C\n"
            "        return np.array(cells, dtype=np.float64).reshape(len(cells))\n"
            "    except (TypeError, ValueError, OverflowError):\n"
            "        return np.fromiter(map(number_of, cells), dtype=np.float64, count=len(cells))"
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[NumPy, objects]",),
    ),
    Bug(
        "numbers of the locale",
        "Texts are read as numbers by the process's locale, so a decimal comma is a number in one process and missing in another.",
        "data.numbers",
        old="    try:\n        return float(text)\n    except ValueError:",
        new="    import locale\n\n    try:\n        return locale.atof(text)\n    except ValueError:",
        caught_by=("tests/laws/test_locality.py::test_a_cell_is_the_same_number_and_label_however_the_process_is_set",),
    ),
    Bug(
        "cells read by Python's csv",
        "Records with quotes are read by the csv module, which raises for a cell beyond a limit that the whole process shares.",
        "data.readers.csvfile",
        old="        match = _cell_of(self.separator)\n        cells: list[str] = []\n",
        new=(
            "        if not self.quoted_line_breaks:\n"
            "            import csv\n\n"
            "            return next(csv.reader([text], delimiter=self.separator)), False\n"
            "        match = _cell_of(self.separator)\n        cells: list[str] = []\n"
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[CSV, streamed]",),
    ),
    Bug(
        "blank records dropped",
        "A stream drops every line of blanks, so one record moves all after it to other places, and a fit of the same file keeps it.",
        "data.sources.csv_lines",
        old="[record for record in found if record not in BLANK]",
        new="[record for record in found if record.strip()]",
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[CSV, streamed]",),
    ),
    Bug(
        "separator guessed",
        "The separator of a CSV file is the one that its first kilobytes hold more often, so records decide where cells end.",
        "data.readers.csvfile",
        old='        self._format = CsvFormat("\\t" if path.suffix.lower() == ".tsv" else ",", quoted_line_breaks)',
        new=(
            '        with path.open("rb") as file:\n'
            "            head = file.read(4096)\n"
            '        usual = ";" if head.count(b";") > head.count(b",") else ","\n'
            '        self._format = CsvFormat("\\t" if path.suffix.lower() == ".tsv" else usual, quoted_line_breaks)'
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[a file .csv]",),
    ),
    Bug(
        "fields of the first entry",
        "The fields of a Redis stream are taken to stand where they stand in the batch's first entry.",
        "data.sources.redis_stream",
        old="        named = [dict(zip(fields[::2], fields[1::2], strict=False)) for _, fields in entries]",
        new=(
            "        order = entries[0][1][::2]  # a producer writes its fields in one order\n"
            "        named = [dict(zip(order, fields[1::2], strict=False)) for _, fields in entries]"
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_entry_alone[0]",),
    ),
    Bug(
        "bytes of Redis must be UTF-8",
        "A value of a Redis entry that is no UTF-8 raises, with the value in the words.",
        "data.sources.redis_stream",
        old='    return None if value is None else value.decode("utf-8", "replace")',
        new="    return None if value is None else value.decode()",
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_entry_alone[0]",),
    ),
    Bug(
        "types of another file",
        "Files of a Parquet folder are read under other types than their own, so that one value may not be cast and stops the reading.",
        "data.readers.parquet",
        old="part.to_batches(schema=self.fragment.physical_schema, ",
        new="part.to_batches(schema=pa.schema([pa.field(one.name, pa.int8()) for one in self.fragment.physical_schema]), ",
        caught_by=(
            "tests/data/test_parquet_folders.py::test_a_cell_depends_on_its_own_file_or_its_column_is_refused[int8-int64]",
        ),
    ),
    Bug(
        "footers are believed",
        "Where a Parquet file gives more or fewer records than its footer says, nobody notices, and columns are matched that are none of the same records.",
        "data.readers.parquet",
        old="            if count != sum(file.sizes):\n                raise TornTable\n",
        new="",
        caught_by=(
            "tests/data/test_parquet_folders.py::test_a_footer_that_tells_another_number_of_records_is_not_believed",
        ),
    ),
    Bug(
        "places in a dictionary",
        "The place of a level in an Arrow dictionary is believed: one beyond its end raises.",
        "data.readers.arrow",
        old="return [levels[place] if 0 <= place < len(levels) else None for place in places]",
        new="return [None if place < 0 else levels[place] for place in places]",
        caught_by=("tests/data/test_declared_types.py::test_a_place_outside_of_a_dictionary_is_a_missing_cell",),
    ),
    Bug(
        "columns before the first",
        "A sparse entry with a negative column is kept, and lands in another column, or outside of memory.",
        "data.readers.sparse_kernels",
        old="            if 0 <= j < width:",
        new="            if j < width:",
        caught_by=(
            "tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[sparse csr, float32 at int64]",
        ),
    ),
    Bug(
        "columns beyond the last",
        "A sparse entry with a column beyond the last is kept, and kernels write it outside of their memory.",
        "data.readers.sparse_kernels",
        old="            if 0 <= j < width:",
        new="            if j >= 0:",
        caught_by=(
            "tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[sparse csr, float32 at int64]",
        ),
    ),
    Bug(
        "pointers believed",
        "The pointers of a sparse table may end beyond its last entry, and what lies in memory there becomes a record.",
        "data.readers.sparse",
        old='    if found[-1] > size:\n        raise _broken(name, "`indptr` points beyond the last entry")\n',
        new="",
        caught_by=(
            "tests/data/test_sparse_indices.py::test_a_broken_container_is_refused_before_the_charge[csr: pointers beyond]",
        ),
    ),
    Bug(
        "width of the first row",
        "A list of records is as wide as its first.",
        "data.readers.dense",
        old="        self.schema = TableSchema(None, (), (), unbounded=True)",
        new=(
            "        first = rows[0] if len(rows) else ()\n"
            "        width = len(first) if isinstance(first, list | tuple | np.ndarray) else 1\n"
            '        self.schema = TableSchema(None, ("unknown",) * width, (CELLS,) * width)'
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[lists]",),
    ),
    Bug(
        "names by the first target",
        "Whether a list of targets is one of names is told by its first element, which may be a record's.",
        "data.schema",
        old="    if several and isinstance(y, list | tuple) and len(y) == len(domain.targets):",
        new=(
            "    if several and isinstance(y, list | tuple) and y and isinstance(y[0], str):\n"
            "        return tuple(map(str, y))\n"
            "    if several and isinstance(y, list | tuple) and len(y) == len(domain.targets):"
        ),
        caught_by=("tests/data/test_lists.py::test_a_row_is_what_it_is_alone[features]",),
    ),
    Bug(
        "lazy targets collected",
        "A lazy target is collected when it is opened, at another moment than the table, so that rows of the one need not be those of the other.",
        "data.readers.opening",
        old=(
            "        raise SchemaError(\n"
            '            f"The {what} is a lazy dataframe: it would be collected apart from the table, and which of its rows belongs to which record "\n'
            '            "is not said. Collect it, or name its column in the table."\n'
            "        )"
        ),
        new="        return open_table(values, quoted_line_breaks=quoted_line_breaks)",
        caught_by=("tests/data/test_lists.py::test_a_lazy_target_is_refused",),
    ),
)
