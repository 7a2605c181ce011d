import type { FaultStep, Program, Step } from "../program.ts"

/**
 * What goes wrong on a real server: its process is killed or told to end, and started again on the same data; a
 * controller loses its rights; or the connections of an operator outside fail.
 */
export type ServerFault =
  | { readonly is: "killed" | "ended" }
  | { readonly is: "forbidden"; readonly role: string }
  | { readonly is: "answers"; readonly code: number }
  | { readonly is: "slow"; readonly delay: number }

export type ServerStep =
  | Exclude<Step, { readonly do: "fault" | "addNode" | "clockJump" }>
  | { readonly do: "fault"; readonly fault: ServerFault; readonly ms: number }

/** How much faster a program runs on a server, whose time is everybody's; and the longest wait. */
const HASTE = 20
const LONGEST_MS = 1500
/** A start of the server takes a second or two. */
const MOST_KILLS = 4

/**
 * The program of a seed for a server with one node: what it cannot do is left out, and all that takes time is shorter.
 */
export function translate({ steps }: Program, node: string): readonly ServerStep[] {
  let kills = 0
  return steps.flatMap((step): readonly ServerStep[] => {
    switch (step.do) {
      case "addNode":
      case "clockJump":
        return []
      case "advance":
        return [{ ...step, ms: scaled(step.ms) }]
      case "fault": {
        const fault = faultOf(step.fault)
        if (fault === undefined) return []
        if ((fault.is === "killed" || fault.is === "ended") && ++kills > MOST_KILLS) return [{ do: "dropWatches" }]
        return [{ do: "fault", fault, ms: scaled(step.ms) }]
      }
      case "cordon":
      case "uncordon":
      case "taint":
      case "deleteNode":
        return [{ ...step, node }]
      case "apply":
        return [{ ...step, object: hasty(step.object, step.object.kind) as typeof step.object }]
      case "patch":
        return [{ ...step, body: hasty(step.body, step.kind) as object }]
      default:
        return [step]
    }
  })
}

const scaled = (ms: number): number => Math.min(LONGEST_MS, Math.ceil(ms / HASTE))

function faultOf(fault: FaultStep): ServerFault | undefined {
  switch (fault.is) {
    case "crashed":
    case "nodeLost":
      return { is: "killed" }
    case "kubeletCrashed":
      return { is: "ended" }
    case "requests": {
      const role = ROLES[fault.resource]
      if (fault.delay !== undefined) return { is: "slow", delay: scaled(fault.delay) }
      return role === undefined ? { is: "answers", code: CODES[fault.error ?? ""] ?? 500 } : { is: "forbidden", role }
    }
    default:
      return undefined
  }
}

const CODES: Readonly<Record<string, number>> = {
  Conflict: 409,
  NotFound: 404,
  Forbidden: 403,
  AlreadyExists: 409,
  Unauthorized: 401,
  TooManyRequests: 429,
  ServerTimeout: 504,
  Timeout: 504,
  ServiceUnavailable: 503,
  Gone: 410,
}

/** The role of who writes objects of a kind. */
const ROLES: Readonly<Record<string, string>> = {
  pods: "system:controller:replicaset-controller",
  replicasets: "system:controller:deployment-controller",
  statefulsets: "system:controller:statefulset-controller",
  controllerrevisions: "system:controller:statefulset-controller",
  daemonsets: "system:controller:daemon-set-controller",
  jobs: "system:controller:job-controller",
  cronjobs: "system:controller:cronjob-controller",
  endpointslices: "system:controller:endpointslice-controller",
  endpoints: "system:controller:endpoint-controller",
  poddisruptionbudgets: "system:controller:disruption-controller",
  resourcequotas: "system:controller:resourcequota-controller",
  persistentvolumes: "system:controller:persistent-volume-binder",
  persistentvolumeclaims: "system:volume-scheduler",
  serviceaccounts: "system:controller:service-account-controller",
  nodes: "system:controller:node-controller",
}

/** How the images of the hunt behave, where all that is known of an image is its command. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  job: ["sleep", "1"],
  "long-job": ["sleep", "4"],
  "flaky-job": ["sh", "-c", "sleep 1; exit 3"],
}

/** The most that a field may say, in its own unit: what takes minutes in Kubernetes would be waited for. */
const MOST: Readonly<Record<string, number>> = {
  terminationGracePeriodSeconds: 3,
  tolerationSeconds: 3,
  minReadySeconds: 2,
  initialDelaySeconds: 1,
  activeDeadlineSeconds: 20,
  ttlSecondsAfterFinished: 3,
  backoffLimit: 1,
  backoffLimitPerIndex: 1,
}

/** A copy of a manifest, or of a part of one, that takes less time. */
function hasty(value: unknown, kind: string): unknown {
  if (Array.isArray(value)) return value.map((item) => hasty(item, kind))
  if (typeof value !== "object" || value === null) return value
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, inner]): [string, unknown] => {
      if (key === "httpGet") return ["exec", { command: ["true"] }]
      const most = MOST[key]
      return [key, most === undefined || typeof inner !== "number" ? hasty(inner, kind) : Math.min(most, inner)]
    }),
  )
  const image = String(copy["image"])
  // A pod of its own would fail for ever, where a Job gives up.
  const command = COMMANDS[kind === "Pod" && image === "flaky-job" ? "job" : image]
  return command === undefined ? copy : { ...copy, image: "busybox", command }
}
