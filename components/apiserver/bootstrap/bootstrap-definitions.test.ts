import { expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { builtinScheme } from "../../../pkg/api/scheme.ts"
import { asKind } from "../../../pkg/apimachinery/resource.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { Registrar } from "../apiextensions/registrar.ts"
import { bootstrap } from "../bootstrap.ts"
import { storageKey } from "../cacher/view.ts"

const PREFIX = storageKey(CustomResourceDefinition, { name: "" })

/** A store, and a way to start a server on it, which returns the kinds that are served at once. */
function servers() {
  const clock = new VirtualClock(0)
  const storage = new MemoryStorage({ clock, frozen: true })
  const definitions = () => storage.list(PREFIX).map(({ object }) => asKind(CustomResourceDefinition, object))
  return {
    storage,
    definitions,
    async start(options: { readonly helm?: boolean; readonly addons?: boolean; readonly gateway?: boolean }) {
      const scheme = builtinScheme()
      await bootstrap({
        ...{ storage, clock, random: seededRandom(1), scheme, serviceCidrs: ["10.43.0.0/16"] },
        ...{ advertiseAddress: "192.0.2.1", port: 6443, ...options },
      })
      const before = storage.revision
      const registrar = new Registrar({
        ...{ storage, scheme, clock, log: silent, changed: () => undefined, leftOut: () => undefined },
        converterOf: () => (objects) => Promise.resolve(objects),
      })
      await clock.advance(1000)
      const served = scheme.resources.flatMap(({ definition, kind }) => (definition === undefined ? [] : [kind]))
      registrar.close()
      return { served, writtenLater: storage.revision - before }
    },
  }
}

test("definitions of kinds of the server are stored with their names, and served without another write", async () => {
  // given an empty store
  const { start, definitions } = servers()
  // when
  const { served, writtenLater } = await start({ helm: true, addons: true, gateway: true })
  // then
  expect(writtenLater).toBe(0)
  expect(served).toEqual(expect.arrayContaining(["Addon", "HelmChart", "HelmChartConfig", "Gateway", "HTTPRoute"]))
  for (const { spec, status, metadata } of definitions()) {
    expect(status.acceptedNames).toEqual(spec.names)
    const states = status.conditions!.map(({ type, status: state }) => `${type}=${state}`)
    expect(states).toEqual(expect.arrayContaining(["NamesAccepted=True", "Established=True"]))
    expect(metadata.managedFields!.map(({ manager, subresource }) => [manager, subresource])).toEqual([
      ["kube-apiserver", undefined],
      ["kube-apiserver", "status"],
    ])
  }
})

test("a definition that somebody has changed stays as it is, and one whose names are taken waits", async () => {
  // given a store in which another kind of the group has a short name of HelmCharts
  const { start, storage, definitions } = servers()
  await start({ helm: true })
  const [chart] = definitions().filter(({ spec }) => spec.names.kind === "HelmChart")
  const config = "helmchartconfigs.helm.cattle.io"
  await storage.write({ key: `${PREFIX}${config}`, object: null, expected: undefined, time: 0, author: "x" })
  const names = { plural: "hooks", singular: "hook", kind: "Hook", listKind: "HookList", shortNames: ["hcc"] }
  const other = {
    ...chart!,
    metadata: { name: "hooks.helm.cattle.io", uid: "hooks", labels: { is: "changed" } },
    spec: { ...chart!.spec, names },
    status: { ...chart!.status, acceptedNames: names },
  }
  await storage.write({
    key: `${PREFIX}hooks.helm.cattle.io`,
    object: other,
    expected: undefined,
    time: 0,
    author: "x",
  })
  // when it starts again
  await start({ helm: true })
  // then
  const found = new Map(definitions().map((definition) => [definition.metadata.name, definition]))
  expect(found.get("helmcharts.helm.cattle.io")).toEqual(chart!)
  expect(found.get("hooks.helm.cattle.io")?.metadata.labels).toEqual({ is: "changed" })
  const refused = found.get(config)!.status
  expect(refused.acceptedNames.shortNames).toBeUndefined()
  expect(refused.conditions).toContainEqual(
    expect.objectContaining({ type: "NamesAccepted", status: "False", reason: "ShortNamesConflict" }),
  )
})
