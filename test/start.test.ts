import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = join(import.meta.dirname, "..")

/**
 * Modules that cost tens of milliseconds to load, or belong to what few servers use, and are loaded at their first use:
 * no start may load them.
 */
const HEAVY = [
  "pkg/cel/compiler.ts",
  "pkg/cel/library/standard.ts",
  "components/apiserver/encryption/load.ts",
  "pkg/kubectl",
  "pkg/helm",
  "pkg/k3s-kinds",
  "pkg/gateway-api/definitions.ts",
  "pkg/component/upstream-gates.ts",
  "cmd/k3ts/k3s/programs.ts",
  "cmd/k3ts/config/kubelet-configuration/read.ts",
  "components/apiserver/serving/given/given-certificates.ts",
  "components/controller-manager/job/job-group.ts",
  "components/controller-manager/leaderelection",
  "components/scheduler/podgroup",
  "pkg/streaming/spdy",
  "pkg/streaming/websocket.ts",
  "node_modules/ws",
  "node_modules/re2js",
  "node_modules/@grpc/grpc-js",
  "node_modules/pg",
  "node_modules/@noble/ciphers",
  "node_modules/zod",
  "node_modules/yaml",
]

const isHeavy = (path: string): boolean => HEAVY.some((one) => path.startsWith(one))

/** Every module, of ours and of libraries, that loading a file loads, with the module that asks for it. */
function importGraph(entry: string): ReadonlyMap<string, string> {
  const transpiler = new Bun.Transpiler({ loader: "ts" })
  const importers = new Map([[entry, ""]])
  for (const [path] of importers) {
    if (!existsSync(join(root, path)) || !path.endsWith(".ts")) continue
    for (const { path: name, kind } of transpiler.scanImports(readFileSync(join(root, path), "utf8"))) {
      if (kind !== "import-statement") continue
      const target = name.startsWith(".")
        ? relative(root, resolve(root, dirname(path), name))
        : name.startsWith("node:")
          ? name
          : `node_modules/${name}`
      if (!importers.has(target)) importers.set(target, path)
    }
  }
  return importers
}

test("starting a test cluster loads no expensive module that it may not need", () => {
  // given a process of its own
  const script = `
    import { startCluster } from "./components/cluster/testing/testing.ts"
    await using cluster = await startCluster({ nodes: 1, seed: 1 })
    await cluster.advance("1m")
    console.log(JSON.stringify(Object.keys(require.cache)))`
  // when a cluster has started
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", script], { cwd: root, encoding: "utf8" })
  if (stdout === "") console.error(stderr)
  const loaded = (JSON.parse(stdout) as readonly string[]).map((path) => relative(root, path))
  // then
  expect(loaded).toContain("pkg/cel/compile.ts")
  expect(loaded.filter(isHeavy)).toEqual([])
})

test.each([
  { what: "a server", entry: "cmd/k3ts/commands/server.ts" },
  { what: "a process with test clusters", entry: "components/cluster/testing/testing.ts" },
])("$what imports no expensive module that it may not need", ({ entry }) => {
  const graph = importGraph(entry)
  expect(graph.size).toBeGreaterThan(500)
  expect([...graph].filter(([path]) => isHeavy(path)).map(([path, by]) => `${path}, by ${by}`)).toEqual([])
})

test.each([
  { what: "a command, before it is known which", entry: "cmd/k3ts/main.ts", unneeded: ["cmd/k3ts/config", "pkg/api/"] },
  {
    what: "the words of the config file, which every command reads",
    entry: "cmd/k3ts/config/server-vocabulary.ts",
    unneeded: ["pkg/api/resources.ts", "pkg/storage/", "components/apiserver/store/open-storage.ts"],
  },
])("$what needs neither kinds nor a store", ({ entry, unneeded }) => {
  const graph = importGraph(entry)
  expect(graph.size).toBeGreaterThan(10)
  const isUnneeded = (path: string) => unneeded.some((one) => path.startsWith(one))
  expect([...graph].filter(([path]) => isUnneeded(path)).map(([path, by]) => `${path}, by ${by}`)).toEqual([])
})

/** Modules of the runtime that take as long to load as the runtime itself to start. */
const HEAVY_OF_RUNTIME = ["child_process", "crypto", "http", "https", "net", "stream", "tls", "tty", "zlib"]

test.each(["cmd/k3ts/run-kubectl.ts", "pkg/kubectl/commands/version.ts"])(
  "%s, which a command of kubectl needs that asks no server, imports nothing that connects to one",
  (entry) => {
    const graph = importGraph(entry)
    expect(graph.size).toBeGreaterThan(20)
    const heavy = HEAVY_OF_RUNTIME.map((name) => `node:${name}`)
    expect([...graph].filter(([path]) => heavy.includes(path)).map(([path, by]) => `${path}, by ${by}`)).toEqual([])
  },
)
