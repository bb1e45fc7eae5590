"""Programs in JavaScript and TypeScript: modules, top-level await, an SDK in the language's manner, exact lines."""

# ruff: noqa: E501, ISC004 - a program reads best on one line, next to what it comes to

from __future__ import annotations

import pytest
from programs_kit import JAVASCRIPT, TYPESCRIPT, Pool, World, needs_code

pytestmark = needs_code

# A program, and what it prints.
WORKS = {
    "an empty program": ("", []),
    "only a comment": ("// nothing yet", []),
    "gg without an import": ("console.log(gg.files.readFile('a.txt').length)", ["8"]),
    "named imports": ("import { files, session } from 'gg';\nconsole.log(files.readFile('a.txt').length, session.finish('done'))", ["8 null"]),
    "a namespace import": ("import * as gg from 'gg';\nconsole.log(gg.files.readFile('a.txt').length)", ["8"]),
    "a default import": ("import gg from 'gg';\nconsole.log(gg.files.readFile('a.txt').length)", ["8"]),
    "a module's functions": ("import { readFile as read } from 'gg/files';\nconsole.log(read('a.txt').length)", ["8"]),
    "a module whole": ("import files from 'gg/files';\nconsole.log(files.readFile('a.txt').length)", ["8"]),
    "a dynamic import": ("const { files } = await import('gg');\nconsole.log(files.readFile('a.txt').length)", ["8"]),
    "await on a call": ("const text = await gg.files.readFile('a.txt');\nconsole.log(text.length)", ["8"]),
    "promises of calls": ("const all = await Promise.all(['a.txt', 'a.txt'].map((p) => gg.files.readFile(p)));\nconsole.log(all.length)", ["2"]),
    "options": ("console.log(gg.shell.run('0', { timeoutSecs: 3 }).exitCode)", ["0"]),
    "everything by name": ("console.log(gg.files.writeFile({ path: 'n', contents: 'abc' }))", ["3"]),
    "a record in both spellings": ("const r = gg.shell.run('0');\nconsole.log(r.exitCode, r.exit_code, JSON.stringify(r))", ['0 0 {"exitCode":0,"output":"out","fullOutput":null}']),
    "a list of records": ("for (const { name, kind } of gg.files.listDir()) console.log(name, kind)", ["a.txt file", "naïve ☃.txt file"]),
    "a refusal caught": (
        "import { files, NotFound, GGError } from 'gg';\ntry { files.readFile('nope') } catch (e) {\n"
        "console.log(e.code, e.operation, e instanceof NotFound, e instanceof GGError, e instanceof Error, e.name) }",
        ["not-found files.readFile true true true NotFound"],
    ),
    "a refusal's words are in JavaScript": ("try { gg.files.readFile('nope') } catch (e) { console.log(e.message) }", ["there is no `nope`; look with `listDir`"]),
    "a bare main": ("import { files } from 'gg';\nasync function main() {\n  console.log((await files.readFile('a.txt')).length);\n}\nmain();", ["8"]),
    "timers": ("setTimeout(() => console.log('later'), 20);\nconst id = setInterval(() => { console.log('tick'); clearInterval(id) }, 5);\nconsole.log('now')", ["now", "tick", "later"]),
    "an awaited timer": ("await new Promise((done) => setTimeout(done, 10));\nconsole.log('slept')", ["slept"]),
    "console": ("console.error('e', { a: 1 }, [1, 2n], null, undefined, new Map([[1, 2]]));\nconsole.assert(1 === 1);\nconsole.assert(false, 'no')",
                ['e {"a":1} [1,"2n"] null undefined Map(1) [[1,2]]', "Assertion failed no"]),
    "classes and generators": ("class A { #x = 1; get x() { return this.#x } }\nfunction* g() { yield* [1, 2] }\nconsole.log(new A().x, [...g()].length, `${{}.a?.b ?? 'd'}`)", ["1 2 d"]),
    "feature tests": ("console.log('readFile' in gg.files, typeof gg.files.then, Object.keys(gg.session).length)", ["true undefined 2"]),
    "a set and a bigint": ("gg.session.requestChanges(new Set(['a']))", []),
    "errors without an import": (
        "try { gg.files.readFile('nope') } catch (e) { console.log(e instanceof NotFound, e instanceof GGError, Object.keys(globalThis).includes('GGError'),\n"
        "[InvalidArgument, Conflict, Refused, Unavailable, LimitExceeded, IOFailure].every((kind) => kind === gg[kind.name] && kind.prototype instanceof GGError)) }",
        ["true true false true"],
    ),
    "an error class of the same name as one of ours": ("class Conflict extends Error {}\nconsole.log(new Conflict('x') instanceof GGError, gg.Conflict === Conflict)", ["false false"]),
    "documentation": ("console.log(gg.files.listDir.doc.split('\\n')[0])", ["gg.files.listDir(path?: string): { name: string; kind: string }[]"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WORKS)
def test_a_program_in_javascript_works(pool: Pool, world: World, case: str):
    source, printed = WORKS[case]

    async def serve(operation: str, args: dict):
        if operation == "session.request_changes":
            from ggactors.protocol.program import Returned

            return Returned()
        return await world.serve(operation, args)

    result = pool.run(source, JAVASCRIPT, serve=serve)
    assert (result.kind, result.error) == ("ok", "")
    assert list(result.logs) == printed


# A program, the kind of its end, the exception, the line, and a part of what the model reads.
FAILS = {
    "prose": ("Here is the program:\n", "compile_error", "SyntaxError", 1, "program.js line 1: Here is"),
    "a fence": ("```js\nconsole.log(1)\n```", "runtime_error", "TypeError", 1, "without a Markdown fence"),
    "an unclosed bracket": ("const x = 1;\nconst y = (;\n", "compile_error", "SyntaxError", 2, "program.js line 2: const y = (;"),
    "an import there is not": ("import { fils } from 'gg';", "compile_error", "SyntaxError", 1, "program.js line 1: import { fils }"),
    "a foreign module": ("import fs from 'fs';", "compile_error", "ReferenceError", 1, "There is nothing to import but"),
    "require": ("const fs = require('fs')", "runtime_error", "ReferenceError", 1, "nothing else"),
    "fetch": ("await fetch('http://x')", "runtime_error", "ReferenceError", 1, "no network"),
    "process": ("process.exit(0)", "runtime_error", "ReferenceError", 1, "no processes"),
    "a property of nothing in a declaration": ("async function f(x) {\n  let y = 1;\n  y = y + 1;\n  const z = x.z;\n}\nawait f(null)", "runtime_error", "TypeError", 4, "program.js line 4, in f: const z = x.z;"),
    "an unknown name in a condition": ("let y = 1;\ny = y + 1;\n\nif (nope) y = 2;", "runtime_error", "ReferenceError", 4, "line 4: if (nope)"),
    "a property of nothing": ("function f(x) {\n  const y = x.z;\n  return y\n}\n\nf(null)", "runtime_error", "TypeError", 2, "program.js line 6: f(null)\n  program.js line 2, in f: const y = x.z;"),
    "a refusal": ("1;\ngg.files.readFile('nope')", "runtime_error", "NotFound", 2, "[not-found, from gg.files.readFile]"),
    "a failure of its own": ("class Bad extends Error { name = 'Bad' }\nthrow new Bad('so')", "runtime_error", "Bad", 2, "Bad: so"),
    "a thrown text": ("throw 'so'", "runtime_error", "Error", None, "the program threw so"),
    "with a cause": ("throw new Error('v', { cause: new TypeError('under') })", "runtime_error", "Error", 1, "after TypeError: under"),
    "an aggregate": ("throw new AggregateError([new Error('one')], 'g')", "runtime_error", "AggregateError", 1, "with Error: one"),
    "a rejection in a bare main": ("async function main() {\n  throw new Error('lost')\n}\nmain();\n", "runtime_error", "Error", 2, "lost"),
    "a rejection in a bare wrapper": ("(async () => {\n  throw new Error('lost')\n})();\n", "runtime_error", "Error", 2, "lost"),
    "a failing timer": ("setTimeout(() => { throw new Error('late') }, 1)", "runtime_error", "Error", 1, "late"),
    "a wait for ever": ("await new Promise(() => {})", "runtime_error", "Deadlock", None, "nothing will settle"),
    "snake case": ("gg.files.read_file('a')", "runtime_error", "TypeError", 1, "in JavaScript it is spelled `readFile`"),
    "a misspelt function": ("gg.files.redFile('a')", "runtime_error", "TypeError", 1, "did you mean `readFile`?"),
    "a misspelt module": ("gg.file.readFile('a')", "runtime_error", "TypeError", 1, "did you mean `files`?"),
    "a function without its module": ("gg.finish('x')", "runtime_error", "TypeError", 1, "did you mean `gg.session.finish`?"),
    "a misspelt option": ("gg.shell.run('0', { timeout_secs: 3 })", "runtime_error", "InvalidArgument", 1, "spelled `timeoutSecs`"),
    "a missing argument": ("gg.files.writeFile('a')", "runtime_error", "InvalidArgument", 1, "files.writeFile needs `contents`"),
    "an option by position": ("gg.files.readFile('a', 1)", "runtime_error", "InvalidArgument", 1, "one object of options"),
    "not a number": ("gg.files.readFile('a', { offset: NaN })", "runtime_error", "InvalidArgument", 1, "NaN"),
    "a circle": ("const x = {}; x.x = x;\ngg.files.writeFile('a', x)", "runtime_error", "InvalidArgument", 2, "circular"),
    "code made of text": ("eval('nope()')", "runtime_error", "ReferenceError", 1, "nope"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILS)
def test_a_failing_program_in_javascript_is_told_with_its_own_line_X5(pool: Pool, case: str):
    source, kind, error_type, line, said = FAILS[case]
    result = pool.run(source, JAVASCRIPT)
    assert result.kind == kind, result
    assert said in result.error
    assert result.error_type == error_type
    if line is not None:
        assert result.line == line


def test_a_refusal_is_reported_by_the_operations_own_id(pool: Pool):
    result = pool.run("gg.files.readFile('nope')", JAVASCRIPT)
    assert (result.code, result.operation) == ("not-found", "files.read_file")


def test_arguments_arrive_in_snake_case(pool: Pool, world: World):
    pool.run(
        "gg.files.readFile('a.txt', { offset: 2, limit: undefined });\ngg.files.listDir();\ngg.files.listDir('src');\n"
        "gg.shell.run('0', { timeoutSecs: 3 });\ngg.board.updateIssue('A-1', { epicId: null });\ngg.session.finish('done')",
        JAVASCRIPT,
        world=world,
    )
    assert world.asked == [
        ("files.read_file", {"path": "a.txt", "offset": 2}),
        ("files.list_dir", {}),
        ("files.list_dir", {"path": "src"}),
        ("shell.run", {"command": "0", "timeout_secs": 3}),
        ("board.update_issue", {"issue_id": "A-1", "epic_id": None}),
        ("session.finish", {"summary": "done"}),
    ]


def test_a_program_leaves_nothing_to_the_next(pool: Pool):
    spoiled = "globalThis.leak = 1; JSON.parse = null; Array.prototype.map = null; Object.prototype.error = { code: 'conflict' };"
    look = "console.log(typeof leak, typeof JSON.parse, typeof [].map, {}.error, gg.files.readFile('a.txt').length)"
    for _ in range(6):
        assert pool.run(spoiled, JAVASCRIPT).kind == "ok"
        assert pool.run(look, JAVASCRIPT).logs == ("undefined function function undefined 8",)


# ---------------------------------------------------------------- TypeScript

TYPED = """import { files, NotFound } from "gg";
interface Hit { path: string; line?: number }
type Status = "open" | "done";
enum Mode { Strict = 1, Loose }
declare const never_there: number;
async function load<T extends string>(path: T, otherwise: string = ""): Promise<string> {
  try {
    return (await files.readFile(path)) as string;
  } catch (error: unknown) {
    if (error instanceof NotFound) return otherwise;
    throw error;
  }
}
const hits: Hit[] = [{ path: "a.txt" }] satisfies Hit[];
for (const hit of hits) console.log(hit.path, (await load(hit.path)).length, Mode.Loose, (await load("nope", "d"))!);
abstract class Base<T> { constructor(protected readonly value: T) {} abstract get(): T }
class Box<T> extends Base<T> { get(): T { return this.value } }
console.log(new Box<number>(3).get());
throw new Error("line 19");
"""


def test_typescript_runs_with_its_types_taken_off_and_its_lines_kept(pool: Pool):
    result = pool.run(TYPED, TYPESCRIPT)
    assert result.logs == ("a.txt 8 2 d", "3")
    assert (result.kind, result.line) == ("runtime_error", 19)
    assert 'program.ts line 19: throw new Error("line 19");' in result.error


def test_plain_javascript_is_typescript_too(pool: Pool):
    assert pool.run("const { length } = gg.files.readFile('a.txt');\nconsole.log(length)", TYPESCRIPT).logs == ("8",)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("let x: = 3", 1),
        ("const a: number = 1;\nconst b: string = (;\n", 2),
        ("Here is the program:", 1),
        ("enum E {\n  A = ,\n}", 2),
    ],
)
def test_typescript_that_does_not_compile_says_where_C1(pool: Pool, source: str, line: int):
    result = pool.run(source, TYPESCRIPT)
    assert (result.kind, result.error_type, result.line) == ("compile_error", "SyntaxError", line)
    assert f"program.ts line {line}: " in result.error


def test_a_program_that_breaks_the_stripper_is_told_so_and_the_next_one_is_served(pool: Pool):
    for source in ("(" * 200_000, "let x: " + "A<" * 100_000, "`${" * 50_000):
        result = pool.run(source, TYPESCRIPT)
        assert result.kind in ("compile_error", "limit", "runtime_error"), result
        assert pool.run("let x: number = 1; console.log(x)", TYPESCRIPT).logs == ("1",)


def test_half_of_a_surrogate_pair_is_printed_as_what_it_is_not(pool: Pool):
    result = pool.run("console.log('a\\ud800b'); console.log(['\\udfff'])", JAVASCRIPT)
    assert (result.error, result.logs[0]) == ("", "a\ufffdb")


@pytest.mark.parametrize(
    ("poison", "told"),
    [
        ("Object.prototype.toJSON = () => { throw 1 }", "Error: mine"),
        ("Array.prototype.toJSON = () => 5", "Error: mine"),
        ("Object.defineProperty(Object.prototype, 'toJSON', { value() { throw 1 } })", "cannot be described"),
    ],
)
def test_a_program_that_poisons_its_own_telling_is_the_culprit_and_not_its_memory_X5(
    pool: Pool, poison: str, told: str
):
    result = pool.run(f"{poison}; throw new Error('mine')", JAVASCRIPT)
    assert (result.kind, result.limit) == ("runtime_error", None), result
    assert told in result.error
