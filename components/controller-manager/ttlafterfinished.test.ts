import { expect, test } from "bun:test"
import { Job } from "../../pkg/api/batch/v1/job.ts"
import { Pod } from "../../pkg/api/core/v1/pod.ts"
import { startControlPlane } from "../../pkg/testing/control-plane.ts"
import { finishPods } from "../../pkg/testing/finishing-pods.ts"
import { addNode } from "../../pkg/testing/pods.ts"

test.each([0, 1])("an ended Job (exit code %p) goes with its pods when its time to live is over", async (exitCode) => {
  // given
  await using plane = await startControlPlane()
  const { client, clock } = plane
  await addNode(plane, "node-0")
  finishPods(plane, () => ({ afterMs: 10_000, exitCode }))
  await client.create(Job, {
    metadata: { name: "work", namespace: "default" },
    spec: { ttlSecondsAfterFinished: 100, backoffLimit: 0, template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } } },
  })
  // when
  await clock.advance(109_000)
  expect((await client.list(Job)).items).toHaveLength(1)
  await clock.advance(2000)
  // then
  expect((await client.list(Job)).items).toEqual([])
  expect((await client.list(Pod)).items).toEqual([])
})
