import { describe, expect, test } from "bun:test"
import { LimitRange } from "../../../../pkg/api/core/v1/limitrange/limitrange.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../../pkg/api/core/v1/serviceaccount.ts"
import { pod, start } from "../../api-core.fixtures.ts"

const of = (name: string, cpu: string, more: object = {}) => ({
  name,
  image: "i",
  resources: { requests: { cpu }, limits: { cpu } },
  ...more,
})
const sidecar = { restartPolicy: "Always" }

describe("a LimitRange of pods", () => {
  test.each([
    {
      title: "a sidecar counts beside the containers",
      spec: { containers: [of("c", "2")], initContainers: [of("s", "2", sidecar)] },
      limit: { max: { cpu: "3" } },
      says: "maximum cpu usage per Pod is 3, but limit is 4",
    },
    {
      title: "an init container counts beside the sidecars before it",
      spec: { containers: [of("c", "1")], initContainers: [of("s", "1", sidecar), of("i", "3")] },
      limit: { max: { cpu: "3" } },
      says: "maximum cpu usage per Pod is 3, but limit is 4",
    },
    {
      title: "an init container does not count beside the containers",
      spec: { containers: [of("c", "2")], initContainers: [of("i", "2")] },
      limit: { max: { cpu: "3" } },
      says: undefined,
    },
    {
      title: "an init container does not count beside the sidecars after it",
      spec: { containers: [of("c", "1")], initContainers: [of("i", "3"), of("s", "1", sidecar)] },
      limit: { max: { cpu: "3" } },
      says: undefined,
    },
    {
      title: "resources of the pod itself replace those of its containers",
      spec: { containers: [of("c", "1")], resources: { requests: { cpu: "2" }, limits: { cpu: "4" } } },
      limit: { max: { cpu: "3" } },
      says: "maximum cpu usage per Pod is 3, but limit is 4",
    },
    {
      title: "requests of the pod itself are enough where its container has none",
      spec: {
        containers: [{ name: "c", image: "i" }],
        resources: { requests: { cpu: "2" }, limits: { cpu: "2" } },
      },
      limit: { min: { cpu: "1" }, max: { cpu: "3" } },
      says: undefined,
    },
    {
      title: "a ratio needs a request",
      spec: { containers: [{ name: "c", image: "i" }] },
      limit: { maxLimitRequestRatio: { cpu: "2" } },
      says: "cpu max limit to request ratio per Pod is 2, but no request is specified or request is 0",
    },
    {
      title: "a ratio needs a limit",
      spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }] },
      limit: { maxLimitRequestRatio: { cpu: "2" } },
      says: "cpu max limit to request ratio per Pod is 2, but no limit is specified or limit is 0",
    },
  ])("$title", async ({ spec, limit, says }) => {
    // given a namespace with the LimitRange
    await using cluster = await start()
    const { client } = cluster
    await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    await client.create(LimitRange, {
      metadata: { name: "l", namespace: "default" },
      spec: { limits: [{ type: "Pod", ...limit }] },
    })
    // when the pod is created
    const made = client.create(Pod, pod("a", spec)).then(
      () => undefined,
      (err: Error) => err.message,
    )
    // then it is taken, or refused with the reason
    expect(await made).toBe(says === undefined ? undefined : `pods "a" is forbidden: ${says}`)
  })
})
