import { describe, expect, test } from "bun:test"
import { decodeObject } from "../../../apimachinery/decoding/decode.ts"
import type { KubeObject, KubeObjectInput, Resource } from "../../../apimachinery/resource.ts"
import { validateObject, validateObjectUpdate } from "../../../apimachinery/validation/validate.ts"
import { CronJob } from "../../batch/v1/cronjob.ts"
import { Job } from "../../batch/v1/job.ts"
import { ReplicationController } from "../../core/v1/replicationcontroller.ts"
import { PodDisruptionBudget } from "../../policy/v1/poddisruptionbudget.ts"
import { ControllerRevision } from "./controllerrevision.ts"
import { DaemonSet } from "./daemonset.ts"
import { Deployment } from "./deployment.ts"
import { ReplicaSet } from "./replicaset.ts"
import { StatefulSet } from "./statefulset.ts"

type Json = Record<string, unknown>
const labels = { app: "web" }
const selector = { matchLabels: labels }
const template = (spec: Json = {}): Json => ({
  metadata: { labels },
  spec: { containers: [{ name: "a", image: "a:1" }], ...spec },
})
const made = <T extends KubeObject, I extends KubeObjectInput>(
  resource: Resource<T, I>,
  spec: Json,
  more: Json = {},
): T =>
  decodeObject(resource, {
    metadata: { name: "web", namespace: "default", resourceVersion: "1", uid: "u" },
    spec,
    ...more,
  }).object
const shown = (causes: readonly { readonly field?: string; readonly message: string }[]) =>
  causes.map(({ field, message }) => `${field}: ${message}`)
const created = <T extends KubeObject>(resource: Resource<T>, obj: T) =>
  shown(
    validateObject(
      resource,
      resource.prepareForCreate?.(obj, { now: "", uuid: () => "u", warn: () => undefined }) ?? obj,
    ),
  )

describe("defaults", () => {
  test("a Deployment has maxSurge and maxUnavailable of 25 %", () => {
    expect(made(Deployment, { selector, template: template() }).spec).toMatchObject({
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
    })
    expect(made(Deployment, { selector, template: template(), strategy: { type: "Recreate" } }).spec.strategy).toEqual({
      type: "Recreate",
    })
  })

  test("pod templates do not get the defaults that only pods get", () => {
    const { spec } = made(Deployment, {
      selector,
      template: template({ containers: [{ name: "a", image: "a:1", resources: { limits: { cpu: "1" } } }] }),
    }).spec.template
    expect([spec.enableServiceLinks, spec.containers[0]!.resources.requests]).toEqual([undefined, undefined])
  })

  test("DaemonSets, StatefulSets and ReplicationControllers have upstream's defaults", () => {
    expect(made(DaemonSet, { selector, template: template() }).spec.updateStrategy).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
    })
    expect(
      made(StatefulSet, { selector, template: template(), volumeClaimTemplates: [{ metadata: { name: "data" } }] })
        .spec,
    ).toMatchObject({
      podManagementPolicy: "OrderedReady",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
      volumeClaimTemplates: [
        {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: "data" },
          spec: { volumeMode: "Filesystem" },
          status: { phase: "Pending" },
        },
      ],
    })
    const rc = made(ReplicationController, { template: template() })
    expect([rc.spec.selector, rc.metadata.labels]).toEqual([labels, labels])
  })

  test("a Job has one completion, and its selector is generated from its UID", () => {
    const job = Job.prepareForCreate!(made(Job, { template: template({ restartPolicy: "Never" }) }), {
      now: "",
      uuid: () => "",
      warn: () => undefined,
    })
    expect(job.spec).toMatchObject({
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      completionMode: "NonIndexed",
      suspend: false,
      podReplacementPolicy: "TerminatingOrFailed",
      selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "u" } },
    })
    expect(job.spec.template.metadata.labels).toEqual({
      app: "web",
      "controller-uid": "u",
      "job-name": "web",
      "batch.kubernetes.io/controller-uid": "u",
      "batch.kubernetes.io/job-name": "web",
    })
  })
})

const deployment = (spec: Json) => created(Deployment, made(Deployment, { selector, template: template(), ...spec }))
const job = (spec: Json) => created(Job, made(Job, { template: template({ restartPolicy: "Never" }), ...spec }))
const cron = (spec: Json) =>
  created(
    CronJob,
    made(CronJob, {
      schedule: "*/5 * * * *",
      jobTemplate: { spec: { template: template({ restartPolicy: "Never" }) } },
      ...spec,
    }),
  )

