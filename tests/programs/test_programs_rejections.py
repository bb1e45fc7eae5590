"""Rejections nobody handles are failures of the program, whatever way they come about; and the text of a program is run as it is."""

# ruff: noqa: E501 - a program reads best on one line, next to what it comes to

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs_kit import JAVASCRIPT, TYPESCRIPT, Pool, World, needs_code

from ggactors.programs.rejections import MOST

if TYPE_CHECKING:
    from ggactors.protocol.program import Language

pytestmark = needs_code

MAIN = "async function main() {\n  throw new Error('lost');\n}\n"

# A program, the error it must end with, and its line.
DROPPED = {
    "a callback of forEach": ("['a', 'b'].forEach(async (f) => {\n  gg.files.readFile(f);\n});", "NotFound", 2),
    "a callback of map": ("['a', 'b'].map(async (f) => gg.files.readFile(f));", "NotFound", 1),
    "a bare call": (f"{MAIN}main();", "Error", 2),
    "a call on the line of the brace": ("async function main() { throw new Error('lost') } main();", "Error", 1),
    "a call in a block": (f"{MAIN}if (true) {{\n  main();\n}}", "Error", 2),
    "a call kept": (f"{MAIN}const p = main();", "Error", 2),
    "a void call": (f"{MAIN}void main();", "Error", 2),
    "a call in a call": (f"{MAIN}Promise.all([main()]);", "Error", 2),
    "a call that is awaited in one that is not": (f"{MAIN}(async () => {{ await main() }})();", "Error", 2),
    "a call that is returned by one that is not": (f"{MAIN};(async () => main())();", "Error", 2),
    "an arrow": ("const go = async () => { throw new TypeError('lost') };\ngo()", "TypeError", 1),
    "a method": (
        "class A { async #m() { throw new RangeError('lost') } go() { this.#m() } }\nnew A().go()",
        "RangeError",
        1,
    ),
    "a method of an object": ("({ async m() { nope() } }).m()", "ReferenceError", 1),
    "a generator": ("async function* g() { throw new Error('lost') }\ng().next()", "Error", 1),
    "a default argument": ("(async (x = nope()) => x)()", "ReferenceError", 1),
    "after an await": ("(async () => {\n  await null;\n  gg.files.readFile('nope');\n})()", "NotFound", 3),
    "after a timer": (
        "(async () => {\n  await new Promise((done) => setTimeout(done, 1));\n  throw new Error('lost');\n})()",
        "Error",
        3,
    ),
    "in a timer": ("setTimeout(async () => { throw new Error('lost') }, 1)", "Error", 1),
    "in a microtask": ("queueMicrotask(() => { throw new Error('lost') })", "Error", 1),
    "in then": ("Promise.resolve(1).then((one) => one.no.thing)", "TypeError", 1),
    "in catch": ("Promise.reject(1).catch(() => { throw new Error('lost') })", "Error", 1),
    "in finally": ("Promise.resolve(1).finally(() => { throw new Error('lost') })", "Error", 1),
    "then without a handler for it": ("(async () => { throw new Error('lost') })().then(() => 1)", "Error", 1),
    "a promise rejected": ("Promise.reject(new Error('lost'))", "Error", 1),
    "an executor that throws": ("new Promise(() => { throw new Error('lost') })", "Error", 1),
    "an import": ("import('nope')", "ReferenceError", None),
    "code made of text": ("eval(\"(async () => { throw new Error('lost') })()\")", "Error", None),
    "what is no error": ("Promise.reject('so')", "Error", None),
    "one of two that are raced": ("await Promise.race([1, 2]); Promise.any([]);", "AggregateError", None),
    "the second that is rejected": (
        "const all = [1, 2].map(async (n) => { throw new Error(`lost ${n}`) });\ntry { await all[0] } catch {}",
        "Error",
        1,
    ),
    "with the language's own promises replaced": (
        "globalThis.Promise = class {}; (async () => { throw new Error('lost') })()",
        "Error",
        1,
    ),
    "with then replaced": ("Promise.prototype.then = null; (async () => { throw new Error('lost') })()", "Error", 1),
}


@pytest.mark.parametrize("case", DROPPED)
def test_a_rejection_nobody_handles_is_an_uncaught_failure_E8_C1(pool: Pool, world: World, case: str):
    source, error, line = DROPPED[case]
    result = pool.run(source + "\ngg.session.finish('done')", JAVASCRIPT, world=world)
    assert (result.kind, result.error_type) == ("runtime_error", error), result
    if line is not None:
        assert result.line == line
    assert ("session.finish", {"summary": "done"}) in world.asked, (
        "the ending came first, and a failure after it revokes it"
    )


@pytest.mark.parametrize("language", [JAVASCRIPT, TYPESCRIPT])
def test_a_call_that_fails_behind_everybodys_back_is_told_with_its_code_E8(pool: Pool, language: Language):
    result = pool.run("['x', 'y'].forEach(async (f) => { await null; gg.files.readFile(f) })", language)
    assert (result.kind, result.code, result.operation) == ("runtime_error", "not-found", "files.read_file")


