"""The paper's formulas as printed: slow, literal, in float64, on whole dense arrays.

Everything fast in the package is compared with these. Nothing here is imported by the package.
"""

import numpy as np


def rbf(rows, anchors, sigma):
    """Eq. 1, one pair at a time, with the paper's cut at 1e-4."""
    made = np.zeros((len(rows), len(anchors)))
    for i, x in enumerate(rows):
        for j, y in enumerate(anchors):
            value = np.exp(-np.sum((x - y) ** 2) / sigma**2)
            made[i, j] = value if value >= 1e-4 else 0.0
    return made


def jaccard(memberships, i, j):
    """Eq. 2: shared groups over all groups of two users; 0/0 is 0."""
    mine, theirs = set(np.flatnonzero(memberships[i])), set(np.flatnonzero(memberships[j]))
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0


def neighbour_weights(links):
    """Eqs. 3 and 4: W = L Λ⁻¹ Lᵀ, rows x rows; an unlinked anchor adds nothing."""
    sums = links.sum(axis=0)
    inverse = np.array([1.0 / s if s > 0 else 0.0 for s in sums])
    return links @ np.diag(inverse) @ links.T


def observed_tensor(tags, owner, n_owners):
    """The tensor D: tags x images x users, 1 where the image's owner gave the tag."""
    tensor = np.zeros((tags.shape[1], tags.shape[0], n_owners))
    for i, u in enumerate(owner):
        if u < n_owners:
            tensor[:, i, u] = tags[i]
    return tensor


def multiply(tensor, first, second, third):
    """A ×₁ first ×₂ second ×₃ third."""
    return np.einsum("tij,at,bi,cj->abc", tensor, first, second, third)


def smoothness(tensor, links, mode):
    """Half the double sum of eq. 6: ½ Σ W_ij ‖A × (a_i - a_j)‖²."""
    weights = neighbour_weights(links)
    total = 0.0
    for i in range(len(links)):
        for j in range(len(links)):
            difference = links[i] - links[j]
            total += weights[i, j] * np.sum(np.tensordot(tensor, difference, (mode, 0)) ** 2)
    return 0.5 * total


def objective(tensor, observed, prior, affinity, image_links, user_links, penalties):
    """Eq. 10.1 as printed."""
    alpha, beta, lambda_1, lambda_2 = penalties
    rebuilt = multiply(tensor, affinity, image_links, user_links)
    return (
        np.sum((observed - rebuilt) ** 2)
        + alpha * np.sum((tensor - prior) ** 2)
        + beta * np.sum(tensor**2)
        + lambda_1 * smoothness(tensor, image_links, 1)
        + lambda_2 * smoothness(tensor, user_links, 2)
    )


def gradient(tensor, observed, prior, affinity, image_links, user_links, penalties):
    """The derivative of eq. 10.1, its last line as printed, with the double sums over pairs."""
    alpha, beta, lambda_1, lambda_2 = penalties
    fitted = multiply(
        tensor,
        affinity.T @ affinity,
        image_links.T @ image_links,
        user_links.T @ user_links,
    )
    made = 2 * fitted - 2 * projected(observed, affinity, image_links, user_links)
    made += 2 * alpha * (tensor - prior) + 2 * beta * tensor
    made += 2 * lambda_1 * _pair_terms(tensor, image_links, 1)
    made += 2 * lambda_2 * _pair_terms(tensor, user_links, 2)
    return made


def _pair_terms(tensor, links, mode):
    weights = neighbour_weights(links)
    total = np.zeros_like(tensor)
    for i in range(len(links)):
        for j in range(len(links)):
            pair = np.outer(links[i], links[i]) - np.outer(links[i], links[j])
            product = np.tensordot(tensor, pair, (mode, 1))
            total += weights[i, j] * np.moveaxis(product, -1, mode)
    return total


def projected(observed, affinity, image_links, user_links):
    """H = D ×₁ Tᵀ ×₂ (I^m)ᵀ ×₃ (U^m)ᵀ."""
    return multiply(observed, affinity.T, image_links.T, user_links.T)


def multiplicative_update(tensor, observed, prior, affinity, image_links, user_links, penalties):
    """Eq. 12.1 as printed, its sums over pairs taken literally."""
    alpha, beta, lambda_1, lambda_2 = penalties

    def pair_sum(links, mode, own):
        weights = neighbour_weights(links)
        total = np.zeros_like(tensor)
        for i in range(len(links)):
            for j in range(len(links)):
                outer = np.outer(links[i], links[i if own else j])
                moved = np.moveaxis(np.tensordot(tensor, outer, (mode, 1)), -1, mode)
                total += weights[i, j] * moved
        return total

    fitted = multiply(
        tensor, affinity.T @ affinity, image_links.T @ image_links, user_links.T @ user_links
    )
    above = projected(observed, affinity, image_links, user_links) + alpha * prior
    above += lambda_1 * pair_sum(image_links, 1, own=False)
    above += lambda_2 * pair_sum(user_links, 2, own=False)
    below = fitted + (alpha + beta) * tensor
    below += lambda_1 * pair_sum(image_links, 1, own=True)
    below += lambda_2 * pair_sum(user_links, 2, own=True)
    return tensor * above / below


def assigned(image_row, user_row, by_image, by_user, user_of_image, s, gamma):
    """Eq. 12 for one image: the s nearest anchor images and their owners."""
    nearest = sorted(range(len(image_row)), key=lambda j: (-image_row[j], j))[:s]
    total = np.zeros(by_image.shape[0])
    for j in nearest:
        total += gamma * image_row[j] * by_image[:, j]
        k = user_of_image[j]
        if k < by_user.shape[1]:
            total += (1 - gamma) * user_row[k] * by_user[:, k]
    return total / s
