import type { Reason } from "../../pkg/apimachinery/errors.ts"

/** The actions of one run of the hunt, as plain data: a failing program is shortened and printed as a test. */
export interface Program {
  readonly seed: number
  /** CPUs of each node. */
  readonly nodes: readonly number[]
  /** The number of servers that share a log; one server with a store of its own by default. */
  readonly servers?: number
  readonly steps: readonly Step[]
}

export type Manifest = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

export type Propagation = "Background" | "Foreground" | "Orphan"

/** The object; by default in the namespace `default`. */
export interface Named {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

/** The pod: the `nth` of the existing pods by name, modulo their number. */
export interface NthPod {
  readonly nth: number
}

/**
 * An action of the test, or a fault. Durations are in milliseconds: a fault lasts that long, and other faults may begin
 * meanwhile.
 */
export type Step =
  | { readonly do: "apply"; readonly object: Manifest }
  | ({ readonly do: "patch"; readonly body: object } & Named)
  | ({ readonly do: "delete"; readonly propagation: Propagation } & Named)
  /** A ConfigMap that is owned by an existing object. */
  | ({ readonly do: "own"; readonly map: string; readonly block: boolean } & Named)
  | { readonly do: "addNode"; readonly cpu: number }
  | ({ readonly do: "deletePod"; readonly grace?: number } & NthPod)
  | ({ readonly do: "evict" } & NthPod)
  /** A container of the pod ends by itself. */
  | ({ readonly do: "exit"; readonly code: number } & NthPod)
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "cordon" | "uncordon" | "deleteNode"; readonly node: string }
  | { readonly do: "taint"; readonly node: string; readonly effect: "NoSchedule" | "NoExecute" }
  | { readonly do: "dropWatches" | "forgetHistory" }
  | { readonly do: "clockJump"; readonly ms: number }
  | { readonly do: "fault"; readonly fault: FaultStep; readonly ms: number }

export type FaultStep =
  | { readonly is: "nodeLost" | "nodePartitioned" | "nodeOutOfMemory" | "nodeOutOfDisk"; readonly node: string }
  | { readonly is: "nodeSlow"; readonly node: string; readonly factor: number }
  | { readonly is: "kubeletCrashed"; readonly node: string }
  | { readonly is: "crashed"; readonly component: "apiserver" | "scheduler" | "controller-manager" }
  | { readonly is: "imagePull"; readonly image: string }
  | {
      readonly is: "requests"
      readonly user?: string
      readonly verb: string
      readonly resource: string
      readonly subresource?: string
      readonly error?: Reason
      readonly delay?: number
      readonly times?: number
    }
