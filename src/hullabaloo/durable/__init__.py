"""What must outlive a process: state files, their sealing, and the journal that ties them to a ledger. Private."""
