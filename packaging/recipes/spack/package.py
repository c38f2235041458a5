from spack.package import *


class Assay(MesonPackage):
    """Tells what GPUs are really doing and what limits them; without root."""

    url = "URL"

    license("MIT")

    version("0.2.0", sha256="SHA256")

    variant("exporters", default=True, description="Read Prometheus exporters")
    variant("plots", default=True, description="PNG and PDF plots; SVG is always there")
    variant("serve", default=False, description="assay serve")

    depends_on("c", type="build")
    depends_on("meson@0.61:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libinih")
    depends_on("jansson")
    depends_on("ncurses+termlib")
    depends_on("sqlite@3.31:")
    depends_on("curl", when="+exporters")
    depends_on("cairo@1.16:+pdf+png", when="+plots")
    depends_on("libmicrohttpd@0.9.75:", when="+serve")
    depends_on("libyaml", when="+serve")
    depends_on("zlib-api", when="+serve")
    depends_on("nghttp2", when="+serve")
    depends_on("libxcrypt", when="+serve")

    def meson_args(self):
        def feature(option, variant):
            return f"-D{option}={'enabled' if self.spec.satisfies('+' + variant) else 'disabled'}"

        return [feature("curl", "exporters"), feature("cairo", "plots"), feature("serve", "serve"), "-Dwerror=false",
                f"-Dpython.purelibdir={self.prefix.lib.python}"]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.lib.python)
