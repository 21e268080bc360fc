"""LSTM layers that project their hidden state (proj_size), step by step."""

import torch

_aten = torch.ops.aten


def _direction(x, hidden, cell, weights, backwards):
    """One direction of one layer over [T, N, I]: the outputs and the last states."""
    *products, projection = weights
    from_input, from_hidden = products[:2]
    biases = products[2] + products[3] if len(products) > 2 else None
    given = torch.nn.functional.linear(x, from_input, biases)
    outputs = []
    for step in range(x.shape[0] - 1, -1, -1) if backwards else range(x.shape[0]):
        gates = given[step] + hidden @ from_hidden.t()
        enter, keep, new, leave = gates.chunk(4, 1)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
        hidden = (torch.sigmoid(leave) * torch.tanh(cell)) @ projection.t()
        outputs.append(hidden)
    return torch.stack(outputs[::-1] if backwards else outputs), hidden, cell


def lstm(x, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    if each == (4 if has_biases else 2):
        return _aten.lstm.input(
            x, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )
    x = x.transpose(0, 1) if batch_first else x
    hiddens, cells = [], []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            weights = params[number * each : (number + 1) * each]
            y, hidden, cell = _direction(x, states[0][number], states[1][number], weights, direction == 1)
            outputs.append(y)
            hiddens.append(hidden)
            cells.append(cell)
        x = torch.cat(outputs, 2)
        if layer + 1 < num_layers:
            x = _aten.dropout.default(x, dropout, train)
    y = x.transpose(0, 1) if batch_first else x
    return y, torch.stack(hiddens), torch.stack(cells)
