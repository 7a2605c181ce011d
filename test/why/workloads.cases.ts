import { deployment, type Situation } from "./situation.fixtures.ts"

const job = (spec: string, podSpec: string): string => `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec:
  ${spec}
  template: {spec: ${podSpec}}
`
const cron = (spec: string, podSpec = `{restartPolicy: Never, containers: [{name: c, image: "task:1"}]}`): string => `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  ${spec.split("; ").join("\n  ")}
  jobTemplate: {spec: {template: {spec: ${podSpec}}}}
`
const set = (spec: string, more = ""): string => `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  ${more}
  template:
    metadata: {labels: {app: db}}
    spec: ${spec}
`
const daemons = (spec: string): string => `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: ${spec}
`
const CPU = `{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}`
const autoscaler = (name: string, metric: string): string => `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: ${name}}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3, metrics: [${metric}]}
`
const FAILS = { nodes: 1, images: { "task:1": { runsMs: 100, exitCode: 4, logs: ["no such file: input.csv"] } } }
const ONCE = `{restartPolicy: Never, containers: [{name: c, image: "task:1"}]}`

export const WORKLOADS: readonly Situation[] = [
  {
    title: "a Job whose pods fail until it is out of retries",
    yaml: job("backoffLimit: 1", ONCE),
    ask: "job/task",
    cause: "exits-with-error",
    says: /exit code 4; its last line: no such file: input\.csv/,
    options: FAILS,
  },
  {
    title: "a Job whose failed pods are gone",
    yaml: job("backoffLimit: 1", `{restartPolicy: OnFailure, containers: [{name: c, image: "task:1"}]}`),
    ask: "job/task",
    cause: "job-out-of-retries",
    says: /more often than its backoffLimit of 1 allows/,
    options: FAILS,
  },
  {
    title: "a Job that takes longer than it may",
    yaml: job("activeDeadlineSeconds: 30", ONCE),
    ask: "job/task",
    cause: "job-deadline",
    says: /longer than its activeDeadlineSeconds of 30 s/,
  },
  {
    title: "a Job that is suspended",
    yaml: job("suspend: true", ONCE),
    ask: "job/task",
    cause: "job-suspended",
    says: /it is suspended, so it runs no pods/,
    mends: 1,
    options: { nodes: 1, images: { "task:1": { runsMs: 100 } } },
  },
  {
    title: "a Job whose image does not exist",
    yaml: job("backoffLimit: 1", ONCE),
    ask: "job/task",
    cause: "image-not-found",
    says: /image task:1 does not exist/,
    options: { nodes: 1, images: { "task:1": { pullError: "docker.io/library/task:1: not found" } } },
  },
  {
    title: "a CronJob that is suspended",
    yaml: cron('schedule: "* * * * *"; suspend: true'),
    ask: "cronjob/nightly",
    cause: "cronjob-suspended",
    says: /it is suspended, so it starts no jobs/,
    mends: 1,
    options: { nodes: 1, images: { "task:1": { runsMs: 100 } } },
  },
  {
    title: "a CronJob whose former job still runs",
    yaml: cron('schedule: "* * * * *"; concurrencyPolicy: Forbid'),
    ask: "cronjob/nightly",
    cause: "cronjob-forbid",
    says: /job nightly-\d+ still runs, for \S+, and concurrencyPolicy Forbid allows one/,
    after: "5m",
  },
  {
    title: "a CronJob for a day that never comes",
    yaml: cron('schedule: "0 0 30 2 *"'),
    ask: "cronjob/nightly",
    cause: "cronjob-never",
    says: /names a time that never comes/,
  },
  {
    title: "a CronJob whose last job failed",
    yaml: cron('schedule: "* * * * *"'),
    ask: "cj/nightly",
    cause: "exits-with-error",
    says: /exit code 4/,
    options: FAILS,
  },
  {
    title: "a CronJob whose time passed while nobody could start it",
    yaml: cron('schedule: "0 * * * *"; startingDeadlineSeconds: 60'),
    breaks: async (cluster) => {
      const fault = await cluster.faults.crashed("controller-manager")
      await cluster.advance("62m")
      await fault.end()
    },
    ask: "cronjob/nightly",
    cause: "cronjob-missed",
    says: /was not started: its time passed while nobody could start it, and startingDeadlineSeconds of 60 s is over/,
  },
  {
    title: "a StatefulSet that waits for its first pod",
    yaml: set(`{containers: [{name: c, image: "task:1"}]}`),
    ask: "statefulset/db",
    cause: "exits-with-error",
    says: /exit code 4/,
    options: FAILS,
  },
  {
    title: "a StatefulSet whose claim has a class that does not exist",
    yaml: set(
      `{containers: [{name: c, image: "app:1"}]}`,
      `volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`,
    ),
    ask: "sts/db",
    cause: "storage-class-missing",
    says: /StorageClass fast does not exist/,
  },
  {
    title: "a StatefulSet whose template is rolled out only on deletion",
    yaml: set(`{containers: [{name: c, image: "app:1"}]}`, "updateStrategy: {type: OnDelete}"),
    breaks: (cluster) => cluster.kubectl("set image statefulset/db c=app:2"),
    ask: "statefulset/db",
    cause: "rollout-on-delete",
    says: /0 of 3 pods have the new template: with updateStrategy OnDelete/,
  },
  {
    title: "a DaemonSet for nodes that do not exist",
    yaml: daemons(`{nodeSelector: {gpu: "yes"}, containers: [{name: c, image: "app:1"}]}`),
    ask: "daemonset/agent",
    cause: "node-selector",
    says: /it has no pod on nodes node-0, node-1: each has no label gpu/,
    mends: 1,
  },
  {
    title: "a DaemonSet whose pods do not tolerate the taint of all nodes",
    yaml: daemons(`{containers: [{name: c, image: "app:1"}]}`),
    ask: "ds/agent",
    cause: "taint-not-tolerated",
    says: /no pod on node a, which has the taint dedicated=db:NoSchedule/,
    mends: 1,
    options: { nodes: [{ name: "a", taints: [{ key: "dedicated", value: "db", effect: "NoSchedule" }] }] },
  },
  {
    title: "a rollout that is paused",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`),
    breaks: async (cluster) => {
      await cluster.kubectl("rollout pause deployment/web")
      await cluster.kubectl("set image deployment/web c=app:2")
    },
    ask: "deployment/web",
    cause: "rollout-paused",
    says: /its rollout is paused/,
    mends: 1,
  },
  {
    title: "a rollout that is stuck at its deadline",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`, "progressDeadlineSeconds: 60"),
    breaks: (cluster) => cluster.kubectl("set image deployment/web c=task:1"),
    ask: "deployment/web",
    cause: "exits-with-error",
    says: /exit code 4/,
    options: FAILS,
  },
  {
    title: "an autoscaler whose pods request nothing",
    yaml:
      deployment("web", `{containers: [{name: c, image: "app:1"}]}`) +
      `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}
`,
    ask: "hpa/web",
    cause: "autoscaler-requests-missing",
    says: /parts of the cpu request, and container c of pod web-\S+ requests none/,
  },
  {
    title: "an autoscaler whose target does not exist",
    yaml: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: wbe}, maxReplicas: 5, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}
