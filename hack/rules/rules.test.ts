import { describe, expect, test } from "bun:test"
import { circleViolations } from "./circles.ts"
import { globalViolations } from "./globals.ts"
import { handleViolations } from "./handles.ts"
import { promiseViolations } from "./promises.ts"
import { spreadViolations } from "./spreads.ts"
import { importViolations } from "./imports.ts"
import { joinedKeyViolations } from "./joined-keys.ts"
import { commentViolations } from "./comments.ts"
import { lineViolations } from "./lines.ts"
import { memberViolations } from "./members.ts"
import { SourceFile } from "./source.ts"
import { trustViolations } from "./trust.ts"

describe("importViolations", () => {
  const imports = (path: string, specifier: string) =>
    importViolations([new SourceFile(path, `import type { X } from "${specifier}"\n`)]).map(({ message }) => message)

  test.each([
    ["cmd/k3ts/context.ts", "../../components/kubelet/kubelet.ts"],
    ["cmd/k3ts/context.ts", "../../pkg/storage/sqlite/sqlite.ts"],
    ["components/apiserver/registry/verbs/create.ts", "../../../../pkg/storage/storage.ts"],
    ["components/kubelet/volumes/types/secret.ts", "../../kubelet.ts"],
    ["components/kubelet/kubelet.ts", "../../pkg/controller/controller.ts"],
    ["components/dns/dns.ts", "../../manifests/dns.yaml"],
    ["pkg/client/client.ts", "../api/core/v1/pod.ts"],
    ["pkg/api/scheme.ts", "../apimachinery/resource.ts"],
    ["pkg/controller/controller.ts", "../client/client.ts"],
    ["components/cluster/assemble.ts", "../scheduler/scheduler.ts"],
    ["components/cluster/testing/cluster.ts", "../../../pkg/storage/memory.ts"],
    ["cmd/k3ts/commands/test-cluster.ts", "../../../components/cluster/testing/cluster.ts"],
    ["pkg/client/client.test.ts", "../../components/cluster/testing/testing.ts"],
    ["pkg/log/log.ts", "../clock/clock.ts"],
    ["components/dns/dns.test.ts", "../cluster/testing/testing.ts"],
    ["components/dns/dns.test.ts", "../../hack/images/images.ts"],
    ["components/dns/zone.fixtures.ts", "../cluster/testing/testing.ts"],
    ["components/dns/dns.test.ts", "./zone.fixtures.ts"],
    ["pkg/client/client.test.ts", "../storage/memory.ts"],
    ["test/e2e/pod.test.ts", "../../components/kubelet/kubelet.ts"],
    ["pkg/log/log.ts", "@scope/package"],
  ])("allows %s to import %s", (path, specifier) => {
    expect(imports(path, specifier)).toEqual([])
  })

  test.each([
    ["components/kubelet/kubelet.ts", "../../cmd/k3ts/main.ts", "components/kubelet imports cmd/k3ts/main.ts"],
    [
      "components/kubelet/kubelet.ts",
      "../scheduler/queue.ts",
      "components/kubelet imports components/scheduler/queue.ts",
    ],
    [
      "components/kubelet/kubelet.test.ts",
      "../scheduler/queue.ts",
      "a test of components/kubelet imports components/scheduler/queue.ts",
    ],
    [
      "components/scheduler/cache.ts",
      "../../pkg/storage/memory.ts",
      "components/scheduler imports pkg/storage/memory.ts",
    ],
    ["components/dns/dns.ts", "../cluster/assemble.ts", "components/dns imports components/cluster/assemble.ts"],
    ["components/dns/dns.ts", "./zone.fixtures.ts", "components/dns imports components/dns/zone.fixtures.ts"],
    ["components/dns/dns.ts", "../../hack/images/images.ts", "components/dns imports hack/images/images.ts"],
    ["pkg/log/log.ts", "../../components/dns/dns.ts", "pkg/log imports components/dns/dns.ts"],
    ["pkg/apimachinery/resource.ts", "../api/scheme.ts", "pkg/apimachinery imports pkg/api/scheme.ts"],
    ["pkg/oci/image.ts", "../client/client.ts", "pkg/oci imports pkg/client/client.ts"],
    ["pkg/api/scheme.ts", "../storage/storage.ts", "pkg/api imports pkg/storage/storage.ts"],
    ["pkg/storage/storage.ts", "../api/scheme.ts", "pkg/storage imports pkg/api/scheme.ts"],
    ["pkg/client/client.ts", "../controller/controller.ts", "pkg/client imports pkg/controller/controller.ts"],
    ["pkg/controller/controller.ts", "../storage/storage.ts", "pkg/controller imports pkg/storage/storage.ts"],
    ["pkg/log/log.ts", "./fields", 'pkg/log/log.ts imports "./fields" without an extension'],
  ])("forbids %s to import %s", (path, specifier, message) => {
    expect(imports(path, specifier)).toEqual([message])
  })

  test("forbids folders of the foundation to import each other in a cycle", () => {
    // given clock → metrics → log → clock
    const files = [
      new SourceFile("pkg/clock/clock.ts", 'import { a } from "../metrics/metrics.ts"'),
      new SourceFile("pkg/metrics/metrics.ts", 'import { b } from "../log/log.ts"'),
      new SourceFile("pkg/log/log.ts", '\nimport { c } from "../clock/clock.ts"'),
    ]

    // then the import that closes it is named
    expect(importViolations(files)).toMatchObject([
      {
        path: "pkg/log/log.ts",
        line: 2,
        message: "this import closes a circle: pkg/clock → pkg/metrics → pkg/log → pkg/clock",
      },
    ])
  })

  test("forbids folders of a component to import each other in a cycle; a file in none of them is a part by itself", () => {
    // given pod → node → context.ts, which imports only a folder that imports neither
    const files = [
      new SourceFile("components/kubelet/pod/pod.ts", 'import { a } from "../node/node.ts"'),
      new SourceFile("components/kubelet/node/node.ts", 'import { b } from "../context.ts"'),
      new SourceFile("components/kubelet/context.ts", 'import { c } from "./model/config.ts"'),
      new SourceFile("components/kubelet/model/config.ts", "export const c = 1"),
    ]
    expect(importViolations(files)).toEqual([])

    // when that folder imports one of them
    files.push(new SourceFile("components/kubelet/model/labels.ts", 'import { d } from "../pod/pod.ts"'))

    // then the import that closes the circle is named
    expect(importViolations(files)).toMatchObject([{ message: expect.stringContaining("components/kubelet/pod") }])
    // but tests import what they like
    files[4] = new SourceFile("components/kubelet/model/labels.test.ts", 'import { d } from "../pod/pod.ts"')
    expect(importViolations(files)).toEqual([])
  })
})

