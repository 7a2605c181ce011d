import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { builtinScheme } from "../../pkg/api/scheme.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { PAGE_BYTES } from "../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED } from "../../pkg/quarantine/record.ts"
import { createLogger } from "../../pkg/log/log.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { createDeployer, MANIFEST_ANNOTATION } from "./deployer.ts"
import { parseManifest } from "./documents.ts"
import type { ManifestFolder } from "./folder.ts"

/** A directory in memory. `write` and `remove` report the change, as the kernel does. */
function memoryFolder(files: Record<string, string> = {}) {
  const contents = new Map(Object.entries(files))
  const listeners = new Set<(name: string | undefined) => void>()
  const tell = (name: string) => listeners.forEach((listener) => listener(name))
  const folder: ManifestFolder = {
    list: () => ({ files: [...contents.keys()], faults: new Map() }),
    read: (name) => contents.get(name),
    watch(changed) {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
  }
  return {
    folder,
    write(name: string, text: string) {
      contents.set(name, text)
      tell(name)
    },
    remove(name: string) {
      contents.delete(name)
      tell(name)
    },
  }
}

const scheme = builtinScheme()

const configMap = (name: string, value = "1", namespace = "default") =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ${namespace}}\ndata: {value: "${value}"}\n`

async function start(
  cluster: Cluster,
  folder: ManifestFolder,
  embedded: Record<string, string> = {},
  besideOthers = false,
  change: (context: ComponentContext) => ComponentContext = (context) => context,
) {
  const lines: string[] = []
  const context = change(cluster.contextFor("system:k3ts-deployer", ["system:masters"]))
  const log = createLogger({
    clock: context.clock,
    format: "text",
    level: "debug",
    write: (line) => void lines.push(line),
  })
  const deployer = createDeployer(
    { ...context, log },
    {
      folder,
      embedded: new Map(Object.entries(embedded)),
      resourceOf: (apiVersion, kind) => scheme.of(apiVersion, kind),
      besideOthers,
    },
  )
  await deployer.start(new AbortController().signal)
  await cluster.settle()
  return { deployer, lines }
}

const value = async (cluster: Cluster, name: string, namespace = "default"): Promise<string | undefined> => {
  try {
    return (await cluster.client.get(ConfigMap, { name, namespace })).data?.value
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}
/** Longer than a change has to settle. */
const A_MOMENT = 500

describe("the deployer", () => {
  test("applies manifests at the start and marks the objects that it created", async () => {
    // given a file and an embedded manifest
    await using cluster = await startCluster()
    const { folder } = memoryFolder({
      "app.yaml": `${configMap("a")}---\n${configMap("b")}`,
      "notes.txt": "not a manifest",
    })

    // when it starts
    const { deployer } = await start(cluster, folder, { "own.yaml": configMap("own") })

    // then everything is there, and says where it comes from
    expect([await value(cluster, "a"), await value(cluster, "b"), await value(cluster, "own")]).toEqual(["1", "1", "1"])
    const made = await cluster.client.get(ConfigMap, { name: "a", namespace: "default" })
    expect(made.metadata.annotations?.[MANIFEST_ANNOTATION]).toBe("app.yaml")
    expect(made.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      "k3ts-deployer Apply",
    ])
    await deployer.stop()
  })

  test("applies changes of a file, and deletes objects that are no longer in the file", async () => {
    // given a file with two objects
    await using cluster = await startCluster()
    const files = memoryFolder({ "app.yaml": `${configMap("a")}---\n${configMap("b")}` })
    const { deployer } = await start(cluster, files.folder)

    // when one of them changes and the other goes
    files.write("app.yaml", configMap("a", "2"))
    await cluster.advance(A_MOMENT)

    // then the cluster does too
    expect([await value(cluster, "a"), await value(cluster, "b")]).toEqual(["2", undefined])

    // and when the file goes
    files.remove("app.yaml")
    await cluster.advance(A_MOMENT)

    // then nothing of it is left, not even the inventory
    expect(await value(cluster, "a")).toBeUndefined()
    expect((await cluster.client.list(ConfigMap, { labelSelector: "k3ts.io/manifest-inventory" })).items).toEqual([])
    await deployer.stop()
  })

  test("deletes at the start the objects of files that were removed while it did not run", async () => {
    // given a deployer that ran and stopped
    await using cluster = await startCluster()
    const first = await start(cluster, memoryFolder({ "a.yaml": configMap("a"), "b.yaml": configMap("b") }).folder)
    await first.deployer.stop()

    // when it starts without one of the files
    const second = await start(cluster, memoryFolder({ "a.yaml": configMap("a") }).folder)

    // then what that file had made is gone
    expect([await value(cluster, "a"), await value(cluster, "b")]).toEqual(["1", undefined])
    await second.deployer.stop()
  })

  test("keeps objects of another server's files, and deletes those of its own files that are removed while it runs", async () => {
    // given a server with manifests
    await using cluster = await startCluster()
    const files = memoryFolder({ "a.yaml": configMap("a"), "b.yaml": configMap("b") })
    const first = await start(cluster, files.folder, {}, true)

    // when another one starts without them, and then one of the files goes
    const second = await start(cluster, memoryFolder().folder, {}, true)
    files.remove("b.yaml")
    await cluster.advance(A_MOMENT)

    // then only what that file had made is gone
    expect([await value(cluster, "a"), await value(cluster, "b")]).toEqual(["1", undefined])
    await first.deployer.stop()
    await second.deployer.stop()
  })

  test("does not delete an object that another file has taken over or that a user created", async () => {
    // given an object of one file
    await using cluster = await startCluster()
    const files = memoryFolder({ "old.yaml": configMap("moved") })
    const { deployer } = await start(cluster, files.folder)

    // when it moves to another file
    files.write("new.yaml", configMap("moved", "2"))
    files.remove("old.yaml")
    await cluster.advance(A_MOMENT)

    // then it is there
    expect(await value(cluster, "moved")).toBe("2")
    await deployer.stop()
  })

  test("skips a file with .skip beside it, and keeps the objects of that file", async () => {
    // given a file that was applied
    await using cluster = await startCluster()
    const files = memoryFolder({ "app.yaml": configMap("a") })
    const { deployer } = await start(cluster, files.folder)

    // when it is to be skipped, and changes
    files.write("app.yaml.skip", "")
    files.write("app.yaml", configMap("a", "2"))
    await cluster.advance(A_MOMENT)

    // then the old object stays
    expect(await value(cluster, "a")).toBe("1")

    // and when it is no longer
    files.remove("app.yaml.skip")
    await cluster.advance(A_MOMENT)

    // then the change comes through
    expect(await value(cluster, "a")).toBe("2")
    await deployer.stop()
  })

  test("reports file and document of an object that cannot be applied, applies the others, and tries again", async () => {
    // given a file whose second object needs a namespace that is not there
    await using cluster = await startCluster()
    const { folder } = memoryFolder({ "app.yaml": `${configMap("a")}---\n${configMap("b", "1", "later")}` })
    const { deployer, lines } = await start(cluster, folder)

    // then the first is there, and the second is told of
    expect(await value(cluster, "a")).toBe("1")
    expect(lines.filter((line) => line.includes("ERROR"))[0]).toContain(
      'file=app.yaml fault="document 2, ConfigMap later/b: namespaces \\"later\\" not found"',
    )
    expect(deployer.problem?.()).toContain("app.yaml: document 2")

    // when the namespace comes
    await cluster.client.create(Namespace, { metadata: { name: "later" } })
    await cluster.advance(5000)

    // then it is applied
    expect(await value(cluster, "b", "later")).toBe("1")
    expect(deployer.problem?.()).toBeUndefined()
    await deployer.stop()
  })

  test("changes nothing for a file that cannot be parsed", async () => {
    // given a file that was applied
    await using cluster = await startCluster()
    const files = memoryFolder({ "app.yaml": configMap("a") })
    const { deployer, lines } = await start(cluster, files.folder)

    // when it is overwritten by what is no manifest
    files.write("app.yaml", "apiVersion: v1\nkind: [")
    await cluster.advance(A_MOMENT)

    // then what it made stays, and the log says why
    expect(await value(cluster, "a")).toBe("1")
    expect(lines.at(-1)).toContain(
      'Failed to read a manifest component=deployer file=app.yaml fault="not YAML: line 2, column 8: ',
    )
    await deployer.stop()
  })
})

describe("parseManifest", () => {
  const names = (text: string) =>
    parseManifest(text).map(({ document, kind, name, namespace }) => `${document} ${kind} ${namespace ?? "-"}/${name}`)
  test.each([
    [
      "several documents, without the empty ones",
      "---\n---\n# nothing\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: B\n" +
        "metadata: {name: b, namespace: ns}\n",
      ["3 A -/a", "4 B ns/b"],
    ],
    [
      "a list",
      "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: " +
        "v1, kind: B, metadata: {name: b}}\n",
      ["1 A -/a", "1 B -/b"],
    ],
    ["JSON", '{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}', ["1 A -/a"]],
    ["nothing", "", []],
  ])("reads %s", (_, text, expected) => expect(names(text)).toEqual(expected))

  test.each([
    ["a: 1\n---\nb: {c: d", "not YAML: line 3, column 9: did not find expected ',' or '}'"],
    ["hello", "document 1 is no object"],
    ["kind: A", "document 1 has no apiVersion"],
    ["apiVersion: v1", "document 1 has no kind"],
    ["apiVersion: v1\nkind: A", "document 1 (A) has no metadata.name"],
  ])("refuses %j", (text, message) => expect(() => parseManifest(text)).toThrow(message))
})

test("a manifest that has ended the process twice is skipped, and the others are applied; an edit frees it", async () => {
  await using cluster = await startCluster()
  const { folder, write } = memoryFolder({ "poison.yaml": configMap("poison"), "good.yaml": configMap("good") })
  const page = new Uint8Array(PAGE_BYTES)
  let record = NOTHING_RECORDED
  let runs = 0
  const ended: Quarantine[] = []
  /** Starts a process that applying the poison ends, which the next one learns from the page. */
  const run = async (isPoisonous: boolean) => {
    const own = ++runs
    const started = await start(cluster, folder, {}, false, (context) => {
      const { clock, log } = context
      const quarantine = new Quarantine({
        page,
        before: record,
        boot: "b",
        save(next) {
          if (own === runs) record = next // a process that has ended writes nothing
        },
        clock,
        log,
      })
      const patch: typeof context.client.patch = (resource, key, ...rest) =>
        isPoisonous && key.name === "poison" ? new Promise(() => {}) : context.client.patch(resource, key, ...rest)
      ended.push(quarantine)
      return { ...context, quarantine, client: { ...context.client, patch } }
    })
    await cluster.advance(4000) // a suspect is tried after two seconds
    return started
  }
  const has = async (name: string) =>
    (await cluster.client.list(ConfigMap, { namespace: "default" })).items.some(
      ({ metadata }) => metadata.name === name,
    )

  // when it is in hand at the ends of two processes
  await run(true)
  await run(true)
  expect(await has("good")).toBe(true)

  // then
  const { deployer, lines } = await run(false)
  expect(record.setAside).toMatchObject([{ place: "manifests", key: "poison.yaml" }])
  expect(lines.join("")).toContain("Skipped a manifest")
  expect(await has("poison")).toBe(false)

  // and when it is edited
  write("poison.yaml", configMap("poison", "2"))
  await cluster.advance(10_000)
  expect([await has("poison"), record.setAside]).toEqual([true, []])
  await deployer.stop()
  for (const quarantine of ended) quarantine.end()
})
