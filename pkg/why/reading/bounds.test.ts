/** How many requests an answer takes, however large the cluster is. */
import { expect, test } from "bun:test"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import type { Ward } from "../doctor.ts"
import { closedFinding } from "../network/closed.ts"
import { volumeLimits } from "../pod/placement/volume-limits.ts"
import { Reader } from "./reader.ts"

/** A ward whose server has these answers, and what it was asked. */
function wardOf(answerTo: (path: string) => object | undefined) {
  const asked: string[] = []
  const reader = new Reader({
    now: () => 0,
    async get(path) {
      asked.push(path)
      const answer = answerTo(path)
      return answer === undefined
        ? { code: 500, text: '{"message":"connect: connection refused"}' }
        : { code: 200, text: JSON.stringify(answer) }
    },
  })
  return { ward: { reader } as Ward, asked }
}

const podNamed = (name: string, spec: object): Pod =>
  ({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", uid: name }, spec, status: {} }) as Pod

const serviceTo = (targetPort: number) =>
  ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort }] },
  }) as unknown as Service

test("of many pods without a controller ten are asked whether they listen", async () => {
  const pods = Array.from({ length: 50 }, (_, i) =>
    podNamed(`web-${i}`, { containers: [{ name: "c", ports: [{ containerPort: 8080 }] }] }),
  )
  const { ward, asked } = wardOf(() => undefined)
  expect((await closedFinding(serviceTo(9090), pods, ward))?.cause.code).toBe("service-target-port")
  expect(asked).toHaveLength(10)
})

test("no workload is read where all pods declare the port of a Service", async () => {
  const owned = podNamed("web-0", { containers: [{ name: "c", ports: [{ containerPort: 8080 }] }] })
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1", controller: true }]
  const { ward, asked } = wardOf(() => ({}))
  const pod = { ...owned, metadata: { ...owned.metadata, ownerReferences } } as Pod
  expect(await closedFinding(serviceTo(8080), [pod], ward)).toBeUndefined()
  expect(asked).toEqual([])
})

const using = (name: string) =>
  podNamed(name, { nodeName: "n", volumes: [{ name: "v", persistentVolumeClaim: { claimName: name } }] })

test("the claims and volumes of all pods of a cluster are read at once", async () => {
  // given a node with as many volumes of a driver as it may have
  const names = Array.from({ length: 50 }, (_, i) => `data-${i}`)
  const claimOf = (name: string) => ({
    metadata: { name, namespace: "default" },
    spec: { volumeName: `pv-${name}` },
  })
  const volumeOf = (name: string) => ({
    metadata: { name },
    spec: { csi: { driver: "disk.example.com", volumeHandle: name } },
  })
  const csiNode = {
    metadata: { name: "n" },
    spec: { drivers: [{ name: "disk.example.com", nodeID: "n", allocatable: { count: 49 } }] },
  }
  const { ward, asked } = wardOf((path) => {
    const last = path.split("/").at(-1)!
    if (last === "csinodes") return { items: [csiNode] }
    if (last === "persistentvolumeclaims") return { items: names.map(claimOf) }
    if (last === "persistentvolumes") return { items: names.map((name) => volumeOf(`pv-${name}`)) }
    return path.includes("persistentvolumeclaims/") ? claimOf(last) : volumeOf(last)
  })

  // when it is asked what keeps the last pod from it
  const limits = await volumeLimits(using("data-49"), names.slice(0, 49).map(using), ward)

  // then the answer takes as many requests as with few pods
  expect(limits("n")).toEqual(["has 49 volumes of disk.example.com and may have 49"])
  expect(asked).toHaveLength(5)
})