describe("circleViolations", () => {
  const circles = (b: string) =>
    circleViolations([
      new SourceFile("pkg/log/a.ts", 'import { b } from "./b.ts"'),
      new SourceFile("pkg/log/b.ts", `\n${b}`),
      new SourceFile("pkg/log/c.ts", "export const c = 1"),
    ])

  test.each([
    { title: "an import", b: 'import { a } from "./a.ts"' },
    { title: "an import of a type", b: 'import type { A } from "./a.ts"' },
    { title: "an import at run time", b: 'const { a } = await import("./a.ts")' },
  ])("forbids $title that closes a cycle of files", ({ b }) => {
    expect(circles(b)).toMatchObject([
      {
        path: "pkg/log/b.ts",
        line: 2,
        message: "this import closes a circle: pkg/log/a.ts → pkg/log/b.ts → pkg/log/a.ts",
      },
    ])
  })

  test("allows a file that two others import", () => {
    expect(circles('import { c } from "./c.ts"')).toEqual([])
  })
})

describe("globalViolations", () => {
  const uses = (text: string, path = "components/kubelet/kubelet.ts") =>
    globalViolations([new SourceFile(path, text)]).map(({ message }) => message)

  test.each([
    ["const a = Date.now()", "uses Date.now"],
    ["const a = new Date()", "uses new Date()"],
    ["const a = new Date", "uses new Date"],
    ["setTimeout(run, 5)", "uses setTimeout"],
    ["globalThis.setTimeout(() => run(), 5)", "uses globalThis.setTimeout"],
    ["setInterval(run, 5)", "uses setInterval"],
    ["setImmediate(run)", "uses setImmediate"],
    ["fetch(url, { signal: AbortSignal.timeout(5) })", "uses AbortSignal.timeout"],
    ["const a = performance.now()", "uses performance.now"],
    ["const a = process.hrtime.bigint()", "uses process.hrtime"],
    ["const a = Math.random()", "uses Math.random"],
    ["const a = crypto.randomUUID()", "uses randomUUID"],
    ["const a = crypto.getRandomValues(b)", "uses getRandomValues"],
    ["const a = `${Date.now()}`", "uses Date.now"],
    ["const a = Bun.file(b)", "uses Bun."],
    ["const a = Promise.try(b)", "uses Promise.try"],
    ['import { Database } from "bun:sqlite"', 'imports "bun:sqlite"'],
    ['import { setTimeout } from "node:timers/promises"', 'imports "node:timers/promises"'],
    ['import { performance } from "node:perf_hooks"', 'imports "node:perf_hooks"'],
  ])("forbids %p", (text, message) => {
    expect(uses(text)).toEqual([message])
  })

  test.each([
    "const a = new Date(clock.now())",
    "const a: Date = parse(b)",
    "clock.setTimeout(run, 5)",
    "socket.setTimeout(0)",
    "interface Clock { setTimeout(run: () => void, ms: number): Timer }",
    "const clock = { setTimeout: (run, ms) => arm(run, ms) }",
    "// not Date.now()",
    'const message = "Math.random() is not allowed"',
    "const a = random.next()",
  ])("allows %p", (text) => {
    expect(uses(text)).toEqual([])
  })

  test("allows the clock to read the time, pkg/runtime to use Bun, pkg/pki to create keys, and tests to do all of that", () => {
    expect(uses("const a = Date.now()", "pkg/clock/real.ts")).toEqual([])
    expect(uses("const a = Bun.listen(b)", "pkg/runtime/http/listen.ts")).toEqual([])
    expect(uses("const a = randomBytes(20)", "pkg/pki/certificate.ts")).toEqual([])
    expect(uses('import { test } from "bun:test"\nconst a = Date.now()', "pkg/log/log.test.ts")).toEqual([])
  })

  test("allows the command line to read the time, but not to use Bun", () => {
    expect(uses("const a = Date.now()", "cmd/k3ts/context.ts")).toEqual([])
    expect(uses("Bun.serve(a)", "cmd/k3ts/context.ts")).toEqual(["uses Bun."])
  })
})

