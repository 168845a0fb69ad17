"""The page's end of a training in Python: what is sent and decoded, and who plays, run by Node."""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import pytest

from scalarviz.faces.browser.link_server import is_command, read
from scalarviz.pages import bundle, page
from tests.pages.node import in_web

STARTS = "linked.js", "main.js"

# A client over a channel that a test speaks for, `frames` that it lets pass, and what was heard.
LINK = """
  const frames = [], sent = [], heard = [], states = [];
  globalThis.requestAnimationFrame = (act) => frames.push(act);
  const channel = { send: (message) => sent.push(message), end: () => heard.push("end") };
  const plate = { first: 0, rows: 2, columns: 3, stride: 3, tiles: null,
    along: [1, 0, 0], across: [0, 1, 0] };
  const engine = { sizes: { inputs: data.wide ?? 2 } };
  const spec = { engine, scene: { count: 7, layouts: [{ plates: [plate] }] } };
  const client = new LinkClient(channel, { spec, version: 4 });
  client.onstate = (state) => states.push(state);
  for (const name of ["ontold", "onrefused", "onstand", "onoffers"])
    client[name] = (said) => heard.push([name, said]);
  const say = (header, ...arrays) =>
    channel.onmessage(header, arrays.map((each) => each.buffer));
  const frame = () => frames.splice(0).forEach((act) => act());
  const rest = (promise) => Promise.race([promise, Promise.resolve("waits")]);
  channel.onopen();
"""


def linked(body: str, modules: str = "", **data: Any) -> Any:
    """What the body of a function returns that has a client named `client`."""
    done = "\n clearTimeout(client.late); return found;"
    return in_web(
        f"link_client arrays {modules}",
        f"{LINK} const found = await (async () => {{{body}}})();{done}",
        **data,
    )


def test_a_client_opens_at_once_and_is_open_with_the_first_state() -> None:
    body = """
      const before = await rest(client.opened.then(() => "open"));
      say({ id: 1, state: { step: 3 }, n: 1 });
      return [sent, before, await client.opened.then(() => "open"), states];
    """
    opening = {"id": 1, "name": "open", "args": {"version": 4}}
    assert linked(body) == [[opening], "waits", "open", [{"step": 3}]]


def test_arrays_and_numbers_that_are_not_finite_are_decoded() -> None:
    body = """
      say({ id: 1, n: 1, state: { loss: { $n: "nan" }, rate: { $n: "-inf" },
        dropped: [{ $n: "inf" }],
        value: { $: 1, t: "f4" }, frozen: { $: 0, t: "u1" }, values: { a: { $: 2, t: "f8" } } } },
        Uint8Array.of(0, 1), Float32Array.of(0.5, -2), Float64Array.of(0.1));
      const [{ value, frozen, values, ...more }] = states;
      return [value.constructor.name, value, frozen, values.a, more];
    """
    more = {"loss": "NaN", "rate": "-Infinity", "dropped": ["Infinity"]}
    assert linked(body) == ["Float32Array", [0.5, -2], [0, 1], [0.1], more]


CODES = "top: 2, parts: [[1.5, [[1.5, 1], [2, 0]]]], spreads: [[0, 6, 0.75]]"  # of all weights


def test_codes_become_numbers_of_all_weights_with_what_is_so_of_the_exact_ones() -> None:
    body = f"""
      const codes = {{ $: 0, t: "i1", {CODES} }};
      say({{ id: 1, n: 1, state: {{ value: codes, grad: codes }} }},
        Int8Array.of(127, -127, 0, -128, 0, 0, 127));
      const [{{ value, grad, tile }}] = states;
      const scales = new Scales();
      scales.take({{ value }}, ["value"], 0);
      return [value, grad, tile ?? null, scales.of("value"),
        scales.beyond("value", value), spreadOf(value, 0, 6)];
    """
    numbers = [2, -2, 0, "NaN", 0, 0, 2]
    assert linked(body, modules="scales cubes") == [numbers, numbers, None, 1.5, 1, 0.75]


