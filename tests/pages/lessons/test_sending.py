"""Answers sent to a class: in Node with a socket, in Chromium with a server that collects."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.texts import text, texts
from scalarviz.faces.cli.collecting import Collecting
from scalarviz.pages.addresses import listening
from scalarviz.pages.bundle import as_json, bundle, texts_of
from scalarviz.pages.page import module_text
from scalarviz.pages.web_server import PageServer
from tests.answers import record
from tests.pages.browser import chromium
from tests.pages.in_web import in_web

FAKE = """
  const made = [];
  globalThis.location = data.location;
  globalThis.WebSocket = class {
    constructor(address) {
      made.push(this);
      this.address = address;
      this.sent = [];
      setTimeout(() => data.lost ? this.onclose() : this.onopen());
    }
    send(words) {
      this.sent.push(JSON.parse(words));
      this.onmessage({ data: JSON.stringify(data.told) });
      this.onclose();
    }
    close() { this.isClosed = true; }
  };
  setTexts(data.texts);
  let error = null;
  try { await sendAnswers({ lesson: "01" }); } catch (each) { error = each.message; }
  const [{ address, sent, isClosed } = {}] = made;
  return { address, sent, isClosed, error };
"""
HERE = {"origin": "http://10.0.0.7:8000", "search": "?token=ABC234", "hash": "#step=3"}
LOST = "page.sending.lost"


def sent(told: Any = None, **more: Any) -> Any:
    given = {"location": HERE, "told": told, "texts": {LOST: text(LOST)}} | more
    return in_web("lesson_answers texts", FAKE, **given)


def test_a_record_is_sent_to_the_origin_of_the_page_with_its_token() -> None:
    found = sent({"ok": True})
    assert found == {
        "address": "ws://10.0.0.7:8000/socket",
        "sent": [{"token": "ABC234", "record": {"lesson": "01"}}],
        "isClosed": True,
        "error": None,
    }


def test_over_https_the_socket_is_encrypted_too() -> None:
    found = sent({"ok": True}, location={**HERE, "origin": "https://a.example", "search": ""})
    assert found["address"] == "wss://a.example/socket" and found["sent"][0]["token"] == ""


def test_a_refusal_is_an_error_with_the_sentence_of_the_server() -> None:
    assert sent({"error": "A sentence."})["error"] == "A sentence."


def test_a_lost_connection_and_a_page_of_a_file_are_told() -> None:
    assert sent(lost=True)["error"] == text(LOST)
    found = sent(location={"origin": "null", "search": "", "hash": ""})
    assert found == {"error": text(LOST)}


def page_of(found: object) -> bytes:
    """A page that sends a record when it is loaded, and has what came of it as its title."""
    script = bundle("lesson_answers.js", module_text)
    table = as_json(texts_of(script, texts()))
    script += (
        f"setTexts({table}); sendAnswers({as_json(found)}).then(() => 'kept', String)"
        ".then((words) => (document.title = words));"
    )
    code = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{code}'; connect-src 'self'; img-src data:"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return f'<!DOCTYPE html>{meta}<link rel="icon" href="data:,"><script>{script}</script>'.encode()


@pytest.mark.slow
def test_a_page_sends_its_record_and_reads_why_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "class.jsonl"
    made = Collecting(str(path), is_open=True)
    pages = {"01.html": page_of(record("Anna")), "02.html": page_of({"format": "other"})}
    with (
        PageServer(listening("127.0.0.1", 0), gate=made.gate, visit=made.visit) as server,
        chromium() as browser,
    ):
        server.start(pages)
        page, complaints = browser.new_page(), []
        page.on("console", lambda message: complaints.append(message.text))

        def title(name: str) -> str:
            page.goto(f"http://127.0.0.1:{server.port}/{name}")
            page.wait_for_function("document.title")
            return page.title()

        assert title(f"01.html{made.query}") == "kept"
        assert "no answers of scalarviz" in title(f"02.html{made.query}")
        assert title("01.html") == f"Error: {text('class.token.elsewhere')}"
        made._left["127.0.0.1"] = 0.0, made._now()
        assert "again in 10 s" in title(f"01.html{made.query}")
        assert not complaints
    assert [json.loads(line)["name"] for line in path.read_text().splitlines()] == ["Anna"]
