"""Help of each setting. Made by scripts/configuration.py; do not edit."""

HELP = {
    "mode": (
        "ask: confirm every call with an effect; edit: file edits inside the workspace run unasked; plan: "
        "read-only; auto: everything that no rule or guard holds back."
    ),
    "model.name": "Model name. Empty: OPENAI_MODEL, else the first model that the endpoint lists.",
    "model.base_url": (
        "OpenAI-compatible endpoint, e.g. http://localhost:11434/v1. Empty: OPENAI_BASE_URL, else a local "
        "server found on its usual port, else OpenAI when a key is set."
    ),
    "model.api_key": "Key of the endpoint. Empty: OPENAI_API_KEY. Never taken from a workspace.",
    "model.temperature": "Sampling temperature; unset: the endpoint's own.",
    "model.max_tokens": "Longest answer in tokens; unset: the endpoint's own.",
    "model.reasoning_effort": "Sent as it stands when set (low, medium, high ...).",
    "model.context_window": "Tokens that the model can see; unset: asked from the endpoint, else a table, else 32768.",
    "model.connect_timeout": "Seconds to reach the endpoint.",
    "model.idle_timeout": "Seconds without a stream event before the request is given up.",
    "model.max_retries": "Retries after a rate limit, a server error or a lost connection.",
    "model.headers": "Extra HTTP headers for the endpoint.",
    "model.proxy": "Proxy URL for the endpoint.",
    "model.ca_file": "PEM file of a private certificate authority for the endpoint.",
    "model.task_model": "Model for task and plan sub-agents; empty: the same.",
    "model.fetch_model": "Model that answers from fetched pages; empty: the same.",
    "model.compaction_model": "Model that summarises long conversations; empty: the same.",
    "tools.bash_timeout": "Seconds before a bash command is ended.",
    "tools.math_timeout": "Seconds before a math call is ended.",
    "tools.output_limit": (
        "Characters of one tool result that the model sees; the rest is cut in the middle and kept in a file."
    ),
    "tools.tavily_api_key": "Key for web_search. Empty: TAVILY_API_KEY; without either, web_search is not offered.",
    "tools.tavily_base_url": "Another Tavily endpoint; empty: Tavily's own.",
    "tools.web_proxy": "Proxy for web_fetch. With one, addresses are checked by name only.",
    "edits.save_after_accept": "Save an open document after an accepted edit, if it had no unsaved changes before.",
    "edits.encodings": (
        'Declared encodings by glob, e.g. {"legacy/**" = "latin-1"}. UTF-8 and files with a BOM need none.'
    ),
    "edits.undo_bytes": "Bytes of before-images kept for undo.",
    "edits.undo_days": "Days for which a turn can be undone.",
    "limits.rounds": "Model requests in one turn.",
    "limits.minutes": "Minutes of one turn, waiting for the user not counted.",
    "limits.tokens": "Tokens of one turn.",
    "rules": "Answers given in advance; deny beats ask beats allow.",
    "log_level": "How much goes to the log on stderr.",
}
