/** Admission webhooks that judge and change built-in kinds. After test/e2e/apimachinery/webhook.go. */
import { expect } from "bun:test"
import type { Answer } from "../cluster.ts"
import { withKubectl } from "./kubectl.ts"
import { describeStandIns } from "./stand-in.ts"
import {
  configMap,
  denyConfigMaps,
  expectDenied,
  mutateConfigMaps,
  post,
  started,
  unwanted,
  withHooks,
  type Hook,
} from "./webhook-server.ts"

/** A webhook that cannot be called, because its certificate is not trusted. */
const unreachable = (name: string, failurePolicy: string, more: object = {}): Hook => ({
  name,
  path: "/configmaps",
  resources: ["configmaps"],
  more: { failurePolicy, ...more },
})

describeStandIns(
  "webhooks",
  (standIn) => {
    standIn("AdmissionWebhook should be able to deny pod and configmap creation", (ns) =>
      withHooks(
        ns,
        "validating",
        [
          { name: "deny-unwanted-pod-container-name-and-label", path: "/pods", resources: ["pods"] },
          denyConfigMaps,
          unreachable("fail-open", "Ignore", { clientConfig: { url: "https://127.0.0.1:1/configmaps" } }),
        ],
        async () => {
          const pod = (name: string, label: string) =>
            ns.podOf(name, { metadata: { labels: { "webhook-e2e-test": label } }, containers: [{ name: label }] })
          const denied = await post(ns, "pods", pod("disallowed-pod", "webhook-disallow"))
          expectDenied(denied, "the pod contains unwanted container name")
          expectDenied(denied, "the pod contains unwanted label")
          const hanging = await post(ns, "pods", pod("hanging-pod", "wait-forever"))
          expect([hanging.code, hanging.body.message]).toEqual([500, expect.stringContaining("webhook")])
          expect(hanging.body.message).toContain("deadline")
          expect((await ns.cluster.send("GET", `${ns.path}/pods/hanging-pod`)).code).toBe(404)

          const words = "the configmap contains unwanted key and value"
          expectDenied(await post(ns, "configmaps", configMap("disallowed", unwanted)), words)
          const allowed = await ns.cluster.post(`${ns.path}/configmaps`, configMap("allowed", { admit: "this" }))
          const path = `${ns.path}/configmaps/allowed`
          expectDenied(await ns.cluster.send("PUT", path, { body: { ...allowed, data: unwanted } }), words)
          expectDenied(
            await ns.cluster.send("PATCH", path, {
              body: { data: unwanted },
              type: "application/strategic-merge-patch+json",
            }),
            words,
          )
          const skipped = `${ns.name}-skipped`
          await ns.cluster.post("/api/v1/namespaces", { metadata: { name: skipped } })
          await ns.cluster.post(`/api/v1/namespaces/${skipped}/configmaps`, configMap("disallowed", unwanted))
          await ns.cluster.delete(`/api/v1/namespaces/${skipped}`)
        },
      ),
    )

    standIn("AdmissionWebhook should be able to deny attaching pod", (ns) =>
      withHooks(
        ns,
        "validating",
        [{ name: "deny-attaching-pod", path: "/pods/attach", operations: ["CONNECT"], resources: ["pods/attach"] }],
        async () => {
          await ns.runPod("to-be-attached-pod")
          const { code, err } = await withKubectl(ns, (kubectl) =>
            kubectl.run(["attach", "-n", ns.name, "to-be-attached-pod", "-i", "-c=c"]),
          )
          expect(code).not.toBe(0)
          expect(err).toContain("attaching to pod 'to-be-attached-pod' is not allowed")
        },
      ),
    )

    standIn("AdmissionWebhook should unconditionally reject operations on fail closed webhook", (ns) =>
      withHooks(
        ns,
        "validating",
        [unreachable("fail-closed", "Fail", { clientConfig: { service: { namespace: ns.name, name: "nobody" } } })],
        async () => {
          const { code, body } = await post(ns, "configmaps", configMap("foo"))
          expect([code, body.reason]).toEqual([500, "InternalError"])
        },
      ),
    )

    standIn("AdmissionWebhook should mutate configmap", (ns) =>
      withHooks(ns, "mutating", [mutateConfigMaps(1), mutateConfigMaps(2)], async () => {
        const made = await ns.cluster.post(`${ns.path}/configmaps`, configMap("to-be-mutated", started))
        expect(made.data).toEqual({ ...started, "mutation-stage-1": "yes", "mutation-stage-2": "yes" })
      }),
    )

    standIn("AdmissionWebhook should mutate pod and apply defaults after mutation", (ns) =>
      withHooks(
        ns,
        "mutating",
        [{ name: "adding-init-container", path: "/mutating-pods", resources: ["pods"] }],
        async () => {
          const made = await ns.createPod("webhook-to-be-mutated")
          expect(made.spec["initContainers"]).toMatchObject([
            { name: "webhook-added-init-container", terminationMessagePolicy: "File" },
          ])
        },
      ),
    )

    standIn("AdmissionWebhook should honor timeout", async (ns) => {
      const create = async (name: string, more: object) => {
        const hook = { name: "allow-configmap-with-delay-webhook", path: "/always-allow-delay-5s" }
        let answer: Answer | undefined
        await withHooks(ns, "validating", [{ ...hook, resources: ["configmaps"], more }], async () => {
          answer = await post(ns, "configmaps", configMap(name))
        })
        return answer!
      }
      const early = await create("early", { timeoutSeconds: 1, failurePolicy: "Fail" })
      expect(early.code).toBe(500)
      expect(early.body.message).toContain("context deadline exceeded")
      expect((await create("ignored", { timeoutSeconds: 1, failurePolicy: "Ignore" })).code).toBe(201)
      expect((await create("longer", { timeoutSeconds: 10, failurePolicy: "Fail" })).code).toBe(201)
      expect((await create("default", { failurePolicy: "Fail" })).code).toBe(201)
    })

    standIn("AdmissionWebhook should mutate everything except 'skip-me' configmaps", (ns) => {
      const matchConditions = [{ name: "skip-me", expression: "object.metadata.name != 'skip-me'" }]
      return withHooks(ns, "mutating", [{ ...mutateConfigMaps(1), more: { matchConditions } }], async () => {
        const made = async (name: string) =>
          (await ns.cluster.post(`${ns.path}/configmaps`, configMap(name, started))).data
        expect(await made("skip-me")).toEqual(started)
        expect(await made("to-be-mutated")).toEqual({ ...started, "mutation-stage-1": "yes" })
      })
    })
  },
  { width: 6 },
)
