"""What inline code may do, read from its words: patterns over code of any language.

A match only ever adds a question. What matches nothing is harmless computing, or hides well: then the ordinary
approval still shows the whole code.
"""

from __future__ import annotations

import re

RUNS = re.compile(
    r"(?<!platform\.)\bsystem\b|\b(?:popen\d?|p?exec(?:l[ep]{0,2}|v[pe]{0,3}|File|Sync|FileSync)?|spawn\w*|subprocess|fork"
    r"|shell_exec|passthru|proc_open|pcntl_\w+|child_process|execa|ProcessBuilder|Open3|posix_spawn|startfile"
    r"|run_command|qx|os\.kill|killpg|syscall|win32\w*)\b|\b(?:Process|Runtime|Kernel|pty|Bun|IO)\.(?:\w*spawn|exec|run|kill|popen"
    r"|start|fork|daemon|system|getRuntime)|\bCommand(?:::new|\()|Deno\.(?:run|Command)|shell\s*=\s*True|`[^`]*`|%x[\W_]|\$\("
    r"|\|\s*getline|\|\s*\"|Shell\.|WScript"
)
REMOVES = re.compile(
    r"rmtree|rmSync|rmdir\w*|unlink\w*|\bremove(?:dirs|Sync|_tree|_dir_all|_file)?\s*\(|rimraf|\brm(?:_rf|_r|tree)?\b"
    r"|File\.delete|\.delete\s*\(|fs\.(?:promises\.)?rm\b|\btruncate\w*|\brename\w*\s*\(|shutil\.move|\bchmod\w*|\bchown\w*"
    r"|symlink\w*|FileUtils"
)
WRITES = re.compile(
    r"open\s*\([^)]*['\"](?:[wax]\+?b?|r\+b?|[wax]b\+)['\"]|write_(?:text|bytes)|writeFile\w*|appendFile\w*"
    r"|createWriteStream|copyfile\w*|file_put_contents|fopen\s*\([^)]*['\"][wax]|(?:File|IO)\.write"
    r"|\bprint\b[^;}]*>\s*[\"'/$]|open\s*\([^)]*['\"]>|os\.open|shutil\.copy\w*|\bmkdir\w*|makedirs"
)
REACHES = re.compile(
    r"socket|urllib|urlopen|\brequests\b|http\.client|httplib|httpx|aiohttp|\bfetch\s*\(|\bnet\.(?:connect|create|dial)"
    r"|\bhttps?\b['\"]?\)?\.?(?:get|request)|net::http|open-uri|\blwp\b|axios|xmlhttp|dgram|smtplib|ftplib|telnetlib|paramiko"
    r"|curl_exec|fsockopen|/inet/|require\(\s*['\"](?:node:)?(?:net|https?|tls|dgram|dns)['\"]|url\.open|open\(\s*['\"]https?:",
    re.IGNORECASE,
)
HIDES = re.compile(
    r"\beval\b|\bexec\s*\(|(?<!re\.)\bcompile\s*\(|__import__|importlib|\bgetattr\b|ctypes|\bcffi\b|marshal|pickle|base64"
    r"|b64decode|codecs|fromhex|unhexlify|\\x[0-9a-fA-F]{2}|\\[0-7]{3}|\\u[0-9a-fA-F]{4}|\bchr\s*\(|fromCharCode|\batob\b"
    r"|Buffer\.from|\bunpack\b|\bpack\b|new\s+Function|\bFunction\s*\(|process\.(?:binding|dlopen)|__globals__|__builtins__"
    r"|__subclasses__|instance_eval|class_eval|\bsend\s*\(|constantize|rot13|gzinflate|assert\s*\(\s*\$|dlopen|vm\.run|runpy"
    r"|[\[.]constructor\b|worker_threads|\bload(?:string|file)\s*\(|\bglobals\s*\(|\bvars\s*\(|zlib"
)
SECRETS = re.compile(
    r"environ|getenv|process\.env|\bENV\[|\bENV\b\.|%ENV|\$ENV\b|id_(?:rsa|ed25519|ecdsa|dsa)|\.ssh\b|\.aws\b|\.netrc"
    r"|/etc/(?:shadow|passwd)|\.gnupg|\.git-credentials|/proc/"
)
KINDS = (
    (RUNS, "runs other programs"),
    (REMOVES, "deletes, moves or re-permits files"),
    (WRITES, "writes files"),
    (REACHES, "reaches the network"),
    (HIDES, "hides what it does"),
    (SECRETS, "reads the environment or keys"),
)
