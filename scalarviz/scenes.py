"""The scenes, as a package; in a checkout their folder is at the top."""

from scalarviz.base.package_files import top_folder

__path__ = [str(top_folder("scenes"))]
