"""Numba kernels of the tree mechanisms: a node is the sum of its own two children, never a difference of prefixes."""

import numpy as np

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
def encode_all_nodes(x, start, nodes, out):  # type: ignore[no-untyped-def]
    """All nodes that end with step t, the smallest first."""
    done = 0
    for i in range(x.shape[0]):
        t, level = start + i + 1, 0
        out[done] = x[i]
        done += 1
        while t % 2 == 0:
            out[done] = nodes[level] + out[done - 1]
            done += 1
            t, level = t // 2, level + 1
        nodes[level] = out[done - 1]


@njit(cache=True, nogil=True)
def decode_all_nodes(noisy, start, shares, nodes, out):  # type: ignore[no-untyped-def]
    """Estimates from below of the nodes that end with step t, then the sum of one per set bit of t."""
    done = 0
    estimate = np.empty(noisy.shape[1])
    for i in range(out.shape[0]):
        t, level = start + i + 1, 0
        estimate[:] = noisy[done]
        done += 1
        while (t >> level) % 2 == 0:
            share = shares[level + 1]
            for j in range(estimate.size):
                estimate[j] = share * noisy[done, j] + (1.0 - share) * (nodes[level, j] + estimate[j])
            done += 1
            level += 1
        nodes[level] = estimate
        add_set_bits(t, nodes, out[i])


@njit(cache=True, nogil=True)
def add_set_bits(t, nodes, out):  # type: ignore[no-untyped-def]
    """`Σ nodes[l]` over the set bits l of t, the largest first."""
    out[:] = 0.0
    for level in range(nodes.shape[0] - 1, -1, -1):
        if (t >> level) % 2 == 1:
            out += nodes[level]
