/** `k3ts record` with servers that mean no good, and what it leaves behind when it ends early. */
import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readRecording } from "../../../replay/recording-reader.ts"
import { Interrupted, type Environment, type OutputStream } from "../../environment/environment.ts"
import { hostEnvironment } from "../../environment/host-environment.ts"
import { runKubectl } from "../../kubectl.ts"

const folder = mkdtempSync(join(tmpdir(), "k3ts-record-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const CLIENT: Environment["version"] = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.2",
  gitCommit: "0123456789",
  gitTreeState: "clean",
  buildDate: "",
  goVersion: "",
  compiler: "bun",
  platform: "linux/amd64",
}
const VERSION = { gitVersion: "v1.36.2", major: "1", minor: "36" }
const RESOURCES = {
  kind: "APIResourceList",
  groupVersion: "v1",
  resources: [
    { name: "configmaps", singularName: "configmap", namespaced: true, kind: "ConfigMap", verbs: ["list", "watch"] },
  ],
}
const FIXED: Readonly<Record<string, unknown>> = {
  "/version": VERSION,
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", groups: [] },
  "/api/v1": RESOURCES,
}
const CONFIG_MAPS = "/api/v1/configmaps"

/** Answers for the list of ConfigMaps; for a watch with the body's text. */
type Answer = (url: URL) => unknown

interface Options {
  /** Ctrl-C. */
  readonly interrupt?: AbortController
  /** Called with the path of the recording, before it is made. */
  readonly prepare?: (file: string) => void
}

/** Runs `k3ts record` in a folder of its own, on a server that answers so for ConfigMaps. */
const recordOn = (answer: Answer, flags: readonly string[], options: Options = {}) =>
  runOn(answer, (file) => ["record", "-o", file, ...flags], options)

/** Runs kubectl in a folder of its own. `words` gets the path of a recording. */
async function runOn(
  answer: Answer,
  words: (file: string) => readonly string[],
  { interrupt = new AbortController(), prepare = () => {} }: Options = {},
) {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const url = new URL(request.url)
      const fixed = FIXED[url.pathname]
      if (fixed !== undefined) return Response.json(fixed)
      // As a Kubernetes answers for paths that it does not know.
      if (url.pathname !== CONFIG_MAPS) return new Response("404 page not found\n", { status: 404 })
      const found = await answer(url)
      return found instanceof Response ? found : Response.json(found)
    },
  })
  const cwd = mkdtempSync(join(folder, "run-"))
  const file = join(cwd, "incident.k3ts")
  prepare(file)
  const [out, err] = [collected(), collected()]
  const host = hostEnvironment({ name: "kubectl", version: CLIENT, kubeconfigs: [] })
  const environment: Environment = {
    ...host,
    cwd,
    home: cwd,
    kubeconfigs: [],
    variables: { HOME: cwd },
    stdout: out,
    stderr: err,
    interrupt: interrupt.signal,
    handledInterrupt: interrupt.signal,
  }
  try {
    const code = await runKubectl([...words(file), `--server=http://127.0.0.1:${server.port}`], environment)
    return {
      code,
      file,
      stdout: out.text(),
      stderr: err.text(),
      left: readdirSync(cwd).filter((name) => name !== ".kube"),
    }
  } finally {
    await server.stop(true)
  }
}

function collected(): OutputStream & { text(): string } {
  const parts: string[] = []
  return {
    isTerminal: false,
    write: (part) => Promise.resolve(void parts.push(String(part))),
    size: () => undefined,
    onResize: () => () => undefined,
    text: () => parts.join(""),
  }
}

const configMap = (name: string, more: object = {}) => ({
  metadata: { name, namespace: "default", uid: name, resourceVersion: "7" },
  ...more,
})
const list = (items: readonly object[], token = "") => ({
  kind: "ConfigMapList",
  apiVersion: "v1",
  metadata: { resourceVersion: "7", ...(token === "" ? {} : { continue: token }) },
  items,
})
/** A watch in which these events come, and then nothing. */
const watch = (events: readonly object[]) =>
  new Response(
    new ReadableStream({
      start: (stream) => stream.enqueue(Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(""))),
    }),
    { headers: { "content-type": "application/json" } },
  )
