import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { requestOf } from "./pod-requests.ts"

/** Cases of the kind that TestCalculateRequests in pkg/controller/podautoscaler/replica_calculator_test.go asks. */

const container = (name: string, cpu?: string, restartPolicy?: string) => ({
  name,
  resources: cpu === undefined ? {} : { requests: { cpu } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
})

const TWO = [container("a", "100m"), container("b", "50m")]
const ONE_ASKS = [container("a"), container("b", "50m")]

test.each([
  { title: "the sum of its containers", spec: { containers: TWO }, wants: 150 },
  { title: "one of its containers", spec: { containers: TWO }, of: "a", wants: 100 },
  {
    title: "with sidecars, without other init containers",
    spec: {
      containers: [container("a", "100m")],
      initContainers: [container("i", "20m"), container("s", "50m", "Always")],
    },
    wants: 150,
  },
  {
    title: "what it asks for as a whole",
    spec: { containers: TWO, resources: { requests: { cpu: "800m" } } },
    wants: 800,
  },
  {
    title: "what it asks for as a whole, where not each container asks",
    spec: { containers: ONE_ASKS, resources: { requests: { cpu: "800m" } } },
    wants: 800,
  },
  {
    title: "a container's own, whatever the whole asks for",
    spec: { containers: TWO, resources: { requests: { cpu: "800m" } } },
    of: "a",
    wants: 100,
  },
  {
    title: "its containers' where the whole asks for something else",
    spec: { containers: ONE_ASKS, resources: { requests: { memory: "1Gi" } } },
    wants: 50,
  },
  {
    title: "what its runtime takes besides",
    spec: { containers: ONE_ASKS, resources: { requests: { cpu: "800m" } }, overhead: { cpu: "20m" } },
    wants: 820,
  },
])("of a pod counts $title", ({ spec, of, wants }) => {
  expect(requestOf(podOf(spec), "cpu", of)).toBe(wants)
})

test.each([
  { title: "a container", spec: { containers: ONE_ASKS }, says: "missing request for cpu in container a of Pod p" },
  { title: "the container meant", spec: { containers: TWO }, of: "c", says: "container c not found in Pod p" },
  {
    title: "the whole, and every container",
    spec: { containers: [container("a")], resources: { requests: { memory: "1Gi" } } },
    says: "missing pod-level request for cpu in Pod p",
  },
])("is refused where $title asks for nothing", ({ spec, of, says }) => {
  expect(() => requestOf(podOf(spec), "cpu", of)).toThrow(says)
})

const podOf = (spec: object): Pod => ({ metadata: { name: "p" }, spec }) as unknown as Pod
