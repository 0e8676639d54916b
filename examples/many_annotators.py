"""Seven people label handwritten digits, one label an image: no vote can help, a model of each person can.

Run it with ``python examples/many_annotators.py``; it takes some fifteen seconds on one core.
"""

import numpy as np
import torch

import truelabel as tl

# 1,797 images of 8 x 8 pixels: 1,400 to learn from, the rest to score on.
data = tl.data.digits()
order = np.random.default_rng(0).permutation(len(data))
train, test = data.take(order[:1400]), data.take(order[1400:])
X_train, X_test = (part.scaled().reshape(len(part), -1) for part in (train, test))

# Five who mistake each digit for one other, one who knows, one who guesses. Each image is seen by one of them.
generator = torch.Generator().manual_seed(0)
skills = tl.corruption.perturbed_skills(0.55, 5, generator, spread=0.05)
people = torch.cat(
    [tl.corruption.pairwise_flippers(10, skills, generator), tl.corruption.hammer_spammers(10, [0.95, 0.1])]
)
crowd = tl.corruption.ConfusedAnnotators(people, labels_per_example=1)
said = crowd(torch.from_numpy(train.labels), None, generator)
right = said.label == train.labels[said.example]
print(f"{said.size} labels, one an image, {right.mean():.1%} of them right")


def learn(method: str) -> tl.TrueLabelClassifier:
    classifier = tl.TrueLabelClassifier(method, network="mlp", epochs=60, device="cpu", random_state=0)
    classifier.fit(X_train, said)
    print(f"{method}: {classifier.score(X_test, test.labels):.1%} of the test images right")
    return classifier


# With one label an image a majority vote is the label itself, and generalized EM is stuck at "everybody is right".
learn("cross-entropy")
learn("generalized-em")
classifier = learn("annotator-confusion")
error = tl.metrics.confusion_error(classifier.confusion_, crowd.confusion)
print(f"error of the confusion matrices: {error:.3f} (everybody always right: ", end="")
print(f"{tl.metrics.confusion_error(np.tile(np.eye(10), (7, 1, 1)), crowd.confusion):.3f})")

# Whom to trust: the estimate with its 95 % interval, beside the truth.
truly = np.bincount(said.annotator, weights=right) / said.workload
for name, is_right, skill, (low, high) in zip(
    said.annotators, truly, classifier.annotator_skill_, classifier.annotator_skill_interval_, strict=True
):
    print(f"annotator {name}: right {is_right:.0%} of the time, estimated {skill:.0%} ({low:.0%} to {high:.0%})")

# What does the first one take each digit for?
first = classifier.confusion_[0]
mistakes = first - np.diag(first.diagonal())
print("annotator 0 takes", ", ".join(f"{k} for {mistakes[k].argmax()} ({mistakes[k].max():.0%})" for k in range(10)))