describe("commentViolations", () => {
  const faults = (comment: string) =>
    commentViolations([new SourceFile("a.ts", `const a = 1\n\n${comment}\nexport {}\n`)]).map(({ line }) => line)

  test.each([
    { title: "code in backquotes", comment: "/** Calls `() => ({ a })` once, as `const x = 1`. */" },
    { title: "indented code", comment: "/**\n * Declares a kind:\n *\n *     const Kind = declare({ a: 1 })\n */" },
    { title: "an indented list", comment: "/**\n * States:\n *\n *  - a: waits;\n *  1. b\n *  2. c\n */" },
    {
      title: "names of files in braces",
      comment: "/** Source: pkg/registry/{create,update}.go. RFC 9112, 6 and 2. It. */",
    },
    {
      title: "words that are also of the language",
      comment: "/** Let it import a type, while (as ever) a class waits. */",
    },
  ])("allows $title", ({ comment }) => {
    expect(faults(comment)).toEqual([])
  })

  test.each([
    { title: "code", comment: "/**\n * Declares a kind:\n *\n * const Kind = declare({ a:\n * 1 })\n */" },
    { title: "an import", comment: '/** import { a } from "a" begins it. */' },
    { title: "a function", comment: "/** Wraps it: () => 1. */" },
    { title: "a loop", comment: "/** while (more()) { const tag = next() } reads all. */" },
    { title: "a list with dashes", comment: "/** A key is: - waiting; - working. */" },
    { title: "a list with numbers", comment: "/** Invariants 1. One writer. 2. Rising numbers. */" },
  ])("refuses $title in running text", ({ comment }) => {
    expect(faults(comment)).toEqual([3])
  })
})

