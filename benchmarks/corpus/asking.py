"""Asking cases: a call of the library, requests to a service, a command; each gives bytes."""

from __future__ import annotations

import ast
import base64
import contextlib
import faulthandler
import http.client
import io
import multiprocessing
import pickle
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.corpus import canonical, world
from benchmarks.corpus.cases import Case

#: Headers that say nothing about the answer.
_DROPPED = {"date", "server", "content-length", "connection"}

#: Seconds after which a case counts as hanging.
_PATIENCE_S = 100


class Asker:
    """Asks cases in one process; networks and services are made when they are first needed, and kept."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._services: dict[str, tuple[Any, http.client.HTTPConnection]] = {}
        self._n_folders = 0

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def ask(self, case: Case) -> bytes:
        """Return the answer of a case."""
        ask = {"call": self._call, "http": self._http, "command": self._command}[case.kind]
        return ask(case.request)

    # Calls

    def _folder(self) -> Path:
        """Return a new folder for a case."""
        self._n_folders += 1
        path = world.folder() / f"case-{self._n_folders}"
        path.mkdir()
        return path

    def _call(self, request: dict[str, Any]) -> bytes:
        tree = ast.parse(request["code"])
        last = tree.body.pop()
        assert isinstance(last, ast.Expr)
        body = compile(tree, "case", "exec")
        value = compile(ast.Expression(last.value), "case", "eval")
        own = self._folder()
        names: dict[str, Any] = {}
        for each in (body, value):
            names |= world.namespace(each, own)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                exec(body, names)
                text = canonical.written(eval(value, names))
            except Exception as error:
                text = canonical.error_text(error)
        text = "".join(f"warning: {each.category.__name__} {each.message}\n" for each in said) + text
        if request.get("files"):
            text += canonical.folder_text(own)
        shutil.rmtree(own)
        return _normalised(text.encode("utf-8", "surrogateescape"))

    # Commands

    def _command(self, request: dict[str, Any]) -> bytes:
        from traveltime_lab.cli import main

        own = self._folder()
        if request.get("before"):
            code = compile(request["before"], "case", "exec")
            exec(code, world.namespace(code, own))
        arguments = [text.replace("{folder}", str(own)) for text in request["arguments"]]
        if "{saved}" in arguments:
            arguments[arguments.index("{saved}")] = str(world.CALLED["saved"]("HEL"))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status: Any = main(arguments)
            except SystemExit as end:
                status = end.code
        text = f"status {status}\nstdout\n{out.getvalue()}\nstderr\n{err.getvalue()}\n{canonical.folder_text(own)}"
        shutil.rmtree(own)
        return _normalised(text.encode())

    # HTTP

    def _service(self, name: str) -> tuple[Any, http.client.HTTPConnection]:
        if name not in self._services:
            url = self._stack.enter_context(world.serving(name))
            self._services[name] = url, http.client.HTTPConnection(url.host, url.port, timeout=900)
        return self._services[name]

    def _http(self, request: dict[str, Any]) -> bytes:
        _, line = self._service(request["service"])
        parts, cookies = [], ""
        for each in request["requests"]:
            body = each.get("body")
            if body is not None:
                body = body.encode("utf-8", "surrogatepass")
            elif "base64" in each:
                body = base64.b64decode(each["base64"])
            headers = dict(each.get("headers", {}))
            if headers.pop("with-cookie", None):
                headers["Cookie"] = cookies
            try:
                line.request(each["method"], each["path"], body, headers)
                answer = line.getresponse()
                content = answer.read()
            except (http.client.HTTPException, ConnectionError):
                line.close()  # the service has closed the connection after the last answer
                line.request(each["method"], each["path"], body, headers)
                answer = line.getresponse()
                content = answer.read()
            cookies = (answer.headers.get("set-cookie") or cookies).partition(";")[0]
            kept = sorted((key.lower(), value) for key, value in answer.headers.items() if key.lower() not in _DROPPED)
            head = f"{answer.status}\n" + "".join(f"{key}: {value}\n" for key, value in kept) + "\n"
            if answer.headers.get("content-type") == "application/octet-stream":
                parts.append(_normalised(head.encode()) + content)
            else:
                parts.append(_normalised(head.encode() + content))
        return b"\n\n".join(parts)


def _normalised(answer: bytes) -> bytes:
    return canonical.normalised(answer, str(world.folder()).encode())


def _work(cases: list[Case], path: str) -> None:
    """Ask cases and write their answers to a file, with the seconds of each."""
    found: dict[str, bytes] = {}
    seconds: dict[str, float] = {}
    with Asker() as asker:
        for case in cases:
            begun = time.process_time()
            # A case that hangs says where; the process ends.
            faulthandler.dump_traceback_later(_PATIENCE_S, exit=True)
            found[case.name] = asker.ask(case)
            faulthandler.cancel_dump_traceback_later()
            seconds[case.name] = time.process_time() - begun
    Path(path).write_bytes(pickle.dumps((found, seconds, time.process_time())))


def ask_all(cases: list[Case], n_processes: int) -> tuple[dict[str, bytes], dict[str, float], float]:
    """Return the answers of cases, the processor time of each, and that of all processes together."""
    # Spawned, so that each process has a hash seed and threads of its own.
    context = multiprocessing.get_context("spawn")
    files = [world.folder() / f"answers-{i}" for i in range(n_processes)]
    workers = [context.Process(target=_work, args=(cases[i::n_processes], str(path))) for i, path in enumerate(files)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a process that asked cases has failed; see above")
    answers: dict[str, bytes] = {}
    seconds: dict[str, float] = {}
    total = 0.0
    for path in files:
        found, each, own = pickle.loads(path.read_bytes())
        answers |= found
        seconds |= each
        total += own
    return answers, seconds, total
