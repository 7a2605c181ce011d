import { expect, test } from "bun:test"
import { decodeObject } from "../../../../../apimachinery/decoding/decode.ts"
import { Pod } from "../pod.ts"
import type { ContainerStatus } from "../podstatus.ts"
import { takenBy } from "./pod-requests.ts"

test("what a pod of 3,000 containers takes while it is resized is found with a few looks at each status", () => {
  // given statuses of which the reads of names are counted
  const containers = Array.from({ length: 3000 }, (_, i) => ({
    name: `c${i}`,
    image: "i",
    resources: { requests: { cpu: "1m" } },
  }))
  const metadata = { name: "p", namespace: "n", generation: 2 }
  const status = {
    observedGeneration: 1,
    containerStatuses: containers.map(({ name }) => ({ name, resources: { requests: { cpu: "2m" } } })),
  }
  const pod = decodeObject(Pod, { metadata, spec: { containers }, status }).object
  let reads = 0
  const counted = ({ name, ...others }: ContainerStatus): ContainerStatus => ({
    ...others,
    get name() {
      reads++
      return name
    },
  })
  // when
  const taken = takenBy({
    ...pod,
    status: { ...pod.status, containerStatuses: pod.status.containerStatuses!.map(counted) },
  })
  // then
  expect(taken.exact.cpu).toBe(6000)
  expect(reads).toBeLessThan(3000 * 20)
})
