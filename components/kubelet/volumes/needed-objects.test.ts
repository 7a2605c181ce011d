import { expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { neededBy } from "./needed-objects.ts"

const pod = decodeObject(Pod, {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default" },
  spec: {
    containers: [
      {
        name: "web",
        image: "web",
        env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "a" } } }],
      },
    ],
    volumes: [
      { name: "one", configMap: { name: "settings" } },
      { name: "two", secret: { secretName: "key" } },
    ],
  },
}).object

test("a pod needs the objects of its volumes and variables, each once", () => {
  expect(neededBy(pod)).toEqual([
    {
      key: "ConfigMap/settings",
      reference: { kind: "ConfigMap", name: "settings" },
      volumes: ["one"],
      variables: true,
    },
    { key: "Secret/key", reference: { kind: "Secret", name: "key" }, volumes: ["two"], variables: false },
  ])
})

test("pods that share their spec share what they need, unless a container was added to one of them", () => {
  // given another pod of the same template
  const other: Pod = { ...pod, metadata: { ...pod.metadata, name: "web-1" }, spec: { ...pod.spec } }
  expect(neededBy(other)).toBe(neededBy(pod))
  // when one is debugged, with a variable of its own
  const env = [{ name: "B", valueFrom: { secretKeyRef: { name: "debug", key: "b" } } }]
  const debugged: Pod = {
    ...pod,
    spec: { ...pod.spec, ephemeralContainers: [{ ...pod.spec.containers[0]!, name: "debug", env }] },
  }
  // then
  expect(neededBy(debugged).map(({ key }) => key)).toEqual(["ConfigMap/settings", "Secret/key", "Secret/debug"])
  expect(neededBy(other)).toHaveLength(2)
})
