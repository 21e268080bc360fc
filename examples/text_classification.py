"""An LSTM learns to tell complaints from praise in short sentences, which this program makes up itself.

    python examples/text_classification.py
"""

import argparse
import os
import random
import sys
import tempfile

import thalweg
from thalweg import nn

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--sentences", type=int, default=4000)
parser.add_argument("--epochs", type=int, default=6)
arguments = parser.parse_args()

SUBJECTS = "the soup|the room|our waiter|the music|breakfast|the view|every dish|the bill".split("|")
PRAISE = "lovely|wonderful|fresh|friendly|quiet|perfect|warm".split("|")
COMPLAINTS = "awful|cold|rude|dirty|loud|bland|broken".split("|")


def sentence(rng):
    """'not' turns a word around, so the order matters."""
    good = rng.random() < 0.5
    turned = rng.random() < 0.4
    word = rng.choice(PRAISE if good != turned else COMPLAINTS)
    text = f"{rng.choice(SUBJECTS)} was {'not ' if turned else ''}{rng.choice(['', 'really ', 'so '])}{word}"
    return f"{'praise' if good else 'complaint'}\t{text}"


class Classifier(nn.Module):
    def __init__(self, vocabulary, classes):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 32)
        self.lstm = nn.LSTM(32, 48, batch_first=True)
        self.head = nn.Linear(48, classes)

    def forward(self, tokens):
        output, _ = self.lstm(self.embedding(tokens))
        return self.head(output[:, -1])


with tempfile.TemporaryDirectory() as folder:
    rng = random.Random(0)
    path = os.path.join(folder, "sentences.txt")
    with open(path, "w") as file:
        file.writelines(sentence(rng) + "\n" for _ in range(arguments.sentences))
    vocabulary = thalweg.data.Vocabulary.from_file(path)
    lines = thalweg.data.TextLines(path, vocabulary, length=10)
    last = len(lines) * 9 // 10
    train = thalweg.data.Subset(lines, list(range(last)))
    test = thalweg.data.Subset(lines, list(range(last, len(lines))))
    estimator = thalweg.Estimator(
        Classifier(len(vocabulary), len(lines.classes)),
        metrics=["accuracy"],
        epochs=arguments.epochs,
        batch_size=50,
        learning_rate=0.01,
    )
    estimator.fit(train, validation=test)
    print(estimator.history_.to_frame() if "pandas" in sys.modules else estimator.history_[-1].validation)
    accuracy = estimator.score(test)

(tokens,), _ = lines.fetch([0])
print("scores of", lines.classes, "for the first sentence:", estimator.predict(tokens)[0])
print(f"{accuracy:.1%} of the sentences nobody trained on are right")
sys.exit(0 if accuracy > 0.95 else 1)
