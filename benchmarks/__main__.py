"""`python -m benchmarks [NAME…]`: record the named benchmarks, or those that are stale; `--stale` says which are, `--list` what there is."""

import sys

from benchmarks import listing, record


def main(asked: list[str]) -> int:
    known = record.names()
    if asked == ["--list"]:
        print(listing.text(listing.rows(fresh=True)))
        return 0
    if asked == ["--stale"]:
        found = {name: why for name in known if (why := record.stale(name))}
        for name, why in found.items():
            print(f"{name}: {why}; record it again: {record.command(name)}")
        return 1 if found else 0
    unknown = [name for name in asked if name not in known]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; the benchmarks are {', '.join(known)}.", file=sys.stderr)
        return 2
    todo = asked or [name for name in known if record.stale(name)]
    for name in todo:
        if not asked and record.command(name) != f"python -m benchmarks {name}":
            print(f"{name} is stale, and needs its own environment: {record.command(name)}", flush=True)
            continue
        print(f"{name} …", flush=True)
        document = record.record(name)
        print(f"recorded in {record.result_path(name)} after {document['seconds']} s", flush=True)
    if not todo:
        print("Nothing is stale.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
