import { expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Addon, addon } from "../../pkg/k3s-kinds/addon.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { addonName, Addons } from "./addons.ts"

/** Addons of a cluster in which their kind is served, or is not yet. */
async function given(isServed: () => boolean = () => true) {
  const cluster = await startCluster()
  await cluster.client.create(CustomResourceDefinition, addon.crd)
  await cluster.settle()
  const context = cluster.contextFor("system:k3ts-deployer", ["system:masters"])
  const addons = new Addons(context, () => (isServed() ? Addon : undefined))
  return {
    cluster,
    addons,
    shown: async () =>
      (await cluster.client.list(Addon, { namespace: "kube-system" })).items.map(
        ({ metadata, spec }) => `${metadata.name} ${spec.source} ${spec.checksum!.slice(0, 4)}`,
      ),
    events: async () =>
      (await cluster.client.list(Event, { namespace: "kube-system" })).items
        .filter(({ involvedObject }) => involvedObject.kind === "Addon")
        .map(({ type, reason, message, count = 1 }) => `${type} ${reason} ${message} ${count}`),
    async [Symbol.asyncDispose]() {
      await addons.stop()
      await cluster.stop()
    },
  }
}

test("a manifest is shown as an Addon, whose Events say what has become of it", async () => {
  await using now = await given()
  const { addons, cluster } = now
  // when a manifest is applied, twice, changed, faulty, and removed
  for (const text of ["a", "a", "b"]) {
    addons.note("sub/My_App.yaml", { kind: "applied", text })
    await cluster.settle()
  }
  expect(await now.shown()).toEqual(["my-app sub/My_App.yaml 3e23"])
  addons.note("sub/My_App.yaml", { kind: "failed", text: "c", message: "no matches for kind" })
  await cluster.settle()
  addons.note("other/my-app.yaml", { kind: "removed" })
  await cluster.settle()
  expect((await now.shown()).length).toBe(1)
  addons.note("sub/My_App.yaml", { kind: "removed" })
  await cluster.settle()
  // then
  expect(await now.shown()).toEqual([])
  expect(await now.events()).toEqual([
    'Normal AppliedManifest Applied manifest at "sub/My_App.yaml" 2',
    "Warning ApplyManifestFailed no matches for kind 1",
    'Normal DeletingManifest Deleting manifest "sub/My_App.yaml" 1',
  ])
})

test("an Addon is written when its kind is served, a little after a start", async () => {
  let isServed = false
  await using now = await given(() => isServed)
  now.addons.note("app.yaml", { kind: "applied", text: "a" })
  await now.cluster.advance("3s")
  expect(await now.shown()).toEqual([])
  isServed = true
  await now.cluster.advance("2s")
  expect(await now.shown()).toEqual(["app app.yaml ca97"])
})

test.each([
  ["traefik.yaml", "traefik"],
  ["a/b/Some File.v2.yml", "some-file.v2"],
  [".yaml", ""],
])("the Addon of %s is called %s", (file, name) => expect(addonName(file)).toBe(name))
