"""A store of objects on this machine that speaks as much of S3 as reading takes: look, list, and read ranges."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "backup"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}


@contextmanager
def object_store(directory: Path) -> Iterator[tuple[str, list[str]]]:
    """The files of a directory as objects of a bucket; the query of its URLs, and the ranges that are requested."""
    requested: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._object(body=False)

        def do_GET(self) -> None:
            if urlsplit(self.path).query:
                self._listing()
            else:
                self._object(body=True)

        def _object(self, *, body: bool) -> None:
            path = directory / unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").strip("/")
            if not path.is_file():
                self._answer(404 if path != directory else 200, b"")
                return
            content, wanted = path.read_bytes(), self.headers.get("Range", "")
            if body and wanted:
                requested.append(wanted)
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                part = content[int(first) : int(last) + 1]
                self._answer(206, part, {"Content-Range": f"bytes {first}-{last}/{len(content)}"})
            else:
                self._answer(200, content, send=body)

        def _listing(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
            keys = sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
            keys = [key for key in keys if key.startswith(prefix)]
            below = {key[: key.index("/", len(prefix)) + 1] for key in keys if delimiter and "/" in key[len(prefix) :]}
            own = [key for key in keys if not any(key.startswith(folder) for folder in below)]
            time = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            objects = "".join(
                f"<Contents><Key>{escape(key)}</Key>{time}<Size>{(directory / key).stat().st_size}</Size></Contents>"
                for key in own
            )
            folders = "".join(
                f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>" for key in sorted(below)
            )
            head = f"<Name>{BUCKET}</Name><KeyCount>{len(own)}</KeyCount><IsTruncated>false</IsTruncated>"
            text = f"<ListBucketResult>{head}{objects}{folders}</ListBucketResult>"
            self._answer(200, text.encode(), {"Content-Type": "application/xml"})

        def _answer(self, code: int, content: bytes, more: dict[str, str] | None = None, *, send: bool = True) -> None:
            self.send_response(code)
            headers = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Content-Length": str(len(content))}
            for name, value in (headers | (more or {})).items():
                self.send_header(name, value)
            self.end_headers()
            if send:
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    before = dict(os.environ)
    os.environ.update(CREDENTIALS)
    try:
        yield f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1", requested
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.shutdown()
        server.server_close()
        thread.join()
