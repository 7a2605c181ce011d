import { expect, test } from "bun:test"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Service } from "../../pkg/api/core/v1/service/service.ts"
import { subsetsOf } from "./endpoint-subsets.ts"

const namesOf = (ports: number) => Array.from({ length: ports }, (_, i) => `p${i}`)

const service = (ports: number) =>
  ({
    metadata: { name: "web", namespace: "default" },
    spec: { ports: namesOf(ports).map((name, i) => ({ name, port: i + 1, protocol: "TCP", targetPort: name })) },
  }) as unknown as Service

/** Pods, each with ports of these names, with the number that `numberOf` gives to a port of a pod. */
const pods = (count: number, ports: number, numberOf: (pod: number, port: number) => number) =>
  Array.from(
    { length: count },
    (_, pod) =>
      ({
        metadata: { name: `w${pod}`, namespace: "default", uid: `${pod}` },
        spec: {
          containers: [
            {
              ports: namesOf(ports).map((name, port) => ({
                ...{ name, containerPort: numberOf(pod, port), protocol: "TCP" },
              })),
            },
          ],
        },
        status: { podIP: `10.42.${pod >> 8}.${pod & 255}`, conditions: [{ type: "Ready", status: "True" }] },
      }) as unknown as Pod,
  )

test("pods that have the same ports are one subset, however many they are", () => {
  const [subset, ...others] = subsetsOf(
    pods(1000, 300, (_, port) => port + 1),
    service(300),
  )
  expect([subset?.addresses?.length, subset?.ports?.length, others]).toEqual([1000, 300, []])
})

test.each<[says: string, count: number, ports: number, numberOf: (pod: number, port: number) => number]>([
  ["each pod has other numbers", 200, 300, (pod, port) => pod * 300 + port],
  [
    "each port divides the pods in another way",
    600,
    200,
    (pod, port) => 1 + ((Math.imul(pod % 100, 2 * port + 99991) >>> 7) & 1),
  ],
])(
  "Endpoints that no object could list are an error and not the memory of all, where %s",
  (_, count, ports, numberOf) => {
    expect(() => subsetsOf(pods(count, ports, numberOf), service(ports))).toThrow(
      "The Endpoints of Service default/web would list more than 50000 ports and addresses",
    )
  },
)
