"""assay selftest without a GPU: it says what is missing and touches nothing."""


def test_without_cuda(assay):
    done = assay("selftest")
    assert done.returncode == 3
    assert "cannot load CUDA's driver library" in done.stderr
    assert "needs an NVIDIA GPU" in done.stderr
    assert done.stdout == ""


def test_refuses_what_it_does_not_take(assay):
    done = assay("selftest", "--phase", "x")
    assert done.returncode == 2
    assert "does not take --phase" in done.stderr