def test_a_tile_of_a_plate_gives_its_mean_to_its_cubes_and_no_plate_zero() -> None:
    body = f"""
      say({{ id: 1, n: 1, state: {{ value: {{ $: 0, t: "i1", {CODES.replace("2", "127", 1)},
        tile: 2 }} }} }}, Int8Array.of(5, 9));
      return [states[0].value, states[0].tile];
    """
    assert linked(body) == [[5, 5, 9, 5, 5, 9, 0], 4]


EXACT = """
  const codes = { $: 0, t: "i1", top: 1, parts: [[1, [[1, 0]]]], spreads: [] };
  const state = { step: 3, operation: 0, value: codes, grad: codes,
    exact: { rows: { $: 1, t: "u4" }, value: { $: 2, t: "f4" }, grad: { $: 2, t: "f4" } } };
  const hear = (head, rows) => say({ id: 1, n: 1, ...head }, Int8Array.of(9, 9, 9, 9, 9, 9, 9),
    Uint32Array.from(rows), Float32Array.from(rows, (row) => row + 0.25));
  hear({ state }, [2]);
  const [now] = states;
"""


def test_numbers_that_words_read_are_exact_or_asked_for() -> None:
    body = f"""{EXACT}
      const before = [2, 5].map((row) => numberAt(now, row) ?? null);
      let drawn = 0;
      const known = client.know(now, () => (drawn += 1));
      client.know(now, () => {{}}); // not twice at once
      const {{ rows, value, grad }} = state.exact;
      const answers = {{ step: 3, operation: 0, rows, value, grad }};
      hear({{ id: 2, answers }}, [2, 5]);
      await known;
      const after = [numberAt(now, 5), numberAt(now, 5, "grad")];
      await client.know(now, () => (drawn += 1)); // it has them
      const asked = sent.slice(1).map(({{ name, args }}) => [name, [...args.rows]]);
      return [before, after, drawn, asked];
    """
    assert linked(body) == [[2.25, None], [5.25, 5.25], 1, [["exact", [2, 5]]]]


def test_exact_numbers_of_another_moment_are_asked_for_again() -> None:
    body = f"""{EXACT}
      numberAt(now, 5);
      const asked = client.know(now, () => {{}});
      const {{ rows, value, grad }} = state.exact;
      hear({{ id: 2, answers: {{ step: 4, operation: 0, rows, value, grad }} }}, [5]);
      await asked;
      return numberAt(now, 5) ?? null;
    """
    assert linked(body) is None


def test_only_the_newest_state_is_taken_when_a_frame_is_drawn() -> None:
    body = """
      say({ id: 1, state: {}, n: 1 });
      say({ id: null, state: {}, n: 2 });
      const before = sent.length;
      frame();
      say({ id: null, state: {}, n: 3 });
      frame();
      return [before, sent.slice(before)];
    """
    assert linked(body) == [1, [{"taken": 2}, {"taken": 3}]]


def test_each_answer_is_for_its_command_and_a_refused_one_is_null() -> None:
    body = """
      const asked = [client.ask("evaluate", { inputs: Float64Array.of(1, 2) })];
      asked.push(client.ask("reset"));
      asked.push(client.ask("advance", { count: 1, unit: "step" }));
      say({ id: 3, refused: "not now" });
      say({ id: 2, answers: { $: 0, t: "f4" } }, Float32Array.of(0.5));
      say({ id: 4, state: { step: 1 }, n: 1 });
      say({ told: "a metric failed" });
      return [sent[1], await Promise.all(asked), heard];
    """
    question = {"id": 2, "name": "evaluate", "args": {"inputs": [1, 2]}}
    heard = [["onrefused", "not now"], ["ontold", "a metric failed"]]
    assert linked(body) == [question, [[0.5], None, {"step": 1}], heard]


