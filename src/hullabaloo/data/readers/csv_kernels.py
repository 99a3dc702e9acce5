"""Where the cells of CSV lines are, and the numbers in them: what `CsvFormat` and `parse_number` find, from bytes, without Python cells."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hullabaloo.compiled import njit

Bytes = NDArray[np.uint8]

_LF, _CR, _QUOTE = 10, 13, 34
_MOST = 40
_HIGH = tuple(float(Fraction(10) ** power) for power in range(-_MOST, _MOST + 1))
_LOW = tuple(float(Fraction(10) ** power - Fraction(high)) for power, high in enumerate(_HIGH, -_MOST))


@njit(cache=True, nogil=True)
def find_cells(text, separator, last, spans):  # noqa: PLR0912 - a grammar, rule by rule
    """Write (start, stop) of the cells of the first whole lines into ``spans`` (records, columns, 2); returns how many, and the bytes that they take.

    A quoted cell is what stands between its quotes; of one with two quotes in a row, with something behind its quote, or without a second
    quote, all is given, as (start, −stop − 1). One that a short record lacks is (−1, −1). `last`: the text ends with its file.
    """
    size, at, row = text.size, 0, 0
    while row < spans.shape[0] and at < size:
        begin, column, ended, blank = at, 0, False, False
        if at + 2 < size and text[at] == 0xEF and text[at + 1] == 0xBB and text[at + 2] == 0xBF:
            at += 3
        while not ended:
            start, close, odd = at, -1, False
            if at < size and text[at] == _QUOTE:
                odd, at = True, at + 1
                while at < size and text[at] != _LF:
                    if text[at] != _QUOTE:
                        at += 1
                    elif at + 1 < size and text[at + 1] == _QUOTE:
                        close, at = -2, at + 2
                    else:
                        close = at if close == -1 else close
                        break
            while at < size and text[at] != _LF and text[at] != separator:
                at += 1
            if at >= size and not last:
                return row, begin
            stop, ended = at, at >= size or text[at] == _LF
            if ended and stop > start and text[stop - 1] == _CR:
                stop -= 1
            blank = ended and column == 0 and stop == start
            if odd and close == stop - 1:
                start, stop, odd = start + 1, close, False
            if column < spans.shape[1]:
                spans[row, column, 0], spans[row, column, 1] = start, -stop - 1 if odd else stop
            column, at = column + 1, at + 1
        if not blank or spans.shape[1] == 1:
            spans[row, column:] = -1
            row += 1
    return row, min(at, size)


@njit(cache=True, nogil=True)
def find_numbers(text, spans, out, unsure):
    """Write the float64 nearest to each cell of ``spans`` (records, 2), NaN where it is empty; those to be asked of ``parse_number`` go into ``unsure``.

    A text of at most 19 digits is ``m·10^e``, m < 2^64. As sums of two doubles m is exact and 10^e within 2^-106 of itself, so that their product
    is ``p + s`` within 2^-100 p (Dekker 1971). Where ``p + (s ± 2^-97 p)`` round to one double, that is the nearest one, as rounding is monotone.
    """
    asked = 0
    for i in range(spans.shape[0]):
        at, stop = spans[i, 0], spans[i, 1]
        out[i] = np.nan
        if at == stop:
            continue
        minus = stop > at and text[at] == 45
        at += minus or (stop > at and text[at] == 43)
        whole, digits, power, point, good = np.uint64(0), 0, 0, False, False
        while at < stop and (48 <= text[at] <= 57 or (text[at] == 46 and not point)):
            if text[at] == 46:
                point = True
            else:
                whole, good = whole * np.uint64(10) + np.uint64(text[at] - 48), True
                digits, power = digits + (digits > 0 or whole > 0), power - point  # type: ignore[assignment]
            at += 1
        if good and 2 <= stop - at <= 5 and (text[at] | 32) == 101:
            below = text[at + 1] == 45
            at += 2 if below or text[at + 1] == 43 else 1
            good, exponent = at < stop, 0
            while at < stop and 48 <= text[at] <= 57:
                exponent, at = exponent * 10 + np.int64(text[at] - 48), at + 1  # type: ignore[assignment]
            power += -exponent if below else exponent
        value, other = 0.0, 1.0
        if good and at == stop and digits <= 19 and abs(power) <= _MOST:
            high = np.float64(whole)
            low = np.float64(np.int64(whole - np.uint64(high)))
            ten, rest = _HIGH[power + _MOST], _LOW[power + _MOST]
            p = high * ten
            a, b = high * 134217729.0, ten * 134217729.0
            a, b = a - (a - high), b - (b - ten)
            s = ((a * b - p) + a * (ten - b) + (high - a) * b) + (high - a) * (ten - b)
            s += high * rest + low * ten
            value, other = p + (s - p * 2.0**-97), p + (s + p * 2.0**-97)
        if value == other:
            out[i] = -value if minus else value
        else:
            unsure[asked] = i
            asked += 1
    return asked
