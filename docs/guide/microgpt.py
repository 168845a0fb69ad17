"""A GPT in scalars: every number is an object of one class, which does all arithmetic.

    python microgpt.py        # learns from made-up names with scalarviz, and invents new ones

The class is an argument: `Scalar` below, in plain Python, or `scalarviz.Value`. Both give the same
losses. `sv.compile` compiles Values to kernels; docs/guide/microgpt.md explains how.
"""

# Zipped lists have equal lengths; strict=True in each zip would obscure the formulas.
# ruff: noqa: B905

import math
import random

LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # a dot marks the start and the end of a name
WIDTH = 16  # numbers that represent a letter
HEADS = 4  # attention heads, each on a quarter of these numbers
PLACES = 16  # maximum letters of a name
HIDDEN = 64  # neurons between the two layers after the attention

NAMES = """
    avelin borun cerida dalmo elvane farrin golda hesper imrel jandor kaveli lorane mirodan nel
    ova pellan quorin rasmel selvar tarn ulvane verona wendal xandor ysolde zemira anduvel
    belmira corvan delora
""".split()


class Scalar:
    """A number that records how it was computed; written in plain Python for comparison."""

    __slots__ = ("data", "grad", "made_of", "slopes")

    def __init__(self, data, made_of=(), slopes=()):
        self.data, self.grad, self.made_of, self.slopes = data, 0.0, made_of, slopes

    def __add__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, power):
        return Scalar(self.data**power, (self,), (power * self.data ** (power - 1),))

    def __truediv__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        ratio = self.data / other.data
        return Scalar(ratio, (self, other), (1.0 / other.data, -ratio / other.data))

    def exp(self):
        power = math.exp(self.data)
        return Scalar(power, (self,), (power,))

    def log(self):
        return Scalar(math.log(self.data), (self,), (1.0 / self.data,))

    def relu(self):
        return Scalar(max(self.data, 0.0), (self,), (float(self.data > 0.0),))

    def __neg__(self):
        return self * -1.0

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        """Add the derivatives of this number to the gradients of all numbers it depends on."""
        order, seen, waiting = [], set(), [self]
        while waiting:
            number = waiting.pop()
            if number is None:  # all operands of the next number are in order
                order.append(waiting.pop())
            elif number not in seen:
                seen.add(number)
                waiting += number, None, *number.made_of[::-1]
        self.grad = 1.0
        for number in reversed(order):
            for part, slope in zip(number.made_of, number.slopes):
                part.grad += slope * number.grad


def dot(x, y):
    """The dot product of two lists of numbers."""
    return sum((a * b for a, b in zip(x, y)), 0.0)


def times(matrix, x):
    """The matrix-vector product: the dot product of each row with x."""
    return [dot(row, x) for row in matrix]


def plus(x, y):
    """The elementwise sum of two lists of numbers."""
    return [a + b for a, b in zip(x, y)]


def normed(x):
    """RMSNorm: x divided by its root mean square."""
    scale = (dot(x, x) / len(x) + 1e-5) ** -0.5
    return [number * scale for number in x]


def softmax(x):
    """Softmax, without the usual subtraction of the maximum, since these numbers stay small."""
    powers = [number.exp() for number in x]
    whole = sum(powers, 0.0)
    return [power / whole for power in powers]


