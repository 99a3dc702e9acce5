"""`python -m benchmarks [NAME…]`: run the named benchmarks, or all of them, and record what they found; `--stale` lists what is stale."""

import json
import sys

from benchmarks import record


def main(asked: list[str]) -> int:
    known = record.names()
    if asked == ["--stale"]:
        found = {name: why for name in known if (why := record.stale(name))}
        for name, why in found.items():
            print(f"{name}: {why}; record it again: {record.command(name)}")
        return 1 if found else 0
    unknown = [name for name in asked if name not in known]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; the benchmarks are {', '.join(known)}.", file=sys.stderr)
        return 2
    for name in asked or known:
        print(f"{name} …", flush=True)
        document = record.record(name)
        print(json.dumps(document["results"], indent=1)[:4000])
        print(
            f"recorded in {record.result_path(name).relative_to(record.ROOT)} after {document['seconds']} s", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
