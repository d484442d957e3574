"""Mode `fused`: a forward of the target as one call into C++ that is compiled for this machine at first use."""
