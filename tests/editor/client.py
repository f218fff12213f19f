"""A client of a language server: requests, notifications, and the diagnostics that have arrived."""

import json
import os
import subprocess
import threading
import queue
from pathlib import Path


class LanguageServer:
    def __init__(self, command, root: Path, settings: dict):
        self.root = root
        self.settings = settings
        environment = dict(os.environ, RA_LOG="error")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.answers: dict[int, dict] = {}
        self.arrived = threading.Condition()
        self.notifications: "queue.Queue[dict]" = queue.Queue()
        self.is_quiescent = False
        self.last_id = 0
        self.versions: dict[str, int] = {}
        threading.Thread(target=self._read, daemon=True).start()
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root.as_uri(),
                "workspaceFolders": [{"uri": root.as_uri(), "name": "sample"}],
                "initializationOptions": settings,
                "capabilities": {
                    "experimental": {"serverStatusNotification": True},
                    "textDocument": {
                        "completion": {"completionItem": {"snippetSupport": False}},
                        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                        "hover": {"contentFormat": ["markdown"]},
                        "diagnostic": {},
                    },
                    "workspace": {"configuration": True},
                },
            },
        )
        self.notify("initialized", {})

    def _read(self):
        stream = self.process.stdout
        while True:
            length = 0
            while True:
                line = stream.readline()
                if not line:
                    with self.arrived:
                        self.answers[-1] = {}
                        self.arrived.notify_all()
                    return
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
                if line in (b"\r\n", b"\n"):
                    break
            message = json.loads(stream.read(length))
            if "method" in message and "id" in message:
                self._serve(message)
            elif "method" in message:
                if message["method"] == "experimental/serverStatus":
                    with self.arrived:
                        self.is_quiescent = message["params"].get("quiescent", False)
                        self.arrived.notify_all()
            else:
                with self.arrived:
                    self.answers[message["id"]] = message
                    self.arrived.notify_all()

    def _serve(self, message):
        """The server's own requests: it asks for its settings, and for leave to register."""
        result = None
        if message["method"] == "workspace/configuration":
            result = [self.settings for _ in message["params"]["items"]]
        self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _send(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method, params):
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method, params, patience=300):
        self.last_id += 1
        number = self.last_id
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        with self.arrived:
            if not self.arrived.wait_for(lambda: number in self.answers or -1 in self.answers, patience):
                raise TimeoutError(f"no answer to {method} in {patience} s")
        answer = self.answers.pop(number, None)
        if answer is None:
            raise RuntimeError(f"the language server has ended, before it answered {method}")
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_until_quiescent(self, patience=600):
        with self.arrived:
            if not self.arrived.wait_for(lambda: self.is_quiescent, patience):
                raise TimeoutError(f"the language server is still busy after {patience} s")

    def show(self, file: Path, text: str):
        """Opens a file, or changes what an open one contains."""
        uri = file.as_uri()
        version = self.versions.get(uri, 0) + 1
        self.versions[uri] = version
        if version == 1:
            document = {"uri": uri, "languageId": "rust", "version": 1, "text": text}
            self.notify("textDocument/didOpen", {"textDocument": document})
        else:
            change = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
            self.notify("textDocument/didChange", change)

    def stop(self):
        self.request("shutdown", None, 30)
        self.notify("exit", None)
        self.process.wait(30)
