-- For a prefix that install.sh filled: ./install.sh /apps/assay/0.2.0
help([[assay tells what GPUs are really doing and what limits them. 'assay tour' shows it.]])
whatis("Name: assay")
whatis("Version: 0.2.0")

local root = "/apps/assay/0.2.0"
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
prepend_path("LD_LIBRARY_PATH", pathJoin(root, "lib"))
prepend_path("PYTHONPATH", pathJoin(root, "lib/python"))
