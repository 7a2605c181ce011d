import { expect, test } from "bun:test"
import { collisionFaults, replicaFaults } from "./status-validation.ts"

const texts = (causes: ReturnType<typeof collisionFaults>) => causes.map(({ field, message }) => `${field}: ${message}`)

test("a status with more ready pods than pods, or more available than ready ones, is refused", () => {
  expect(
    texts(
      replicaFaults(
        { replicas: 2, readyReplicas: 3, availableReplicas: 1 },
        ["readyReplicas", "availableReplicas"],
        "readyReplicas",
      ),
    ),
  ).toEqual(["status.readyReplicas: Invalid value: 3: cannot be greater than status.replicas"])
  expect(
    texts(
      replicaFaults(
        { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
        ["readyReplicas", "availableReplicas"],
        "readyReplicas",
      ),
    ),
  ).toEqual(["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"])
  expect(replicaFaults({ replicas: 0, readyReplicas: 0 }, ["readyReplicas"], "readyReplicas")).toEqual([])
})

test("collisionCount cannot be decremented", () => {
  expect(texts(collisionFaults({}, { collisionCount: 1 }))).toEqual([
    "status.collisionCount: Invalid value: 0: cannot be decremented",
  ])
  expect(collisionFaults({ collisionCount: 2 }, { collisionCount: 1 })).toEqual([])
})