@pytest.mark.parametrize(("name", "wide", "parts"), [
    ("evaluate", 2, [18_432]), ("evaluate", 7, [29_995, 29_995, 4_522]),
    ("survey", 7, [29_995, 29_995, 4_522]), ("evaluate", 20_000, [20_000, 20_000]),
])  # fmt: skip
def test_the_answers_to_many_samples_are_asked_in_parts(
    name: str, wide: int, parts: list[int]
) -> None:
    """Each of which a server takes; of a survey the samples of each neuron are together."""
    body = """
      const { name, wide, count } = data;
      const inputs = Float64Array.from({ length: count * wide }, (_, i) => i);
      const asked = client.ask(name, { inputs });
      const lengths = [];
      for (let end = 0; end < inputs.length; await null, await null, await null) {
        const { id, args } = sent.at(-1);
        lengths.push(args.inputs.length);
        end = args.inputs.at(-1) + 1;
        const firsts = args.inputs.filter((_, i) => i % wide === 0);
        const neurons = [firsts, firsts.map((each) => -each)];
        const own = name === "survey" ? [...neurons[0], ...neurons[1]] : firsts;
        say({ id, answers: { $: 0, t: "f4" } }, Float32Array.from(own));
      }
      return [lengths, await asked];
    """
    count = sum(parts) // wide
    lengths, answers = linked(body, name=name, wide=wide, count=count)
    firsts = [i * wide for i in range(count)]
    assert lengths == parts
    assert answers == firsts + [-each for each in firsts] * (name == "survey")


def test_more_inputs_than_a_message_has_are_refused_in_a_sentence() -> None:
    inputs = "{ inputs: Array(40000).fill(0) }"
    body = f'return [await client.ask("own input", {inputs}), heard, sent.length];'
    assert linked(body, wide=40_000) == [None, [["onrefused", "page.linked.wide"]], 1]


def test_what_python_does_not_need_is_not_sent() -> None:
    body = """
      client.ask("moved", { row: 3, uses: [{ written: Array(100000).fill(0) }] });
      client.ask("freeze", { rows: [7, 8, 9, 20], on: true });
      return sent.slice(1).map(({ args }) => args);
    """
    assert linked(body) == [{"row": 3}, {"row": 7, "layer": True, "on": True}]


def test_a_lost_channel_answers_nothing_and_is_opened_anew() -> None:
    body = """
      const first = client.ask("play", { speed: 30 });
      channel.onclose();
      const lost = [await first, await client.ask("reset")];
      say({ id: null, state: {}, n: 9 });
      channel.onopen();
      say({ id: 3, state: { step: 8 }, n: 1 });
      return [lost, sent.map(({ id, name }) => [id, name]), heard, states];
    """
    lost = ["onstand", "page.linked.lost"]
    commands = [[1, "open"], [2, "play"], [3, "open"]]
    assert linked(body) == [[None, None], commands, [lost, lost, ["onstand", ""]], [{"step": 8}]]


def test_a_training_that_is_gone_is_asked_nothing_more() -> None:
    body = """
      say({ id: 1, state: {}, n: 1 });
      say({ closed: "The kernel was restarted." });
      frame();
      return [await client.ask("play", {}), sent.length, heard];
    """
    gone = ["onstand", "The kernel was restarted."]
    assert linked(body) == [None, 1, ["end", gone, gone]]


def test_a_description_waits_for_its_state_and_is_named_after_a_reconnect() -> None:
    body = """
      client.ondescribed = ({ texts }) => heard.push(["ondescribed", texts, states.length]);
      say({ id: 1, state: { step: 1 }, n: 1 });
      const scene = { count: 1, layouts: [{ plates: [] }] };
      say({ description: { spec: { engine, scene }, texts: { a: "b" } }, version: 5 });
      const before = heard.length;
      const value = { $: 0, t: "i1", top: 127, parts: [], spreads: [] };
      say({ id: null, n: 2, state: { value } }, Int8Array.of(3));
      channel.onclose();
      channel.onopen();
      return [before, heard[0], states[1].value, sent.at(-1).args];
    """
    assert linked(body) == [0, ["ondescribed", {"a": "b"}, 1], [3], {"version": 5}]


