import { expect, test } from "bun:test"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../pkg/apimachinery/decoding/decode.ts"
import { isSubject, podFacts, reportedAddresses } from "./pod-facts.ts"

const podWith = (spec: object, status: object = {}): Pod =>
  decodeObject(Pod, { metadata: { name: "p", namespace: "x" }, spec: { containers: [], ...spec }, status }).object

test.each([
  {
    title: "both of a dual-stack pod",
    status: { podIPs: [{ ip: "10.42.0.5" }, { ip: "fd00::5" }] },
    wants: ["10.42.0.5", "fd00::5"],
  },
  { title: "the only one of a single-stack pod", status: { podIP: "10.42.0.5" }, wants: ["10.42.0.5"] },
  { title: "none before the pod has one", status: {}, wants: [] },
  { title: "none for a text that is no address", status: { podIP: "10.42.0.5 }\nflush ruleset\n" }, wants: [] },
])("addresses of a pod: $title", ({ status, wants }) => expect(reportedAddresses(podWith({}, status))).toEqual(wants))

test.each([
  { title: "apply to a pod with its own network", pod: podWith({}), wants: true },
  { title: "do not apply to a pod with hostNetwork", pod: podWith({ hostNetwork: true }), wants: false },
  { title: "do not apply to a pod that has succeeded", pod: podWith({}, { phase: "Succeeded" }), wants: false },
  { title: "do not apply to a pod that has failed", pod: podWith({}, { phase: "Failed" }), wants: false },
])("policies $title", ({ pod, wants }) => expect(isSubject(pod)).toBe(wants))

test("named ports are those of containers and sidecars, by protocol", () => {
  const port = (name: string, containerPort: number, protocol?: string) => ({ name, containerPort, protocol })
  const pod = podWith({
    containers: [{ name: "c", ports: [port("web", 80), port("dns", 53, "UDP"), { containerPort: 9 }] }],
    initContainers: [
      { name: "sidecar", restartPolicy: "Always", ports: [port("admin", 9090)] },
      { name: "once", ports: [port("gone", 1)] },
    ],
  })
  expect(podFacts(pod, [], "node-0").ports).toEqual([
    { name: "web", protocol: "TCP", number: 80 },
    { name: "dns", protocol: "UDP", number: 53 },
    { name: "admin", protocol: "TCP", number: 9090 },
  ])
})