describe("rules", () => {
  test.each<[string, () => string[], string[]]>([
    ["a deployment", () => deployment({}), []],
    [
      "an empty Deployment",
      () => created(Deployment, made(Deployment, {})),
      [
        "spec.selector: Required value",
        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
        "spec.template.spec.containers: Required value",
      ],
    ],
    [
      "another selector",
      () => deployment({ selector: { matchLabels: { app: "x" } } }),
      ['spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'],
    ],
    [
      "an empty selector",
      () => deployment({ selector: {} }),
      ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    ],
    [
      "a Deployment whose pods do not restart",
      () => deployment({ template: template({ restartPolicy: "Never" }) }),
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      "a rollout without surge and unavailability",
      () => deployment({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } } }),
      ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
    ],
    [
      "parameters of the strategy Recreate",
      () => deployment({ strategy: { type: "Recreate", rollingUpdate: {} } }),
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      "an invalid percentage",
      () => deployment({ strategy: { rollingUpdate: { maxSurge: "a lot" } } }),
      [
        'spec.strategy.rollingUpdate.maxSurge: Invalid value: "a lot": a valid percent string must be a ' +
          "numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is " +
          "'[0-9]+%')",
      ],
    ],
    [
      "negative replicas",
      () => deployment({ replicas: -1 }),
      ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
    ],
    [
      "a deadline shorter than minReadySeconds",
      () => deployment({ minReadySeconds: 600 }),
      ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    ],
    [
      "a faulty pod in a template",
      () => deployment({ template: template({ containers: [{ name: "a" }] }) }),
      ["spec.template.spec.containers[0].image: Required value"],
    ],
    ["a replica set", () => created(ReplicaSet, made(ReplicaSet, { selector, template: template() })), []],
    [
      "a DaemonSet without surge and unavailability",
      () =>
        created(
          DaemonSet,
          made(DaemonSet, {
            selector,
            template: template(),
            updateStrategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 0 } },
          }),
        ),
      ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
    ],
    ["a job", () => job({}), []],
    [
      "a Job whose pods always restart",
      () => job({ template: template() }),
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      "an Indexed Job without completions",
      () => job({ completionMode: "Indexed", parallelism: 2 }),
      ["spec.completions: Required value: when completion mode is Indexed"],
    ],
    ["a cron job", () => cron({}), []],
    [
      "a schedule of four fields",
      () => cron({ schedule: "* * * *" }),
      ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
    ],
    [
      "minute 60",
      () => cron({ schedule: "60 * * * *" }),
      ['spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60'],
    ],
    [
      "an invalid time zone",
      () => cron({ timeZone: "Moon/Base" }),
      ['spec.timeZone: Invalid value: "Moon/Base": unknown time zone Moon/Base'],
    ],
    [
      "a budget with both bounds",
      () => created(PodDisruptionBudget, made(PodDisruptionBudget, { minAvailable: 1, maxUnavailable: 1 })),
      [
        "spec: Invalid value: " +
          '{"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: ' +
          "minAvailable and maxUnavailable cannot be both set",
      ],
    ],
    [
      "a budget over 100 %",
      () => created(PodDisruptionBudget, made(PodDisruptionBudget, { minAvailable: "101%" })),
      ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%'],
    ],
    [
      "a revision without data",
      () =>
        created(
          ControllerRevision,
          decodeObject(ControllerRevision, { metadata: { name: "a", namespace: "b" } }).object,
        ),
      ["data: Required value: data is mandatory"],
    ],
  ])("%s", (_title, causes, wanted) => {
    expect(causes()).toEqual(wanted)
  })

  test("selectors are immutable, and nearly all of a StatefulSet is", () => {
    const changed = { ...selector, matchExpressions: [{ key: "app", operator: "Exists" }] }
    const value = JSON.stringify(changed)
    expect(
      shown(
        validateObjectUpdate(
          Deployment,
          made(Deployment, { selector: changed, template: template() }),
          made(Deployment, { selector, template: template() }),
        ),
      ),
    ).toEqual([`spec.selector: Invalid value: ${value}: field is immutable`])
    const [before, after] = [
      made(StatefulSet, { selector, template: template() }),
      made(StatefulSet, { selector, template: template(), replicas: 3, serviceName: "web" }),
    ]
    expect(shown(validateObjectUpdate(StatefulSet, after, before))).toEqual([
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', " +
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' " +
        "are forbidden",
    ])
  })
})

describe("columns", () => {
  const cells = <T extends KubeObject>(resource: Resource<T>, obj: T) =>
    resource.columns!.map(({ name, value }) => `${name}=${value(obj, Date.parse("2026-01-01T00:10:00Z"))}`)
  test("show what kubectl prints", () => {
    expect(
      cells(
        Deployment,
        made(
          Deployment,
          { selector, template: template(), replicas: 3 },
          { status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 } },
        ),
      ),
    ).toEqual(["Ready=2/3", "Up-to-date=3", "Available=1", "Containers=a", "Images=a:1", "Selector=app=web"])
    expect(
      cells(Job, made(Job, { template: template() }, { status: { startTime: "2026-01-01T00:00:00Z" } })).slice(0, 3),
    ).toEqual(["Status=Running", "Completions=0/1", "Duration=10m"])
    expect(cells(PodDisruptionBudget, made(PodDisruptionBudget, { minAvailable: 1 }))).toEqual([
      "Min Available=1",
      "Max Unavailable=N/A",
      "Allowed Disruptions=0",
    ])
  })
})
