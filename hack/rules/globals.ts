/**
 * Time and chance are inputs, and what Bun alone offers stays in one room (docs/architecture.md): with a virtual clock
 * and a seed a whole cluster is deterministic, and all but pkg/runtime runs on other runtimes.
 */
import { importsOf, isTest, lineAt } from "./source.ts"
import type { SourceFile, Violation } from "./source.ts"

interface GlobalRule {
  /** What is forbidden, as it looks in code whose comments and strings are blank. */
  readonly pattern: RegExp
  readonly mend: string
  /** Where it is forbidden, but in the folders of `allowed` and in tests. */
  readonly rooms: readonly string[]
  readonly allowed: readonly string[]
}

const PROGRAM = ["components/", "pkg/"]
const ALL = ["cmd/", ...PROGRAM]

/** The clocks themselves, and what wraps the platform. */
const SOURCES = ["pkg/clock/", "pkg/runtime/"]

/** Not a property of something else, unless that is the global object. */
const GLOBAL = String.raw`(?<![\w$.])(?:globalThis\.)?`
/** A call. A method that is being declared has a parameter with a type where a call has an expression. */
const CALL = String.raw`\s*\((?!\s*\w+\??:)`

const RULES: readonly GlobalRule[] = [
  {
    pattern: new RegExp(String.raw`${GLOBAL}Date\.now\b`, "g"),
    mend: "use clock.now() of the context",
    rooms: PROGRAM,
    allowed: SOURCES,
  },
  {
    pattern: new RegExp(String.raw`(?<![\w$.])new\s+Date\s*(?:\(\s*\)|(?!\s*\())(?=[^\w<]|$)`, "g"),
    mend: "use new Date(clock.now()), or timestamp(clock) of pkg/clock",
    rooms: PROGRAM,
    allowed: SOURCES,
  },
  {
    pattern: new RegExp(`${GLOBAL}set(?:Timeout|Interval)${CALL}`, "g"),
    mend: "use clock.setTimeout() of the context, or sleep() of pkg/clock",
    rooms: PROGRAM,
    allowed: SOURCES,
  },
  {
    pattern: new RegExp(`${GLOBAL}setImmediate${CALL}`, "g"),
    mend: "use clock.afterTurn() of the context",
    rooms: PROGRAM,
    allowed: SOURCES,
  },
  {
    pattern: /\bAbortSignal\.timeout\b/g,
    mend: "abort a controller from clock.setTimeout()",
    rooms: PROGRAM,
    allowed: SOURCES,
  },
  {
    pattern: new RegExp(String.raw`${GLOBAL}performance\.(?:now|timeOrigin)\b|\bprocess\.hrtime\b`, "g"),
    mend: "use clock.monotonic() of the context",
    rooms: PROGRAM,
    allowed: SOURCES,
  },
  { pattern: /\bMath\.random\b/g, mend: "use random.next() of the context", rooms: PROGRAM, allowed: SOURCES },
  { pattern: /(?<![\w$])randomUUID\b/g, mend: "use uuid(random) of pkg/clock", rooms: PROGRAM, allowed: SOURCES },
  // Keys and serial numbers must be unguessable even where a test has seeded everything else.
  {
    pattern: /(?<![\w$])(?:randomBytes|randomInt|randomFill(?:Sync)?|getRandomValues)\b/g,
    mend: "use random.bytes() of the context",
    rooms: PROGRAM,
    allowed: [...SOURCES, "pkg/pki/"],
  },
  {
    pattern: /\bPromise\.try\b|\bRegExp\.escape\b|\bError\.isError\b|\b(?:Async)?DisposableStack\b/g,
    mend: "Node 22, which runs k3ts/testing, has none of it: use an async function, or what else is older",
    rooms: ALL,
    allowed: [],
  },
  {
    pattern: /(?<![\w$.])Bun\./g,
    mend: "use a web standard or a node: module, or wrap it in pkg/runtime/",
    rooms: ALL,
    allowed: ["pkg/runtime/"],
  },
]

/** Modules that would bring the same things in by another name. */
const MODULES: readonly GlobalRule[] = [
  {
    pattern: /^bun(:|$)/,
    mend: "use a web standard or a node: module, or wrap it in pkg/runtime/; bun:test is for *.test.ts",
    rooms: ALL,
    allowed: ["pkg/runtime/"],
  },
  {
    pattern: /^(node:)?timers(\/promises)?$/,
    mend: "use clock.setTimeout() of the context, or sleep() of pkg/clock",
    rooms: PROGRAM,
    allowed: SOURCES,
  },
  { pattern: /^(node:)?perf_hooks$/, mend: "use clock.monotonic() of the context", rooms: PROGRAM, allowed: SOURCES },
]

/** Every use of time, chance or Bun where it is not allowed: in components/ and pkg/, and for Bun also in cmd/. */
export function globalViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    const { path, text } = file
    if (isTest(path) || !ALL.some((room) => path.startsWith(room))) return []
    const isUnder = (folders: readonly string[]) => folders.some((folder) => path.startsWith(folder))
    const applies = ({ rooms, allowed }: GlobalRule) => isUnder(rooms) && !isUnder(allowed)
    const uses = RULES.filter(applies).flatMap(({ pattern, mend }) =>
      [...file.code.matchAll(pattern)].map(({ 0: match, index }): Violation => ({
        path,
        line: lineAt(text, index),
        message: `uses ${match.trim().replace(/\($/, "")}`,
        mend,
      })),
    )
    const imports = importsOf(file).flatMap(({ specifier, line }) =>
      MODULES.filter((rule) => applies(rule) && rule.pattern.test(specifier)).map(({ mend }): Violation => ({
        path,
        line,
        message: `imports "${specifier}"`,
        mend,
      })),
    )
    return [...uses, ...imports]
  })
}
