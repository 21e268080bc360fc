"""The zoo's models as plain torch.nn modules.

These are the PyTorch side of the golden files (make_golden.py) and of the benchmarks (bench/peer).
Parameter names are the ones torchvision or torch.nn would give, because a parameter's name is the
seed of its initial values (deterministic.py) and the key of its tensor in a checkpoint.

Every image model takes `width`, an integer that divides its channel counts: golden files are made
from narrow models so that the C++ test that repeats them takes seconds.
"""

import torch
from torch import nn
from torch.nn import functional as F


class LeNet(nn.Module):
    """LeNet-5 with ReLU and max-pooling on 1x28x28."""

    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class AlexNet(nn.Module):
    """torchvision's AlexNet (the "one weird trick" layer sizes)."""

    def __init__(self, classes=3, dropout=0.5, width=1):
        super().__init__()
        c = [n // width for n in (64, 192, 384, 256, 256)]
        hidden = 4096 // width
        self.features = nn.Sequential(
            nn.Conv2d(3, c[0], 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(c[0], c[1], 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(c[1], c[2], 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(c[2], c[3], 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(c[3], c[4], 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(c[4] * 6 * 6, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(inplace=True),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class VGG16(nn.Module):
    """torchvision's VGG16, configuration D without batch norm."""

    LAYERS = (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M")

    def __init__(self, classes=3, dropout=0.5, width=1):
        super().__init__()
        layers, channels = [], 3
        for item in self.LAYERS:
            if item == "M":
                layers.append(nn.MaxPool2d(2, stride=2))
                continue
            layers += [nn.Conv2d(channels, item // width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = item // width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        hidden = 4096 // width
        self.classifier = nn.Sequential(
            nn.Linear(channels * 7 * 7, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class ConvReLU(nn.Module):
    def __init__(self, inputs, outputs, kernel, **options):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, **options)

    def forward(self, x):
        return F.relu(self.conv(x))


class InceptionBlock(nn.Module):
    """Four branches: 1x1; 1x1 -> 3x3; 1x1 -> 5x5; 3x3 max-pool -> 1x1; joined by channel."""

    def __init__(self, inputs, c1, c3_reduce, c3, c5_reduce, c5, pool):
        super().__init__()
        self.branch1 = ConvReLU(inputs, c1, 1)
        self.branch2 = nn.Sequential(ConvReLU(inputs, c3_reduce, 1), ConvReLU(c3_reduce, c3, 3, padding=1))
        self.branch3 = nn.Sequential(ConvReLU(inputs, c5_reduce, 1), ConvReLU(c5_reduce, c5, 5, padding=2))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), ConvReLU(inputs, pool, 1))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionV1(nn.Module):
    """GoogLeNet as published and as in Caffe's model: biases and ReLU, no batch norm, local response
    normalisation, pooling sizes rounded up, no auxiliary heads. Modules are named as in torchvision,
    except that branch3 really is 5x5 and there are no bn modules."""

    BLOCKS = (
        ("3a", (64, 96, 128, 16, 32, 32)),
        ("3b", (128, 128, 192, 32, 96, 64)),
        "maxpool3",
        ("4a", (192, 96, 208, 16, 48, 64)),
        ("4b", (160, 112, 224, 24, 64, 64)),
        ("4c", (128, 128, 256, 24, 64, 64)),
        ("4d", (112, 144, 288, 32, 64, 64)),
        ("4e", (256, 160, 320, 32, 128, 128)),
        "maxpool4",
        ("5a", (256, 160, 320, 32, 128, 128)),
        ("5b", (384, 192, 384, 48, 128, 128)),
    )

    def __init__(self, classes=1000, dropout=0.4, width=1):
        super().__init__()
        self.conv1 = ConvReLU(3, 64 // width, 7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.norm1 = nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=1.0)
        self.conv2 = ConvReLU(64 // width, 64 // width, 1)
        self.conv3 = ConvReLU(64 // width, 192 // width, 3, padding=1)
        self.norm2 = nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=1.0)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        channels = 192 // width
        self.order = []
        for block in self.BLOCKS:
            if isinstance(block, str):
                name, module = block, nn.MaxPool2d(3, stride=2, ceil_mode=True)
            else:
                sizes = [n // width for n in block[1]]
                name, module = "inception" + block[0], InceptionBlock(channels, *sizes)
                channels = sizes[0] + sizes[2] + sizes[4] + sizes[5]
            self.add_module(name, module)
            self.order.append(name)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.norm1(self.maxpool1(self.conv1(x)))
        x = self.maxpool2(self.norm2(self.conv3(self.conv2(x))))
        for name in self.order:
            x = getattr(self, name)(x)
        return self.fc(self.dropout(torch.flatten(self.avgpool(x), 1)))


def conv_bn(inputs, outputs, kernel, stride=1, padding=0, groups=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(outputs)


class BasicBlock(nn.Module):
    expansion = 1
    residual_norm = "bn2"  # deterministic.py starts this one small

    def __init__(self, inputs, planes, stride, downsample):
        super().__init__()
        self.conv1, self.bn1 = conv_bn(inputs, planes, 3, stride, 1)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = conv_bn(planes, planes, 3, 1, 1)
        self.downsample = downsample

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += identity
        return self.relu(y)


class Bottleneck(nn.Module):
    """The v1.5 block: the stride is on the 3x3 convolution."""

    expansion = 4
    residual_norm = "bn3"

    def __init__(self, inputs, planes, stride, downsample):
        super().__init__()
        self.conv1, self.bn1 = conv_bn(inputs, planes, 1)
        self.conv2, self.bn2 = conv_bn(planes, planes, 3, stride, 1)
        self.conv3, self.bn3 = conv_bn(planes, planes * 4, 1)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += identity
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, block, depths, classes=1000, width=1):
        super().__init__()
        self.inputs = 64 // width
        self.conv1, self.bn1 = conv_bn(3, self.inputs, 7, 2, 3)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        for i, depth in enumerate(depths):
            self.add_module(f"layer{i + 1}", self._stage(block, (64 << i) // width, depth, 1 if i == 0 else 2))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(self.inputs, classes)

    def _stage(self, block, planes, depth, stride):
        downsample = None
        if stride != 1 or self.inputs != planes * block.expansion:
            downsample = nn.Sequential(*conv_bn(self.inputs, planes * block.expansion, 1, stride))
        blocks = [block(self.inputs, planes, stride, downsample)]
        self.inputs = planes * block.expansion
        blocks += [block(self.inputs, planes, 1, None) for _ in range(1, depth)]
        return nn.Sequential(*blocks)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18(classes=1000, width=1):
    return ResNet(BasicBlock, (2, 2, 2, 2), classes, width)


def resnet50(classes=1000, width=1):
    return ResNet(Bottleneck, (3, 4, 6, 3), classes, width)


def conv_norm_relu6(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(*conv_bn(inputs, outputs, kernel, stride, kernel // 2, groups), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        self.adds = stride == 1 and inputs == outputs
        layers = [] if expansion == 1 else [conv_norm_relu6(inputs, hidden, 1)]
        layers += [conv_norm_relu6(hidden, hidden, 3, stride, hidden), *conv_bn(hidden, outputs, 1)]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


def whole_channels(channels):
    """To the nearest multiple of 8, but not below nine tenths of what was asked."""
    rounded = max(8, (channels + 4) // 8 * 8)
    return rounded + 8 if rounded * 10 < channels * 9 else rounded


class MobileNetV2(nn.Module):
    """torchvision's names; `width` divides before channels are rounded."""

    # expansion, channels, blocks, stride of the first block
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self, classes=1000, dropout=0.2, width=1):
        super().__init__()
        channels = whole_channels(32 // width)
        features = [conv_norm_relu6(3, channels, 3, 2)]
        for expansion, outputs, blocks, stride in self.STAGES:
            outputs = whole_channels(outputs // width)
            for i in range(blocks):
                features.append(InvertedResidual(channels, outputs, stride if i == 0 else 1, expansion))
                channels = outputs
        last = 1280 // width
        self.features = nn.Sequential(*features, conv_norm_relu6(channels, last, 1))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class LSTMText(nn.Module):
    """Tokens [batch, time] -> embedding -> LSTM -> the last time step's output -> linear."""

    def __init__(self, vocab=20000, embed=200, hidden=128, classes=20):
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, tokens):
        outputs, _ = self.lstm(self.embedding(tokens))
        return self.fc(outputs[:, -1])


class NCF(nn.Module):
    """Neural matrix factorisation (NeuMF) with MLPerf's layer sizes and names.

    mlp_layers[0] is the width of the concatenated user and item embeddings of the MLP tower.
    The result is one logit per (user, item), shape [batch].
    """

    def __init__(self, users=138493, items=26744, mf_dim=64, mlp_layers=(256, 256, 128, 64), sparse=False):
        super().__init__()
        half = mlp_layers[0] // 2
        self.mf_user_embed = nn.Embedding(users, mf_dim, sparse=sparse)
        self.mf_item_embed = nn.Embedding(items, mf_dim, sparse=sparse)
        self.mlp_user_embed = nn.Embedding(users, half, sparse=sparse)
        self.mlp_item_embed = nn.Embedding(items, half, sparse=sparse)
        self.mlp = nn.ModuleList(nn.Linear(a, b) for a, b in zip(mlp_layers, mlp_layers[1:]))
        self.final = nn.Linear(mf_dim + mlp_layers[-1], 1)

    def forward(self, users, items):
        gmf = self.mf_user_embed(users) * self.mf_item_embed(items)
        x = torch.cat([self.mlp_user_embed(users), self.mlp_item_embed(items)], 1)
        for layer in self.mlp:
            x = F.relu(layer(x))
        return self.final(torch.cat([gmf, x], 1)).squeeze(1)


class ConvLSTMCell(nn.Module):
    """One convolution over [x, h] (in that channel order) gives the gates i, f, g, o (in that order,
    torch.nn.LSTM's): c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). No peepholes."""

    def __init__(self, inputs, hidden, kernel=3):
        super().__init__()
        self.conv = nn.Conv2d(inputs + hidden, 4 * hidden, kernel, padding=kernel // 2)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = torch.chunk(self.conv(torch.cat([x, h], 1)), 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class ConvLSTMSeq2Seq(nn.Module):
    """Frames [batch, time, channels, height, width] -> the `steps` frames that follow.

    Encoder layers start from zero state and run over the input frames. Decoder layer l starts from
    the final (h, c) of encoder layer l; the first decoder layer's input, the same at every step, is
    the final h of the last encoder layer. A 1x1 convolution turns the last decoder layer's h into a frame.
    """

    def __init__(self, channels=1, hidden=8, layers=2, steps=5, kernel=3):
        super().__init__()
        self.hidden, self.steps = hidden, steps
        self.encoder = nn.ModuleList(
            ConvLSTMCell(channels if i == 0 else hidden, hidden, kernel) for i in range(layers))
        self.decoder = nn.ModuleList(ConvLSTMCell(hidden, hidden, kernel) for _ in range(layers))
        self.head = nn.Conv2d(hidden, channels, 1)

    def forward(self, frames):
        batch, time, _, height, width = frames.shape
        zero = frames.new_zeros(batch, self.hidden, height, width)
        states = [(zero, zero)] * len(self.encoder)
        for t in range(time):
            x = frames[:, t]
            for layer, cell in enumerate(self.encoder):
                states[layer] = cell(x, states[layer])
                x = states[layer][0]
        code, result = x, []
        for _ in range(self.steps):
            x = code
            for layer, cell in enumerate(self.decoder):
                states[layer] = cell(x, states[layer])
                x = states[layer][0]
            result.append(self.head(x))
        return torch.stack(result, 1)


class TransformerText(nn.Module):
    """Tokens [batch, time] -> embedding + learned positions -> post-norm ReLU encoder layers -> mean
    over time -> linear. The embeddings are added without scaling; there is no final norm and no mask."""

    def __init__(self, vocab=10000, dim=256, heads=8, ffn=1024, layers=4, time=128, classes=20, dropout=0.1):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.position = nn.Embedding(time, dim)
        layer = nn.TransformerEncoderLayer(
            dim, heads, ffn, dropout, activation="relu", batch_first=True, norm_first=False)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.fc = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position.weight[: tokens.shape[1]]
        return self.fc(self.encoder(x).mean(1))


MODELS = {
    "lenet": LeNet,
    "alexnet": AlexNet,
    "vgg16": VGG16,
    "inception_v1": InceptionV1,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "mobilenet_v2": MobileNetV2,
    "lstm_text": LSTMText,
    "ncf": NCF,
    "convlstm": ConvLSTMSeq2Seq,
    "transformer": TransformerText,
}
