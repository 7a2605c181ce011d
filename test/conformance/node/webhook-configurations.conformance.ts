/** The configurations of admission webhooks. After test/e2e/apimachinery/webhook.go. */
import { expect } from "bun:test"
import type { Loose } from "../cluster.ts"
import { until, type TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"
import {
  GROUP,
  configMap,
  denyConfigMaps,
  hooksOf,
  mutateConfigMaps,
  pathOf,
  post,
  started,
  unwanted,
  withHooks,
} from "./webhook-server.ts"

/** Whether a ConfigMap with unwanted data is admitted. It is deleted again. */
async function letsIn(ns: TestNamespace): Promise<boolean> {
  const { code, body } = await post(ns, "configmaps", configMap("probe", unwanted))
  if (code !== 201) {
    expect(body.message).toContain("denied")
    return false
  }
  await ns.cluster.delete(`${ns.path}/configmaps/probe`)
  return true
}
async function mutates(ns: TestNamespace): Promise<boolean> {
  const made = await ns.cluster.post(`${ns.path}/configmaps`, configMap("probe", started))
  await ns.cluster.delete(`${ns.path}/configmaps/probe`)
  return made.data?.["mutation-stage-1"] === "yes"
}
const untilIt = (what: string, is: () => Promise<boolean>, wanted: boolean) =>
  until(what, is, (found) => found === wanted)

describeStandIns(
  "webhook configurations",
  (standIn, alone) => {
    standIn("AdmissionWebhook should include webhook resources in discovery documents", async ({ cluster }) => {
      const { groups } = (await cluster.get("/apis")) as unknown as { groups: { name: string; versions: object[] }[] }
      const wanted = { groupVersion: "admissionregistration.k8s.io/v1", version: "v1" }
      expect(groups.find(({ name }) => name === "admissionregistration.k8s.io")?.versions).toContainEqual(wanted)
      const group = (await cluster.get("/apis/admissionregistration.k8s.io")) as unknown as { versions: object[] }
      expect(group.versions).toContainEqual(wanted)
      const list = (await cluster.get(GROUP)) as unknown as { groupVersion: string; resources: { name: string }[] }
      expect(list.groupVersion).toBe("admissionregistration.k8s.io/v1")
      expect(list.resources.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]),
      )
    })

    alone(
      "AdmissionWebhook should not be able to mutate or prevent deletion of webhook configuration objects",
      async (ns) => {
        const ours = { namespaceSelector: {}, failurePolicy: "Fail" }
        const rule = {
          group: "admissionregistration.k8s.io",
          versions: ["*"],
          resources: ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
        }
        const deny = { name: "deny-webhook-configuration-deletions", path: "/always-deny", operations: ["DELETE"] }
        const label = { name: "add-label-to-webhook-configurations", path: "/add-label", operations: ["CREATE"] }
        await withHooks(ns, "validating", [{ ...deny, ...rule, more: ours }], () =>
          withHooks(ns, "mutating", [{ ...label, ...rule, more: ours }], async () => {
            for (const kind of ["validating", "mutating"] as const) {
              const [hook] = await hooksOf(ns, [{ name: "dummy", path: "", resources: ["invalid"] }])
              const name = `${ns.name}-dummy`
              const made = await ns.cluster.post(pathOf(kind), { metadata: { name }, webhooks: [hook] })
              expect(made.metadata.labels).toBeUndefined()
              await ns.cluster.delete(`${pathOf(kind)}/${name}`)
              expect((await ns.cluster.send("GET", `${pathOf(kind)}/${name}`)).code).toBe(404)
            }
          }),
        )
      },
    )

    standIn("AdmissionWebhook patching/updating a validating webhook should work", (ns) =>
      withHooks(ns, "validating", [denyConfigMaps], async (made) => {
        await untilIt("denial", () => letsIn(ns), false)
        const path = `${pathOf("validating")}/${ns.name}`
        const [hook] = (made["webhooks"] as { rules: object[] }[])!
        const updated = await ns.cluster.put(path, {
          ...made,
          webhooks: [{ ...hook, rules: [{ ...hook!.rules[0], operations: ["UPDATE"] }] }],
        })
        await untilIt("creation", () => letsIn(ns), true)
        const patched = await ns.cluster.patch(path, "json", [
          { op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] },
        ])
        expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(updated.metadata.resourceVersion))
        await untilIt("denial again", () => letsIn(ns), false)
      }),
    )

    standIn("AdmissionWebhook patching/updating a mutating webhook should work", (ns) =>
      withHooks(ns, "mutating", [mutateConfigMaps(1)], async (made) => {
        const path = `${pathOf("mutating")}/${ns.name}`
        const [hook] = (made["webhooks"] as { rules: object[] }[])!
        await ns.cluster.put(path, {
          ...made,
          webhooks: [{ ...hook, rules: [{ ...hook!.rules[0], operations: ["UPDATE"] }] }],
        })
        await untilIt("no change", () => mutates(ns), false)
        const patched = await ns.cluster.patch(path, "json", [
          { op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] },
        ])
        expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion))
        await untilIt("a change", () => mutates(ns), true)
      }),
    )

    for (const [title, kind, hook, is] of [
      ["AdmissionWebhook listing validating webhooks should work", "validating", denyConfigMaps, letsIn],
      ["AdmissionWebhook listing mutating webhooks should work", "mutating", mutateConfigMaps(1), mutates],
    ] as const)
      standIn(title, async (ns) => {
        const selector = `labelSelector=e2e-list-test%3D${ns.name}`
        const webhooks = await hooksOf(ns, [hook])
        for (let i = 0; i < 10; i++)
          await ns.cluster.post(pathOf(kind), {
            metadata: { name: `${ns.name}-${i}`, labels: { "e2e-list-test": ns.name } },
            webhooks,
          })
        expect((await ns.cluster.get(`${pathOf(kind)}?${selector}`)).items).toHaveLength(10)
        await untilIt("the webhooks", () => is(ns), kind === "mutating")
        await ns.cluster.delete(`${pathOf(kind)}?${selector}`)
        await untilIt("no webhooks", () => is(ns), kind === "validating")
      })

    const production = { name: "expression-1", expression: "object.metadata.namespace == 'production'" }
    const staging = { name: "expression-2", expression: "object.metadata.namespace == 'staging'" }
    for (const [title, kind] of [
      [
        "AdmissionWebhook should be able to create and update validating webhook configurations with match conditions",
        "validating",
      ],
      [
        "AdmissionWebhook should be able to create and update mutating webhook configurations with match conditions",
        "mutating",
      ],
    ] as const)
      standIn(title, (ns) => {
        const hook = kind === "validating" ? denyConfigMaps : mutateConfigMaps(1)
        return withHooks(ns, kind, [{ ...hook, more: { matchConditions: [production] } }], async () => {
          const conditions = (configuration: Loose) =>
            (configuration["webhooks"] as { matchConditions: object[] }[])[0]!.matchConditions
          const path = `${pathOf(kind)}/${ns.name}`
          const made = await ns.cluster.get(path)
          expect(conditions(made)).toEqual([production])
          const [webhook] = made["webhooks"] as object[]
          const wanted = [production, staging]
          await ns.cluster.put(path, { ...made, webhooks: [{ ...webhook, matchConditions: wanted }] })
          expect(conditions(await ns.cluster.get(path))).toEqual(wanted)
        })
      })

    for (const [title, kind] of [
      ["AdmissionWebhook should reject validating webhook configurations with invalid match conditions", "validating"],
      ["AdmissionWebhook should reject mutating webhook configurations with invalid match conditions", "mutating"],
    ] as const)
      standIn(title, async (ns) => {
        const hook = kind === "validating" ? denyConfigMaps : mutateConfigMaps(1)
        const matchConditions = [{ name: "invalid-expression-1", expression: "... [] bad expression" }]
        const webhooks = await hooksOf(ns, [{ ...hook, more: { matchConditions } }])
        const { code, body } = await ns.cluster.send("POST", pathOf(kind), {
          body: { metadata: { name: ns.name }, webhooks },
        })
        expect([code, body.message]).toEqual([422, expect.stringContaining("compilation failed")])
      })
  },
  { width: 6 },
)
