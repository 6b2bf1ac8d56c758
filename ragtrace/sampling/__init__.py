"""Decide by hash which calls are in a sample: the same answer in every process, small samples inside larger ones."""

from hashlib import blake2b

_BITS = 53


def position(trace_id: str, salt: str = "") -> float:
    """Place a trace id in [0, 1), evenly whatever the ids look like.

    The id is hashed because ids made by `uuid` have fixed bits where ratio samplers look.
    """
    key = blake2b(salt.encode(errors="surrogatepass"), digest_size=32).digest()
    digest = blake2b(trace_id.encode(errors="surrogatepass"), digest_size=8, key=key).digest()
    return (int.from_bytes(digest) >> (64 - _BITS)) / (1 << _BITS)


def is_sampled(trace_id: str, rate: float, *, salt: str = "") -> bool:
    """Say whether a trace is in the sample; one in a sample is in every sample with a higher rate."""
    return position(trace_id, salt) < rate
