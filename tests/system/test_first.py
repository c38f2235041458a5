def test_version(assay):
    done = assay("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("assay ")
