"""LSTM, GRU and plain recurrent layers of any depth, in one direction or both."""

from thalweg import ops
from thalweg._torch.free import Repeated
from thalweg._torch.random import dropout
from thalweg._torch.registry import converts


def _initial(converter, state, index):
    """The part of an initial state that belongs to one direction of one layer; None if it is zero."""
    if isinstance(state, Repeated) and state.is_zero():
        return None
    return ops.squeeze(ops.slice(converter.value(state), [index], [index + 1], [0]), [0])


def _run(converter, x, states, params, has_biases, num_layers, p, train, bidirectional, batch_first, cell):
    """The output and the last states. `cell` computes one direction of one layer."""
    x = converter.value(x)
    x = x if batch_first else x.transpose(0, 1)
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    if len(params) != num_layers * directions * each:
        converter.fail("projects its hidden state (proj_size), which has no counterpart: use a Linear after the layer")
    last = [[] for _ in states]
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            weights = [converter.value(weight) for weight in params[index * each : (index + 1) * each]]
            weights += [None] * (4 - each)
            initial = [_initial(converter, state, index) for state in states]
            y, *ends = cell(x, *weights, *initial, reverse=direction == 1)
            outputs.append(y)
            for kept, end in zip(last, ends):
                kept.append(ops.unsqueeze(end, [0]))
        x = outputs[0] if directions == 1 else ops.concat(outputs, 2)
        if layer + 1 < num_layers:
            x = dropout(converter, x, p, train)
    y = x if batch_first else x.transpose(0, 1)
    return (y, *(ops.concat(parts, 0) for parts in last))


@converts("lstm.input")
def lstm(converter, x, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first):
    return _run(
        converter, x, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first, ops.lstm
    )


@converts("gru.input")
def gru(converter, x, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first):
    return _run(
        converter, x, [hx], params, has_biases, num_layers, p, train, bidirectional, batch_first, ops.gru
    )


def _register_plain(activation):
    @converts(f"rnn_{activation}.input")
    def plain(converter, x, hx, params, has_biases, num_layers, p, train, bidirectional, batch_first):
        def cell(*args, reverse):
            return ops.rnn(*args, activation=activation, reverse=reverse)

        return _run(converter, x, [hx], params, has_biases, num_layers, p, train, bidirectional, batch_first, cell)


for _activation in ("tanh", "relu"):
    _register_plain(_activation)