def test_what_is_pinned_is_told_once_and_the_newest_after_an_answer() -> None:
    body = """
      client.point({ row: 2 });
      client.point({ row: 3 });
      say({ id: 2, state: {}, n: 1 });
      await null; await null;
      client.point(null);
      client.point(null);
      return sent.slice(1).map(({ args }) => args);
    """
    assert linked(body) == [{"row": 2}, {}]


def test_offers_come_with_the_states_that_have_them() -> None:
    body = """
      say({ id: 1, state: { offers: [{ name: "engine" }] }, n: 1 });
      say({ id: null, state: {}, n: 2 });
      return heard;
    """
    assert linked(body) == [["onoffers", [{"name": "engine"}]]]


def test_a_binary_message_has_its_header_and_its_buffers_at_multiples_of_eight() -> None:
    header = json.dumps({"told": "ä", "buffers": [3, 0, 8]}, ensure_ascii=False).encode()
    start = struct.pack("<I", len(header)) + header
    padded = start + b" " * (-len(start) % 8)
    whole = padded + bytes([1, 2, 3]) + bytes(5) + struct.pack("<d", 0.5)
    body = """
      const [header, buffers] = parted(Uint8Array.from(data.whole).buffer);
      const [first, none, last] = buffers;
      return [header.told, new Uint8Array(first), none.byteLength, new Float64Array(last)];
    """
    assert in_web("link_channels", body, whole=[*whole]) == ["ä", [1, 2, 3], 0, [0.5]]


@pytest.mark.parametrize(
    ("hash", "search", "token"),
    [("#token=a1", "", "a1"), ("", "?token=b2", "b2"), ("#step=3&token=c", "", "c"), ("", "", "")],
)
def test_a_token_stands_in_the_address(hash: str, search: str, token: str) -> None:
    body = "return tokenIn(data.address);"
    assert in_web("link_channels", body, address={"hash": hash, "search": search}) == token


# A socket that a test speaks for, and timers that it lets pass.
SOCKET = """
  const sockets = [], heard = [], pauses = [], later = [];
  globalThis.WebSocket = class {
    constructor(address) { Object.assign(this, { address, sent: [] }); sockets.push(this); }
    send(words) { this.sent.push(words); }
    close() { this.onclose(); }
  };
  globalThis.setTimeout = (act, pause) => { pauses.push(pause); later.push(act); };
  const message = (header) => {
    const words = new TextEncoder().encode(JSON.stringify(header));
    const whole = new Uint8Array(4 + words.length);
    new DataView(whole.buffer).setUint32(0, words.length, true);
    whole.set(words, 4);
    return { data: whole.buffer };
  };
  const asked = [];
  const ask = async (words) => { asked.push(words); return `typed ${asked.length}`; };
  const channel = new SocketChannel("ws://a/socket", "", ask);
  for (const name of ["onopen", "onclose"]) channel[name] = () => heard.push(name);
  channel.onmessage = (header) => heard.push(header);
  channel.open();
"""


def test_a_socket_that_is_lost_is_opened_again_after_growing_pauses() -> None:
    body = f"""{SOCKET}
      for (let i = 0; i < 7; i++) {{ sockets.at(-1).close(); later.shift()(); }}
      sockets.at(-1).onopen();
      sockets.at(-1).onmessage(message({{ told: "a" }}));
      sockets.at(-1).close();
      channel.end();
      return [pauses, heard.slice(-3), sockets.length];
    """
    pauses = [500, 1000, 2000, 4000, 8000, 10000, 10000, 500]
    assert in_web("link_channels", body) == [pauses, ["onopen", {"told": "a"}, "onclose"], 8]


