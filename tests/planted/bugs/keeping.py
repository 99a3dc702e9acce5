"""Bugs in what is kept outside of the ledger: files that are saved, states that are sealed, sources that go on, and the keys of noise."""

from tests.planted.bug import Bug

KEEPING = (
    Bug(
        "a saved file's folder is not flushed",
        "After a loss of power a saved model may be gone although `save` has returned.",
        "data.saving",
        old="        raise\n    flush_folder(folder)\n",
        new="        raise\n",
        caught_by=("tests/data/test_saving.py::test_the_order_is_bytes_file_name_folder",),
    ),
    Bug(
        "flushed after it has the name",
        "A saved file takes its name before its bytes are on the disk: after a loss of power it is there and empty.",
        "data.saving",
        old=(
            "            write_all(file, data)\n        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)\n"
        ),
        new=(
            "            _write(file, data)\n            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)\n"
            "            os.fsync(file)\n"
        ),
        caught_by=("tests/data/test_saving.py::test_the_order_is_bytes_file_name_folder",),
    ),
    Bug(
        "bytes that are not flushed",
        "What is saved is not flushed to the disk.",
        "data.saving",
        old="    _write(file, data)\n    os.fsync(file)\n",
        new="    _write(file, data)\n",
        caught_by=("tests/data/test_saving.py::test_the_order_is_bytes_file_name_folder",),
    ),
    Bug(
        "drafts by the process's number",
        "Two threads, or two containers whose processes have one number, write to one draft.",
        "data.saving",
        old=".{uuid4().hex}.part",
        new=".{os.getpid():032x}.part",
        caught_by=("tests/data/test_saving.py::test_many_writers_with_one_number_and_many_readers[25]",),
    ),
    Bug(
        "drafts that others may open",
        "The draft of a private file is created for everybody and made private afterwards: who opens it in between reads on.",
        "data.saving",
        old="    file = create_new(draft, folder, 0o666 if mode is None else mode)\n",
        new="    file = create_new(draft, folder, 0o666)\n",
        caught_by=("tests/data/test_saving.py::test_a_draft_is_born_no_more_open_than_the_file[384]",),
    ),
    Bug(
        "drafts that stay",
        "When a save fails its draft stays, and with it what was private.",
        "data.saving",
        old="            os.unlink(draft, dir_fd=folder)\n",
        new="            os.stat(draft, dir_fd=folder)\n",
        caught_by=(
            "tests/data/test_saving.py::test_a_disk_that_fails_at_any_call_leaves_the_old_or_the_new_and_no_draft[True-2-28]",
        ),
    ),
    Bug(
        "removed before it is written",
        "The old file is removed before the new one has its name: killed in between, neither is there.",
        "data.saving",
        old="        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)\n",
        new=(
            "        with suppress(FileNotFoundError):\n            os.unlink(name, dir_fd=folder)\n"
            "        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)\n"
        ),
        caught_by=("tests/data/test_saving.py::test_the_order_is_bytes_file_name_folder",),
    ),
    Bug(
        "a state's folder is not flushed",
        "A save that the ledger has confirmed may be gone after a loss of power: the stream cannot go on.",
        "durable.state",
        old="            self._publish(part, data)\n            os.fsync(self._folder)\n",
        new="            self._publish(part, data)\n",
        caught_by=("tests/streaming/test_state.py::test_a_save_that_fails_says_so_and_can_be_made_again[fsync-full]",),
    ),
    Bug(
        "a state that is not flushed",
        "The bytes of a state are not on the disk when it takes the name.",
        "durable.state",
        old="            write_all(new, data)\n",
        new="            os.write(new, data)\n",
        caught_by=("tests/streaming/test_state.py::test_a_save_that_fails_says_so_and_can_be_made_again[fsync-full]",),
    ),
    Bug(
        "another's state is overwritten",
        "A state file that was replaced while it was in use is written over.",
        "durable.state",
        old="return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)",
        new="return mine.st_dev == there.st_dev",
        caught_by=("tests/streaming/test_state.py::test_a_file_that_was_taken_away_is_not_written_again",),
    ),
    Bug(
        "a save without its lock",
        "After the first save nobody holds the lock of the state file, so a second process goes on from it.",
        "durable.state",
        old="            fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)\n            self._rename",
        new="            self._rename",
        caught_by=("tests/streaming/test_state.py::test_two_objects_and_two_processes_cannot_both_go_on",),
    ),
    Bug(
        "two beginnings in one file",
        "Of two streams that begin in one new file the second takes the name from the first.",
        "durable.state",
        old="            os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder)  #",
        new="            os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)  #",
        caught_by=("tests/streaming/test_state.py::test_of_two_beginnings_one_goes_on",),
    ),
    Bug(
        "forks keep a state open",
        "A forked child keeps its parent's state file, and with it the lock and the right to go on.",
        "durable.state",
        old="os.register_at_fork(after_in_child=_leave_to_the_parent)\n",
        new="",
        caught_by=("tests/streaming/test_state.py::test_a_forked_child_leaves_the_file_to_its_parent",),
    ),
    Bug(
        "private files through links",
        "A state or key is opened through a symbolic link: whoever may change the link decides which.",
        "durable.state",
        old="| os.O_NOFOLLOW | os.O_NONBLOCK",
        new="| os.O_NONBLOCK",
        caught_by=("tests/streaming/test_state.py::test_links_folders_and_pipes_are_refused",),
    ),
    Bug(
        "private files wait for a writer",
        "A pipe under the name of a state file is opened without a word until somebody writes into it.",
        "durable.state",
        old="| os.O_NOFOLLOW | os.O_NONBLOCK",
        new="| os.O_NOFOLLOW",
        caught_by=("tests/streaming/test_state.py::test_a_pipe_is_no_key_and_is_not_waited_for",),
    ),
    Bug(
        "private to a group",
        "A state or key that the owner's group may read is taken for private.",
        "durable.state",
        old="    if found.st_mode & 0o077:\n",
        new="    if found.st_mode & 0o007:\n",
        caught_by=("tests/streaming/test_state.py::test_a_file_that_others_may_use_is_refused[0o640]",),
    ),
    Bug(
        "confirmed before it is saved",
        "The ledger confirms a save before its file is written: killed in between, no state goes on.",
        "durable.journal",
        old="        self._file.write(after)\n        self._state = after\n        self._confirm()\n",
        new="        self._state = after\n        self._confirm()\n        self._file.write(after)\n",
        caught_by=(
            "tests/streaming/test_journal.py::test_killed_at_any_place_it_is_charged_once_and_shows_one_sequence[StateFile.write-before]",
        ),
    ),
    Bug(
        "half a key in the open",
        "The bytes by which a wrong key is told are the second half of the cipher's key, and stand in the plain header.",
        "durable.sealed",
        old="    return both[:32], both[32:]\n",
        new="    return both[:32], both[16:32]\n",
        caught_by=(
            "tests/noise/test_entropy.py::test_a_sealed_file_shows_no_part_of_a_key_and_no_key_meets_a_nonce_twice",
        ),
    ),
    Bug(
        "one key for two uses",
        "The salt of a state file is that of its key file, so all saves are enciphered under one key and one nonce.",
        "durable.sealed",
        old="        salt = AESGCM.generate_key(256)\n",
        new="        salt = hashlib.sha256(key).digest()\n",
        caught_by=(
            "tests/noise/test_entropy.py::test_a_sealed_file_shows_no_part_of_a_key_and_no_key_meets_a_nonce_twice",
        ),
    ),
    Bug(
        "half a key file, repeated",
        "A new key file holds 16 random bytes, twice.",
        "durable.state",
        old="AESGCM.generate_key(8 * KEY_BYTES)",
        new="AESGCM.generate_key(128) * 2",
        caught_by=("tests/noise/test_entropy.py::test_every_key_file_is_fresh_and_whole",),
    ),
    Bug(
        "a hash that anybody can form",
        "What was read of a source is told again by a hash under no key, which confirms guesses of records.",
        "data.sources.prefix",
        old="hmac.new(self._key, _PURPOSE, hashlib.sha256)",
        new="hmac.new(_PURPOSE, _PURPOSE, hashlib.sha256)",
        caught_by=("tests/streaming/test_prefix.py::test_a_tag_is_of_its_key_and_of_every_byte_in_its_order",),
    ),
    Bug(
        "one key for all sources",
        "The key under which a source's bytes are told again is the same for all.",
        "data.sources.prefix",
        old="AESGCM.generate_key(256)",
        new="hashlib.sha256(AESGCM.__name__.encode()).digest()",
        caught_by=("tests/streaming/test_prefix.py::test_a_tag_is_of_its_key_and_of_every_byte_in_its_order",),
    ),
    Bug(
        "the beginning of the beginning",
        "Of a source that was read only the first 65536 bytes are told again: what was rewritten after them is skipped or taken twice.",
        "data.sources.prefix",
        old="        self._mac.update(data)\n",
        new=(
            "        done = self.__dict__.get('_done', 0)\n        self._done = done + len(data)\n"
            "        self._mac.update(data[: max(0, 65536 - done)])\n"
        ),
        caught_by=("tests/streaming/test_prefix.py::test_a_tag_is_of_the_last_byte_of_many_blocks_as_of_the_first",),
    ),
    Bug(
        "the length of the beginning",
        "Of a source that was read only how many bytes they were is told again.",
        "data.sources.prefix",
        old="        self._mac.update(data)\n",
        new="        self._mac.update(bytes(len(data)))\n",
        caught_by=("tests/streaming/test_prefix.py::test_a_tag_is_of_its_key_and_of_every_byte_in_its_order",),
    ),
    Bug(
        "the beginning of a tag",
        "A tag that was cut to any length is taken for the whole one.",
        "data.sources.prefix",
        old="hmac.compare_digest(found._mac.copy().digest(), tag)",
        new="found._mac.copy().digest().startswith(tag)",
        caught_by=("tests/streaming/test_prefix.py::test_a_cut_tag_proves_nothing",),
    ),
    Bug(
        "a source is known by its number",
        "A file of the same path and number is gone on with although its bytes are others.",
        "data.sources.prefix",
        old="    if proved:  #",
        new="    if proved or same:  #",
        caught_by=(
            "tests/streaming/test_prefix.py::test_a_file_rewritten_in_place_is_refused_also_when_it_is_said_to_continue[csv]",
        ),
    ),
    Bug(
        "a footer that is not told",
        "The footer of a Parquet file, which says what its bytes mean, is not among the bytes that are told again.",
        "data.sources.parquet",
        old="        first.insert(0, (ends[-1], os.stat(fragment.path).st_size))\n",
        new="        first.insert(0, (ends[-1], ends[-1]))\n",
        caught_by=("tests/streaming/test_prefix.py::test_a_footer_that_changed_in_place_is_another_source",),
    ),
    Bug(
        "a followed file that is another",
        "A file that replaces a followed one is not noticed.",
        "data.sources.lines",
        old="        if now is None or (now.st_dev, now.st_ino) != (opened.st_dev, opened.st_ino):\n",
        new="        if now is None or now.st_dev != opened.st_dev:\n",
        caught_by=("tests/streaming/test_sources.py::test_a_followed_file_may_only_grow[replaced]",),
    ),
    Bug(
        "noise by time and number",
        "Keys of noise come from the clock and the process's number, which can be guessed.",
        "noise.keys",
        old="        return os.urandom(KEY_BYTES)\n",
        new=(
            "        import time\n\n"
            '        return hashlib.sha256(f"{time.time_ns()} {os.getpid()}".encode()).digest()\n'
        ),
        caught_by=(
            "tests/noise/test_entropy.py::test_every_answer_has_a_key_of_its_own_which_is_one_read_and_is_used_whole[moments]",
        ),
    ),
    Bug(
        "noise of eight bytes",
        "Keys of noise are 8 random bytes, four times.",
        "noise.keys",
        old="        return os.urandom(KEY_BYTES)\n",
        new="        return os.urandom(8) * 4\n",
        caught_by=(
            "tests/noise/test_entropy.py::test_every_answer_has_a_key_of_its_own_which_is_one_read_and_is_used_whole[moments]",
        ),
    ),
    Bug(
        "searches of eight bytes",
        "The secret of a search is 8 random bytes, four times.",
        "noise.keys",
        old="cls.reopened(os.urandom(KEY_BYTES))",
        new="cls.reopened(os.urandom(8) * 4)",
        caught_by=("tests/noise/test_entropy.py::test_a_search_reads_once_and_derives_the_rest",),
    ),
    Bug(
        "half a cipher",
        "Noise is expanded under half its key.",
        "noise.keys",
        old="algorithms.AES(secret_bytes(key))",
        new="algorithms.AES(secret_bytes(key)[:16])",
        caught_by=(
            "tests/noise/test_entropy.py::test_noise_depends_on_every_bit_of_the_key_and_is_aes_256_in_counter_mode_from_zero",
        ),
    ),
    Bug(
        "words that run together",
        "Derived keys do not tell one list of words from another that reads the same, or a number from its text.",
        "noise.keys",
        old="""            digest.update(f"{type(word).__name__} {len(text)}:".encode() + text)\n""",
        new="            digest.update(text)\n",
        caught_by=("tests/noise/test_keys.py::test_other_words_derive_other_keys",),
    ),
    Bug(
        "one key hides two numbers",
        "Under one key of a search the same noise meets every number that is asked at one scale.",
        "noise.keys",
        old="""key.derive("hides", *hidden)""",
        new="""key.derive("hides", len(hidden))""",
        caught_by=("tests/noise/test_keys.py::test_the_same_noise_never_meets_two_numbers[gaussian]",),
    ),
    Bug(
        "commands that warn",
        "A command shows the warnings of libraries, which can depend on values.",
        "cli.boundary",
        old="""warnings.simplefilter("ignore")""",
        new="""warnings.simplefilter("default")""",
        caught_by=("tests/cli/test_refusals.py::test_what_a_library_warns_of_is_not_shown",),
    ),
)
