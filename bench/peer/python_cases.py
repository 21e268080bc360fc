"""The cases about calls from Python, where both sides are Python programs. A step is 1000 calls.

The number each step returns in place of a loss is the sum of the last call's outputs.
Standard library only: bench/run.py reads this file too.
"""

# One linear layer of 16 numbers to 8, batch 1, one thread: next to nothing is computed.
PYTHON_CASES = {
    "python_call_overhead": dict(worker="python_peer.py", ours="python_peer.py", target=1.0, configs=("onnxruntime",),
                                 check_steps=2, tolerance=1e-5),
}