class Gpt:
    """Letter embeddings, one block (attention and two layers), and a score for each letter.

    `number` is the class of all numbers, such as Scalar.
    """

    def __init__(self, number, seed=0):
        draw = random.Random(seed)

        def matrix(rows, columns):
            return [[number(draw.gauss(0.0, 0.08)) for _ in range(columns)] for _ in range(rows)]

        self.letters, self.places = matrix(len(LETTERS), WIDTH), matrix(PLACES, WIDTH)
        self.query, self.key, self.value, self.mix = (matrix(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = matrix(HIDDEN, WIDTH), matrix(WIDTH, HIDDEN)
        self.scores = matrix(len(LETTERS), WIDTH)

    def parameters(self):
        """All 4,192 parameters as a list."""
        return [number for matrix in vars(self).values() for row in matrix for number in row]

    def read(self, letter, past):
        """The scores of the next letter; the key and value of `letter` are appended to `past`."""
        before = normed(plus(self.letters[letter], self.places[len(past)]))
        x = normed(before)
        past.append((times(self.key, x), times(self.value, x)))
        before = plus(times(self.mix, self.attention(times(self.query, x), past)), before)
        x = [number.relu() for number in times(self.wide, normed(before))]
        return times(self.scores, plus(times(self.narrow, x), before))

    def attention(self, query, past):
        """The values of the letters so far, averaged by each head with its attention weights."""
        found, size = [], WIDTH // HEADS
        for part in (slice(i, i + size) for i in range(0, WIDTH, size)):
            shares = softmax([dot(query[part], key[part]) * size**-0.5 for key, _ in past])
            found += [dot(shares, column) for column in zip(*(value[part] for _, value in past))]
        return found

    def loss(self, name):
        """The cross-entropy of a name: the mean of -log(probability) over its letters."""
        codes, past = [LETTERS.index(letter) for letter in f".{name}."], []
        shares = [softmax(self.read(code, past)) for code in codes[:-1]]
        surprise = [-share[code].log() for share, code in zip(shares, codes[1:])]
        return sum(surprise, 0.0) / len(surprise)

    def invent(self, draw):
        """A new name, sampled letter by letter."""
        code, name, past = 0, "", []
        while len(past) < PLACES:
            shares = [share.data for share in softmax(self.read(code, past))]
            code = draw.choices(range(len(LETTERS)), shares)[0]
            if code == 0:
                break
            name += LETTERS[code]
        return name


class Adam:
    """Adam in plain Python, for numbers of either class; sv.Adam has the same formula."""

    def __init__(self, numbers, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8):
        self.numbers, self.settings, self.steps = numbers, (lr, beta1, beta2, eps), 0
        self.m, self.v = [0.0] * len(numbers), [0.0] * len(numbers)

    def step(self):
        """Update each number with its gradient, and set the gradient to 0."""
        lr, beta1, beta2, eps = self.settings
        self.steps += 1
        for i, number in enumerate(self.numbers):
            g = number.grad
            self.m[i] = beta1 * self.m[i] + (1.0 - beta1) * g
            self.v[i] = beta2 * self.v[i] + (1.0 - beta2) * g * g
            m, v = self.m[i] / (1.0 - beta1**self.steps), self.v[i] / (1.0 - beta2**self.steps)
            number.data -= lr * m / (math.sqrt(v) + eps)
            number.grad = 0.0


def learn(number, names):
    """Train one step on each name in turn; return the losses."""
    gpt, losses = Gpt(number), []
    adam = Adam(gpt.parameters())
    for name in names:
        loss = gpt.loss(name)
        loss.backward()
        losses.append(loss.data)
        adam.step()
    return losses


class Compiled:
    """A Gpt of Values with a compiled loss function for each name; all share its parameters."""

    def __init__(self, gpt, names, optimizer):
        import scalarviz as sv

        self.losses = {
            name: sv.compile(lambda _, name=name: gpt.loss(name), inputs=1, parameters=vars(gpt))
            for name in names
        }
        self.optimizer = optimizer

    def step(self, name):
        """Train one step on a name; return its loss before the step."""
        loss = self.losses[name]
        loss.zero_grad()
        before = loss.forward([0.0])[0]
        loss.backward()
        loss.step(self.optimizer)
        return float(before)


if __name__ == "__main__":
    import scalarviz as sv

    gpt = Gpt(sv.Value)
    compiled = Compiled(gpt, NAMES, sv.Adam(0.01))
    losses = [compiled.step(NAMES[step % len(NAMES)]) for step in range(3000)]
    print(f"loss {losses[0]:.2f} -> {sum(losses[-30:]) / 30:.2f}")
    print(*(gpt.invent(random.Random(seed)) for seed in range(10)))
