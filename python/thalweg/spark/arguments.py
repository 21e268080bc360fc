"""Python values as parameters of Java, which takes exactly the types that it declares and names no parameter if it does not."""

import os

import numpy

_INT_BITS = 31
_LONG_BITS = 63


def _plain(value):
    return value.item() if isinstance(value, numpy.generic) else value


def _mismatch(wanted, value):
    """pyspark puts the name of the parameter before it."""
    return TypeError(f"It must be {wanted}, not {value!r}, which is of type {type(value).__name__}.")


def _whole(value, bits):
    number = _plain(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise _mismatch("a whole number", value)
    if not -(2**bits) <= number < 2**bits:
        raise _mismatch(f"a whole number of less than {bits + 1} bits", value)
    return number


def integer(value):
    return _whole(value, _INT_BITS)


def _long(value):
    return _whole(value, _LONG_BITS)


def _number(value):
    number = _plain(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise _mismatch("a number", value)
    return float(number)


def _boolean(value):
    if not isinstance(value, (bool, numpy.bool_)):
        raise _mismatch("True or False", value)
    return bool(value)


def text(value):
    if not isinstance(value, (str, os.PathLike)):
        raise _mismatch("a text", value)
    return str(value)


def texts(value):
    """A list of texts; one alone is a list of one."""
    if isinstance(value, str):
        return [str(value)]
    try:
        given = list(value)
    except TypeError:
        raise _mismatch("a text or a list of texts", value) from None
    if isinstance(value, (dict, set, frozenset)) or not all(isinstance(one, str) for one in given):
        raise _mismatch("a text or a list of texts", value)
    return [str(one) for one in given]


_CONVERTERS = {
    "BooleanParam": _boolean,
    "DoubleParam": _number,
    "IntParam": integer,
    "LongParam": _long,
    "Param": text,
    "StringArrayParam": texts,
}


def converter(java_param):
    """What makes a value of a parameter's Java type, or says with a TypeError why it cannot."""
    return _CONVERTERS[java_param.getClass().getSimpleName()]


def plain(value):
    """A number of numpy or a path as what JSON has for it."""
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return str(value)
    raise _mismatch("a text, a number, True, False or a list of these", value)


def named(name, convert, value):
    """An argument that is no parameter of a stage, as what `convert` makes of it; None stays None."""
    try:
        return value if value is None else convert(value)
    except TypeError as problem:
        raise TypeError(f"Invalid value of {name}. {problem}") from None
