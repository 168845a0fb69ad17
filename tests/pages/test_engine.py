"""The engine of a page, in Node, against the cpu engine; and a page made where nothing compiles."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.kernel_files import keep
from scalarviz.engines.codegen.kernel_units import form_of
from scalarviz.engines.reference import program_forward
from scalarviz.engines.wasm.compile_module import (
    A_MEMORY,
    A_TABLE,
    CODE,
    CONSTANT,
    ELEMENTS,
    END,
    FIRST,
    FUNCTIONS,
    IMPORTS,
    MEMORY,
    STOP,
    TABLE,
    TYPES,
    only,
    section,
    sections_of,
    signed,
    unsigned,
)
from scalarviz.engines.wasm.module import name_of, shared_module, units_of_pages
from scalarviz.errors import EngineError, UpdateError
from scalarviz.faces.scene_file import find, load
from scalarviz.pages import engine_data as data_of_page
from scalarviz.pages.engine_data import engine_data, training_of, why_not
from scalarviz.stage.explained_sample import sample_to_explain
from scalarviz.stage.show import Show
from tests.machine import ROOT, output_of
from tests.pages.conftest import rgb, xor
from tests.pages.node import InPage, data_in, in_web, run_script
from tests.pages.states import spec_of
from tests.sessions import advanced
from tests.wording import refused

STEPS = "spec.moments.forEach((moment, k) => engine.perform(k))"


def test_two_hundred_steps_in_float64_agree_to_twelve_digits(exact: InPage) -> None:
    session = advanced(xor(), 200)
    found = exact.run("const {losses} = engine.train(200); return {losses, value: engine.value}")
    np.testing.assert_allclose(found["value"], session.network.bank.value, rtol=1e-12)
    np.testing.assert_allclose(found["losses"], session.timeline.branch.losses, rtol=1e-12)


def test_a_survey_has_the_numbers_of_all_neurons(colors: InPage, session: sv.Session) -> None:
    inputs = np.random.default_rng(0).uniform(size=(150, 3))
    found = colors.run(
        f"return {{answers: engine.survey(Float64Array.from({inputs.ravel().tolist()}))}}"
    )["answers"]
    program, bank = session.network.program, session.network.bank
    wanted = program_forward(program, bank.value, bank.state, inputs)
    rows = np.vstack([wanted[buffer.name].T for buffer in program.buffers])
    np.testing.assert_allclose(np.reshape(found, rows.shape), rows, atol=1e-5)


def test_first_gradients_and_a_later_loss_in_float32_agree_to_five_digits(
    colors: InPage, session: sv.Session
) -> None:
    session.advance(len(session.network.program.moments) - 1, "operation")
    grad = session.network.bank.grad.copy()
    session.advance(20)
    found = colors.run(f"""
        engine.begin()
        {STEPS}
        const grad = engine.grad.slice()
        return {{grad, losses: engine.train(20).losses, step: engine.step}}
    """)
    np.testing.assert_allclose(found["grad"], grad, rtol=1e-5, atol=1e-7)
    assert found["step"] == 21
    assert found["losses"][19 - 1] == pytest.approx(session.timeline.branch.losses[19], rel=1e-5)


@pytest.mark.parametrize("page", ["colors", "exact"])
def test_a_step_moment_by_moment_has_the_bits_of_a_whole_one(
    page: str, request: pytest.FixtureRequest
) -> None:
    assert (
        request.getfixturevalue(page).run(f"""
        const other = await open()
        for (let step = 0; step < 30; step++) {{
            engine.begin()
            {STEPS}
            const whole = other.train(1)
            if (whole.losses[0] !== engine.loss || !same(engine.save(), other.save())) return step
        }}
        return "all"
    """)
        == "all"
    )


def test_what_was_saved_is_replayed_to_the_bit(colors: InPage) -> None:
    assert colors.run("""
        engine.train(10)
        const saved = engine.save()
        engine.train(50)
        const later = engine.save()
        engine.rate = 0.01
        engine.value[3] = 1
        engine.freeze([4], true)
        engine.train(5)
        engine.restore(saved)
        engine.train(50)
        return same(later, engine.save())
    """)


def test_a_frozen_weight_stays_and_the_rate_scales_a_step(colors: InPage) -> None:
    found = colors.run("""
        const before = engine.value.slice()
        const other = await open()
        engine.freeze([7], true)
        engine.rate = 0.25
        engine.train(1)
        other.train(1)
        return {before, slow: engine.value, fast: other.value, rates: [engine.rate, other.rate]}
    """)
    before, slow, fast = (np.array(found[name]) for name in ("before", "slow", "fast"))
    assert slow[7] == before[7] != fast[7]
    free = np.arange(len(before)) != 7
    np.testing.assert_allclose((slow - before)[free], (fast - before)[free] / 2, atol=1e-7)
    assert found["rates"] == [0.25, 0.5]


def test_values_and_gradients_of_a_step_are_those_of_the_session(
    colors: InPage, session: sv.Session
) -> None:
    program = session.network.program
    session.advance(len(program.moments) - 1, "operation")
    run = session.trainer.run
    found = colors.run(f"""
        engine.begin()
        {STEPS}
        const all = (of) => Object.fromEntries(spec.buffers.map(({{name}}) => [name, of(name)]))
        const samples = Array.from({{length: engine.batch}}, (_, i) => engine.sample(i))
        return {{
            values: all((name) => engine.values(name, 5)),
            gradients: all((name) => engine.gradients(name, 5)),
            samples,
        }}
    """)
    inputs, targets = session.trainer.batches.at(0)
    assert len(found["samples"]) == 8
    for sample, x, t in zip(found["samples"], inputs, targets, strict=True):
        np.testing.assert_allclose(sample["inputs"], x, atol=1e-7)
        np.testing.assert_allclose(sample["targets"], t, atol=1e-7)
    for buffer in program.buffers:
        wanted = run.values(buffer)[5]
        np.testing.assert_allclose(found["values"][buffer.name], wanted, rtol=1e-5, atol=1e-7)
    for moment in program.moments:
        for buffer in moment.gradients:
            wanted = run.gradients(buffer)[5]
            got = found["gradients"][buffer.name]
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-7)


def test_evaluation_and_a_look_are_what_the_network_answers(colors: InPage) -> None:
    session = advanced(rgb(), 30)
    found = colors.run("""
        engine.train(30)
        const many = Float32Array.from({length: 3 * 300}, (_, i) => (i * 0.37) % 1)
        return {
            probe: engine.evaluate(engine.arrays.probe),
            many: engine.evaluate(many, 300),
            look: engine.look(many.slice(0, 3)),
            value: engine.value,
        }
    """)
    network = session.network
    np.testing.assert_allclose(found["value"], network.bank.value, rtol=1e-5, atol=1e-6)
    wanted = network(session.data.palette[0])
    np.testing.assert_allclose(np.reshape(found["probe"], wanted.shape), wanted, atol=1e-5)
    wanted = network(np.float32(np.arange(900) * 0.37 % 1).reshape(300, 3))
    np.testing.assert_allclose(np.reshape(found["many"], wanted.shape), wanted, atol=1e-5)
    np.testing.assert_allclose(found["look"][network.program.outputs.name], wanted[0], atol=1e-5)
    hidden = network.program.buffers[2].name
    assert found["look"][hidden] == pytest.approx(np.tanh(found["look"]["affine 0"]), abs=1e-6)


def test_a_page_goes_on_from_the_step_where_the_session_stands(tmp_path: Path) -> None:
    session = advanced(rgb(), 12)
    session.advance(3, "operation")
    page = InPage(session, tmp_path)
    assert session.clock[:2] == (12, 3)
    session.advance(20)
    found = page.run("const first = engine.step; engine.train(20); return [first, engine.value]")
    assert found[0] == 12
    np.testing.assert_allclose(found[1], session.network.bank.value, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [sv.Adam, partial(sv.AdamW, groups={"*.bias": {"decay": 9.0}})])
def test_a_page_trains_with_the_rates_and_decays_of_single_weights(
    kind: Any, tmp_path: Path
) -> None:
    session = rgb(optimizer=kind(0.02, schedule=sv.Schedule("cosine", steps=30)))
    session.set_rate(session.network.layers[1], 0.1)
    session.set_rate([3, 4], 0.0)
    session.edit(5, 0.25)
    page = InPage(session, tmp_path)
    session.advance(20)
    value = page.run("engine.train(20); return engine.value")
    np.testing.assert_allclose(value, session.network.bank.value, rtol=1e-4, atol=1e-5)


def test_a_page_has_the_rate_of_the_schedule_until_one_is_set(tmp_path: Path) -> None:
    optimizer = sv.SGD(0.5, schedule=sv.Schedule("step", every=5, factor=0.5))
    session = advanced(rgb(optimizer=optimizer), 2)
    page, facts = InPage(session, tmp_path), spec_of(session)["facts"]
    rates, state, is_same = page.run("""
        const clock = new Clock(engine);
        const rates = [];
        for (const rate of [null, null, 0.25]) {
            if (rate) clock.change({kind: "learning rate", rate});
            clock.advance(4);
            rates.push(clock.state().rate);
        }
        const state = clock.state();
        clock.seek(3);
        const twin = await open();
        twin.restore(engine.save());
        rates.push(twin.rate);
        clock.seek(state.step);
        return [rates, state, same(state.value, engine.value)];
    """)
    session.advance(8)
    assert rates == [0.25, 0.125, 0.25, 0.5] and session.learning_rate == 0.125 and is_same
    session.learning_rate = 0.25
    session.advance(4)
    np.testing.assert_allclose(state["value"], session.network.bank.value, rtol=1e-5, atol=1e-6)
    body = "return readyState(readyFacts(data.facts), data.state).explained(7).lines"
    shown = in_web("facts", body, facts=facts, state=state)
    assert shown[-1]["value"] == pytest.approx(state["value"][7], rel=1e-5)


@pytest.mark.parametrize(("number", "why"), [("NaN", "gradient"), ("Infinity", "overflow")])
def test_a_step_that_is_not_finite_is_refused(number: str, why: str, colors: InPage) -> None:
    found = colors.run(f"""
        engine.train(4)
        engine.value[5] = {number}
        const before = engine.value.slice()
        const whole = engine.train(3)
        const stays = engine.value.every((v, i) => Object.is(v, before[i]))
        engine.begin()
        const refused = spec.moments.map((moment, k) => engine.perform(k))
        return {{whole, refused, step: engine.step, stays}}
    """)
    whole = found["whole"]
    assert whole["taken"] == 0 and whole["losses"] == []
    assert whole["stopped"]["why"] == why and (whole["stopped"]["row"] >= 0) == (why == "gradient")
    *others, last = found["refused"]
    assert others == [None] * len(others) and last == whole["stopped"]
    assert found["step"] == 4 and found["stays"]


def test_steps_before_one_that_is_refused_are_taken(tmp_path: Path) -> None:
    session = rgb(optimizer=sv.SGD(1.0, l2=1e3))
    found = InPage(session, tmp_path).run("return [engine.train(99), engine.step, engine.value]")
    refused(UpdateError).by(session.advance, 99)
    assert 0 < session.step_index == found[1] == found[0]["taken"] == len(found[0]["losses"])
    assert found[0]["stopped"]["why"] == "overflow"
    np.testing.assert_allclose(found[2], session.network.bank.value, rtol=1e-4)


def test_a_page_does_not_train_what_python_makes(session: sv.Session) -> None:
    made = data.Generated(
        lambda step, batch, seed: (np.zeros((batch, 3)), np.zeros((batch, 3))), inputs=3, outputs=3
    )
    assert why_not(session) == ""
    session.data = made
    assert "made by Python" in why_not(session)
    refused(EngineError, "Generated").by(engine_data, session)


def test_a_page_that_needs_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_of_page, "LARGEST", 2**19)
    refused(EngineError, "smaller", varies=r"[\d,]+ MB").by(engine_data, rgb())


ALONE = """
import sys, threading

