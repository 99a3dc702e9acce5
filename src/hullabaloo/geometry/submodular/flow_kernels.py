"""Compiled prox of covers whose groups overlap in any way: divide and conquer over minimum cuts in whole numbers."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.geometry.kernels import added
from hullabaloo.geometry.submodular.cover_kernels import water_level


@njit(cache=True, nogil=True)
def cover_prox(a, charge, start, column):  # type: ignore[no-untyped-def]
    """argmin over u ≥ 0 of Σ_g charge_g max_{j∈g} u_j + ½‖u − a‖², for 0 ≤ a ≤ 1; group g is column[start[g]:start[g + 1]].

    Optimal is u = a − s where each group pays its charge to the largest u in it. A piece is a set of columns with
    groups all to itself. Were its charges free to go to any of its columns, u would be min(a, t) with one level t;
    a maximum flow from groups (charge) to columns (a − t)₊ tells whether they can. If so the piece is done; else the
    columns that lack flow, with all that could give them some (a minimum cut), lie above t in the solution and the
    others below: two pieces, the groups that meet the first going with it (Groenevelt 1991; Mairal, Jenatton,
    Obozinski, Bach 2010). Flows are whole multiples of a unit, 2^-61 of the largest sum of a over a group, so a flow
    never leaks; they only decide the pieces. Levels are sums, rounding kept, of the piece's own numbers.
    Every split makes the pieces smaller: at most p cuts.
    """
    p, m, edges = a.size, charge.size, column.size
    owner = np.empty(edges, np.int64)
    of_group = np.arange(edges)
    most = 0.0
    for g in range(m):
        owner[start[g] : start[g + 1]] = g
        most = max(most, a[column[start[g] : start[g + 1]]].sum())
    unit = 2.0 ** (61.0 - np.ceil(np.log2(most)))  # flow units in 1
    begin = np.zeros(p + 1, np.int64)
    for e in range(edges):
        begin[column[e] + 1] += 1
    begin = np.cumsum(begin)
    group_end, column_end = start[1:].copy(), begin[:-1].copy()  # ends of the lists of edges inside a piece
    of_column = np.empty(edges, np.int64)
    for e in range(edges):
        of_column[column_end[column[e]]] = e
        column_end[column[e]] += 1
    graph = (start, column, owner, of_group, of_column, begin, group_end, column_end)
    flow = np.zeros(edges, np.int64)
    need, slack = np.zeros(p, np.int64), np.zeros(m, np.int64)
    columns, groups = np.arange(p), np.arange(m)
    far_column, far_group = np.empty(p, np.int64), np.empty(m, np.int64)
    scratch, queue, at = np.empty(p), np.empty(p, np.int64), np.empty(p, np.int64)
    within, path = np.empty(m, np.int64), np.empty(2 * min(p, m) + 2, np.int64)
    work = (far_column, far_group, queue, at, within, path)
    pieces = np.empty((p + 1, 4), np.int64)
    pieces[0] = (0, p, 0, m)
    waiting = 1
    out = np.empty(p)
    while waiting > 0:
        waiting -= 1
        c0, c1, g0, g1 = pieces[waiting]
        level = max(_level(a, charge, columns[c0:c1], groups[g0:g1], scratch), 0.0)
        split = False
        if c1 - c0 > 1 and g1 > g0:
            _demands(a, charge, level, unit, columns[c0:c1], groups[g0:g1], graph, (flow, need, slack))
            split = _saturate(columns[c0:c1], groups[g0:g1], graph, (flow, need, slack), work)
        if split:
            c = _partitioned(columns, c0, c1, far_column)
            g = _partitioned(groups, g0, g1, far_group)
            split = c < c1 and _level(a, charge, columns[c0:c], groups[g0:g], scratch) > level
        if split:
            _separate(columns[c:c1], groups[g0:g], graph, far_column, far_group)
            pieces[waiting] = (c0, c, g0, g)
            pieces[waiting + 1] = (c, c1, g, g1)
            waiting += 2
        else:
            for k in range(c0, c1):
                out[columns[k]] = min(a[columns[k]], level)
    return out


@njit(cache=True, nogil=True)
def _level(a, charge, columns, groups, scratch):  # type: ignore[no-untyped-def]
    """The level at which Σ (a − level)₊ over the columns is the sum of the charges of the groups."""
    hi, lo = 0.0, 0.0
    for g in groups:
        hi, lo = added(hi, lo, charge[g])
    if hi == 0.0:
        return 1.0
    for k in range(columns.size):
        scratch[k] = a[columns[k]]
    _, _, high, low, count = water_level(scratch, columns.size, hi)
    return (high + (low - lo)) / count


@njit(cache=True, nogil=True)
def _demands(a, charge, level, unit, columns, groups, graph, state):  # type: ignore[no-untyped-def]
    """What each column is to get and each group can give, in units; what one step gives is given at once."""
    start, column, owner, of_group, of_column, begin, group_end, column_end = graph
    flow, need, slack = state
    for g in groups:
        reach = np.int64(0)
        for k in range(start[g], group_end[g]):
            flow[of_group[k]] = 0
            reach += np.int64(np.round(a[column[of_group[k]]] * unit))
        limit = charge[g] * unit
        slack[g] = np.int64(np.round(limit)) if limit < reach else reach
    for j in columns:
        need[j] = np.int64(np.round(max(a[j] - level, 0.0) * unit))
        for k in range(begin[j], column_end[j]):
            e = of_column[k]
            move = min(need[j], slack[owner[e]])
            flow[e] += move
            slack[owner[e]] -= move
            need[j] -= move


@njit(cache=True, nogil=True)
def _saturate(columns, groups, graph, state, work):  # type: ignore[no-untyped-def]
    """Bring flow to the columns that need some (Dinic 1970); whether need remains, its cut then being what has far ≥ 0."""
    start, begin = graph[0], graph[5]
    need = state[1]
    far_column, far_group, queue, at, within, _ = work
    while True:
        sources = 0
        for j in columns:
            far_column[j] = -1
            at[j] = begin[j]
            if need[j] > 0:
                far_column[j] = 0
                queue[sources] = j
                sources += 1
        for g in groups:
            far_group[g] = -1
            within[g] = start[g]
        if sources == 0:
            return False
        if not _reached(sources, graph, state, work):
            return True
        for i in range(sources):
            _augment(queue[i], graph, state, work)


@njit(cache=True, nogil=True)
def _reached(sources, graph, state, work):  # type: ignore[no-untyped-def]
    """Breadth-first search from needy columns to groups with slack: steps to each column and group on the way; whether there is one."""
    start, column, owner, of_group, of_column, begin, group_end, column_end = graph
    flow, _, slack = state
    far_column, far_group, queue, _, _, _ = work
    head, tail, goal = 0, sources, -1
    while head < tail:
        j = queue[head]
        head += 1
        if goal >= 0 and far_column[j] >= goal:
            break
        for k in range(begin[j], column_end[j]):
            g = owner[of_column[k]]
            if far_group[g] >= 0:
                continue
            far_group[g] = far_column[j] + 1
            if slack[g] > 0:
                goal = far_group[g]
            if goal >= 0:  # what is further away is of no use
                continue
            for i in range(start[g], group_end[g]):
                e = of_group[i]
                if flow[e] > 0 and far_column[column[e]] < 0:
                    far_column[column[e]] = far_group[g] + 1
                    queue[tail] = column[e]
                    tail += 1
    return goal >= 0


@njit(cache=True, nogil=True)
def _augment(source, graph, state, work):  # type: ignore[no-untyped-def]
    """All shortest paths that give flow to one column, by depth-first search; each edge is left for good when it leads nowhere."""
    _, column, owner, of_group, of_column, _, group_end, column_end = graph
    flow, need, slack = state
    far_column, far_group, _, at, within, path = work
    depth = 0  # path: edge from a column to a group, edge of that group to the column that gives way, and so on
    j = source
    while need[source] > 0:
        g = -1  # a group one step on from column j
        while at[j] < column_end[j]:
            e = of_column[at[j]]
            if far_group[owner[e]] == far_column[j] + 1:
                g = owner[e]
                path[depth] = e
                break
            at[j] += 1
        if g < 0:
            if depth == 0:
                return
            within[owner[path[depth - 1]]] += 1  # that column is a dead end
            depth -= 2
            j = column[path[depth]]
            g = owner[path[depth]]
        if slack[g] > 0:
            move = min(need[source], slack[g])
            for k in range(1, depth, 2):
                move = min(move, flow[path[k]])
            for k in range(0, depth + 1, 2):
                flow[path[k]] += move
            for k in range(1, depth, 2):
                flow[path[k]] -= move
            slack[g] -= move
            need[source] -= move
            depth = 0
            j = source
            continue
        following = -1
        while within[g] < group_end[g]:
            e = of_group[within[g]]
            if flow[e] > 0 and far_column[column[e]] == far_group[g] + 1:
                following = e
                break
            within[g] += 1
        if following < 0:
            at[j] += 1  # that group is a dead end
            continue
        path[depth + 1] = following
        depth += 2
        j = column[following]


@njit(cache=True, nogil=True)
def _partitioned(items, first, last, far):  # type: ignore[no-untyped-def]
    """Items[first:last] with those of far ≥ 0 in front; where the others begin."""
    k = first
    for i in range(first, last):
        if far[items[i]] >= 0:
            items[i], items[k] = items[k], items[i]
            k += 1
    return k


@njit(cache=True, nogil=True)
def _separate(low_columns, high_groups, graph, far_column, far_group):  # type: ignore[no-untyped-def]
    """Edges between a group of the upper piece and a column of the lower leave both lists; they carry no flow."""
    start, column, owner, of_group, of_column, begin, group_end, column_end = graph
    for g in high_groups:
        k = start[g]
        for i in range(start[g], group_end[g]):
            if far_column[column[of_group[i]]] >= 0:
                of_group[i], of_group[k] = of_group[k], of_group[i]
                k += 1
        group_end[g] = k
    for j in low_columns:
        k = begin[j]
        for i in range(begin[j], column_end[j]):
            if far_group[owner[of_column[i]]] < 0:
                of_column[i], of_column[k] = of_column[k], of_column[i]
                k += 1
        column_end[j] = k
