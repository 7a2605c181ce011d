import { expect, test } from "bun:test"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { requestOf } from "./pod-requests.ts"

/** Cases like those of TestCalculateRequests in pkg/controller/podautoscaler/replica_calculator_test.go. */

const container = (name: string, cpu?: string, restartPolicy?: string) => ({
  name,
  resources: cpu === undefined ? {} : { requests: { cpu } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
})

const TWO = [container("a", "100m"), container("b", "50m")]
const ONE_ASKS = [container("a"), container("b", "50m")]

test.each([
  { title: "the sum of its containers' requests", spec: { containers: TWO }, wants: 150 },
  { title: "the request of one container", spec: { containers: TWO }, of: "a", wants: 100 },
  {
    title: "the requests of sidecars, but not of other init containers",
    spec: {
      containers: [container("a", "100m")],
      initContainers: [container("i", "20m"), container("s", "50m", "Always")],
    },
    wants: 150,
  },
  {
    title: "its pod-level request",
    spec: { containers: TWO, resources: { requests: { cpu: "800m" } } },
    wants: 800,
  },
  {
    title: "its pod-level request if not all containers have one",
    spec: { containers: ONE_ASKS, resources: { requests: { cpu: "800m" } } },
    wants: 800,
  },
  {
    title: "the request of a container, whatever the pod-level request is",
    spec: { containers: TWO, resources: { requests: { cpu: "800m" } } },
    of: "a",
    wants: 100,
  },
  {
    title: "its containers' requests if the pod-level requests lack the resource",
    spec: { containers: ONE_ASKS, resources: { requests: { memory: "1Gi" } } },
    wants: 50,
  },
  {
    title: "its pod-level request and the overhead of its runtime class",
    spec: { containers: ONE_ASKS, resources: { requests: { cpu: "800m" } }, overhead: { cpu: "20m" } },
    wants: 820,
  },
])("the request of a pod is $title", ({ spec, of, wants }) => {
  expect(requestOf(podOf(spec), "cpu", of)).toBe(wants)
})

test.each([
  {
    title: "a container has no request",
    spec: { containers: ONE_ASKS },
    says: "missing request for cpu in container a of Pod p",
  },
  {
    title: "the named container does not exist",
    spec: { containers: TWO },
    of: "c",
    says: "container c not found in Pod p",
  },
  {
    title: "neither the pod nor a container has a request",
    spec: { containers: [container("a")], resources: { requests: { memory: "1Gi" } } },
    says: "missing pod-level request for cpu in Pod p",
  },
])("reading the request of a pod fails if $title", ({ spec, of, says }) => {
  expect(() => requestOf(podOf(spec), "cpu", of)).toThrow(says)
})

const podOf = (spec: object): Pod => ({ metadata: { name: "p" }, spec }) as unknown as Pod
