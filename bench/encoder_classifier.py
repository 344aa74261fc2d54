"""A Transformer encoder that sorts rows of tokens into two classes, and a step of its training, as a user of attend writes them.
bench/layers.py counts these lines beside those of the same in C++ and in torch."""
from attend import nn, ops


class Classifier(nn.Module):
    def __init__(self, words, length, width, heads, layers):
        self.tokens = nn.Embedding(words, width)
        self.positions = nn.Embedding(length, width)
        self.layers = [nn.TransformerEncoderLayer(width, heads, dropout=0, pre_norm=True) for _ in range(layers)]
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 2)

    def forward(self, ids):  # [B, T]
        x = self.tokens(ids) + self.positions.weight  # [B, T, C]
        for layer in self.layers:
            x = layer(x)
        return self.out(ops.mean(self.norm(x), 1))  # [B, 2]


def train(model, optimizer, ids, labels):
    loss = ops.cross_entropy(model(ids), labels)
    loss.backward()
    optimizer.step()
    return loss
