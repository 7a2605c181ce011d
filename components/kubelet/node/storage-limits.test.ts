import { expect, test } from "bun:test"
import { podOf } from "../testing/pod.ts"
import { exceededLimit, hasStorageLimit } from "./storage-limits.ts"

/** Counterparts of TestLocalStorageEviction and similar tests in pkg/kubelet/eviction/eviction_manager_test.go. */

type Spec = Parameters<typeof podOf>[0]
const MI = 1024 * 1024
const container = (name: string, limit?: string) => ({
  name,
  image: "i",
  ...(limit === undefined ? {} : { resources: { limits: { "ephemeral-storage": limit } } }),
})
const emptyDir = (name: string, sizeLimit?: string) => ({
  name,
  emptyDir: sizeLimit === undefined ? {} : { sizeLimit },
})

test.each<{
  title: string
  spec: Spec
  /** MiB of each container, and of each volume; all volumes count towards the pod. */
  used: { containers?: Record<string, number>; volumes?: Record<string, number> }
  wants: string | undefined
}>([
  {
    title: "a pod without limits can use any amount",
    spec: { containers: [container("c")], volumes: [emptyDir("v")] },
    used: { containers: { c: 1000 }, volumes: { v: 1000 } },
    wants: undefined,
  },
  {
    title: "a volume can be as large as its limit",
    spec: { volumes: [emptyDir("v", "5Mi")] },
    used: { volumes: { v: 5 } },
    wants: undefined,
  },
  {
    title: "a volume that is larger than its limit is reported",
    spec: { volumes: [emptyDir("v", "5Mi")] },
    used: { volumes: { v: 6 } },
    wants: 'Usage of EmptyDir volume "v" exceeds the limit "5Mi". ',
  },
  {
    title: "a volume with the limit 0 is unlimited",
    spec: { volumes: [emptyDir("v", "0")] },
    used: { volumes: { v: 6 } },
    wants: undefined,
  },
  {
    title: "a container beyond its limit is reported, although its pod is within its own",
    spec: { containers: [container("a", "5Mi"), container("b", "5Mi")] },
    used: { containers: { a: 6, b: 1 } },
    wants: 'Container a exceeded its local ephemeral storage limit "5Mi". ',
  },
  {
    title: "a pod is reported if its containers together exceed their limits",
    spec: { containers: [container("a", "5Mi"), container("b", "5Mi")] },
    used: { containers: { a: 5, b: 6 } },
    wants: "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
  },
  {
    title: "volumes count towards the limit of the pod",
    spec: { containers: [container("a", "5Mi")], volumes: [emptyDir("v")] },
    used: { containers: { a: 1 }, volumes: { v: 5 } },
    wants: "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ",
  },
  {
    title: "a container without a limit adds nothing to the limit of the pod",
    spec: { containers: [container("a", "5Mi"), container("b")] },
    used: { containers: { a: 1, b: 5 } },
    wants: "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ",
  },
  {
    title: "an init container with a larger limit increases that of the pod",
    spec: { containers: [container("a")], initContainers: [container("i", "20Mi")] },
    used: { containers: { a: 15 } },
    wants: undefined,
  },
  {
    title: "a sidecar's limit is added to those of containers",
    spec: {
      containers: [container("a", "5Mi")],
      initContainers: [{ ...container("s", "5Mi"), restartPolicy: "Always" }],
    },
    used: { containers: { a: 5, s: 6 } },
    wants: "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
  },
])("$title", ({ spec, used: { containers = {}, volumes = {} }, wants }) => {
  const bytes = (of: Record<string, number>) => new Map(Object.entries(of).map(([name, mib]) => [name, mib * MI]))
  const total = [...Object.values(containers), ...Object.values(volumes)].reduce((sum, mib) => sum + mib * MI, 0)
  expect(exceededLimit(podOf(spec), { total, containers: bytes(containers), volumes: bytes(volumes) })).toBe(wants)
})

test.each([
  { title: "no limit", spec: { containers: [container("c")], volumes: [emptyDir("v")] }, wants: false },
  { title: "a limit of a container", spec: { containers: [container("c", "1Mi")] }, wants: true },
  { title: "a limit of a volume", spec: { volumes: [emptyDir("v", "1Mi")] }, wants: true },
])("only the storage of a pod with a limit is measured: $title", ({ spec, wants }) => {
  expect(hasStorageLimit(podOf(spec as Spec))).toBe(wants)
})
