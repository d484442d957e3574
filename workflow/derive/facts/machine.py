"""The machine, the software and the model, as the manifests recorded them."""

from workflow.derive.registry import fact
from workflow.derive.sample import Sample


@fact("machine.cpu", kind="label")
def cpu(read):
    """processor name in the manifests"""
    return read.manifest("machine.cpu")


@fact("machine.os", kind="label")
def system(read):
    """operating system in the manifests"""
    return read.manifest("machine.os")


@fact("machine.cores", kind="count")
def cores(read):
    """processors the measuring process could see"""
    return read.manifest("machine.cores")


@fact("machine.threads", kind="count")
def threads(read):
    """compute threads of the engine"""
    return read.manifest("threads")


@fact("machine.memory_bytes", kind="bytes", unit="byte")
def memory(read):
    """physical memory in the manifests"""
    return Sample(read.manifest("machine.memory_bytes"), "byte")


@fact("software.{package}", kind="label", package=("python", "torch"))
def version(read, package):
    """version in the manifests"""
    return read.manifest(f"versions.{package}")


@fact("model.{size}", kind="count", size=("params", "layers", "kda_layers", "attention_layers", "hidden_size", "vocab_size"))
def model_size(read, size):
    """the model's description in the manifests"""
    return read.manifest(f"model.{size}")


@fact("model.name", kind="label")
def model_name(read):
    """the model's name in the manifests"""
    return read.manifest("model.name")


@fact("model.{size}", kind="bytes", unit="byte", size=("bytes", "state_bytes"))
def model_bytes(read, size):
    """the model's description in the manifests"""
    return Sample(read.manifest(f"model.{size}"), "byte")


@fact("model.kv_bytes_per_token", kind="bytes", unit="byte/token")
def kv_bytes(read):
    """bytes of key-value cache that one token of context takes"""
    return Sample(read.manifest("model.kv_bytes_per_token"), "byte/token")


@fact("model.state_in_kv_tokens", kind="count", unit="token")
def state_in_tokens(read):
    """state bytes / KV bytes a token, to the next whole token"""
    tokens = read["model.state_bytes"] / read["model.kv_bytes_per_token"]
    return Sample(round(tokens.to("token").value), "token")


@fact("model.drafter_params", kind="count")
def drafter_params(read):
    """parameters that the DSpark drafter adds to the target's"""
    return read.manifest("model.drafters.dspark.params")


@fact("model.block_size", kind="count")
def block_size(read):
    """largest block size the DSpark drafter was trained for"""
    return read.manifest("model.drafters.dspark.block_size")
