import { expect, test } from "bun:test"
import { Job } from "../../pkg/api/batch/v1/job.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { startCluster } from "../cluster/testing/cluster.ts"

test.each([0, 1])(
  "an ended Job (exit code %p) is deleted with its pods after ttlSecondsAfterFinished",
  async (exitCode) => {
    // given
    await using cluster = await startCluster({ nodes: 1, images: { work: { runsMs: 10_000, exitCode } } })
    const { client } = cluster
    await client.create(Job, {
      metadata: { name: "work", namespace: "default" },
      spec: {
        ttlSecondsAfterFinished: 100,
        backoffLimit: 0,
        template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work" }] } },
      },
    })
    // when
    await cluster.advance(109_000)
    expect((await client.list(Job)).items).toHaveLength(1)
    await cluster.advance(2000)
    // then
    expect((await client.list(Job)).items).toEqual([])
    expect((await client.list(Pod)).items).toEqual([])
  },
)