HANDLED = {
    "awaited": "try { await (async () => { throw 1 })() } catch { console.log('caught') }",
    "awaited later": f"{MAIN}const p = main();\nawait null; await null;\ntry {{ await p }} catch {{ console.log('caught') }}",
    "caught": f"{MAIN}main().catch(() => console.log('caught'));",
    "a second argument of then": f"{MAIN}main().then(null, () => console.log('caught'));",
    "caught by a job that comes before it is looked for": f"{MAIN}const p = main();\nqueueMicrotask(() => p.catch(() => console.log('caught')));",
    "settled together": f"{MAIN}console.log((await Promise.allSettled([main(), main()])).every((r) => r.status === 'rejected') && 'caught');",
    "the loser of a race": f"{MAIN}console.log(await Promise.race(['caught', main()]));",
    "any": f"{MAIN}console.log(await Promise.any([main(), 'caught']));",
    "a refusal in a callback": "await Promise.all(['a', 'b'].map(async (f) => { try { gg.files.readFile(f) } catch {} })); console.log('caught')",
    "an iteration": "try { for await (const x of (async function* () { throw 1 })()); } catch { console.log('caught') }",
}


@pytest.mark.parametrize("case", HANDLED)
def test_a_rejection_that_is_handled_is_none(pool: Pool, case: str):
    result = pool.run(HANDLED[case], JAVASCRIPT)
    assert (result.kind, result.logs) == ("ok", ("caught",)), result


def test_the_programs_own_failure_is_told_rather_than_one_it_left_behind(pool: Pool):
    result = pool.run(f"{MAIN}main();\nthrow new TypeError('mine')", JAVASCRIPT)
    assert (result.error_type, result.line) == ("TypeError", 5)


def test_nothing_runs_on_after_a_rejection_nobody_handles(pool: Pool):
    result = pool.run("setTimeout(() => console.log('later'), 1);\nPromise.reject(new Error('now'))", JAVASCRIPT)
    assert (result.kind, result.logs) == ("runtime_error", ())


def test_more_rejections_than_are_kept_are_counted_and_none_is_lost(pool: Pool):
    many = f"const all = Array.from({{ length: {MOST + 500} }}, (_, n) => Promise.reject(new Error(`n${{n}}`)));\n"
    assert pool.run(f"{many}await Promise.allSettled(all); console.log('ok')", JAVASCRIPT).logs == ("ok",)
    last = pool.run(f"{many}await Promise.allSettled(all.slice(0, -1))", JAVASCRIPT)
    assert (last.kind, last.error_type) == ("runtime_error", "Error")
    first = pool.run(f"{many}await Promise.allSettled(all.slice(1))", JAVASCRIPT)
    assert "n0" in first.error


def test_what_is_kept_of_a_rejection_stays_itself_while_memory_is_taken_and_let_go(pool: Pool):
    result = pool.run(
        "Promise.reject(new Error('kept'));\nfor (let i = 0; i < 2000; i++) { Promise.resolve({ i }); Promise.reject(i).catch(() => {}) }",
        JAVASCRIPT,
    )
    assert "kept" in result.error


# ---------------------------------------------------------------- a program's text

_PIECES = st.sampled_from(
    [
        "async function main() {}",
        "main();",
        "(async () => {})();",
        "const go = async () => {};",
        "go()",
        "await",
        "async",
        "\n",
        "\n\n",
        "  ",
        "//",
        "/*",
        "'",
        '"',
        "$",
        "{",
        "}",
        "x",
        ";",
        "`",
        "\\",
        "${",
        "é",
        "</script>",
    ]
)


def _template(text: str) -> str:
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${") + "`"


@given(
    texts=st.lists(st.lists(_PIECES, max_size=12).map("".join), min_size=1, max_size=8),
    language=st.sampled_from([JAVASCRIPT, TYPESCRIPT]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_in_a_program_is_written_as_it_stands_X1(pool: Pool, texts: list[str], language: Language):
    world = World()
    lines = ["async function main() { return 1 }"]
    for at, text in enumerate(texts):
        comment = text.replace("*/", "* /")
        lines += [
            f"gg.files.writeFile('t{at}', {_template(text)});",
            f"/* {comment} */",
            f"gg.files.writeFile('s{at}', {json.dumps(text)});",
        ]
    lines += [
        r"gg.files.writeFile('regex', /\nmain();(async ()=>{})()/.source);",
        "gg.files.writeFile('own', main.toString());",
        "main();",
    ]
    result = pool.run("\n".join(lines), language, world=world)
    assert (result.kind, result.error) == ("ok", "")
    for at, text in enumerate(texts):
        assert (world.files[f"t{at}"], world.files[f"s{at}"]) == (text, text)
    assert world.files["regex"] == r"\nmain();(async ()=>{})()"
    assert world.files["own"] == "async function main() { return 1 }"


# ---------------------------------------------------------------- an engine that is not the pinned one


def test_an_engine_that_is_laid_out_otherwise_does_not_start():
    import wasmtime

    from ggactors.programs.rejections import NoHook, Rejections
    from ggactors.programs.wasi import Memory

    store = wasmtime.Store(wasmtime.Engine())
    memory = Memory(store, wasmtime.Memory(store, wasmtime.MemoryType(wasmtime.Limits(1, 1))))
    kind = wasmtime.TableType(wasmtime.ValType.funcref(), wasmtime.Limits(1, 2))
    found = Rejections(store, memory)
    with pytest.raises(NoHook, match="no ggactors_table"):
        found.hook(None, 1 << 20, 0)
    with pytest.raises(NoHook, match="is not where"):
        found.hook(wasmtime.Table(store, kind, None), 1 << 20, 0)
    with pytest.raises(NoHook, match="does not tell"):
        found.box()
    store.close()
