/**
 * Every write of every component, over one day of all kinds of workloads: as whom, by which program's name, with which
 * verb, subresource and type of patch. Policies, webhooks, audit rules and managedFields depend on them. The table is
 * read off upstream's code, whose file stands beside each row.
 */
import { beforeAll, describe, expect, test } from "bun:test"
import { METRICS } from "./metrics-table.ts"
import { DRIVER, oneDay } from "./one-day.ts"

/** Metrics that are not there, and why. */
const ABSENT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["authentication", "authorization"].flatMap((what) =>
      ["reload_last_timestamp_seconds", "reloads_total"].map((name) => [
        `apiserver_${what}_config_controller_automatic_${name}`,
        "only with a file of such a configuration",
      ]),
    ),
  ),
  registered_metrics_total: "metrics have no levels of stability here",
  apiserver_storage_size_bytes: "this store is in memory",
}

const CONTROLLERS = "kube-controller-manager"
const EVENTS = ["create events", "patch events (strategic)"]

interface Row {
  readonly user: string
  /** The manager in managedFields. */
  readonly manager?: string
  readonly source: string
  readonly writes: readonly string[]
  /** Those that depend on what goes first, so that a day may be without them. */
  readonly maybe?: readonly string[]
}

const ROWS: readonly Row[] = [
  {
    user: "attachdetach-controller",
    source: "volume/attachdetach, statusupdater/node_status_updater.go, volume/csi/csi_attacher.go",
    writes: ["create volumeattachments", "delete volumeattachments", "patch nodes/status (strategic)"],
  },
  {
    user: "certificate-controller",
    source: "certificates/approver/sarapprove.go, signer/signer.go",
    writes: [
      "create subjectaccessreviews",
      "update certificatesigningrequests/approval",
      "update certificatesigningrequests/status",
    ],
  },
  {
    user: "cronjob-controller",
    source: "cronjob/injection.go",
    writes: ["create jobs", "delete jobs", "update cronjobs/status"],
  },
  {
    user: "daemon-set-controller",
    source: "daemon/daemon_controller.go, daemon/update.go",
    writes: ["create controllerrevisions", "create pods", "delete pods", "update daemonsets/status"],
  },
  {
    user: "deployment-controller",
    source: "deployment/sync.go",
    writes: ["create replicasets", "update replicasets", "update deployments/status"],
  },
  {
    user: "disruption-controller",
    source: "disruption/disruption.go",
    writes: ["update poddisruptionbudgets/status"],
  },
  {
    user: "endpoint-controller",
    source: "endpoint/endpoints_controller.go",
    writes: ["create endpoints", "update endpoints"],
    maybe: ["delete endpoints"],
  },
  {
    user: "endpointslice-controller",
    source: "k8s.io/endpointslice reconciler.go",
    writes: ["create endpointslices", "update endpointslices"],
    maybe: ["delete endpointslices"],
  },
  {
    user: "endpointslicemirroring-controller",
    source: "endpointslicemirroring/reconciler.go",
    writes: ["create endpointslices", "delete endpointslices"],
  },
  { user: "ephemeral-volume-controller", source: "volume/ephemeral", writes: ["create persistentvolumeclaims"] },
  {
    user: "generic-garbage-collector",
    source: "garbagecollector/operations.go, patch.go (owners: strategic) and removeFinalizer (merge)",
    writes: [
      "delete controllerrevisions",
      "delete jobs",
      "delete leases",
      "delete persistentvolumeclaims",
      "delete pods",
      "delete replicasets",
      "delete resourceclaims",
      "patch controllerrevisions (strategic)",
      "patch daemonsets (merge)",
      "patch deployments (merge)",
      "patch pods (strategic)",
    ],
    maybe: [
      "delete csinodes",
      "delete endpointslices",
      "patch jobs (merge)",
      "patch replicasets (merge)",
      "patch replicasets (strategic)",
    ],
  },
  {
    user: "horizontal-pod-autoscaler",
    source: "podautoscaler/horizontal.go",
    writes: ["update horizontalpodautoscalers/status", "update replicationcontrollers/scale"],
  },
  {
    user: "job-controller",
    source: "job/job_controller.go, controller_utils.go (RealPodControl)",
    writes: ["create pods", "patch pods (strategic)", "update jobs/status"],
  },
  {
    user: "namespace-controller",
    source: "namespace/deletion/namespaced_resources_deleter.go",
    writes: [
      "deletecollection configmaps",
      "deletecollection serviceaccounts",
      "update namespaces/finalize",
      "update namespaces/status",
    ],
  },
  {
    user: "node-controller",
    source:
      "nodelifecycle/node_lifecycle_controller.go, tainteviction/taint_eviction.go, util/node/controller_utils.go, component-helpers node/util/cidr.go",
    writes: [
      "delete pods",
      "patch nodes (strategic)",
      "patch pods/status (strategic)",
      "update nodes/status",
      "update pods/status",
    ],
  },
  {
    user: "persistent-volume-binder",
    source: "volume/persistentvolume/pv_controller.go",
    writes: [
      "create persistentvolumes",
      "delete persistentvolumes",
      "update persistentvolumeclaims",
      "update persistentvolumeclaims/status",
      "update persistentvolumes",
      "update persistentvolumes/status",
    ],
  },
  {
    user: "pod-garbage-collector",
    source: "podgc/gc_controller.go",
    writes: ["delete pods", "patch pods/status (strategic)"],
  },
  { user: "pv-protection-controller", source: "volume/pvprotection", writes: ["update persistentvolumes"] },
  { user: "pvc-protection-controller", source: "volume/pvcprotection", writes: ["update persistentvolumeclaims"] },
  {
    user: "replicaset-controller",
    source: "replicaset/replica_set.go, controller_ref_manager.go",
    writes: ["create pods", "delete pods", "patch pods (strategic)", "update replicasets/status"],
  },
  {
    user: "replication-controller",
    source: "replicaset/replica_set.go, replication/conversion.go",
    writes: ["create pods", "update replicationcontrollers/status"],
  },
  {
    user: "resource-claim-controller",
    source: "resourceclaim/controller.go",
    writes: ["create resourceclaims", "delete resourceclaims"],
  },
  {
    user: "resource-claim-controller",
    manager: "ResourceClaimController",
    source: "resourceclaim/controller.go fieldManager",
    writes: ["patch pods/status (apply)"],
  },
  {
    user: "resourcequota-controller",
    source: "resourcequota/resource_quota_controller.go",
    writes: ["update resourcequotas/status"],
  },
  { user: "root-ca-cert-publisher", source: "certificates/rootcacertpublisher", writes: ["create configmaps"] },
  {
    user: "service-account-controller",
    source: "serviceaccount/serviceaccounts_controller.go",
    writes: ["create serviceaccounts"],
  },
  {
    user: "service-cidrs-controller",
    source: "servicecidrs/servicecidrs_controller.go",
    writes: ["patch servicecidrs (strategic)"],
  },
  {
    user: "service-cidrs-controller",
    manager: "service-cidr-controller",
    source: "servicecidrs/servicecidrs_controller.go controllerName",
    writes: ["patch servicecidrs/status (apply)"],
  },
  {
    user: "service-controller",
    source: "cloud-provider service/helpers/helper.go PatchService",
    writes: ["patch services/status (strategic)"],
  },
  {
    user: "statefulset-controller",
    source: "statefulset/stateful_pod_control.go, stateful_set_status_updater.go, history/controller_history.go",
    writes: [
      "create controllerrevisions",
      "create persistentvolumeclaims",
      "create pods",
      "delete pods",
      "update persistentvolumeclaims",
      "update statefulsets/status",
    ],
  },
  {
    user: "ttl-after-finished-controller",
    source: "ttlafterfinished/ttlafterfinished_controller.go",
    writes: ["delete jobs"],
  },
  { user: "ttl-controller", source: "ttl/ttl_controller.go", writes: ["patch nodes (strategic)"] },
  {
    user: "validatingadmissionpolicy-status-controller",
    manager: "validatingadmissionpolicy-status",
    source: "validatingadmissionpolicystatus/controller.go ControllerName",
    writes: ["patch validatingadmissionpolicies/status (apply)"],
  },
  {
    user: "system:kube-controller-manager",
    source: "serviceaccount/tokens_controller.go, with the client of the program itself",
    writes: ["delete secrets", "update secrets"],
  },
  {
    user: "system:kube-scheduler",
    manager: "kube-scheduler",
    source:
      "pkg/scheduler: util/utils.go PatchPodStatus, framework/preemption, plugins/volumebinding, defaultbinder; " +
      "client-go tools/events",
    writes: [
      "create events.events.k8s.io",
      "create pods/binding",
      "delete pods",
      "patch events.events.k8s.io (strategic)",
      "patch pods/status (strategic)",
      "update persistentvolumeclaims",
    ],
  },
  {
    user: "system:node",
    manager: "kubelet",
    source:
      "pkg/kubelet: status/status_manager.go, kubelet_node_status.go, token/, component-helpers apimachinery/lease",
    writes: [
      "create leases",
      "create nodes",
      "create serviceaccounts/token",
      "delete pods",
      "patch nodes/status (strategic)",
      "patch pods/status (strategic)",
      "update leases",
    ],
    maybe: ["create csinodes", "update csinodes"],
  },
]

