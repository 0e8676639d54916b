"""Five people label handwritten digits, some of them badly. Learn from what they said and score on the truth.

Run it with ``python examples/noisy_digits.py``; it takes a few seconds on one core.
"""

import numpy as np
import torch

import truelabel as tl

# 1,797 images of 8 x 8 pixels: 1,200 to learn from, the rest to score on.
data = tl.data.digits()
order = np.random.default_rng(0).permutation(len(data))
train, test = data.take(order[:1200]), data.take(order[1200:])
X_train, X_test = (part.scaled().reshape(len(part), -1) for part in (train, test))

# Five simulated annotators, right 90% to 20% of the time; one to three of them see each image.
skills = [0.9, 0.8, 0.6, 0.4, 0.2]
crowd = tl.corruption.ConfusedAnnotators(tl.corruption.hammer_spammers(10, skills), labels_per_example=(1, 3))
annotations = crowd(torch.from_numpy(train.labels), None, torch.Generator().manual_seed(0))
right = annotations.label == train.labels[annotations.example]
print(f"{annotations.size} labels, {right.mean():.1%} of them right")

# Without a network: the class that most annotators named.
vote = tl.fusion.majority_vote(annotations)
print(f"majority vote: {(vote.labels == train.labels).mean():.1%} of the training images right")

# With a network: it sees only the pixels and what the annotators said.
for method in ("majority-vote", "cross-entropy"):
    classifier = tl.TrueLabelClassifier(method, network="mlp", epochs=25, device="cpu", random_state=0)
    classifier.fit(X_train, annotations)
    print(f"{method}: {classifier.score(X_test, test.labels):.1%} of the test images right")

# Whom to trust, as far as the last classifier can tell, beside the truth.
for skill, estimate in zip(skills, classifier.annotator_skill_, strict=True):
    print(f"an annotator who is right {skill:.0%} of the time: estimated {estimate:.0%}")

# Which labels to look at first: of the hundred that look most wrong, how many are?
suspects = np.argsort(classifier.label_quality(X_train, annotations))[:100]
print(f"of the 100 most suspicious labels, {np.count_nonzero(~right[suspects])} are wrong")
