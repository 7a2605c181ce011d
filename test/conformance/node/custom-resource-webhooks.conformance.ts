/**
 * Webhooks of admission and conversion for custom resources. After test/e2e/apimachinery/webhook.go and
 * crd_conversion_webhook.go.
 */
import { expect } from "bun:test"
import { condition } from "../workloads/workload-cluster.ts"
import type { TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"
import { expectDenied, serverOf, started, unwanted, withHooks, type Hook } from "./webhook-server.ts"

/** Creates a definition with a free-form `data` for one stand-in. Returns the path of its resources. */
async function withDefinition(
  ns: TestNamespace,
  versions: readonly { readonly name: string; readonly storage: boolean; readonly schema?: object }[],
  body: (group: string, path: (version: string) => string, definition: string) => Promise<void>,
  spec: object = {},
): Promise<void> {
  const group = `${ns.name}.example.com`
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
  const name = `e2e-test-crds.${group}`
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  await ns.cluster.post(definitions, {
    metadata: { name },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "e2e-test-crds", singular: "e2e-test-crd", kind: "E2eTestCrd", listKind: "E2eTestCrdList" },
      versions: versions.map(({ schema = open, ...version }) => ({
        ...version,
        served: true,
        schema: { openAPIV3Schema: schema },
      })),
      ...spec,
    },
  })
  await ns.cluster.until(`${definitions}/${name}`, (found) => condition(found, "Established")?.status === "True")
  try {
    await body(group, (version) => `${ns.at(`${group}/${version}`)}/e2e-test-crds`, `${definitions}/${name}`)
  } finally {
    await ns.cluster.send("DELETE", `${definitions}/${name}`)
  }
}
const custom = (group: string, name: string, data: object, version = "v1") => ({
  apiVersion: `${group}/${version}`,
  kind: "E2eTestCrd",
  metadata: { name },
  ...data,
})