describe("over one day", () => {
  /** By user and manager. */
  const seen = new Map<string, string[]>()
  /** The metrics, by path. */
  const texts = new Map<string, string>()
  beforeAll(async () => {
    const day = await oneDay(Object.keys(METRICS))
    for (const [path, text] of day.metrics) texts.set(path, text)
    for (const line of day.writes.keys()) {
      const [who = "", write = ""] = line.split(": ")
      if (!EVENTS.includes(write)) seen.set(who, [...(seen.get(who) ?? []), write])
    }
  }, 120_000)

  test.each(ROWS)("$user writes as upstream's ($source)", ({ user, manager = CONTROLLERS, writes, maybe = [] }) => {
    const all = seen.get(`${user} as ${manager}`) ?? []
    expect(all.filter((write) => !maybe.includes(write)).sort()).toEqual([...writes].sort())
  })

  test("nobody else writes, and nobody under another name", () => {
    const known = new Set(ROWS.map(({ user, manager = CONTROLLERS }) => `${user} as ${manager}`))
    expect([...seen.keys()].filter((who) => !known.has(who) && !who.startsWith(DRIVER))).toEqual([])
  })

  test.each(Object.keys(METRICS))(
    "%s has every metric that Kubernetes marks stable or beta, with its labels",
    (path) => {
      const text = texts.get(path)!
      const wrong = METRICS[path]!.filter(([name]) => ABSENT[name] === undefined).flatMap(([name, type, labels]) => {
        if (!text.includes(`# TYPE ${name} ${type}\n`)) return [`${name} ${type}: missing`]
        const series = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, "m").exec(text)
        const shown = [...(series?.[1] ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label!).sort()
        return series === null || shown.join(" ") === labels ? [] : [`${name}: labels ${shown.join(" ")}`]
      })
      expect(wrong).toEqual([])
    },
  )
})
