/** An extension API server in a pod. After test/e2e/apimachinery/aggregator.go. */
import { expect } from "bun:test"
import { condition } from "../workloads/workload-cluster.ts"
import { isReady } from "./namespace.ts"
import { serverCertificate } from "./programs/certificates.ts"
import { program, programVolumes } from "./programs/programs.ts"
import { describeStandIns } from "./stand-in.ts"

const SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
const NAME = "v1alpha1.wardle.example.com"
const FLUNDERS = (namespace: string) => `/apis/wardle.example.com/v1alpha1/namespaces/${namespace}/flunders`
const RBAC = "/apis/rbac.authorization.k8s.io/v1"

describeStandIns("aggregation", (standIn) => {
  standIn(
    "Aggregator Should be able to support the 1.17 Sample API Server using the current Aggregator",
    async (ns) => {
      const { cluster } = ns
      // given an extension server with the right to read the aggregator's certificate and to review access
      const host = `sample-api.${ns.name}.svc`
      const { certPem, keyPem, caPem } = serverCertificate(host)
      await ns.create("secrets", "tls", {
        type: "kubernetes.io/tls",
        stringData: { "tls.crt": certPem, "tls.key": keyPem },
      })
      const subjects = [{ kind: "ServiceAccount", name: "default", namespace: ns.name }]
      const ref = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name })
      await cluster.post(`${RBAC}/clusterrolebindings`, {
        metadata: { name: `wardler:${ns.name}:auth-delegator` },
        roleRef: ref("ClusterRole", "system:auth-delegator"),
        subjects,
      })
      await cluster.post(`${RBAC}/namespaces/kube-system/rolebindings`, {
        metadata: { name: `wardler-auth-reader-${ns.name}` },
        roleRef: ref("Role", "extension-apiserver-authentication-reader"),
        subjects,
      })
      const labels = { app: "sample-apiserver", apiserver: "true" }
      const container = program("sample-apiserver.ts")
      const { spec } = ns.podOf("", {
        restartPolicy: "Always",
        volumes: [...programVolumes, { name: "tls", secret: { secretName: "tls" } }],
        containers: [
          {
            ...container,
            volumeMounts: [...container.volumeMounts!, { name: "tls", mountPath: "/tls", readOnly: true }],
            readinessProbe: { httpGet: { scheme: "HTTPS", path: "/readyz", port: 8443 }, periodSeconds: 1 },
          },
        ],
      })
      await cluster.post(`${ns.at("apps/v1")}/deployments`, {
        metadata: { name: "sample-apiserver-deployment" },
        spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      })
      await ns.create("services", "sample-api", {
        spec: { selector: { apiserver: "true" }, ports: [{ port: 7443, targetPort: 8443 }] },
      })
      await cluster.untilList(`${ns.path}/pods?labelSelector=apiserver%3Dtrue`, ([pod]) => isReady(pod))

      // when it is registered, then its resources are served like those of the cluster
      await cluster.post(SERVICES, {
        metadata: { name: NAME },
        spec: {
          service: { namespace: ns.name, name: "sample-api", port: 7443 },
          group: "wardle.example.com",
          version: "v1alpha1",
          caBundle: Buffer.from(caPem).toString("base64"),
          groupPriorityMinimum: 2000,
          versionPriority: 200,
        },
      })
      await cluster.until(`${SERVICES}/${NAME}`, (found) => condition(found, "Available")?.status === "True")
      const flunder = (name: string) => ({
        apiVersion: "wardle.example.com/v1alpha1",
        kind: "Flunder",
        metadata: { labels: { "sample-label": "true" }, name },
      })
      const made = await cluster.send("POST", FLUNDERS("default"), { body: flunder("rest-flunder") })
      expect([made.code, made.body]).toMatchObject([201, flunder("rest-flunder")])
      const names = async (namespace: string) =>
        (await cluster.get(FLUNDERS(namespace))).items.map(({ metadata }) => metadata.name)
      expect(await names("default")).toEqual(["rest-flunder"])
      await cluster.delete(`${FLUNDERS("default")}/rest-flunder`)
      expect(await names("default")).toEqual([])

      // found by discovery
      const list = (await cluster.get("/apis/wardle.example.com/v1alpha1")) as unknown as { resources: object[] }
      expect(list.resources).toMatchObject([{ name: "flunders", kind: "Flunder", namespaced: true }])
      const groups = (await cluster.get("/apis")) as unknown as { groups: object[] }
      expect(groups.groups).toContainEqual(
        expect.objectContaining({
          name: "wardle.example.com",
          preferredVersion: { groupVersion: "wardle.example.com/v1alpha1", version: "v1alpha1" },
        }),
      )
      await cluster.post(FLUNDERS(ns.name), flunder("dynamic-flunder"))
      expect(await names(ns.name)).toEqual(["dynamic-flunder"])

      // and the APIService can be read, patched and updated, also its status
      const path = `${SERVICES}/${NAME}`
      const before = await cluster.get(`${path}/status`)
      expect(before.status.conditions![0]!.message).toBe("all checks passed")
      const patched = await cluster.patch(path, "merge", { spec: { versionPriority: 400 } })
      expect(patched.spec["versionPriority"]).toBe(400)
      expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion))
      expect((await cluster.get(SERVICES)).items.map(({ metadata }) => metadata.name)).toContain(NAME)
      await cluster.patch(path, "strategic", { metadata: { labels: { "e2e-apiservice": "patched" } } })
      expect((await cluster.get(path)).metadata.labels).toMatchObject({ "e2e-apiservice": "patched" })
      const added = (type: string, message: string) => ({ type, status: "True", reason: "E2E", message })
      const now = await cluster.get(`${path}/status`)
      const conditions = [...now.status.conditions!, added("StatusUpdated", "Set from e2e test")]
      await cluster.put(`${path}/status`, { ...now, status: { ...now.status, conditions } })
      expect(condition(await cluster.get(`${path}/status`), "StatusUpdated")).toMatchObject(
        added("StatusUpdated", "Set from e2e test"),
      )
      const current = await cluster.get(path)
      const updated = await cluster.put(path, {
        ...current,
        metadata: { ...current.metadata, labels: { [NAME]: "updated" } },
      })
      expect(updated.metadata.labels).toEqual({ [NAME]: "updated" })
      await cluster.delete(`${FLUNDERS(ns.name)}/dynamic-flunder`)
      expect(await names(ns.name)).toEqual([])
      await cluster.post(FLUNDERS(ns.name), flunder("dynamic-flunder"))
      expect(await names(ns.name)).toEqual(["dynamic-flunder"])
      const again = await cluster.get(`${path}/status`)
      await cluster.patch(`${path}/status`, "merge", {
        status: { conditions: [...again.status.conditions!, added("StatusPatched", "Set by e2e test")] },
      })
      expect(condition(await cluster.get(`${path}/status`), "StatusPatched")).toMatchObject(
        added("StatusPatched", "Set by e2e test"),
      )
      const selector = `labelSelector=${NAME}%3Dupdated`
      await cluster.delete(`${SERVICES}?${selector}`)
      await cluster.untilList(`${SERVICES}?${selector}`, (left) => left.length === 0)
      await cluster.delete(`${RBAC}/clusterrolebindings/wardler:${ns.name}:auth-delegator`)
      await cluster.delete(`${RBAC}/namespaces/kube-system/rolebindings/wardler-auth-reader-${ns.name}`)
    },
  )
})