describe("lineViolations", () => {
  const lines = (path: string, text: string) =>
    lineViolations([new SourceFile(path, text)]).map(({ line, message }) => [line, message])
  const words = "word ".repeat(25)

  test.each([
    { title: "120 characters", path: "a.ts", text: `// ${"é".repeat(117)}` },
    { title: "an import", path: "a.ts", text: `import { a } from "./${"a/".repeat(60)}a.ts"` },
    { title: "a text of one piece", path: "a.ts", text: `  throw new Error("${words}")` },
    { title: "a regular expression", path: "a.ts", text: `  message: /^${"a b ".repeat(30)}$/,` },
    { title: "a line inside a template", path: "a.ts", text: `const text = \`\n${words}\n\`` },
    { title: "a row of a table", path: "a.md", text: `| ${words} | b |` },
    { title: "code in a page", path: "a.md", text: `\`\`\`sh\n${words}\n\`\`\`` },
  ])("allows $title", ({ path, text }) => {
    expect(lines(path, text)).toEqual([])
  })

  test.each([
    { title: "a comment", path: "a.ts", text: `a()\n// ${words}`, line: 2, length: 128 },
    { title: "code", path: "a.ts", text: `call(${"argument, ".repeat(12)})`, line: 1, length: 126 },
    { title: "code after a template", path: "a.ts", text: `const text = \`\n\`\n// ${words}`, line: 3, length: 128 },
    { title: "a script", path: "a.sh", text: `# ${words}`, line: 1, length: 127 },
    { title: "a paragraph", path: "a.md", text: `\n${words}`, line: 2, length: 125 },
  ])("refuses $title of more than 120 characters", ({ path, text, line, length }) => {
    expect(lines(path, text)).toEqual([[line, `has ${length} characters in a line`]])
  })
})

describe("memberViolations", () => {
  const members = (text: string) =>
    memberViolations([new SourceFile("a.ts", text)]).map(({ line, message }) => [line, message])

  test.each(["class A {\n  #a = 1\n}", "class A {\n  private constructor() {}\n}", "const text = `\n  private a`"])(
    "allows %j",
    (text) => {
      expect(members(text)).toEqual([])
    },
  )

  test.each([
    { text: "class A {\n  private readonly a = 1\n}", message: "declares private readonly a" },
    { text: "class A {\n  private a(): void {}\n}", message: "declares private a" },
    { text: "class A {\n  static private a: string\n}", message: "declares static private a" },
  ])("refuses $text", ({ text, message }) => {
    expect(members(text)).toEqual([[2, message]])
  })
})

describe("promiseViolations", () => {
  const tested = (path: string) =>
    promiseViolations([new SourceFile(path, "return all instanceof Promise ? all.then(next) : next(all)")]).length

  test("refuses a test for a promise in the API server", () => {
    expect(tested("components/apiserver/registry/verbs/get.ts")).toBe(1)
  })

  test.each(["components/apiserver/call/maybe-promise.ts", "components/apiserver/a.test.ts", "pkg/tracing/a.ts"])(
    "takes one in %s",
    (path) => expect(tested(path)).toBe(0),
  )
})

describe("joinedKeyViolations", () => {
  const joined = (text: string, path = "pkg/a.ts") => joinedKeyViolations([new SourceFile(path, text)]).length

  test.each([
    'const id = `${namespace}\\n${user.name}\\n${user.groups.join("\\n")}`',
    'const key = values.join("\\0")',
    'used.set(values.join("\\u0000"), values)',
    "known.get(`${a}\\0${b}`)",
    'const userKey = [a, b].join("\\t")',
  ])("refuses a key that is joined by a control character: %s", (text) => {
    expect(joined(text)).toBe(1)
  })

  test.each([
    'const text = lines.join("\\n")',
    "const key = exactKey([a, b])",
    "const key = `${namespace}/${name}`",
    "throw new Error(`a\\n${b}`)",
  ])("allows %s", (text) => {
    expect(joined(text)).toBe(0)
  })

  test("allows tests to join as they like", () => {
    expect(joined('const key = values.join("\\0")', "pkg/a.test.ts")).toBe(0)
  })
})

