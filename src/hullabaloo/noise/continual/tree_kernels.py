"""Numba kernels of the tree mechanism: a node is the sum of its own two children, never a difference of prefixes."""

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def encode_nodes(x, start, nodes, out):  # type: ignore[no-untyped-def]
    """The node of step t = start + 1, …: of the level of t's lowest set bit; `nodes[l]` keeps left children until their parent."""
    for i in range(x.shape[0]):
        out[i] = x[i]
        t, level = start + i + 1, 0
        while t % 2 == 0:
            out[i] += nodes[level]
            t, level = t // 2, level + 1
        nodes[level] = out[i]


@njit(cache=True, nogil=True)
def decode_nodes(noisy, start, nodes, out):  # type: ignore[no-untyped-def]
    """The sum of one noisy node per set bit of t, the largest first."""
    for i in range(out.shape[0]):
        t, level = start + i + 1, 0
        while (t >> level) % 2 == 0:
            level += 1
        nodes[level] = noisy[i]
        add_set_bits(t, nodes, out[i])


@njit(cache=True, nogil=True)
def add_set_bits(t, nodes, out):  # type: ignore[no-untyped-def]
    """`Σ nodes[l]` over the set bits l of t, the largest first."""
    out[:] = 0.0
    for level in range(nodes.shape[0] - 1, -1, -1):
        if (t >> level) % 2 == 1:
            out += nodes[level]