def start(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
for name in ("numba", "llvmlite", "vispy", "freetype", "OpenGL"):
    sys.modules[name] = None
import scalarviz as sv
from scalarviz import data
network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
session = sv.Session(network, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, seed=0)
session.advance(3)
"""
LOOKS = """
import fs from "node:fs";
const module = new WebAssembly.Module(fs.readFileSync(process.argv[2]));
const memory = new WebAssembly.Memory({initial: 8});
const table = new WebAssembly.Table({initial: 4, element: "anyfunc"});
const env = {__linear_memory: memory, __indirect_function_table: table};
new WebAssembly.Instance(module, {env});
const found = [1, 2, 3].map(k => {
  try { return table.get(k)(); } catch { return "stopped"; }
});
console.log(JSON.stringify(found));
"""


def name(word: str) -> bytes:
    return unsigned(len(word)) + word.encode()


def module_of_numbers(count: int) -> bytes:
    """A module, as `linked` makes them, whose kernel k returns k."""
    body = [bytes([0, CONSTANT]) + signed(k) + bytes([END]) for k in range(count)]
    table = bytes([A_TABLE, 0x70, 0]) + unsigned(FIRST + count)
    return b"\0asm\1\0\0\0" + b"".join(
        [
            section(TYPES, unsigned(1), bytes([0x60, 0, 1, 0x7F])),
            section(
                IMPORTS,
                unsigned(2),
                *(name("env"), name(MEMORY), bytes([A_MEMORY, 0, 1])),
                *(name("env"), name(TABLE), table),
            ),
            section(FUNCTIONS, unsigned(count), bytes(count)),
            section(
                ELEMENTS,
                bytes([1, 0, CONSTANT]) + signed(FIRST) + bytes([END]),
                *(unsigned(count), *map(unsigned, range(count))),
            ),
            section(CODE, unsigned(count), *(unsigned(len(each)) + each for each in body)),
        ]
    )


def run_alone(script: str, cache: Path) -> str:
    env = {**os.environ, "SCALARVIZ_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    return output_of("-W", "error", "-c", ALONE + script, env=env, seconds=100)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with a shared module whose kernels do nothing."""
    folder = tmp_path_factory.mktemp("cache")
    units = units_of_pages()
    keep(folder / name_of(units, "float32"), module_of_numbers(len(units)))
    return folder


def test_a_page_that_trains_is_made_where_nothing_compiles(cache: Path, tmp_path: Path) -> None:
    page = tmp_path / "rgb.html"
    run_alone(f"sv.page(session, {str(page)!r})", cache)
    assert data_in(page.read_bytes())["spec"]["engine"]["kernels"] == FIRST + len(units_of_pages())


def test_an_activation_with_settings_changes_no_module_of_other_pages() -> None:
    units = units_of_pages()
    sv.Dense(2, 2, "leaky_relu(0.25)")
    assert units_of_pages() == units


def test_pages_have_no_kernels_of_several_cores() -> None:
    assert not [each for each in units_of_pages() if "in_parallel" in form_of(each.function).marks]


def test_a_page_without_its_kernels_has_a_recording(tmp_path: Path) -> None:
    said = run_alone(
        "from pathlib import Path\nfrom scalarviz.engines.wasm import module\n"
        "module.SHARED_FOLDER = Path('none')\n"
        f"sv.page(session, {str(tmp_path / 'rgb.html')!r}, steps=5)\n"
        "from scalarviz.pages.engine_data import why_not\nprint(why_not(session))",
        tmp_path,
    )
    assert "numba is not installed" in said


def test_a_shared_module_keeps_the_kernels_of_a_network_in_their_places(tmp_path: Path) -> None:
    script, file = tmp_path / "look.mjs", tmp_path / "module"
    script.write_text(LOOKS)
    file.write_bytes(only(module_of_numbers(3), {1}))
    assert run_script(script, str(file)) == ["stopped", 1, "stopped"]


def test_a_module_with_all_its_kernels_is_as_it_was() -> None:
    assert only(module_of_numbers(5), range(5)) == module_of_numbers(5)


def test_kernels_that_a_network_does_not_use_take_four_bytes(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(cache))
    units = training_of(rgb(engine="python").trainer, 0).units()
    found = shared_module(units, "float32")
    assert found is not None
    every, module = found
    ((low, high),) = [each for number, _, *each in sections_of(module) if number == CODE]
    assert module[low:high].count(STOP) == len(every) - len(units)


@pytest.mark.slow
def test_training_by_the_shared_module_has_the_same_bits(tmp_path: Path) -> None:
    units = training_of(rgb().trainer, 0).units()
    own = InPage(rgb(), made(tmp_path / "own"), units=units)
    shared = InPage(rgb(), made(tmp_path / "shared"), units=units_of_pages())
    steps = "const {losses} = engine.train(300); return {losses, value: engine.value}"
    assert own.run(steps) == shared.run(steps)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("name", "steps"), [("rgb", 89), ("xor", 30), ("circle", 40)])
def test_a_page_chooses_the_sample_of_a_step_that_a_window_chooses(
    name: str, steps: int, tmp_path: Path
) -> None:
    session = advanced(Show.of(load(find(name))(engine="cpu")).session, steps)
    page, facts = InPage(session, tmp_path), spec_of(session)["facts"]
    next_step, is_same, sample = page.run("""
        const page = client();
        await page.opened;
        const before = await page.ask("state");
        const next = await page.ask("ahead");
        const after = await page.ask("state");
        const walked = await page.ask("advance", { count: 1, unit: "operation", sample: 2 });
        return [next, same(before.value, after.value) && before.step === after.step, walked.focus];
    """)
    assert is_same and next_step["step"] == steps + 1 and sample == 2
    found = in_web(
        "facts story/clearest",
        "const facts = readyFacts(data.facts);"
        "return clearest_sample(facts, readyState(facts, data.state), data.state.fresh)",
        facts=facts,
        state=next_step,
    )
    assert found is not None and found == sample_to_explain(session)