const isWatch = ({ searchParams }: URL): boolean => searchParams.get("watch") === "true"

/** An object with so many levels of lists in it. */
const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels))

describe("record", () => {
  test("gives up a list to whose end the server does not come, and leaves nothing behind", async () => {
    // given a server that always has another page
    let page = 0
    const answer = () => list([], String(++page))
    // when
    const { code, stderr, left } = await recordOn(answer, ["--for=1s"])
    // then
    expect({ code, stderr, left }).toEqual({
      code: 1,
      stderr: "error: the server does not come to the end of its list of configmaps\n",
      left: [],
    })
  })

  test("leaves nothing behind when it is interrupted while a server does not answer", async () => {
    // given a server that never answers for a list
    const interrupt = new AbortController()
    const answer = () => {
      interrupt.abort(new Interrupted())
      return new Promise(() => {})
    }
    // when the user presses Ctrl-C
    const { code, left } = await recordOn(answer, ["--for=1h"], { interrupt })
    // then
    expect({ code, left }).toEqual({ code: 1, left: [] })
  })

  test("writes what it has when it is interrupted while it watches", async () => {
    // given a server on which a ConfigMap is created
    const interrupt = new AbortController()
    const answer = (url: URL) => {
      if (!isWatch(url)) return list([configMap("a")])
      setTimeout(() => interrupt.abort(new Interrupted()), 50)
      return watch([{ type: "ADDED", object: configMap("b") }])
    }
    // when the user presses Ctrl-C
    const { code, left, file } = await recordOn(answer, [], { interrupt })
    // then
    expect({ code, left }).toEqual({ code: 0, left: ["incident.k3ts"] })
    const { objects, writes } = await readRecording(readFileSync(file))
    expect([objects, writes].map((some) => some.map(({ object }) => object.metadata.name))).toEqual([["a"], ["b"]])
  })

  test("says at once that a folder is no file", async () => {
    // given a folder with the name of the recording; when
    const asked: URL[] = []
    const { code, stderr, left } = await recordOn((url) => list([], String(asked.push(url))), ["--for=1s"], {
      prepare: (file) => mkdirSync(file),
    })
    // then nothing was asked of the server
    expect({ code, stderr, left, asked }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^error: open \S+incident\.k3ts: is a directory\n$/),
      left: ["incident.k3ts"],
      asked: [],
    })
  })

  test("leaves out what is nested deeper than a recording may be, and counts it", async () => {
    // given an object that is nested too deep, becomes less so, and is deleted, and one that is just not too deep
    const interrupt = new AbortController()
    const deep = configMap("deep", { data: { a: nested(300) } })
    const answer = (url: URL) => {
      if (!isWatch(url)) return list([deep, configMap("flat", { data: { a: nested(197) } })])
      setTimeout(() => interrupt.abort(new Interrupted()), 50)
      return watch([
        { type: "MODIFIED", object: deep },
        { type: "MODIFIED", object: configMap("deep", { data: { a: "b" } }) },
        { type: "DELETED", object: configMap("deep") },
      ])
    }
    // when
    const { code, file, stderr } = await recordOn(answer, [], { interrupt })
    // then the recording can be read, and has its first other state as its creation
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("not recorded: configmaps: 1 nested deeper than 200 levels\n"),
    })
    const { objects, writes } = await readRecording(readFileSync(file))
    expect(objects.map(({ object }) => object.metadata.name)).toEqual(["flat"])
    expect(writes.map(({ verb, object }) => [verb, object.metadata.name])).toEqual([
      ["create", "deep"],
      ["delete", "deep"],
    ])
  })
})

describe("of a server that is not one of k3ts", () => {
  test.each([
    "get configmaps -A --at 10m",
    "get configmap a --at 10m",
    "history configmap/a",
    "history -A",
    "timeline configmap/a",
    "undo configmap/a --yes",
  ])("%s says that it keeps no history", async (words) => {
    const { code, stdout, stderr } = await runOn(
      () => list([configMap("a")]),
      () => words.split(" "),
    )
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^(?:error: )?this server keeps no history: it is not one of k3ts\n$/),
    })
  })
})