describe("handleViolations", () => {
  const handles = (path: string, text: string) =>
    handleViolations([new SourceFile(path, text)]).map(({ message }) => message)

  test.each([
    ['import { chmod, open, stat } from "node:fs/promises"', ["imports open"]],
    ['import {\n  mkdir,\n  open as openHandle,\n} from "fs/promises"', ["imports open"]],
    ['import { lstat, type FileHandle } from "node:fs/promises"', ["imports FileHandle"]],
    ['import { opendir } from "node:fs/promises"', ["imports opendir"]],
    ['import { promises as fs } from "node:fs"', ["imports promises"]],
    ['import * as fs from "node:fs/promises"', ["imports all of node:fs/promises"]],
    ['import fs from "node:fs/promises"', ["imports all of node:fs/promises"]],
  ])("refuses %s", (text, expected) => {
    expect(handles("components/kubelet/x.ts", text)).toEqual(expected)
  })

  test.each([
    ["components/kubelet/x.ts", 'import { openAsBlob, stat } from "node:fs/promises"'],
    ["components/kubelet/x.ts", 'import { openSync, createReadStream } from "node:fs"'],
    ["components/kubelet/x.test.ts", 'import { open } from "node:fs/promises"'],
    ["pkg/files/owned-file.ts", 'import { open, type FileHandle } from "node:fs/promises"'],
    ["test/e2e/x.ts", 'import { open } from "node:fs/promises"'],
  ])("allows in %s: %s", (path, text) => {
    expect(handles(path, text)).toEqual([])
  })
})

describe("trustViolations", () => {
  const faults = (path: string, text: string) =>
    trustViolations([new SourceFile(path, text)]).map(({ line, message }) => `${line} ${message}`)

  test.each([
    'import { request } from "node:https"\nrequest({ ca: bundle })',
    'import tls from "node:tls"\nconnect({ ...tls.rootCertificates })',
    'import { credentials } from "@grpc/grpc-js"\ncredentials.createSsl(pem)',
  ])("refuse a bundle that is handed to the runtime as it is: %s", (text) => {
    expect(faults("components/apiserver/x.ts", text)).toHaveLength(1)
  })

  test.each([
    ["components/apiserver/x.ts", 'import { request } from "node:https"\ninterface X { readonly ca: string }'],
    ["components/apiserver/x.ts", "const member = { ca: bundle }"],
    ["components/apiserver/x.test.ts", 'import { request } from "node:https"\nrequest({ ca: bundle })'],
    ["pkg/pki/trust.ts", 'import tls from "node:tls"\nconst x = tls.rootCertificates'],
  ])("allow other uses of the word in %s: %s", (path, text) => {
    expect(faults(path, text)).toEqual([])
  })
})

describe("spreadViolations", () => {
  const spreads = (text: string, path = "components/a.ts") => spreadViolations([new SourceFile(path, text)]).length

  test.each([
    "into.push(...list)",
    "into.push(first, ...list)",
    "into.push(\n  ...(await listOf({ a: [1] })),\n)",
    "this.#waiting.unshift(...waiting)",
    "items.splice(0, 1, ...more)",
    "const most = Math.max(0, ...list.map(({ size }) => size))",
    "const least = isOne ? Math.min(...list) : 0",
    "String.fromCharCode(...bytes)",
  ])("refuses %s", (text) => expect(spreads(text)).toBe(1))

  test.each([
    "into.push({ ...one, a: 1 })",
    "into.push([...list])",
    "into.push(f(...labels))",
    'into.push("(...")',
    "Math.max(largest(list), 0)",
    "items.splice(0, 1)",
  ])("allows %s", (text) => expect(spreads(text)).toBe(0))

  test("allows tests to spread as they like", () => expect(spreads("a.push(...b)", "pkg/a.test.ts")).toBe(0))
})