@pytest.mark.parametrize("kind", ["Float64", "Uint32"])
def test_an_array_goes_up_in_bytes_and_other_commands_as_text(kind: str) -> None:
    body = f"""{SOCKET}
      sockets[0].onopen();
      const rows = {kind}Array.of(3, 70000);
      channel.send({{ id: 1, name: "exact", args: {{ rows, ü: 2 }} }});
      channel.send({{ id: 2, name: "play", args: {{}} }});
      const [, frame, text] = sockets[0].sent;
      return [[...new Uint8Array(await frame.arrayBuffer())], text];
    """
    frame, words = in_web("link_channels", body)
    found, plain = read(bytes(frame)), read(words)
    assert found is not None and is_command(found)
    assert found["args"].pop("rows").astype(float).tolist() == [3.0, 70_000.0]
    assert found == {"id": 1, "name": "exact", "args": {"ü": 2}}
    assert plain == {"id": 2, "name": "play", "args": {}}


# A player of a shared training, whose commands a test answers.
SHARED = """
  const asked = [];
  const ask = (name, args) => new Promise((done) => asked.push({ name, args, done }));
  const client = { shared: true, ask, fail() {} };
  const player = new Player(client, { moments: 12, speed: 100 });
  const answer = (state) => { player.see(state); asked.at(-1).done(state); };
  const turn = () => new Promise((done) => setTimeout(done));
"""


def test_a_shared_training_is_played_and_paused_by_others() -> None:
    body = f"""{SHARED}
      const found = [];
      for (const playing of [true, true, false]) {{
        player.see({{ playing }});
        player.setHidden(true);
        found.push(player.playing);
      }}
      return [found, asked.length];
    """
    assert in_web("player", body) == [[True, True, False], 0]


def test_a_state_from_before_a_command_does_not_undo_it() -> None:
    body = f"""{SHARED}
      const found = [];
      player.play();
      player.see({{ playing: false }});
      found.push(player.playing);
      answer({{ playing: true }});
      await turn();
      found.push(player.playing);
      player.pause();
      player.see({{ playing: true }});
      found.push(player.playing);
      answer({{ playing: false }});
      await turn();
      found.push(player.playing);
      return [found, asked.map(({{ name }}) => name)];
    """
    assert in_web("player", body) == [[True, True, False, False], ["play", "pause"]]


def test_a_refused_play_does_not_play() -> None:
    body = f"""{SHARED}
      player.see({{ playing: false }});
      player.play();
      asked[0].done(null);
      await turn();
      return player.playing;
    """
    assert in_web("player", body) is False


def test_a_walk_by_operations_goes_on_though_python_takes_no_whole_steps() -> None:
    body = f"""{SHARED}
      player.setUnit("operation");
      player.play();
      answer({{ playing: false }});
      await turn();
      answer({{ playing: false }});
      await turn();
      const before = player.playing;
      player.halt();
      return [before, player.playing, asked.map(({{ name }}) => name)];
    """
    assert in_web("player", body) == [True, False, ["pause", "advance"]]


def test_a_linked_page_has_no_engine_and_a_page_that_trains_no_link() -> None:
    def script(start: str) -> str:
        return bundle.bundle(start, page.module_text)

    names = ["class LinkClient", "class Offers", "class Client", "class RecordingClient"]
    link_page, own_page = ([name in script(start) for name in names] for start in STARTS)
    assert link_page == [True, True, False, False]
    assert own_page == [False, False, True, True]
    assert not re.search(r"WebAssembly|new Worker|blob:|createObjectURL", script(STARTS[0]))


def test_a_linked_page_may_reach_its_server_and_use_nothing_that_only_training_needs() -> None:
    allowed = {name: sources.split() for name, sources in page.ALLOWED.items()}
    assert allowed.pop("connect-src") == ["'self'"]
    assert allowed.pop("script-src") == ["{loader}", "{script}"]
    shared = {"default-src", "style-src", "img-src", "base-uri", "form-action"}
    assert {name: " ".join(sources) for name, sources in allowed.items()} == {
        name: bundle.POLICY[name] for name in shared
    }