describeStandIns(
  "custom resource webhooks",
  (standIn) => {
    standIn("AdmissionWebhook should be able to deny custom resource creation, update and deletion", (ns) =>
      withDefinition(ns, [{ name: "v1", storage: true }], (group, path) =>
        withHooks(
          ns,
          "validating",
          [
            {
              name: "deny-unwanted-custom-resource-data",
              path: "/custom-resource",
              operations: ["CREATE", "UPDATE", "DELETE"],
              group,
              resources: ["e2e-test-crds"],
            },
          ],
          async () => {
            const words = "the custom resource contains unwanted data"
            const object = (data: object) => custom(group, "instance", { data })
            expectDenied(await ns.cluster.send("POST", path("v1"), { body: object(unwanted) }), words)
            const made = await ns.cluster.post(path("v1"), object({ "webhook-e2e-test": "webhook-nondeletable" }))
            const one = `${path("v1")}/instance`
            expectDenied(await ns.cluster.send("PUT", one, { body: { ...made, data: unwanted } }), words)
            expectDenied(
              await ns.cluster.send("DELETE", one),
              "the custom resource cannot be deleted because it contains unwanted key and value",
            )
            await ns.cluster.put(one, { ...made, data: { "webhook-e2e-test": "webhook-allow" } })
            await ns.cluster.delete(one)
          },
        ),
      ),
    )

    const mutateCustom = (group: string, versions = ["v1"]): readonly Hook[] =>
      [1, 2].map((stage) => ({
        name: `mutate-custom-resource-data-stage-${stage}`,
        path: "/mutating-custom-resource",
        operations: ["CREATE", "UPDATE"],
        group,
        versions,
        resources: ["e2e-test-crds"],
      }))

    standIn("AdmissionWebhook should mutate custom resource", (ns) =>
      withDefinition(ns, [{ name: "v1", storage: true }], (group, path) =>
        withHooks(ns, "mutating", mutateCustom(group), async () => {
          const made = await ns.cluster.post(path("v1"), custom(group, "mutated", { data: started }))
          expect(made.data).toEqual({ ...started, "mutation-stage-1": "yes", "mutation-stage-2": "yes" })
        }),
      ),
    )

    const pruned = {
      type: "object",
      properties: {
        data: {
          type: "object",
          properties: { "mutation-start": { type: "string" }, "mutation-stage-1": { type: "string" } },
        },
      },
    }
    standIn("AdmissionWebhook should mutate custom resource with pruning", (ns) =>
      withDefinition(
        ns,
        [
          { name: "v1", storage: true, schema: pruned },
          { name: "v2", storage: false, schema: pruned },
        ],
        (group, path) =>
          withHooks(ns, "mutating", mutateCustom(group), async () => {
            const made = await ns.cluster.post(path("v1"), custom(group, "mutated", { data: started }))
            expect(made.data).toEqual({ ...started, "mutation-stage-1": "yes" })
          }),
      ),
    )

    standIn("AdmissionWebhook should mutate custom resource with different stored version", (ns) =>
      withDefinition(
        ns,
        [
          { name: "v1", storage: true },
          { name: "v2", storage: false },
        ],
        (group, path, definition) =>
          withHooks(ns, "mutating", mutateCustom(group), async () => {
            const made = await ns.cluster.post(path("v1"), custom(group, "mutated", { data: started }))
            expect(made.data).toMatchObject(started)
            await ns.cluster.patch(definition, "json", [
              { op: "test", path: "/spec/versions/0/name", value: "v1" },
              { op: "replace", path: "/spec/versions/0/storage", value: false },
              { op: "test", path: "/spec/versions/1/name", value: "v2" },
              { op: "replace", path: "/spec/versions/1/storage", value: true },
            ])
            const patched = await ns.cluster.patch(`${path("v2")}/mutated`, "merge", { data: { dummy: "test" } })
            const all = { ...started, "mutation-stage-1": "yes", "mutation-stage-2": "yes", dummy: "test" }
            expect(patched.data).toEqual(all)
            // and through the old version, which is converted to the version that the rule names
            const again = await ns.cluster.patch(`${path("v1")}/mutated`, "merge", { data: { dummy: "test2" } })
            expect(again.data).toEqual({ ...all, dummy: "test2" })
          }),
      ),
    )

    standIn("AdmissionWebhook should deny crd creation", async (ns) => {
      const labels = { "webhook-e2e-test": "webhook-disallow", ns: ns.name }
      const more = { namespaceSelector: {}, objectSelector: { matchLabels: { ns: ns.name } } }
      const hook = {
        name: "deny-crd-with-unwanted-label",
        path: "/crd",
        group: "apiextensions.k8s.io",
        versions: ["*"],
      }
      await withHooks(ns, "validating", [{ ...hook, resources: ["customresourcedefinitions"], more }], async () => {
        const group = `${ns.name}.example.com`
        expectDenied(
          await ns.cluster.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            body: {
              metadata: { name: `denieds.${group}`, labels },
              spec: {
                group,
                scope: "Namespaced",
                names: { plural: "denieds", kind: "Denied" },
                versions: [
                  {
                    name: "v1",
                    served: true,
                    storage: true,
                    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
                  },
                ],
              },
            },
          }),
          "the crd contains unwanted label",
        )
      })
    })

    /** Creates a definition of two versions, between which the webhook converts. */
    const converting = async (
      ns: TestNamespace,
      body: (group: string, path: (version: string) => string, definition: string) => Promise<void>,
      selectable: readonly (readonly string[])[] = [[], []],
    ) => {
      const fields = selectable.map((paths) =>
        paths.length === 0 ? {} : { selectableFields: paths.map((jsonPath) => ({ jsonPath })) },
      )
      const { namespace, caBundle } = await serverOf(ns.cluster)
      const text = { type: "string" }
      const schema = (properties: object) => ({ type: "object", properties })
      await withDefinition(
        ns,
        [
          { name: "v1", storage: true, schema: schema({ hostPort: text }), ...fields[0] },
          { name: "v2", storage: false, schema: schema({ host: text, port: text }), ...fields[1] },
        ],
        body,
        {
          conversion: {
            strategy: "Webhook",
            webhook: {
              clientConfig: {
                service: { namespace, name: "e2e-test-webhook", path: "/crdconvert", port: 8443 },
                caBundle,
              },
              conversionReviewVersions: ["v1", "v1beta1"],
            },
          },
        },
      )
    }
    standIn(
      "CustomResourceFieldSelectors CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector",
      (ns) =>
        converting(
          ns,
          async (group, path) => {
            const watches = await Promise.all(
              [
                `${path("v2")}?fieldSelector=host%3Dhost1`,
                `${path("v2")}?fieldSelector=host%3Dhost1,port%3D80`,
                `${path("v1")}?fieldSelector=hostPort%3Dhost1:80`,
              ].map((address) => ns.cluster.watch(address)),
            )
            for (const [name, data] of [
              ["cr-0", { host: "host1", port: "80" }],
              ["cr-1", { host: "host1", port: "8080" }],
              ["cr-2", { host: "host2", port: "80" }],
            ] as const)
              await ns.cluster.post(path("v2"), custom(group, name, data, "v2"))
            const list = async (version: string, selector: string) =>
              (await ns.cluster.get(`${path(version)}?fieldSelector=${encodeURIComponent(selector)}`)).items.map(
                ({ metadata }) => metadata.name,
              )
            expect(await list("v2", "host=host1")).toEqual(["cr-0", "cr-1"])
            expect(await list("v2", "host=host1,port=80")).toEqual(["cr-0"])
            expect(await list("v1", "hostPort=host1:80")).toEqual(["cr-0"])
            expect(await list("v1", "hostPort=host1:8080")).toEqual(["cr-1"])
            const wants = [["cr-0", "cr-1"], ["cr-0"], ["cr-0"]]
            const seen = async (type: string) => {
              for (const [i, watch] of watches.entries()) {
                const names = () =>
                  watch.events.filter((event) => event.type === type).map(({ object }) => object.metadata.name)
                await watch.until(() => names().length >= wants[i]!.length)
                expect(names().toSorted()).toEqual(wants[i]!)
              }
            }
            await seen("ADDED")
            await ns.cluster.delete(`${path("v2")}?fieldSelector=host%3Dhost1,port%3D80`, { gracePeriodSeconds: 0 })
            const left = await ns.cluster.get(`${path("v2")}/cr-1`)
            await ns.cluster.put(`${path("v2")}/cr-1`, { ...left, host: "host2" })
            expect([await list("v2", "host=host1"), await list("v2", "host=host1,port=80")]).toEqual([[], []])
            await seen("DELETED")
            for (const watch of watches) watch.close()
          },
          [[".hostPort"], [".host", ".port"]],
        ),
    )

    const first = { hostPort: "localhost:8080" }
    const second = { host: "localhost", port: "8080" }

    standIn("CustomResourceConversionWebhook should be able to convert from CR v1 to CR v2", (ns) =>
      converting(ns, async (group, path) => {
        await ns.cluster.post(path("v1"), custom(group, "cr-instance-1", first))
        const two = await ns.cluster.get(`${path("v2")}/cr-instance-1`)
        expect(two).toMatchObject({ apiVersion: `${group}/v2`, ...second })
        expect(two["hostPort"]).toBeUndefined()
      }),
    )

    standIn("CustomResourceConversionWebhook should be able to convert a non homogeneous list of CRs", (ns) =>
      converting(ns, async (group, path, definition) => {
        // given one object that is stored as v1 and one that is stored as v2
        await ns.cluster.post(path("v1"), custom(group, "cr-instance-1", first))
        await ns.cluster.patch(definition, "json", [
          { op: "replace", path: "/spec/versions/0/storage", value: false },
          { op: "replace", path: "/spec/versions/1/storage", value: true },
        ])
        await ns.cluster.post(path("v1"), custom(group, "cr-instance-2", first))
        const list = async (version: string) => (await ns.cluster.get(path(version))).items
        expect(await list("v1")).toMatchObject([first, first])
        expect(await list("v2")).toMatchObject([second, second])
      }),
    )
  },
  { width: 6 },
)
