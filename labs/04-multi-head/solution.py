"""Multi-head self-attention of x [T, C] with weights [C, C]."""
from blocks import attention, matmul


def multi_head(x, wq, wk, wv, wo, heads):
    # hole
    q, k, v = matmul(x, wq), matmul(x, wk), matmul(x, wv)
    width = len(wq) // heads
    joined = [[] for _ in x]
    for head in range(heads):
        columns = slice(head * width, (head + 1) * width)
        part = attention(*([row[columns] for row in rows] for rows in (q, k, v)))
        joined = [row + more for row, more in zip(joined, part)]
    return matmul(joined, wo)
    # end
