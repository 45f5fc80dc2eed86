"""Python runs this when it starts: the search engine of `Web.search` is the recorded one."""

import os

if "RECORDED_ENGINE" in os.environ:
    from ddgs.engines.mojeek import Mojeek

    Mojeek.search_url = os.environ["RECORDED_ENGINE"]
