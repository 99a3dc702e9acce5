"""The measured tables of the documentation, from the recorded results of the benchmarks."""

import sys
from pathlib import Path
from typing import Any

LONG, LONGEST = 20, 40  # tables of more rows are folded away, and left to the recorded file
DRAWN = "patterns"  # what pictures alone show
ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import listing, record  # noqa: E402


def measured(name: str) -> str:
    """One benchmark's table in Markdown, with where it was measured; a line that says how to get it when it is not there.

    "records" is the list of all records, and a run of the long tests has its line.
    """
    if name == "records":
        return f"\n{_records(listing.rows(), '', folded=False)}"
    for line in listing.soaked():
        if line["record"] == name:
            where = f"on {line['date']}, at commit `{line['commit']}`, in {line['seconds']:.0f} s"
            return (
                f"\n{line['what'][0].upper()}{line['what'][1:]}: {line['passed']:,} passed {where} (`make soak`).\n\n"
            )
    document = record.kept(name)
    if document is None:
        return f"\nNot recorded yet: `python -m benchmarks {name}`.\n\n"
    machine = document["machine"]
    source = (
        f"Recorded {document['date']} by `{document['command']}` in {document['seconds']:.0f} s: Python "
        f"{document['python']}, NumPy {document['numpy']}, {machine['cores']} core(s), {machine['system']} "
        f"{machine['architecture']}; commit `{document['commit']}`."
    )
    return f"\n{_tables(document['results'], f'../benchmarks/results/{name}.json')}\n{source}\n\n"


def _tables(results: Any, file: str, heading: str = "") -> str:
    """Any results as tables: single values together, groups of the same values side by side, lists of records as they are.

    Lists of more than `LONGEST` are a link to the recorded file.
    """
    if isinstance(results, list):
        rows = [line for row in results for line in _unfolded(row)]
        if len(rows) > LONGEST:
            return f"**{heading or 'all'}**: {len(rows)} rows, in [`{Path(file).name}`]({file})\n\n"
        return _records(rows, heading)
    shown = {key: value for key, value in results.items() if key != DRAWN}
    values = {key: value for key, value in shown.items() if not isinstance(value, dict | list)}
    groups = {key: value for key, value in shown.items() if isinstance(value, dict | list)}
    text = _records([{"measured": _words(key), "value": value} for key, value in values.items()], heading)
    flat = {key: value for key, value in groups.items() if isinstance(value, dict) and _flat(value)}
    if len(flat) > 1 and len({tuple(value) for value in flat.values()}) == 1:
        keys = next(iter(flat.values()))
        text += _records(
            [{"measured": _words(k), **{name: one[k] for name, one in flat.items()}} for k in keys], heading
        )
        groups = {key: value for key, value in groups.items() if key not in flat}
    for key, value in sorted(groups.items(), key=lambda pair: len(pair[1])):
        if value:
            text += _tables(value, file, f"{heading}, {_words(key)}" if heading else _words(key))
    return text


def _unfolded(row: Any) -> list[Any]:
    """A record as rows: one for each record that it holds in a list."""
    inner = next((key for key, value in row.items() if _is_records(value)), None) if isinstance(row, dict) else None
    return [row] if inner is None else [{k: v for k, v in row.items() if k != inner} | one for one in row[inner]]


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _records(rows: list[Any], heading: str, *, folded: bool = True) -> str:
    if not rows:
        return ""
    if not isinstance(rows[0], dict):
        return f"**{heading}**: {', '.join(_number(one) for one in rows)}\n\n"
    columns = list(dict.fromkeys(key for row in rows for key in row if not isinstance(row[key], dict)))
    lines = ["| " + " | ".join(_words(column) for column in columns) + " |"]
    lines.append("|" + "|".join("---" if i == 0 else "---:" for i in range(len(columns))) + "|")
    lines += ["| " + " | ".join(_number(row.get(column, "")) for column in columns) + " |" for row in rows]
    whole = "\n".join(lines)
    if folded and len(rows) > LONG:
        return f"<details><summary>{heading or 'all'}: {len(rows)} rows</summary>\n\n{whole}\n\n</details>\n\n"
    return f"**{heading}**\n\n{whole}\n\n" if heading else f"{whole}\n\n"


def _flat(value: dict[str, Any]) -> bool:
    return all(not isinstance(one, dict | list) for one in value.values())


def _words(name: str) -> str:
    return name.replace("_", " ")


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_number, value))
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return "" if value is None else str(value).replace("|", "\\|")


if __name__ == "__main__":
    print("\n".join(measured(name) for name in sys.argv[1:]))
