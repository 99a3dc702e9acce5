"""`python -m tests.golden`: compare every case with the kept file; `--record` writes it anew; further words choose cases by their names."""

import sys
import time
from collections import Counter

from threadpoolctl import threadpool_limits

from hullabaloo.errors import HullabalooError
from tests.golden import record


def main(words: list[str]) -> int:
    """Run, and print what differs; 1 where something does."""
    recording, chosen = "--record" in words, [word for word in words if not word.startswith("--")]
    if recording and chosen:
        print("All cases are recorded together: leave the names out.")
        return 2
    before = {} if recording else record.read()
    exact = recording or before["machine"] == record.machine()
    wanted = (
        {}
        if recording
        else {name: one for name, one in before["cases"].items() if any(word in name for word in chosen or [""])}
    )
    begun, outcomes, wrong = time.process_time(), {}, 0
    for name, case in record.cases().items():
        if not recording and name not in wanted:
            continue
        try:
            outcomes[name] = record.kept(case())
        except HullabalooError as error:  # what a solver does not take is no case
            if not recording:
                outcomes[name] = {"refused": str(error)}
    for name, old in wanted.items():
        found = record.differences(old, outcomes[name], exact=exact) if name in outcomes else ["the case is gone"]
        wrong += bool(found)
        for sentence in found:
            print(f"{name}: {sentence}")
    kinds = Counter(name.split("/")[0] for name in outcomes)
    print(f"{len(outcomes)} cases in {time.process_time() - begun:.0f} s of processor time: {dict(kinds)}")
    if recording:
        record.write(outcomes)
        print(f"written to {record.PATH.name}: {record.PATH.stat().st_size:,} bytes")
        return 0
    print(
        f"{wrong} differ, {'bit by bit' if exact else 'to 1e-9: this is another machine than the one that recorded them'}"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    with threadpool_limits(1):  # how a product is shared among threads moves its last bits
        sys.exit(main(sys.argv[1:]))
