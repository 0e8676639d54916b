"""Use a loss of the library in a training loop of one's own: two moons with one label in five drawn at random.

Run it with ``python examples/own_loop.py``; it takes a few seconds on one core.
"""

import torch

import truelabel as tl

torch.manual_seed(0)
generator = torch.Generator().manual_seed(0)

# Two moons, and labels that went through a confusion matrix T[true, observed].
data = tl.data.two_moons(1000, noise=0.15, generator=generator)
inputs, truth = torch.from_numpy(data.inputs), torch.from_numpy(data.labels)
noise = tl.corruption.ConfusedAnnotators(tl.corruption.symmetric(2, rate=0.2))
labels = torch.from_numpy(noise(truth, None, generator).matrix()[:, 0])
labels[::10] = -1  # -1 means "no label": such an example costs nothing
given = labels >= 0
print(f"{int(given.sum())} labels, {(labels == truth)[given].float().mean():.1%} of them right")

# A network from the catalogue, from inputs to features, and a class head on top of it.
network = tl.networks.build("mlp:64", (2,))
model = torch.nn.Sequential(network, torch.nn.Linear(network.features, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for step in range(300):
    losses = tl.losses.cross_entropy(model(inputs), labels)  # (N,), not reduced
    loss = losses.sum() / given.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.3f}")

accuracy = (model(inputs).argmax(-1) == truth).float().mean()
print(f"accuracy on the truth: {accuracy:.1%}")
