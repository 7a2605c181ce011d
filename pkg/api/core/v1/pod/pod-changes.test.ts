import { describe, expect, test } from "bun:test"
import { validateObjectUpdate } from "../../../../apimachinery/validation/validate.ts"
import { Pod } from "./pod.ts"
import { type Json, container, made, withContainer } from "./pod.fixtures.ts"

describe("changes of a pod", () => {
  const changes = (before: Json, after: Json) =>
    validateObjectUpdate(Pod, made(after), made(before)).map(({ field, message }) => `${field}: ${message}`)
  test.each<[string, Json, Json, string[]]>([
    ["another image", {}, withContainer({ image: "nginx:2", imagePullPolicy: "Always" }), []],
    [
      "one more container",
      {},
      { containers: [container, { name: "b", image: "b" }] },
      ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ],
    ["a deadline", {}, { activeDeadlineSeconds: 10 }, []],
    [
      "a later deadline",
      { activeDeadlineSeconds: 10 },
      { activeDeadlineSeconds: 20 },
      ["spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value"],
    ],
    ["one more toleration", {}, { tolerations: [{ key: "a", operator: "Exists" }] }, []],
    [
      "a removed toleration",
      { tolerations: [{ key: "a", operator: "Exists" }] },
      {},
      ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    ],
    [
      "a negative grace period made positive",
      { terminationGracePeriodSeconds: -1 },
      { terminationGracePeriodSeconds: 1 },
      [],
    ],
    [
      "a removed scheduling gate",
      { schedulingGates: [{ name: "a" }, { name: "b" }] },
      { schedulingGates: [{ name: "a" }] },
      [],
    ],
    [
      "a new scheduling gate",
      { schedulingGates: [{ name: "a" }] },
      { schedulingGates: [{ name: "b" }] },
      ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'"],
    ],
    [
      "a narrower node selector of a gated pod",
      { schedulingGates: [{ name: "a" }] },
      { schedulingGates: [{ name: "a" }], nodeSelector: { disk: "ssd" } },
      [],
    ],
  ])("%s", (_title, before, after, wanted) => {
    expect(changes(before, after)).toEqual(wanted)
  })

  test("an error about another change names the changed field", () => {
    const [cause] = validateObjectUpdate(Pod, made({ hostname: "a" }), made({}))
    expect(cause).toMatchObject({ field: "spec", reason: "FieldValueForbidden" })
    expect(cause!.message).toStartWith(
      "Forbidden: pod updates may not change fields other than " +
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,",
    )
    expect(cause!.message).toEndWith("changed: spec.hostname")
  })

  test("the status of a container that has ended for good cannot be changed back", () => {
    const ended = { containerStatuses: [{ name: "web", state: { terminated: { exitCode: 0 } } }] }
    const running = { containerStatuses: [{ name: "web", state: { running: {} } }] }
    const { status } = Pod.subresources!
    const causes = (status as { validateUpdate(obj: Pod, old: Pod): readonly unknown[] }).validateUpdate(
      made({ restartPolicy: "Never" }, {}, running),
      made({ restartPolicy: "Never" }, {}, ended),
    )
    expect(causes).toEqual([
      {
        reason: "FieldValueForbidden",
        field: "status.containerStatuses[0].state",
        message: "Forbidden: may not be transitioned to non-terminated state",
      },
    ])
  })
})

describe("the creation and deletion of a pod", () => {
  const context = { now: "2026-01-01T00:00:00Z", uuid: () => "u", warn: () => undefined }
  test.each<[string, Json, string]>([
    ["no requests", {}, "BestEffort"],
    ["limits for all", { limits: { cpu: "1", memory: "1Gi" } }, "Guaranteed"],
    ["memory only", { limits: { memory: "1Gi" } }, "Burstable"],
    ["less than the limit", { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } }, "Burstable"],
  ])("%s gives the QoS class %s", (_title, resources, wanted) => {
    const pod = Pod.prepareForCreate!(made(withContainer({ resources })), context)
    expect(pod.status).toEqual({ phase: "Pending", qosClass: wanted as "Burstable" })
  })

  test("a gated pod has a condition that says so", () => {
    const pod = Pod.prepareForCreate!(made({ schedulingGates: [{ name: "a" }] }), context)
    expect(pod.status.conditions).toEqual([
      {
        lastProbeTime: null,
        lastTransitionTime: "2026-01-01T00:00:00Z",
        type: "PodScheduled",
        status: "False",
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
    ])
  })

  test("matchLabelKeys are added to the selector with the pod's own values", () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: "zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: {},
      matchLabelKeys: ["version", "absent"],
    }
    const pod = Pod.prepareForCreate!(
      made({ topologySpreadConstraints: [constraint] }, { labels: { version: "2" } }),
      context,
    )
    expect(pod.spec.topologySpreadConstraints![0]!.labelSelector).toEqual({
      matchExpressions: [{ key: "version", operator: "In", values: ["2"] }],
    })
  })

  test.each<[string, Json, Json, number | undefined, number]>([
    ["not scheduled", {}, {}, 30, 0],
    ["on a node", { nodeName: "a" }, {}, undefined, 30],
    ["the requested one", { nodeName: "a" }, {}, 5, 5],
    ["over", { nodeName: "a" }, { phase: "Failed" }, 5, 0],
    ["negative", { nodeName: "a" }, {}, -1, 1],
  ])("%s: the grace period is as upstream's", (_title, spec, status, requested, wanted) => {
    expect(Pod.gracefulDeletion!(made(spec, {}, status), requested)).toBe(wanted)
  })
})