`,
    ask: "hpa/web",
    cause: "autoscaler-target-missing",
    says: /its target Deployment wbe does not exist/,
  },
  {
    title: "an autoscaler of a Deployment without replicas",
    yaml:
      deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 100m}}}]}`) +
      `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 5, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}
`,
    breaks: (cluster) => cluster.kubectl("scale deployment/web --replicas=0"),
    ask: "hpa/web",
    cause: "autoscaler-disabled",
    says: /has 0 replicas, which turns the autoscaler off/,
    mends: 1,
  },
  {
    title: "a Job that may run no pods at a time",
    yaml: job("parallelism: 0", ONCE),
    ask: "job/task",
    cause: "job-parallelism",
    says: /its parallelism is 0/,
    mends: 1,
    options: { nodes: 1, images: { "task:1": { runsMs: 100 } } },
  },
  {
    title: "a cluster whose scheduler does not run",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "not-scheduled-yet",
    says: /no scheduler has looked at it yet; nodes node-0, node-1 would take it/,
    options: { nodes: 2, components: { scheduler: false } },
  },

  {
    title: "two autoscalers of one Deployment",
    yaml:
      deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 100m}}}]}`) +
      autoscaler("a", CPU) +
      autoscaler("b", CPU),
    ask: "hpa/a",
    cause: "autoscaler-ambiguous",
    says: /HorizontalPodAutoscaler b scales the same pods \(app=web\), so that none of them does/,
  },
  {
    title: "an autoscaler that has reached its maximum",
    yaml:
      deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 100m}}}]}`) +
      autoscaler("web", CPU),
    ask: "hpa/web",
    cause: "autoscaler-at-maximum",
    says: /its metrics want more pods than its maxReplicas of 3/,
    options: { nodes: 1, images: { "app:1": { cpu: () => 0.5 } } },
  },
  {
    title: "an autoscaler of a metric that nobody serves",
    yaml:
      deployment("web", `{containers: [{name: c, image: "app:1"}]}`) +
      autoscaler(
        "web",
        `{type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: "10"}}}`,
      ),
    ask: "hpa/web",
    cause: "autoscaler-metrics-missing",
    says: /nobody serves the metrics that it needs: there is no APIService v1beta1\.external\.metrics\.k8s\.io/,
  },
  {
    title: "a StatefulSet that waits for a broken pod though its template was mended",
    yaml: set(`{containers: [{name: c, image: "app:1"}]}`),
    breaks: async (cluster) => {
      await cluster.kubectl("set image statefulset/db c=none:1")
      await cluster.advance("3m")
      await cluster.kubectl("set image statefulset/db c=app:1")
    },
    ask: "statefulset/db",
    cause: "rollout-waits-for-broken-pod",
    also: ["image-not-found"],
    says: /pod db-2 is broken and has an earlier template: its controller waits until it is ready/,
    mends: 1,
    options: { nodes: 1, images: { "none:1": { pullError: "docker.io/library/none:1: not found" } } },
  },
  {
    title: "a StatefulSet whose claim is larger than a LimitRange allows",
    yaml:
      `
apiVersion: v1
kind: LimitRange
metadata: {name: small}
spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 1Gi}}]}
---` +
      set(
        `{containers: [{name: c, image: "app:1"}]}`,
        `volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}}]`,
      ),
    ask: "sts/db",
    cause: "limit-range",
    says: /LimitRange default\/small does not allow claim data-db-0 of its pod: maximum storage usage per PersistentVolumeClaim is 1Gi/,
  },
  {
    title: "a CronJob whose jobs a quota refuses",
    yaml: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: none}
spec: {hard: {count/jobs.batch: "0"}}
---${cron('schedule: "* * * * *"')}`,
    ask: "cronjob/nightly",
    cause: "quota-exceeded",
    says: /ResourceQuota default\/none does not allow its job/,
  },
]
